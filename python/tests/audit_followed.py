"""Programs whose mistake is seen only when a value is followed: through iterators, tables, dictionaries, modules, steps of JAX."""

WRONG = {
    "code.end-token-masked": [
        """
        tok.pad_token = tok.eos_token
        class Rows(Dataset):
            def __getitem__(self, i):
                answer = tok(self.rows[i]["a"])["input_ids"][:200] + [tok.eos_token_id]
                return {"input_ids": self.prompts[i] + answer}
        class Collate:
            def __call__(self, rows):
                pad = tok.pad_token_id
                ids = nn.utils.rnn.pad_sequence([r["input_ids"] for r in rows], batch_first=True, padding_value=pad)
                labels = ids.clone()
                labels[labels == pad] = -100  # <-
                return {"input_ids": ids, "labels": labels}
        """,
        """
        tokenizer.add_special_tokens({"pad_token": tokenizer.eos_token})
        def encode(row):
            ids = tokenizer(row["text"])["input_ids"]
            ids.append(tokenizer.eos_token_id)
            return ids
        def collate(rows):
            batch = tokenizer.pad({"input_ids": rows}, return_tensors="pt")
            batch["labels"] = torch.where(batch["input_ids"] == tokenizer.pad_token_id, -100, batch["input_ids"])  # <-
            return batch
        """,
    ],
    "code.view-scrambles-axes": [
        """
        class Tagger(nn.Module):
            def __init__(self, vocab, n_tags):
                super().__init__()
                self.emb = nn.Embedding(vocab, 64)
                self.lstm = nn.LSTM(64, 64, batch_first=True)
                self.out = nn.Linear(64, n_tags)

            def forward(self, tokens):
                h, _ = self.lstm(self.emb(tokens))
                return self.out(h)

        def main(tags):
            n_tags = len(tags)
            net = Tagger(1000, n_tags)
            for tokens, gold in loader:
                logits = net(tokens)
                b, t = gold.shape
                loss = F.cross_entropy(logits.reshape(b, n_tags, t), gold)  # <-
                loss.backward()
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 17), nn.Dropout(0.1))

            def forward(self, x):
                return self.head(x)

        net = Net()
        for frames, phones in loader:
            out = net(frames)
            loss = F.nll_loss(out.log_softmax(-1).view(len(frames), 17, -1) if False else out.view(len(frames), 17, -1), phones)  # <-
            loss.backward()
        """,
        """
        def to_channels(x):
            return x.view(x.size(0), x.size(2), x.size(1))  # <-
        """,
        """
        class Mix(nn.Module):
            def forward(self, x):
                n = x.shape[0]
                length = x.shape[1]
                width = x.shape[2]
                return self.conv(x.reshape(n, width, length))  # <-
        """,
    ],
    "code.windows-split-at-random": [
        """
        class Windows(Dataset):
            def __init__(self, table, step=1):
                self.table = table
                self.places = []
                for s in range(len(table)):
                    for t in range(0, table.shape[1] - 192, step):
                        self.places.append((s, t))

            def __len__(self):
                return len(self.places)

            def __getitem__(self, k):
                s, t = self.places[k]
                return self.table[s, t : t + 168], self.table[s, t + 168 : t + 192]

        whole = Windows(table)
        test = Windows(later, step=24)
        train, val = random_split(whole, [0.8, 0.2])  # <-
        """,
        """
        class Clips(Dataset):
            def __init__(self, audio):
                self.audio = audio
                self.begins = [t for t in range(len(audio) - 400)]

            def __getitem__(self, i):
                t = self.begins[i]
                return self.audio[t : t + 400]

        data = Clips(audio)
        train, val = torch.utils.data.random_split(data, [900, 100])  # <-
        """,
    ],
    "code.ends-shifted": [
        """
        def collect(env, agent, obs, steps):
            kept = {k: [] for k in ("obs", "rew", "done", "val")}
            for _ in range(steps):
                action = agent.act(obs)
                nxt, r, done, info = env.step(action)
                kept["obs"].append(obs)
                kept["val"].append(agent.value(obs))
                kept["rew"].append(torch.from_numpy(r))
                kept["done"].append(torch.from_numpy(done))
                obs = torch.from_numpy(nxt)
            return {k: torch.stack(v) for k, v in kept.items()}, agent.value(obs)

        def advantages(rew, val, ended, last):
            adv, run = torch.zeros_like(rew), 0
            for t in reversed(range(len(rew))):
                if t == len(rew) - 1:
                    alive, after = 1.0 - ended[t], last
                else:
                    alive, after = 1.0 - ended[t + 1], val[t + 1]  # <-
                run = rew[t] + 0.99 * after * alive - val[t] + 0.99 * 0.95 * alive * run
                adv[t] = run
            return adv

        memory, last = collect(env, agent, obs, 128)
        adv = advantages(memory["rew"], memory["val"], memory["done"], last)
        """,
        """
        def rollout(env, net, obs):
            ends, rewards = [], []
            for _ in range(256):
                obs, reward, over_done, info = env.step(net(obs))
                rewards.append(reward)
                ends.append(over_done)
            return np.array(rewards), np.array(ends)

        def returns(rewards, ends, last):
            R = last
            out = np.zeros_like(rewards)
            for i in range(len(rewards) - 1, -1, -1):
                R = rewards[i] + 0.99 * R * (1 - ends[i + 1])  # <-
                out[i] = R
            return out

        rewards, ends = rollout(env, net, obs)
        targets = returns(rewards, ends, 0.0)
        """,
    ],
    "code.column-against-row": [
        """
        import pandas as pd
        TARGET = "price"
        COLUMNS = ["a", "b"]
        class Net(nn.Module):
            def __init__(self, hidden=64):
                super().__init__()
                self.body = nn.Linear(2, hidden)
                self.head = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 1))

            def forward(self, x):
                return self.head(self.body(x).relu())

        def log_cosh(pred, target):
            d = pred - target  # <-
            return (d + F.softplus(-2.0 * d)).mean()

        def stats(df):
            return {"mean": np.float32(df[TARGET].mean()), "std": np.float32(df[TARGET].std())}

        def encode(df, s):
            y = (df[TARGET].to_numpy(np.float32) - s["mean"]) / s["std"]
            return TensorDataset(torch.from_numpy(df[COLUMNS].to_numpy(np.float32)), torch.from_numpy(y))

        df = pd.read_csv("homes.csv").dropna()
        order = np.random.default_rng(0).permutation(len(df))
        first, rest = df.iloc[order[100:]], df.iloc[order[:100]]
        s = stats(first)
        train, val = encode(first, s), encode(rest, s)
        net = Net()
        for x, y in DataLoader(train, 32, shuffle=True):
            x, y = x.to("cuda"), y.to("cuda")
            loss = log_cosh(net(x), y)
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.softmax-of-one": [
        """
        class Pool(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.w = nn.Linear(d, 1)

            def forward(self, h, mask):
                a = self.w(torch.tanh(h))
                a = a.masked_fill(~mask.unsqueeze(-1), -1e9)
                a = F.softmax(a, dim=-1)  # <-
                return (a * h).sum(dim=1)
        """,
        """
        class Pool(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.score = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, 1), nn.Softmax(dim=-1))  # <-

            def forward(self, h):
                return (self.score(h) * h).sum(1)
        """,
        """
        import flax.linen as fnn
        import jax
        class Pool(fnn.Module):
            @fnn.compact
            def __call__(self, h):
                a = jax.nn.softmax(fnn.Dense(1)(h), axis=-1)  # <-
                return (a * h).sum(1)
        """,
        """
        class Pool(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.w = nn.Linear(d, 1)
                self.soft = nn.Softmax(dim=-1)

            def forward(self, h):
                scores = self.w(h) / self.temperature
                return (self.soft(scores) * h).sum(1)  # <-
        """,
        """
        from tensorflow.keras import Sequential, layers
        model = Sequential([layers.Dense(64, activation="relu"), layers.Dense(1, activation="softmax")])  # <-
        """,
    ],
    "code.shifted-twice": [
        """
        from transformers import GPT2LMHeadModel
        class Crops(IterableDataset):
            def __iter__(self):
                while True:
                    i = int(torch.randint(len(self.data) - 65, ()))
                    chunk = self.data[i : i + 65]
                    yield chunk[:-1], chunk[1:]

        def lm_loss(model, batch, device):
            x, y = (t.to(device) for t in batch)
            return model(input_ids=x, labels=y).loss  # <-

        model = GPT2LMHeadModel(config)
        batches = iter(DataLoader(Crops(), 8))
        for step in range(1000):
            loss = lm_loss(model, next(batches), "cuda")
            loss.backward()
        """,
    ],
    "code.collective-on-some-ranks": [
        """
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType, FullStateDictConfig

        def save(model, step, rank):
            if rank == 0:
                with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
                    state = model.state_dict()  # <-
                torch.save({"model": state, "step": step}, "last.pt")
            dist.barrier()

        dist.init_process_group("nccl")
        rank = dist.get_rank()
        model = FSDP(nn.Linear(4, 2))
        save(model, 1, rank)
        """,
        """
        from torch.distributed.checkpoint.state_dict import get_model_state_dict
        from torch.distributed.fsdp import fully_shard

        def keep(net):
            torch.save(get_model_state_dict(net), "net.pt")  # <-

        dist.init_process_group("nccl")
        net = Net()
        fully_shard(net)
        if dist.get_rank() == 0:
            keep(net)
        """,
    ],
    "code.average-misses-buffers": [
        """
        import copy
        class Ema:
            def __init__(self, model, decay=0.999):
                self.module = copy.deepcopy(model).eval()
                self.decay = decay

            def update(self, model):
                for avg, p in zip(self.module.parameters(), model.parameters()):  # <-
                    avg.mul_(self.decay).add_(p, alpha=1 - self.decay)

        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        ema = Ema(net)
        """,
        """
        from copy import deepcopy
        net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8))
        shadow = deepcopy(net)
        for x, y in loader:
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for live, slow in zip(net.parameters(), shadow.parameters()):  # <-
                    slow.lerp_(live, 0.001)
        shadow.eval()
        print(score(shadow))
        """,
        """
        from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
        from torchvision.models import resnet18
        net = resnet18()
        average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))  # <-
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            average.update_parameters(net)
        """,
    ],
    "code.rollouts-greedy": [
        """
        from trl import GRPOConfig, GRPOTrainer
        config = GRPOConfig(
            output_dir="out",
            num_generations=8,
            temperature=0.9,
            top_k=1,  # <-
        )
        GRPOTrainer("m", reward_funcs=[f], args=config, train_dataset=rows).train()
        """,
        """
        import trl
        cold = 1e-3
        args = trl.RLOOConfig(output_dir="o", temperature=cold)  # <-
        """,
        """
        from trl import GRPOConfig
        config = GRPOConfig(output_dir="o", num_generations=4, generation_kwargs={"do_sample": False})  # <-
        """,
        """
        for prompts in loader:
            answers = policy.generate(**prompts, num_return_sequences=8, top_k=1, do_sample=True)  # <-
            r = score(answers).view(-1, 8)
            loss = -((r - r.mean(1, keepdim=True)) * logps(policy, answers)).mean()
            loss.backward()
        """,
        """
        for obs in rollouts:
            logits = policy(obs)
            dist = torch.distributions.Categorical(logits=logits)
            action = logits.argmax(-1)  # <-
            reward = env.act(action)
            loss = -(dist.log_prob(action) * reward).mean()
            loss.backward()
        """,
    ],
    "code.mean-before-weights": [
        """
        def weighted(logit, click, propensity):
            w = torch.where(click > 0, 1.0 / propensity, torch.ones_like(propensity)).clamp(max=10.0)
            loss = F.binary_cross_entropy_with_logits(logit, click)  # <-
            return (w * loss).sum() / w.sum()
        """,
        """
        criterion = nn.CrossEntropyLoss()
        for x, y, weights in loader:
            loss = (criterion(net(x), y) * weights).mean()  # <-
            loss.backward()
        """,
        """
        for batch in memory:
            loss = (batch.is_weights * F.smooth_l1_loss(q(batch.s), target)).mean()  # <-
            loss.backward()
        """,
        """
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.mse = nn.MSELoss()

            def forward(self, pred, target, mask):
                return torch.sum(self.mse(pred, target) * mask) / mask.sum()  # <-
        """,
        """
        import jax.numpy as jnp
        import optax
        def loss_fn(params, x, y, mask):
            losses = optax.softmax_cross_entropy_with_integer_labels(apply(params, x), y).mean()  # <-
            return (losses * mask).sum() / mask.sum()
        """,
    ],
    "code.key-reused-each-step": [
        """
        import jax
        def loss_fn(params, apply_fn, batch, rng):
            return apply_fn({"params": params}, batch, rngs={"dropout": rng}).mean()

        @jax.jit
        def train_step(state, batch, rng):
            loss, grads = jax.value_and_grad(loss_fn)(state.params, state.apply_fn, batch, rng)
            return state.apply_gradients(grads=grads), loss

        key = jax.random.PRNGKey(0)
        init_key, dropout_key = jax.random.split(key)
        for step in range(1000):
            state, loss = train_step(state, next(batches), dropout_key)  # <-
        """,
        """
        from jax import grad, jit, random
        def update(params, x, k):
            def loss(p):
                noise = random.normal(k, x.shape)
                return ((net(p, x + noise) - noise) ** 2).mean()
            return jax_tree_update(params, grad(loss)(params))

        step = jit(update)
        def main(params):
            seed = random.key(1)
            for x in data:
                params = step(params, x, k=seed)  # <-
        """,
        """
        import jax
        def train(state, loader, rng):
            for batch in loader:
                state = step(state, batch, {"dropout": rng})  # <-

        @jax.jit
        def step(state, batch, rngs):
            grads = jax.grad(lambda p: state.apply_fn({"params": p}, batch, rngs=rngs).mean())(state.params)
            return state.apply_gradients(grads=grads)

        train(state, loader, jax.random.key(0))
        """,
    ],
    "code.running-statistics-dropped": [
        """
        import jax
        @jax.jit
        def train_step(state, x, y):
            def loss_fn(params):
                variables = {"params": params, "batch_stats": state.batch_stats}
                logits, mutated = state.apply_fn(variables, x, True, mutable=["batch_stats"])
                return ce(logits, y).mean(), (logits, mutated)

            (loss, (logits, mutated)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
            state = state.apply_gradients(grads=grads)  # <-
            return state, loss
        """,
        """
        import jax, optax
        variables = model.init(key, x0)
        params, stats = variables["params"], variables["batch_stats"]
        def loss_fn(p, x, y):
            out, _ = model.apply({"params": p, "batch_stats": stats}, x, mutable="batch_stats")
            return ((out - y) ** 2).mean()
        for x, y in data:
            grads = jax.grad(loss_fn)(params, x, y)
            updates, opt_state = tx.update(grads, opt_state, params)
            params = optax.apply_updates(params, updates)  # <-
        """,
    ],
}

RIGHT = {
    "code.end-token-masked": [
        """
        tok.add_special_tokens({"pad_token": "<|pad|>"})
        def collate(rows):
            ids = nn.utils.rnn.pad_sequence([torch.tensor(r["ids"] + [tok.eos_token_id]) for r in rows], batch_first=True, padding_value=tok.pad_token_id)
            labels = ids.clone()
            labels[labels == tok.pad_token_id] = -100
            return {"input_ids": ids, "labels": labels}
        """,
        """
        tok.pad_token = tok.eos_token
        def collate(rows):
            rows = [r["ids"] + [tok.eos_token_id] for r in rows]
            longest = max(len(r) for r in rows)
            labels = torch.full((len(rows), longest), -100)
            for i, r in enumerate(rows):
                labels[i, : len(r)] = torch.tensor(r)
            return {"labels": labels}
        """,
    ],
    "code.view-scrambles-axes": [
        """
        class Tagger(nn.Module):
            def __init__(self, n_tags):
                super().__init__()
                self.out = nn.Linear(64, n_tags)

            def forward(self, h):
                return self.out(h)

        def main(tags):
            n_tags = len(tags)
            net = Tagger(n_tags)
            for h, gold in loader:
                logits = net(h)
                loss = F.cross_entropy(logits.transpose(1, 2), gold) + F.cross_entropy(logits.reshape(-1, n_tags), gold.view(-1))
                loss.backward()
        """,
        """
        class Horizon(nn.Module):
            def __init__(self, steps, n_out):
                super().__init__()
                self.steps, self.n_out = steps, n_out
                self.out = nn.Linear(64, steps * n_out)

            def forward(self, h):
                return self.out(h).view(h.size(0), self.n_out, self.steps)
        """,
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.head = nn.Conv2d(64, n, 1)

            def forward(self, x):
                return self.head(x)

        net = Net(21)
        for x, y in loader:
            loss = F.cross_entropy(net(x).view(x.size(0), 21, -1), y.view(y.size(0), -1))
            loss.backward()
        """,
        """
        def pool(x):
            return x.view(x.size(0), x.size(1), -1).mean(-1)
        """,
        """
        def as_keys(ids):
            batch = ids.size(0)
            length = ids.size(1)
            return ids.view(batch, -1, length)
        """,
    ],
    "code.windows-split-at-random": [
        """
        class Windows(Dataset):
            def __init__(self, table, step=192):
                self.table = table
                self.places = []
                for s in range(len(table)):
                    for t in range(0, table.shape[1] - 192, step):
                        self.places.append((s, t))

            def __getitem__(self, k):
                s, t = self.places[k]
                return self.table[s, t : t + 168], self.table[s, t + 168 : t + 192]

        train, val = random_split(Windows(table), [0.8, 0.2])
        """,
        """
        class Windows(Dataset):
            def __init__(self, table):
                self.table = table
                self.places = [(s, t) for s in range(len(table)) for t in range(table.shape[1] - 192)]

            def __getitem__(self, k):
                s, t = self.places[k]
                return self.table[s, t : t + 192]

        cut = int(0.8 * table.shape[1])
        train, val = Windows(table[:, :cut]), Windows(table[:, cut:])
        """,
    ],
    "code.ends-shifted": [
        """
        def collect(env, agent, obs, steps):
            kept = {k: [] for k in ("rew", "done", "val")}
            for _ in range(steps):
                nxt, r, done, info = env.step(agent.act(obs))
                kept["val"].append(agent.value(obs))
                kept["rew"].append(torch.from_numpy(r))
                kept["done"].append(torch.from_numpy(done))
                obs = torch.from_numpy(nxt)
            return {k: torch.stack(v) for k, v in kept.items()}, agent.value(obs)

        def advantages(rew, val, ended, last):
            adv, run = torch.zeros_like(rew), 0
            for t in reversed(range(len(rew))):
                alive, after = 1.0 - ended[t], last if t == len(rew) - 1 else val[t + 1]
                run = rew[t] + 0.99 * after * alive - val[t] + 0.99 * 0.95 * alive * run
                adv[t] = run
            return adv

        memory, last = collect(env, agent, obs, 128)
        adv = advantages(memory["rew"], memory["val"], memory["done"], last)
        """,
    ],
    "code.column-against-row": [
        """
        import pandas as pd
        TARGET = "price"
        net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
        def encode(df):
            return TensorDataset(torch.from_numpy(df[["a", "b"]].to_numpy(np.float32)), torch.from_numpy(df[[TARGET]].to_numpy(np.float32)))

        df = pd.read_csv("homes.csv")
        for x, y in DataLoader(encode(df.iloc[:100]), 32, shuffle=True):
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
        """,
        """
        import pandas as pd
        TARGET = "price"
        net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))
        def encode(df):
            return TensorDataset(torch.from_numpy(df[["a", "b"]].to_numpy(np.float32)), torch.from_numpy(df[TARGET].to_numpy(np.float32)))

        df = pd.read_csv("homes.csv")
        for x, y in DataLoader(encode(df.iloc[:100]), 32, shuffle=True):
            loss = F.l1_loss(net(x)[:, 0], y)
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.softmax-of-one": [
        """
        class Pool(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.w = nn.Linear(d, 1)

            def forward(self, h, mask):
                a = self.w(torch.tanh(h)).masked_fill(~mask.unsqueeze(-1), -1e9)
                return (F.softmax(a, dim=1) * h).sum(dim=1)
        """,
        """
        class Pool(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.w = nn.Linear(d, 1)

            def forward(self, h):
                a = self.w(h).squeeze(-1) / self.temperature
                return (a.softmax(dim=-1).unsqueeze(-1) * h).sum(dim=1)
        """,
        """
        import flax.linen as fnn
        import jax
        class Pool(fnn.Module):
            @fnn.compact
            def __call__(self, h):
                return (jax.nn.softmax(fnn.Dense(1)(h), axis=1) * h).sum(1)
        """,
        """
        from tensorflow.keras import Sequential, layers
        model = Sequential([layers.Dense(64, activation="relu"), layers.Dense(1, activation="sigmoid")])
        """,
    ],
    "code.shifted-twice": [
        """
        from transformers import GPT2LMHeadModel
        class Crops(IterableDataset):
            def __iter__(self):
                while True:
                    i = int(torch.randint(len(self.data) - 65, ()))
                    chunk = self.data[i : i + 65]
                    yield chunk[:-1], chunk[:-1].clone()

        def lm_loss(model, batch, device):
            x, y = (t.to(device) for t in batch)
            return model(input_ids=x, labels=y).loss

        model = GPT2LMHeadModel(config)
        batches = iter(DataLoader(Crops(), 8))
        for step in range(1000):
            loss = lm_loss(model, next(batches), "cuda")
            loss.backward()
        """,
        """
        from transformers import GPT2LMHeadModel
        class Crops(IterableDataset):
            def __iter__(self):
                while True:
                    chunk = self.draw(65)
                    yield chunk[:-1], chunk[1:]

        model = GPT2LMHeadModel(config)
        batches = iter(DataLoader(Crops(), 8))
        for step in range(1000):
            x, y = next(batches)
            loss = F.cross_entropy(model(input_ids=x).logits.flatten(0, 1), y.flatten())
            loss.backward()
        """,
    ],
    "code.division-unguarded": [
        """
        def load(path, mean=None, std=None):
            x = torch.from_numpy(np.load(path)).float()
            if mean is None:
                mean, std = x.mean((0, 2), keepdim=True), x.std((0, 2), keepdim=True)
            return TensorDataset((x - mean) / std), mean, std

        def main():
            train, mean, std = load("a.npy")
            val, _, _ = load("b.npy", mean, std)
            for (x,) in DataLoader(train):
                loss = net(x).mean()
                loss.backward()

        main()
        """,
    ],
    "code.collective-on-some-ranks": [
        """
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType, FullStateDictConfig

        def save(model, step, rank):
            with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
                state = model.state_dict()
            if rank == 0:
                torch.save({"model": state, "step": step}, "last.pt")
            dist.barrier()

        dist.init_process_group("nccl")
        model = FSDP(nn.Linear(4, 2))
        save(model, 1, dist.get_rank())
        """,
        """
        from torch.nn.parallel import DistributedDataParallel as DDP
        dist.init_process_group("nccl")
        model = DDP(nn.Linear(4, 2))
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), "last.pt")
        """,
    ],
    "code.average-misses-buffers": [
        """
        import copy
        class Ema:
            def __init__(self, model, decay=0.999):
                self.module = copy.deepcopy(model).eval()
                self.decay = decay

            def update(self, model):
                for avg, p in zip(self.module.parameters(), model.parameters()):
                    avg.mul_(self.decay).add_(p, alpha=1 - self.decay)
                for a, b in zip(self.module.buffers(), model.buffers()):
                    a.copy_(b)

        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        ema = Ema(net)
        """,
        """
        import copy
        net = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8))
        shadow = copy.deepcopy(net).eval()
        def update():
            for slow, live in zip(shadow.parameters(), net.parameters()):
                slow.lerp_(live, 0.001)
        """,
        """
        import copy
        net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8))
        teacher = copy.deepcopy(net)  # in train mode: it normalises with the batch
        def update():
            for slow, live in zip(teacher.parameters(), net.parameters()):
                slow.lerp_(live, 0.001)
        """,
        """
        from torch.optim.swa_utils import AveragedModel, update_bn
        net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8))
        average = AveragedModel(net)
        for x, y in loader:
            average.update_parameters(net)
        update_bn(loader, average)
        """,
    ],
    "code.rollouts-greedy": [
        """
        from trl import GRPOConfig
        config = GRPOConfig(output_dir="out", num_generations=8, temperature=0.9, top_p=0.95, top_k=50)
        """,
        """
        from trl import GRPOConfig
        config = GRPOConfig(output_dir="out", top_k=0, generation_kwargs={"do_sample": True, "min_p": 0.05})
        model.generate(**prompt, do_sample=False)
        """,
        """
        for prompts in loader:
            best = policy.generate(**prompts, do_sample=False)
            loss = -logps(policy, best).mean()
            loss.backward()
        """,
        """
        for obs in rollouts:
            logits = policy(obs)
            dist = torch.distributions.Categorical(logits=logits)
            action = dist.sample()
            expert = expert_logits.argmax(-1)
            loss = -(dist.log_prob(action) * r).mean() - dist.log_prob(expert).mean()
            loss.backward()
        """,
    ],
    "code.mean-before-weights": [
        """
        def weighted(logit, click, w):
            loss = F.binary_cross_entropy_with_logits(logit, click, reduction="none")
            return (w * loss).sum() / w.sum()
        """,
        """
        for x, y in loader:
            loss = (0.5 * F.cross_entropy(net(x), y) + alpha * F.mse_loss(aux(x), z)).mean()
            loss.backward()
        """,
        """
        criterion = nn.CrossEntropyLoss(reduction="none")
        for x, y, weights in loader:
            loss = (criterion(net(x), y) * weights).mean()
            loss.backward()
        """,
        """
        for x, y in loader:
            loss = (F.cross_entropy(net(x), y) * self.weight).mean()
            loss.backward()
        """,
        """
        def total(losses, mask):
            return (losses * mask).sum() / mask.sum()
        """,
    ],
    "code.key-reused-each-step": [
        """
        import jax
        @jax.jit
        def train_step(state, batch, rng):
            rng = jax.random.fold_in(rng, state.step)
            grads = jax.grad(lambda p: state.apply_fn({"params": p}, batch, rngs={"dropout": rng}).mean())(state.params)
            return state.apply_gradients(grads=grads)

        key = jax.random.PRNGKey(0)
        for step in range(1000):
            state = train_step(state, next(batches), key)
        """,
        """
        import jax
        @jax.jit
        def train_step(state, batch, rng):
            grads = jax.grad(lambda p: state.apply_fn({"params": p}, batch, rngs={"dropout": rng}).mean())(state.params)
            return state.apply_gradients(grads=grads)

        key = jax.random.PRNGKey(0)
        for step in range(1000):
            key, used = jax.random.split(key)
            state = train_step(state, next(batches), used)
        """,
        """
        import jax
        show = jax.random.key(7)
        for epoch in range(10):
            state = fit(state)
            grid = sample(state.params, show)
            save(grid)
        """,
    ],
    "code.running-statistics-dropped": [
        """
        import jax
        @jax.jit
        def train_step(state, x, y):
            def loss_fn(params):
                variables = {"params": params, "batch_stats": state.batch_stats}
                logits, mutated = state.apply_fn(variables, x, True, mutable=["batch_stats"])
                return ce(logits, y).mean(), mutated

            (loss, mutated), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
            return state.apply_gradients(grads=grads, batch_stats=mutated["batch_stats"]), loss
        """,
        """
        import jax
        def train_step(state, x, y):
            def loss_fn(params):
                out, new = state.apply_fn({"params": params, **state.model_state}, x, mutable=["batch_stats"])
                return ce(out, y).mean(), new
            (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
            return state.apply_gradients(grads=grads).replace(model_state=new)
        """,
        """
        import jax
        def train_step(params, batch_stats, x, y):
            def loss_fn(p):
                out, updates = model.apply({"params": p, "batch_stats": batch_stats}, x, mutable=["batch_stats"])
                return ce(out, y).mean(), updates["batch_stats"]
            (loss, batch_stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
            return step(params, grads), batch_stats
        """,
    ],
}
