"""Programs whose mistake shows only through functions, lists and conditions: what rules of every topic have to follow."""

WRONG = {
    "code.loss-keeps-graph": [
        """
        smooth = 0.0
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            smooth = 0.9 * smooth + 0.1 * loss  # <-
        """
    ],
    "code.entropy-sign": [
        """
        def masked_mean(x, m):
            return (x * m).sum() / m.sum()

        def train(net, opt, rollout, coef):
            for obs, act, adv, live in rollout:
                dist = net(obs)
                logp = dist.log_prob(act)
                ent = dist.entropy()
                objective = -masked_mean(logp * adv, live) + coef * masked_mean(ent, live)  # <-
                opt.zero_grad()
                objective.backward()
                opt.step()
        """
    ],
    "code.windows-split-at-random": [
        """
        windows = series.unfold(0, 48, 1)
        X, Y = windows[:, :36], windows[:, 36:]
        train, val = random_split(TensorDataset(X, Y), [800, 200])  # <-
        """
    ],
    "code.multiplied-before-split": [
        """
        import pandas as pd

        def balance(frame):
            rare, common = frame[frame.label == 1], frame[frame.label == 0]
            extra = rare.sample(len(common), replace=True)
            return pd.concat([common, rare, extra])

        def partition(frame):
            order = np.random.permutation(len(frame))
            return frame.iloc[order[:800]], frame.iloc[order[800:]]

        table = balance(pd.read_csv("t.csv"))
        train, test = partition(table)
        """
    ],
    "code.workers-repeat-data": [
        """
        class Stream(IterableDataset):
            def __init__(self, files):
                self.files = files

            def __iter__(self):  # <-
                files = list(self.files)
                random.Random(0).shuffle(files)
                for path in files:
                    yield from open(path)

        loader = DataLoader(Stream(["a", "b"]), batch_size=4, num_workers=4)
        """
    ],
    "code.lambda-rate-absolute": [
        """
        WARMUP, PEAK = 500, 1e-3

        def schedule(step, total):
            if step < WARMUP:
                return PEAK * (step + 1) / WARMUP
            return PEAK * (1 - step / total)

        opt = torch.optim.AdamW(net.parameters(), lr=PEAK)
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: schedule(s, len(loader)))  # <-
        """,
        """
        def schedule(step):
            if step < 500:
                return 1e-3 * (step + 1) / 500
            return 1e-3

        opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
        sched = torch.optim.lr_scheduler.LambdaLR(opt, schedule)  # <-
        """,
    ],
    "code.optimizer-before-model": [
        """
        class Net(nn.Module):
            def __init__(self, classes):
                super().__init__()
                self.body, self.fc = nn.Linear(8, 16), nn.Linear(16, classes)

        def build():
            net = Net(20)
            opt = torch.optim.SGD([{"params": net.body.parameters()}, {"params": net.fc.parameters()}], lr=0.1)
            return net, opt

        def adapt(net, classes):
            net.fc = nn.Linear(16, classes)
            return net

        def main():
            net, opt = build()
            net = adapt(net, 50)  # <-
            for x, y in loader:
                loss = F.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """
    ],
    "code.no-stop-gradient": [
        """
        def agreement(p, z):
            return -F.cosine_similarity(p, z, dim=1).mean()  # <-

        class Siamese(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.predictor = nn.Linear(8, 16), nn.Linear(16, 16)

            def forward(self, a, b):
                za, zb = self.encoder(a), self.encoder(b)
                pa, pb = self.predictor(za), self.predictor(zb)
                loss = agreement(pa, zb) + agreement(pb, za)
                return loss, za.detach().std(0).mean()
        """
    ],
    "code.decoder-sees-answers": [
        """
        core = nn.Transformer(64, 4, batch_first=True)
        model = Translator(core)

        def batch_loss(model, src, tgt):
            gold = tgt[:, 1:]
            logits = model(src, gold)  # <-
            return F.cross_entropy(logits.reshape(-1, logits.size(-1)), gold.reshape(-1), ignore_index=0)
        """
    ],
    "code.model-bf16": [
        """
        from transformers import AutoModelForCausalLM
        KINDS = {"fp32": torch.float32, "bf16": torch.bfloat16}
        model = AutoModelForCausalLM.from_pretrained("m", dtype=KINDS["bf16"])  # <-
        opt = torch.optim.AdamW(model.parameters(), lr=5e-6)
        for ids in loader:
            loss = model(input_ids=ids, labels=ids).loss
            print(loss.float())
            loss.backward()
            opt.step()
            opt.zero_grad()
        """
    ],
}

RIGHT = {
    "code.init-too-wide": [
        """
        def world():
            net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 3))
            for p in net.parameters():
                nn.init.normal_(p, std=0.6)
            net.requires_grad_(False)
            return net
        """
    ],
    "code.data-not-restored": [
        """
        sampler = Places(1000)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        net, u = nn.Linear(4, 2), 0
        opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
        state = torch.load("c.pt")
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        u = state["step"]
        sampler.epoch, sampler.at = state["epoch"], state["at"]
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            u += 1
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": u, "epoch": sampler.epoch}, "c.pt")
        """
    ],
    "code.loss-keeps-graph": [
        """
        def losses(net, x, y):
            loss = F.cross_entropy(net(x), y)
            return loss, {"loss": loss.item()}

        seen, smooth = [], 0.0
        for x, y in loader:
            loss, stats = losses(net, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(stats)
            smooth = 0.9 * smooth + 0.1 * loss.item()
        """
    ],
    "code.entropy-sign": [
        """
        def masked_mean(x, m):
            return (x * m).sum() / m.sum()

        def train(net, opt, rollout, coef):
            for obs, act, adv, live in rollout:
                dist = net(obs)
                logp = dist.log_prob(act)
                ent = dist.entropy()
                objective = -masked_mean(logp * adv, live) - coef * masked_mean(ent, live)
                opt.zero_grad()
                objective.backward()
                opt.step()
        """
    ],
    "code.windows-split-at-random": [
        """
        windows = series.unfold(0, 48, 48)
        X, Y = windows[:, :36], windows[:, 36:]
        train, val = random_split(TensorDataset(X, Y), [800, 200])
        """
    ],
    "code.multiplied-before-split": [
        """
        import pandas as pd

        def balance(frame):
            rare, common = frame[frame.label == 1], frame[frame.label == 0]
            extra = rare.sample(len(common), replace=True)
            return pd.concat([common, rare, extra])

        def partition(frame):
            order = np.random.permutation(len(frame))
            return frame.iloc[order[:800]], frame.iloc[order[800:]]

        train, test = partition(pd.read_csv("t.csv"))
        train = balance(train)
        """
    ],
    "code.workers-repeat-data": [
        """
        class Made(IterableDataset):
            def __iter__(self):
                while True:
                    yield torch.randn(4)

        loader = DataLoader(Made(), batch_size=4, num_workers=4)
        """
    ],
    "code.lambda-rate-absolute": [
        """
        WARMUP, PEAK = 500, 1e-3

        def schedule(step, total):
            if step < WARMUP:
                return (step + 1) / WARMUP
            return max(0.01, 1 - step / total)

        opt = torch.optim.AdamW(net.parameters(), lr=PEAK)
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: schedule(s, len(loader)))
        """
    ],
    "code.optimizer-before-model": [
        """
        class Net(nn.Module):
            def __init__(self, classes):
                super().__init__()
                self.body, self.fc = nn.Linear(8, 16), nn.Linear(16, classes)

        def build(net):
            return torch.optim.SGD(net.parameters(), lr=0.1)

        def adapt(net, classes):
            net.fc = nn.Linear(16, classes)
            return net

        def main():
            net = Net(20)
            net = adapt(net, 50)
            opt = build(net)
            for x, y in loader:
                loss = F.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
        """
    ],
    "code.no-stop-gradient": [
        """
        def agreement(p, z):
            return -F.cosine_similarity(p, z.detach(), dim=1).mean()

        class Siamese(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.predictor = nn.Linear(8, 16), nn.Linear(16, 16)

            def forward(self, a, b):
                za, zb = self.encoder(a), self.encoder(b)
                pa, pb = self.predictor(za), self.predictor(zb)
                return agreement(pa, zb) + agreement(pb, za)
        """
    ],
    "code.decoder-sees-answers": [
        """
        core = nn.Transformer(64, 4, batch_first=True)
        model = Translator(core)

        def batch_loss(model, src, tgt):
            gold = tgt[:, 1:]
            logits = model(src, tgt[:, :-1])
            return F.cross_entropy(logits.reshape(-1, logits.size(-1)), gold.reshape(-1), ignore_index=0)
        """
    ],
    "code.relu-before-loss": [
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lins = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 3)])

            def forward(self, x):
                for k, lin in enumerate(self.lins):
                    x = lin(x)
                    if k + 1 < len(self.lins):
                        x = x.relu()
                return x

        net = Net()
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
        """
    ],
    "code.evaluated-in-train-mode": [
        """
        dev = "cuda"
        gen = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
        critic = nn.Linear(8, 1)
        opt_g = torch.optim.Adam(gen.parameters(), lr=1e-4)
        opt_d = torch.optim.Adam(critic.parameters(), lr=1e-4)
        for real in loader:
            with torch.no_grad():
                fake = gen(torch.randn(32, 8, device=dev))
            loss = critic(fake).mean() - critic(real).mean()
            opt_d.zero_grad()
            loss.backward()
            opt_d.step()
            g_loss = -critic(gen(torch.randn(32, 8, device=dev))).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
        """
    ],
    "code.ends-not-cut": [
        """
        def run(env, memory, q, target, opt, gamma):
            obs = env.reset()
            for step in range(1000):
                nxt, reward, terminated, truncated = env.step(1)
                memory.push(obs, 1, reward, nxt, terminated)
                s, a, r, s2, d = memory.sample(32)
                with torch.no_grad():
                    y = r + gamma * (1.0 - d) * target(s2).max(1).values
                loss = F.mse_loss(q(s).gather(1, a).squeeze(1), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                obs = nxt
        """
    ],
}
