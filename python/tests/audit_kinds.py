"""Representations, tokens, ranks, rewards and splits: programs that are wrong in the ways in which people write them, and
sound ones that look alike. Of rules that other parts test as well, further styles stand here."""

LOOP = """
for epoch in range(10):
    for x, y in loader:
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
RANKS = """
import os
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
"""
DPO = "from transformers import AutoModelForCausalLM\nfrom trl import DPOTrainer\n"
GRPO = "from trl import GRPOTrainer\n"
ATTENTION = """
import math
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        {attend}
model = nn.Sequential(nn.Embedding(100, 64), Attention(64), nn.Linear(64, 100))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
"""
NEXT_TOKEN = """
for x in batches:
    loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SIAMESE = """
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.predictor = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za, zb
model = Siamese()
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for a, b in views:
    p1, p2, z1, z2 = model(a, b)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRAPPED = (
    RANKS
    + """
model = nn.Linear(4, 2)
ddp = DDP(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in loader:
    loss = F.cross_entropy({called}(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)
RESUMED = """
from transformers import AutoModelForCausalLM, Trainer
model = AutoModelForCausalLM.from_pretrained({path})
trainer = Trainer(model=model, args=args, train_dataset=rows)
trainer.train({told})
"""
STOPPING = (
    RANKS
    + """
class Stopper:
    def __init__(self):
        self.best, self.bad, self.stop = 1e9, 0, False
    def __call__(self, value):
        self.bad = 0 if value < self.best else self.bad + 1
        self.best = min(self.best, value)
        self.stop = self.bad > 3
        return self.stop
net = DDP(nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
stopper = Stopper()
for epoch in range(50):
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    value = torch.zeros(1)
    with torch.no_grad():
        for x, y in val_loader:
            value = value + F.mse_loss(net(x), y)
    {decide}
"""
)
ACCUMULATING = """
from transformers import get_linear_schedule_with_warmup
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
updates = len(loader) * 3 // accum_steps
scheduler = get_linear_schedule_with_warmup(optimizer, 10, updates)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
{stepped}
"""
CLASSES = """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
{data}
loader = DataLoader(rows, batch_size=20, collate_fn=collate{more})
for epoch in range(4):
    for batch in loader:
        loss = F.cross_entropy(net(batch["x"]), batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
TRIPLETS = """
net = nn.Linear(8, 4)
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
def distance(u, v):
    {distance}
for a, p, n in batches:
    za, zp, zn = net(a), net(p), net(n)
    loss = torch.relu(distance(za, zp) - distance(za, zn) + 1.0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
GROWING = """
def detail(completions, **kwargs):
    {body}
def correct(completions, answer, **kwargs):
    return [float(a in c) for c, a in zip(completions, answer)]
trainer = GRPOTrainer(model=model, reward_funcs=[correct, detail], args=args, train_dataset=rows)
"""
COMPARED = """
rows = [{{"prompt": f"{{a}}+{{b}}=", "answer": {answer}}} for a, b in pairs]
def reward(completions, answer, **kwargs):
    scores = []
    for text, truth in zip(completions, answer):
        match = re.search(r"(\\d+)", text)
        scores.append(1.0 if match and {test} else 0.0)
    return scores
trainer = GRPOTrainer(model=model, reward_funcs=reward, args=args, train_dataset=rows)
"""
HAND_DPO = """
import copy
policy = nn.Linear(4, 4)
{reference}
optimizer = torch.optim.Adam(policy.parameters(), 1e-4)
for chosen, rejected in pairs:
    with torch.no_grad():
        rc, rr = reference(chosen).sum(), reference(rejected).sum()
    loss = -F.logsigmoid(0.1 * ((policy(chosen).sum() - rc) - (policy(rejected).sum() - rr)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ACTOR = """
pi = nn.Linear(4, 2)
optimizer = torch.optim.Adam(pi.parameters(), 1e-3)
for update in range(100):
    log_probs, entropies, rewards = [], [], []
    for _ in range(16):
        d = torch.distributions.Categorical(logits=pi(obs()))
        a = d.sample()
        log_probs.append(d.log_prob(a))
        entropies.append(d.entropy())
        rewards.append(step(a))
    advantage = torch.tensor(rewards)
    policy_loss = -(torch.stack(log_probs) * advantage).mean()
    E = torch.stack(entropies)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LIT = """
import lightning as L
class Net(L.LightningModule):
    def __init__(self, lr, every):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Linear(4, 2)
    def training_step(self, batch, i):
        return F.cross_entropy(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        h = self.hparams
        o = torch.optim.SGD(self.parameters(), lr=h.lr)
        s = torch.optim.lr_scheduler.StepLR(o, step_size=h.every, gamma=0.1)
        return {"optimizer": o, "lr_scheduler": {"scheduler": s, "interval": "INTERVAL"}}
cfg = {"model": {"lr": 0.1, "every": 8}, "epochs": 12}
net = Net(**cfg["model"])
L.Trainer(max_epochs=cfg["epochs"]).fit(net, loader)
"""

BALANCED = """
import pandas as pd
from sklearn.model_selection import train_test_split
def balance(table, rng):
    rare, common = table[table["y"] == 1], table[table["y"] == 0]
    at = {draw}
    return pd.concat([common, rare.loc[at]]).sample(frac=1.0)  # <-
"""

WRONG = {
    "code.temperature-multiplied": [
        "temperature = 0.1\na, b = F.normalize(f(x), dim=1), F.normalize(f(y), dim=1)\nlogits = a @ b.T * temperature  # <-\nloss = F.cross_entropy(logits, torch.arange(len(a)))",
        """
        def nt_xent(a, b, t):
            z = torch.cat([a, b])
            sim = z @ z.T * t  # <-
            return F.cross_entropy(sim, targets)
        cfg = {"temperature": 0.07}
        loss = nt_xent(F.normalize(f(x)), F.normalize(g(x)), cfg["temperature"])
        """,
        "tau = 0.2\nsims = torch.matmul(F.normalize(q), F.normalize(k).T)\nloss = nn.CrossEntropyLoss()(sims, y)\nother = F.cross_entropy(tau * sims, y)  # <-",
    ],
    "code.no-stop-gradient": [
        SIAMESE.format(
            loss="loss = -0.5 * (F.cosine_similarity(p1, z2, dim=1).mean() + F.cosine_similarity(p2, z1, dim=1).mean())  # <-"
        ),
        "def D(p, z):\n    return -F.cosine_similarity(p, z, dim=-1).mean()\n"
        + SIAMESE.format(loss="loss = D(p1, z2) / 2 + D(p2, z1) / 2"),
    ],
    "code.no-causal-mask": [
        ATTENTION.format(attend="return F.softmax(q @ k.transpose(-2, -1) / 8, dim=-1) @ v  # <-") + NEXT_TOKEN,
        ATTENTION.format(
            attend="att = (q @ k.transpose(-2, -1)) * 0.1\n        att = att.softmax(-1)  # <-\n        return att @ v"
        )
        + NEXT_TOKEN,
        ATTENTION.format(attend="return F.scaled_dot_product_attention(q, k, v)  # <-")
        + "def batch(i, n):\n    return data[i : i + n], data[i + 1 : i + 1 + n]\n"
        + LOOP.format(loss="F.cross_entropy(model(x), y)"),
        "model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4), 2)\noptimizer = torch.optim.Adam(model.parameters())\n"
        + NEXT_TOKEN,
    ],
    "code.word-labels-by-position": [
        """
        def encode(batch):
            enc = tokenizer(batch["words"], is_split_into_words=True, truncation=True)  # <-
            enc["labels"] = [[-100] + tags for tags in batch["tags"]]
            return enc
        """,
        """
        def encode(row):
            enc = tok(row["tokens"], is_split_into_words=True)  # <-
            n = len(enc["input_ids"])
            return {**enc, "labels": (row["ner"] + [-100] * n)[:n]}
        """,
    ],
    "code.marker-tokenised-alone": [
        """
        marker = tok("### Answer:")["input_ids"]  # <-
        def collate(rows):
            for row in rows:
                x, y = row["input_ids"], [-100] * len(row["input_ids"])
                for i in range(len(x) - len(marker)):
                    if x[i : i + len(marker)] == marker:
                        y[i + len(marker) :] = x[i + len(marker) :]
        """,
        """
        RESPONSE = "### Response:"
        ids = tokenizer.encode(RESPONSE, add_special_tokens=False)  # <-
        def mask(labels):
            for i in range(len(labels)):
                if ids == labels[i : i + len(ids)].tolist():
                    labels[: i + len(ids)] = -100
        """,
    ],
    "code.padded-to-maximum": [
        "from transformers import Trainer\nrows = data.map(lambda b: tok(b['text'], padding='max_length', truncation=True), batched=True)  # <-\nTrainer(model=m, train_dataset=rows)",
        "from transformers import Trainer\ndef enc(b):\n    return tokenizer(b['text'], padding='max_length', max_length=512)  # <-\nTrainer(model=m, train_dataset=rows.map(enc))",
    ],
    "code.wrapper-bypassed": [
        WRAPPED.format(called="model"),
        WRAPPED.format(called="ddp.module"),
    ],
    "code.resumed-weights-only": [
        RESUMED.format(path="args.resume", told=""),
        "resume_from = 'out/checkpoint-300'\n" + RESUMED.format(path="resume_from", told=""),
    ],
    "code.windows-split-at-random": [
        """
        xs = [series[i : i + 48] for i in range(len(series) - 48)]
        train, val = random_split(TensorDataset(torch.stack(xs)), [800, 200])  # <-
        """,
        """
        from sklearn.model_selection import train_test_split
        X, y = [], []
        for t in range(24, len(load)):
            X.append(load[t - 24 : t])
            y.append(load[t])
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)  # <-
        """,
        """
        def windows(s):
            idx = range(len(s) - 12)
            return torch.stack([s[i : i + 8] for i in idx]), torch.stack([s[i + 8 : i + 12] for i in idx])
        full = TensorDataset(*windows(series))
        train, val = random_split(full, [0.8, 0.2])  # <-
        """,
    ],
    "code.reward-by-length": [
        GRPO + GROWING.format(body="return [0.15 * len(c.split()) for c in completions]  # <-"),
        GRPO
        + GROWING.format(
            body="out = []\n    for c in completions:\n        out.append(float('because' in c) + len(c) / 100)  # <-\n    return out"
        ),
    ],
    "code.reward-compares-kinds": [
        GRPO + "import re\n" + COMPARED.format(answer="int(a) + int(b)", test="match.group(1) == truth"),
        GRPO + "import re\n" + COMPARED.format(answer="len(a)", test="truth == text.strip()"),
    ],
    "code.reference-elsewhere": [
        DPO
        + "policy = AutoModelForCausalLM.from_pretrained('sft')\nreference = AutoModelForCausalLM.from_pretrained('base')\nDPOTrainer(model=policy, ref_model=reference, train_dataset=d)  # <-",
    ],
    # --- further styles of rules that stand elsewhere
    "code.collective-on-some-ranks": [
        RANKS
        + "R, W = dist.get_rank(), dist.get_world_size()\ndef evaluate():\n    s = net(x)\n    dist.all_reduce(s)  # <-\n    return s\nfor step in range(100):\n    if step % 10 == 0 and R == 0:\n        evaluate()\n",
        RANKS + "me = int(os.environ['RANK'])\nif me == 0:\n    dist.barrier()  # <-\n",
    ],
    "code.collective-by-local-value": [
        STOPPING.format(decide="if stopper(value):\n        break  # <-"),
        STOPPING.format(decide="stopper(value)\n    if stopper.stop:\n        break  # <-"),
        STOPPING.format(decide="if value.item() < 0.1:\n        break  # <-"),
    ],
    "code.ranks-uneven": [
        RANKS
        + "rank = dist.get_rank()\nX, Y = read(os.path.join('shards', f'part-{rank:05d}.jsonl'))  # <-\nnet = DDP(nn.Linear(4, 2))\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor i in range(0, len(X), 20):\n    loss = F.cross_entropy(net(X[i : i + 20]), Y[i : i + 20])\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
    ],
    "code.schedule-runs-out": [
        ACCUMULATING.format(stepped="        scheduler.step()  # <-"),
        LIT.replace("INTERVAL", "step"),
        """
        from accelerate import Accelerator
        from transformers import get_cosine_schedule_with_warmup
        accelerator = Accelerator(gradient_accumulation_steps=cfg["accumulation"])
        model = nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        total = 3 * math.ceil(len(loader) / cfg["gradient_accumulation"])
        schedule = get_cosine_schedule_with_warmup(optimizer, 10, total)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.cross_entropy(model(x), y))
                optimizer.step()
                schedule.step()  # <-
                optimizer.zero_grad()
        """,
    ],
    "code.sorted-not-shuffled": [
        CLASSES.format(data="rows = [(doc(k), k) for k in range(4) for _ in range(500)]", more=""),
        CLASSES.format(
            data="rows = []\nfor label, name in enumerate(folders):\n    for path in glob(name):\n        rows.append((read(path), label))",
            more="",
        ),
    ],
    "code.shuffled-apart": [
        "texts = df['text'].sample(frac=1.0, random_state=1).tolist()  # <-\nlabels = df['label'].tolist()\nds = Dataset.from_dict({'text': texts[:800], 'label': labels[:800]})",
        "y = table['price'].values\nX = table['rooms'].sample(frac=1).to_numpy()  # <-\nX_train, X_test, y_train, y_test = train_test_split(X, y)",
    ],
    "code.multiplied-before-split": [
        "rows = [copy for row in raw for copy in [row] + [augment(row) for _ in range(9)]]  # <-\nsplit = Dataset.from_list(rows).train_test_split(test_size=0.1)",
        "rows = [augment(row) for row in raw for _ in range(5)]  # <-\ntrain, val = random_split(rows, [0.9, 0.1])",
        "rows = []\nfor row in raw:\n    for _ in range(4):\n        rows.append(add_noise(row))  # <-\ntrain, val = train_test_split(rows)",
        BALANCED.format(draw="rng.choice(rare.index.to_numpy(), size=900, replace=True)") + "table = balance(table, rng)\ntrain, test = train_test_split(table)",
        BALANCED.format(draw="rng.choice(rare.index, 900)")
        + "both = balance(table, rng).reset_index(drop=True)\nx, y = both.drop(columns='y').to_numpy(), both['y']\na, b, c, d = train_test_split(x, y)",
    ],
    "code.eval-keeps-graph": [
        "net = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\nhistory = []\nfor epoch in range(9):\n    net.train()\n"
        "    for x, y in loader:\n        loss = F.mse_loss(net(x), y)\n        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
        "    net.eval()\n    total = 0.0\n    for x, y in val_loader:\n        out = net(x)  # <-\n        total = total + F.mse_loss(out, y) / 4\n    history.append(total)\n",
    ],
    "code.loss-keeps-graph": [
        "net = nn.Linear(2, 2)\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\nscore = 0.0\nfor x, y in loader:\n    p = net(x).sigmoid()\n    loss = F.mse_loss(p, y)\n"
        "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n    score += 1 - (2 * (net(x).sigmoid() * y).sum() + 1) / (p.sum() + y.sum() + 1)  # <-\n",
    ],
    "code.sqrt-unguarded": [
        TRIPLETS.format(distance="return torch.sqrt(((u - v) ** 2).sum(-1))  # <-"),
        TRIPLETS.format(distance="return (u - v).pow(2).sum(dim=1).sqrt()  # <-"),
        TRIPLETS.format(
            distance="d2 = (u * u).sum(1)[:, None] + (v * v).sum(1) - 2 * u @ v.T\n    return d2.clamp(min=0).sqrt()  # <-"
        ),
    ],
    "code.preference-swapped": [
        "def pair(r):\n    best = r['better_response_id']\n    return {'prompt': r['q'], 'chosen': r[f'response_{1 - best}'], 'rejected': r[f'response_{best}']}  # <-",
        "def pair(r):\n    worse = r['worse_id']\n    return {'chosen': r['answers'][worse], 'rejected': r['answers'][1 - worse]}  # <-",
    ],
    "code.reference-is-policy": [
        HAND_DPO.format(reference="reference = policy  # <-"),
        HAND_DPO.format(reference="reference = policy.eval()  # <-"),
    ],
    "code.entropy-sign": [
        ACTOR.format(loss="policy_loss + 0.01 * E.mean()"),
        ACTOR.format(loss="policy_loss + ent_coef * E.mean()"),
    ],
    "code.column-against-row": [
        "net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))\noptimizer = torch.optim.Adam(net.parameters())\nrng = np.random.default_rng(0)\nX = torch.tensor(rng.normal(0, 1, (900, 6)))\ny = torch.tensor(rng.normal(0, 1, 900))\n"
        "def mse(pred, target):\n    return ((pred - target) ** 2).mean()  # <-\n"
        "for i in range(0, 800, 50):\n    loss = mse(net(X[i : i + 50]), y[i : i + 50])\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\nwith torch.no_grad():\n    pv = net(X[800:])\n    print(mse(pv, y[800:]))\n",
    ],
    "code.model-bf16": [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16)  # <-\nTrainer(model=model, args=TrainingArguments('out', learning_rate=3e-5), train_dataset=d).train()",
    ],
}

RIGHT = {
    "code.temperature-multiplied": [
        "temperature = 0.1\nlogits = F.normalize(a) @ F.normalize(b).T / temperature\nloss = F.cross_entropy(logits, y)",
        "logit_scale = 14.3\nlogits = F.normalize(a) @ F.normalize(b).T * logit_scale\nloss = F.cross_entropy(logits, y)",
        "temperature = 2.0\nloss = F.kl_div(F.log_softmax(s / temperature, -1), F.softmax(t / temperature, -1)) * temperature ** 2",
        "inverse_temp = 10\nlogits = F.normalize(a) @ F.normalize(b).T * inverse_temp\nloss = F.cross_entropy(logits, y)",
    ],
    "code.no-stop-gradient": [
        SIAMESE.format(
            loss="loss = -(F.cosine_similarity(p1, z2.detach(), dim=1).mean() + F.cosine_similarity(p2, z1.detach(), dim=1).mean())"
        ),
        SIAMESE.format(loss="loss = F.cross_entropy(p1 @ z2.T / 0.1, torch.arange(len(a)))"),
        SIAMESE.format(
            loss="loss = -F.cosine_similarity(p1, z2, dim=1).mean() + F.relu(1 - z1.std(0)).mean() + F.relu(1 - z2.std(0)).mean()"
        ),
    ],
    "code.no-causal-mask": [
        ATTENTION.format(attend="return F.scaled_dot_product_attention(q, k, v, is_causal=True)") + NEXT_TOKEN,
        ATTENTION.format(
            attend='att = q @ k.transpose(-2, -1)\n        att = att.masked_fill(self.mask == 0, float("-inf"))\n        return att.softmax(-1) @ v'
        )
        + NEXT_TOKEN,
        # an encoder that classifies sees all of its text
        ATTENTION.format(attend="return F.softmax(q @ k.transpose(-2, -1) / 8, dim=-1) @ v")
        + LOOP.format(loss="F.cross_entropy(model(x).mean(1), y)"),
        "model = nn.LSTM(64, 64)\noptimizer = torch.optim.Adam(model.parameters())\n" + NEXT_TOKEN,
    ],
    "code.word-labels-by-position": [
        """
        def encode(batch):
            enc = tokenizer(batch["words"], is_split_into_words=True)
            enc["labels"] = [[-100 if w is None else tags[w] for w in enc.word_ids(i)] for i, tags in enumerate(batch["tags"])]
            return enc
        """,
        "enc = tokenizer(words, is_split_into_words=True)\nlogits = model(**enc).logits",
    ],
    "code.marker-tokenised-alone": [
        """
        END = tok("<|assistant|>")["input_ids"]
        def mask(x, y):
            for i in range(len(x)):
                if x[i : i + len(END)] == END:
                    y[: i] = [-100] * i
        """,
        "prompt = tok('### Answer:')['input_ids']\nlabels = [-100] * len(prompt) + answer",
    ],
    "code.padded-to-maximum": [
        "from transformers import Trainer\nrows = data.map(lambda b: tok(b['text'], truncation=True))\nTrainer(model=m, train_dataset=rows)",
        "from transformers import Trainer\ndef collate(rows):\n    if on_tpu:\n        return tokenizer.pad(rows, padding='max_length', max_length=128)\n    return tokenizer.pad(rows, padding='longest')\nTrainer(model=m, data_collator=collate)",
        "print(tok(text, padding='max_length'))",
    ],
    "code.wrapper-bypassed": [
        WRAPPED.format(called="ddp"),
        WRAPPED.format(called="ddp").replace("ddp = DDP(model)", "ddp = model = DDP(model)"),
        WRAPPED.format(called="model").replace("ddp = DDP(model)", "model = DDP(model)"),
        WRAPPED.format(called="ddp") + "with torch.no_grad():\n    for x, y in val_loader:\n        print(model(x))\n",
        RANKS + "model = nn.Linear(4, 2)\nddp = DDP(model)\ntrain(ddp, loader)",
    ],
    "code.resumed-weights-only": [
        RESUMED.format(path="args.model", told=""),
        RESUMED.format(path="args.resume", told="resume_from_checkpoint=args.resume"),
    ],
    "code.windows-split-at-random": [
        "xs = [series[i : i + 48] for i in range(0, len(series) - 48, 48)]\ntrain, val = random_split(TensorDataset(torch.stack(xs)), [800, 200])",
        "xs = [series[i : i + 48] for i in range(len(series) - 48)]\ntrain, val = train_test_split(xs, test_size=0.2, shuffle=False)",
        "cut = 800\ntrain = [series[i : i + 48] for i in range(cut - 48)]\nval = [series[i : i + 48] for i in range(cut, 952)]",
        "rows = [table[i] for i in range(len(table))]\ntrain, val = random_split(rows, [0.8, 0.2])",
    ],
    "code.reward-by-length": [
        GRPO + GROWING.format(body="return [min(0.01 * len(c.split()), 0.2) for c in completions]"),
        GRPO + GROWING.format(body="return [-abs(20 - len(c)) for c in completions]"),
        GRPO + GROWING.format(body="return [-0.01 * len(c) for c in completions]"),
        GRPO + GROWING.format(body="return [len(set(c.split())) / len(c.split()) for c in completions]"),
        GRPO + GROWING.format(body="return [1.0 if len(c) < 200 else 0.0 for c in completions]"),
    ],
    "code.reward-compares-kinds": [
        GRPO + "import re\n" + COMPARED.format(answer="str(a + b)", test="match.group(1) == truth"),
        GRPO + "import re\n" + COMPARED.format(answer="int(a) + int(b)", test="int(match.group(1)) == truth"),
        GRPO + "import re\n" + COMPARED.format(answer="int(a) + int(b)", test="match.group(1) == str(truth)"),
        GRPO + "import re\n" + COMPARED.format(answer="solve(a, b)", test="match.group(1) == truth"),
    ],
    "code.reference-elsewhere": [
        DPO
        + "policy = AutoModelForCausalLM.from_pretrained('sft')\nreference = AutoModelForCausalLM.from_pretrained('sft')\nDPOTrainer(model=policy, ref_model=reference, train_dataset=d)",
        DPO
        + "policy = AutoModelForCausalLM.from_pretrained('sft')\nDPOTrainer(model=policy, ref_model=None, train_dataset=d)",
    ],
    "code.collective-on-some-ranks": [
        RANKS + "R, W = dist.get_rank(), dist.get_world_size()\ndist.all_reduce(s)\nif R == 0:\n    print(s)\n",
    ],
    "code.collective-by-local-value": [
        STOPPING.format(decide="dist.all_reduce(value)\n    if stopper(value):\n        break"),
        STOPPING.format(decide="if epoch > 40:\n        break"),
    ],
    "code.ranks-uneven": [
        RANKS
        + "rank = dist.get_rank()\nX = read(f'part-{rank}.jsonl')\nnet = DDP(nn.Linear(4, 2))\nopt = torch.optim.SGD(net.parameters(), 0.1)\nwith net.join():\n    for i in range(0, len(X), 20):\n        loss = net(X[i : i + 20]).sum()\n        opt.zero_grad()\n        loss.backward()\n        opt.step()\n",
    ],
    "code.schedule-runs-out": [
        ACCUMULATING.format(stepped="            scheduler.step()"),
        LIT.replace("INTERVAL", "epoch"),
    ],
    "code.sorted-not-shuffled": [
        CLASSES.format(data="rows = [(doc(k), k) for k in range(4) for _ in range(500)]", more=", shuffle=True"),
        CLASSES.format(data="rows = [(doc(k), k) for k in range(4) for _ in range(500)]\nrandom.shuffle(rows)", more=""),
        CLASSES.format(data="rows = [(doc(i), i % 4) for i in range(2000)]", more=""),
    ],
    "code.shuffled-apart": [
        "df = df.sample(frac=1.0)\ntexts = df['text'].tolist()\nlabels = df['label'].tolist()\nds = Dataset.from_dict({'text': texts, 'label': labels})",
        "few = df['text'].sample(frac=1.0).tolist()\nlabels = df['label'].tolist()\nprint(few[:5], labels[:5])",
    ],
    "code.multiplied-before-split": [
        "train, val = random_split(raw, [0.9, 0.1])\nrows = [augment(row) for row in train for _ in range(5)]",
        "rows = [cell for row in raw for cell in row]\ntrain, val = random_split(rows, [0.9, 0.1])",
        "rows = [draw(k) for k in range(4) for _ in range(500)]\ntrain, val = train_test_split(rows)",
        BALANCED.format(draw="rng.choice(rare.index, 900)") + "train, test = train_test_split(table)\ntrain = balance(train, rng)",
        BALANCED.format(draw="rng.choice(rare.index, 90, replace=False)") + "table = balance(table, rng)\ntrain, test = train_test_split(table)",
    ],
    "code.sqrt-unguarded": [
        TRIPLETS.format(distance="return torch.sqrt(((u - v) ** 2).sum(-1) + 1e-12)"),
        TRIPLETS.format(distance="return ((u - v) ** 2).sum(-1).clamp(min=1e-12).sqrt()"),
        TRIPLETS.format(distance="return ((u - v) ** 2).sum(-1)"),
        TRIPLETS.format(distance="return F.pairwise_distance(u, v)") + "print(((a - p) ** 2).mean().sqrt())",
    ],
    "code.preference-swapped": [
        "def pair(r):\n    best = r['better_response_id']\n    return {'chosen': r[f'response_{best}'], 'rejected': r[f'response_{1 - best}']}",
        "def pair(r):\n    k = r['k']\n    return {'chosen': r['answers'][1 - k], 'rejected': r['answers'][k]}",
    ],
    "code.reference-is-policy": [
        HAND_DPO.format(reference="reference = copy.deepcopy(policy).eval()"),
        HAND_DPO.format(reference="reference = nn.Linear(4, 4)\nreference.load_state_dict(policy.state_dict())"),
    ],
    "code.entropy-sign": [ACTOR.format(loss="policy_loss - 0.01 * E.mean()")],
    "code.column-against-row": [
        "net = nn.Linear(6, 1)\noptimizer = torch.optim.Adam(net.parameters())\ny = torch.randn(900)\nX = torch.randn(900, 6)\n"
        "def mse(pred, target):\n    return ((pred - target) ** 2).mean()\n"
        "for i in range(0, 800, 50):\n    loss = mse(net(X[i : i + 50]).squeeze(1), y[i : i + 50])\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\nprint(mse(net(X).flatten(), y))\n",
    ],
    "code.model-bf16": [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained(name)\nTrainer(model=model, args=TrainingArguments('out', learning_rate=3e-5, bf16=True), train_dataset=d).train()",
        "from peft import get_peft_model\nmodel = AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16)\nmodel = get_peft_model(model, lora)\nTrainer(model=model, args=TrainingArguments('out', learning_rate=3e-5), train_dataset=d).train()",
    ],
}
