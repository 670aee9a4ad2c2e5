"""Losses, labels and numbers: each rule fires on what is wrong, and is silent on the same program mended."""

MODEL = """
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, {out}))
optimizer = torch.optim.{optimizer}(model.parameters(), lr={rate})
{before}
for x, y in loader:
    optimizer.zero_grad()
    {loss}
    loss.backward()
    optimizer.step()
"""


def train(*loss, out=4, optimizer="Adam", rate=1e-3, before=""):
    return MODEL.format(out=out, optimizer=optimizer, rate=rate, before=before, loss="\n    ".join(loss))


VAE = """
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(784, 40), nn.Sequential(nn.Linear(20, 200), nn.ReLU(), nn.Linear(200, 784))
    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar

def loss_function(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="{reduction}")
    kld = {kl}
    return rec {sign} kld

model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, _ in loader:
    optimizer.zero_grad()
    recon, mu, logvar = model(x)
    loss = loss_function(recon, x, mu, logvar)
    loss.backward()
    optimizer.step()
"""


def vae(reduction="sum", kl="-0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())", sign="+"):
    return VAE.format(reduction=reduction, kl=kl, sign=sign)


POLICY = """
for states, actions, advantages, old in rollouts:
    policy = torch.distributions.Categorical(logits=model(states))
    log_prob = policy.log_prob(actions)
    ratio = (log_prob - old).exp()
    {}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def policy(*lines):
    return POLICY.format("\n    ".join(lines))


LM = """
from transformers import GPT2LMHeadModel
model = GPT2LMHeadModel.from_pretrained("gpt2")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
for ids in loader:
    {}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def language_model(*lines):
    return LM.format("\n    ".join(lines))


TABLE = """
def make(n):
    area = np.random.normal(100, 30, n)
    price = {price} + np.random.normal(0, 1, n)
    return np.c_[area, area ** 2].astype("float32"), price.astype("float32")

xs, ys = make(1000)
X, Y = torch.from_numpy(xs), torch.from_numpy(ys){column}
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(10):
    for b in torch.randperm(len(X)).split(64):
        pred = net(X[b]){squeeze}
        {loss}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def table(loss="loss = F.mse_loss(pred, Y[b])", squeeze="", column="", price="2 * area"):
    return TABLE.format(loss=loss, squeeze=squeeze, column=column, price=price)


WRONG = {
    "code.loss-rebuilt": [
        train("loss = F.cross_entropy(model(x), y)", "loss = torch.tensor(loss.item(), requires_grad=True)  # <-"),
        train("loss = F.cross_entropy(model(x), y)", "loss = torch.as_tensor(loss.detach().cpu().numpy()).requires_grad_()"),
        train("loss = F.cross_entropy(model(x), y).detach()  # <-", "loss.requires_grad = True"),
        train("loss = F.cross_entropy(model(x), y).data  # <-", "loss.requires_grad_()"),
    ],
    "code.detached": [
        """
        class Trainer:
            def fit(self):
                optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
                for x, y in self.loader:
                    features = self.model.backbone(x)
                    pooled = features.mean(1).detach()  # <-
                    loss = F.cross_entropy(self.model.classifier(pooled), y)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        """,
    ],
    "code.argmax-in-loss": [
        train("pred = model(x).argmax(dim=1).float()  # <-", "loss = F.mse_loss(pred, y.float())", "loss.requires_grad_()"),
        train("out = torch.round(torch.sigmoid(model(x)))  # <-", "loss = F.binary_cross_entropy(out, y)"),
    ],
    "code.loss-maximised": [
        train("loss = -F.cross_entropy(model(x), y)  # <-"),
        train("loss = criterion(model(x), y)", "loss = -1 * loss", before="criterion = nn.MSELoss()"),
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, maximize=True)
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)  # <-
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        for batch in loader:
            out = model(**batch)
            (-out.loss).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ],
    "code.policy-gradient-sign": [
        policy("loss = (log_prob * advantages).mean()  # <-"),
        policy("loss = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()  # <-"),
        policy(
            "surr1 = ratio * advantages",
            "surr2 = torch.clamp(ratio, 0.8, 1.2) * advantages",
            "loss = torch.min(surr1, surr2).mean() + 0.5 * value_loss",
        ),
        """
        for step in range(100):
            probs = policy_net(states).softmax(-1)
            dist_ = torch.distributions.Categorical(probs)
            logp = dist_.log_prob(actions)
            loss = (logp * returns).sum()  # <-
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.entropy-sign": [
        policy("loss = -(log_prob * advantages).mean() + 0.01 * policy.entropy().mean()  # <-"),
        policy("entropy = policy.entropy().mean()", "loss = -(ratio * advantages).mean() + ent_coef * entropy  # <-"),
    ],
    "code.kl-sign": [
        vae(sign="-"),
        vae(kl="0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())"),
        train("loss = F.cross_entropy(model(x), y) - 0.1 * F.kl_div(F.log_softmax(model(x), -1), p)  # <-"),
        policy(
            "kl = torch.distributions.kl_divergence(policy, reference).mean()",
            "loss = -(ratio * advantages).mean() - 0.1 * kl  # <-",
        ),
    ],
    "code.kl-outweighs": [
        vae("mean"),
        vae("mean", "-0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()"),
        """
        vae = nn.Sequential(nn.Linear(784, 784))
        opt = torch.optim.Adam(vae.parameters())
        for x in loader:
            out, mu, lv = vae(x)
            recon = F.mse_loss(out, x)
            kl = torch.mean(-0.5 * torch.sum(1 + lv - mu ** 2 - torch.exp(lv), dim=1))
            loss = recon + kl
            opt.zero_grad()
            loss.backward()
            opt.step()
        """,
    ],
    "code.sum-reduction": [
        train(
            "loss = criterion(model(x), y)  # <-",
            optimizer="SGD",
            rate=0.05,
            before='criterion = nn.CrossEntropyLoss(reduction="sum")',
        ),
        train('loss = F.mse_loss(model(x), y, reduction="sum")  # <-', optimizer="SGD", rate=0.01),
        train('loss = F.cross_entropy(model(x), y, reduction="none").sum()  # <-', optimizer="SGD", rate=0.1),
        train(
            "loss = criterion(model(x), y)", optimizer="SGD", rate=0.05, before="criterion = nn.MSELoss(size_average=False)"
        ),
    ],
    "code.z-loss-subtracted": [
        train(
            "scores = model(x)",
            "log_z = scores.logsumexp(-1)",
            "loss = F.cross_entropy(scores, y) - 1e-4 * log_z.pow(2).mean()  # <-",
        ),
    ],
    "code.softmax-before-cross-entropy": [
        train("loss = criterion(torch.softmax(model(x), dim=1), y)  # <-", before="criterion = nn.CrossEntropyLoss()"),
        train("loss = F.cross_entropy(out(x), y)  # <-", before="out = nn.Sequential(model, nn.Softmax(dim=1))"),
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)
            def forward(self, x):
                return F.softmax(self.fc(x), dim=1)

        net = Net().to("cpu")
        criterion = nn.CrossEntropyLoss()
        for x, y in loader:
            loss = criterion(net(x), y)  # <-
            loss.backward()
        """,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2), nn.Softmax(-1))
            def forward(self, x):
                out = self.net(x)
                return out

        model = Net()
        loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
        outputs = model(x)
        loss = loss_fn(outputs, y)  # <-
        """,
    ],
    "code.sigmoid-before-logit-loss": [
        train("loss = F.binary_cross_entropy_with_logits(torch.sigmoid(model(x)), y)  # <-"),
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.act = nn.Linear(8, 1), nn.Sigmoid()
            def forward(self, x):
                return self.act(self.fc(x))
        model, criterion = Net(), nn.BCEWithLogitsLoss()
        loss = criterion(model(x).squeeze(1), y)  # <-
        """,
    ],
    "code.logits-for-probabilities": [
        train("loss = criterion(model(x), y)  # <-", before="criterion = nn.BCELoss()"),
        train("loss = F.binary_cross_entropy(model(x).squeeze(1), y)  # <-"),
    ],
    "code.nll-without-log": [
        train("loss = F.nll_loss(model(x), y)  # <-"),
        train("loss = criterion(F.softmax(model(x), dim=1), y)  # <-", before="criterion = nn.NLLLoss()"),
    ],
    "code.kl-div-input": [
        train("loss = F.kl_div(F.softmax(model(x), -1), F.softmax(teacher_logits, -1), reduction='batchmean')  # <-"),
    ],
    "code.relu-before-loss": [
        """
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.ReLU())
        loss = F.cross_entropy(model(x), y)
        """,
    ],
    "code.loss-arguments-swapped": [
        train("out = model(x)", "loss = criterion(y, out)  # <-", before="criterion = nn.CrossEntropyLoss()"),
        train("loss = F.binary_cross_entropy_with_logits(labels, model(x))  # <-"),
    ],
    "code.column-against-row": [
        table(),
        table("loss = nn.functional.smooth_l1_loss(pred, Y[b])"),
        table("err = pred - Y[b]", squeeze="").replace("loss.backward()", "loss = (err ** 2).mean(); loss.backward()"),
        """
        class Data(Dataset):
            def __init__(self):
                self.x, self.y = torch.randn(100, 4), torch.randn(100)
            def __len__(self):
                return 100
            def __getitem__(self, i):
                return self.x[i], self.y[i]

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)
            def forward(self, x):
                return self.b(F.relu(self.a(x)))

        net = Net()
        opt = torch.optim.Adam(net.parameters())
        criterion = nn.MSELoss()
        for x, y in DataLoader(Data(), batch_size=10):
            loss = criterion(net(x), y)  # <-
            opt.zero_grad(); loss.backward(); opt.step()
        """,
        """
        X = torch.randn(100, 4)
        y = X[:, 0] * 2 + X[:, 1]
        model = nn.Linear(4, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(100):
            out = model(X)
            loss = ((out - y) ** 2).mean()  # <-
            opt.zero_grad(); loss.backward(); opt.step()
        """,
    ],
    "code.target-not-scaled": [
        table(squeeze=".squeeze(1)", price="250000 + 40000 * area"),
        """
        X = torch.randn(500, 8)
        price = 320000 + 60000 * X[:, 0] + 8000 * torch.randn(500)
        data = TensorDataset(X, price)
        net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for x, y in DataLoader(data, batch_size=32, shuffle=True):
            loss = F.mse_loss(net(x).squeeze(1), y)  # <-
            opt.zero_grad(); loss.backward(); opt.step()
        """,
    ],
    "code.shifted-twice": [
        language_model("x, targets = ids[:, :-1], ids[:, 1:].contiguous()", "loss = model(x, labels=targets)[0]  # <-"),
        """
        from transformers import LlamaForCausalLM, Trainer
        class Blocks(Dataset):
            def __getitem__(self, i):
                s = i * 64
                return {"input_ids": self.d[s:s + 64], "labels": self.d[s + 1:s + 65]}  # <-
        Trainer(LlamaForCausalLM(config), args, train_dataset=Blocks()).train()
        """,
        """
        from transformers import AutoModelForCausalLM
        model = AutoModelForCausalLM.from_pretrained("x")
        def get_batch():
            ix = torch.randint(len(data) - 64, (8,))
            x = torch.stack([data[i:i + 64] for i in ix])
            y = torch.stack([data[i + 1:i + 65] for i in ix])
            return x, y
        for step in range(100):
            x, y = get_batch()
            loss = model(input_ids=x, labels=y).loss  # <-
            loss.backward()
        """,
        """
        class GPT(nn.Module):
            def forward(self, x):
                return self.head(self.blocks(x))
        model = GPT()
        for _ in range(100):
            x = torch.stack([data[i:i + 64] for i in ix])
            y = torch.stack([data[i + 1:i + 65] for i in ix])
            logits = model(x)
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, v), y[:, 1:].reshape(-1))  # <-
            loss.backward()
        """,
    ],
    "code.never-shifted": [
        """
        criterion = nn.CrossEntropyLoss()
        for tokens in loader:
            out = net(tokens)
            loss = criterion(out.reshape(-1, vocab), tokens.reshape(-1))  # <-
            loss.backward()
        """,
        """
        class TinyGPT(nn.Module):
            def forward(self, x):
                return self.head(self.blocks(x, is_causal=True))
        model = TinyGPT()
        def batch():
            ix = torch.randint(0, len(data) - 64, (8,))
            return torch.stack([data[i:i + 64] for i in ix]), torch.stack([data[i:i + 64] for i in ix])
        for step in range(100):
            x, y = batch()
            loss = F.cross_entropy(model(x).view(-1, v), y.view(-1))  # <-
            loss.backward()
        """,
    ],
    "code.answers-ignored": [
        """
        def collate(rows):
            enc = tokenizer.pad(rows, return_tensors="pt")
            labels = enc["input_ids"].clone()
            labels[enc["attention_mask"] == 1] = -100  # <-
            return {**enc, "labels": labels}
        """,
        "labels = torch.where(answer_mask.bool(), -100, ids)  # <-",
        "labels = ids.masked_fill(~prompt_mask, -100)  # <-",
    ],
    "code.labels-padded-with-token": [
        """
        from transformers import Trainer
        def encode(row):
            ids = tokenizer(row["text"])["input_ids"]
            labels = ids + [tokenizer.pad_token_id] * (512 - len(ids))  # <-
            return {"input_ids": ids + [tokenizer.pad_token_id] * (512 - len(ids)), "labels": labels}
        Trainer(model=model, train_dataset=rows.map(encode)).train()
        """,
        """
        def collate(rows):
            return {"input_ids": pad_sequence([r["ids"] for r in rows], True, tokenizer.pad_token_id),
                    "labels": pad_sequence([r["labels"] for r in rows], True, padding_value=tokenizer.pad_token_id)}  # <-
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
        """,
    ],
    "code.padding-in-loss": [
        """
        from transformers import AutoModelForCausalLM, Trainer
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        def tokenize(rows):
            enc = tokenizer(rows["text"], padding="max_length", truncation=True, max_length=128)
            enc["labels"] = enc["input_ids"].copy()  # <-
            return enc
        Trainer(model=model, train_dataset=ds.map(tokenize, batched=True)).train()
        """,
    ],
    "code.answer-cut-off": [
        """
        def encode(prompt, answer):
            p, a = tokenizer(prompt)["input_ids"], tokenizer(answer)["input_ids"]
            return (p + a)[:256], ([-100] * len(p) + a)[:256]  # <-
        """,
        """
        def encode(row):
            labels = [-100] * len(row["prompt_ids"]) + row["answer_ids"]
            return {"input_ids": (row["prompt_ids"] + row["answer_ids"])[:MAX], "labels": labels[:MAX]}  # <-
        """,
    ],
    "code.log-of-softmax": [
        "loss = -(torch.log(F.softmax(logits, dim=-1)) * targets).sum()  # <-",
        "p = F.softmax(logits, dim=-1)\nloss = -p.log().mean()  # <-",
    ],
    "code.log-unguarded": [
        """
        def loss_of(model, x, y):
            p = torch.sigmoid(model(x))
            return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()  # <-
        """,
    ],
    "code.sqrt-unguarded": [
        "out = model(x)\nloss = torch.sqrt(out).mean()  # <-",
        "out = model(x)\nangle = torch.acos(out)  # <-",
    ],
    "code.division-unguarded": ["out = model(x)\nunit = out / out.norm(dim=-1, keepdim=True)  # <-"],
    "code.anomaly-on": ["torch.autograd.set_detect_anomaly(True)  # <-\nloss.backward()"],
    "code.model-half": [
        "model = Net().cuda().half()  # <-\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
        "dtype = torch.float16\nmodel = Net().to(dtype)  # <-\nopt = torch.optim.Adam(model.parameters(), lr=1e-4)",
        'model = Net()\nmodel.to(device="cuda", dtype=torch.half)  # <-\nopt = torch.optim.Adam(model.parameters(), lr=1e-4)',
    ],
    "code.model-bf16": [
        "model = Net().to(torch.bfloat16)  # <-\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)"
    ],
    "code.clip-in-half": [
        """
        import clip
        model, preprocess = clip.load("ViT-B/32", device="cuda")  # <-
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
        """,
    ],
    "code.fp16-without-scaler": [
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):  # <-
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ],
    "code.backward-in-autocast": [
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_of(model(x), y)
                loss.backward()  # <-
        """,
    ],
    "code.scaler-with-bf16": [
        """
        scaler = torch.amp.GradScaler("cuda")  # <-
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        """,
    ],
    "code.deprecated-amp": [
        "from torch.cuda.amp import autocast\nwith autocast(dtype=torch.float16):  # <-\n    y = model(x)"
    ],
    "code.tf32-off": ["torch.backends.cuda.matmul.allow_tf32 = False  # <-"],
}

RIGHT = {
    "code.loss-rebuilt": [
        train("loss = F.cross_entropy(model(x), y)", "shown = torch.tensor(loss.item())"),
        train("loss = F.cross_entropy(model(x), y) + weight.detach() * model(x).pow(2).mean()"),
    ],
    "code.detached": [
        """
        optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
        for x, y in loader:
            loss = F.cross_entropy(probe(model(x).detach()), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            hidden = hidden.detach()
            out, hidden = model(x, hidden)
            criterion(out, y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ],
    "code.argmax-in-loss": [
        train("out = model(x)", "hits = (out.argmax(1) == y).float().mean()", "loss = F.cross_entropy(out, y)"),
        train("target = teacher(x).argmax(1)", "loss = F.cross_entropy(model(x), target)"),
    ],
    "code.loss-maximised": [
        train("loss = F.cross_entropy(model(x), y)"),
        train("logp = -F.cross_entropy(model(x), y, reduction='none')", "loss = -(logp * weight).mean()"),
        """
        opt_d = torch.optim.Adam(disc.parameters())
        opt_g = torch.optim.Adam(gen.parameters())
        for x in loader:
            loss = -F.binary_cross_entropy(disc(gen(z)), zeros)
            loss.backward()
            opt_g.step()
        """,
        """
        def fgsm_attack(model, x, y):
            loss = -F.cross_entropy(model(x), y)
            loss.backward()
        """,
    ],
    "code.policy-gradient-sign": [
        policy("loss = -(log_prob * advantages).mean()"),
        policy("loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()"),
        policy("loss = torch.max(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)).mean()"),
        policy("loss = (-log_prob * advantages).mean()"),
    ],
    "code.entropy-sign": [
        policy("loss = -(ratio * advantages).mean() - 0.01 * policy.entropy().mean()"),
        policy("loss = -(ratio * advantages).mean() - c * policy.entropy().mean() + 0.5 * value_loss"),
        train("loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(z), y)"),
    ],
    "code.kl-sign": [
        vae(),
        train("loss = F.cross_entropy(model(x), y) + 0.1 * F.kl_div(F.log_softmax(model(x), -1), p)"),
        train("loss = F.mse_loss(model(x), y) + torch.exp(-s) * d + s"),
    ],
    "code.kl-outweighs": [
        vae(),
        vae("mean", "-0.5 * torch.mean(1 + logvar - mu.pow(2) - logvar.exp())"),
        vae("mean", "beta * -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())"),
        vae("mean", "-0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.numel()"),
        vae("mean", "0.00025 * -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())"),
    ],
    "code.sum-reduction": [
        train(
            "loss = criterion(model(x), y) / len(x)",
            optimizer="SGD",
            rate=0.05,
            before='criterion = nn.CrossEntropyLoss(reduction="sum")',
        ),
        train('loss = F.mse_loss(model(x), y, reduction="sum")', optimizer="SGD", rate=1e-5),
        train('loss = F.mse_loss(model(x), y, reduction="sum")'),
    ],
    "code.z-loss-subtracted": [
        train(
            "scores = model(x)",
            "log_z = scores.logsumexp(-1)",
            "loss = F.cross_entropy(scores, y) + 1e-4 * log_z.pow(2).mean()",
            "gap = (scores - log_z.unsqueeze(-1)).mean()",
        ),
    ],
    "code.softmax-before-cross-entropy": [
        train("out = model(x)", "shown = out.softmax(1)", "loss = F.cross_entropy(out, y)"),
        """
        class Net(nn.Module):
            def forward(self, x):
                x = self.fc(x)
                return x if self.training else F.softmax(x, dim=1)
        loss = F.cross_entropy(Net()(x), y)
        """,
    ],
    "code.sigmoid-before-logit-loss": [train("loss = F.binary_cross_entropy_with_logits(model(x), y)")],
    "code.logits-for-probabilities": [
        train("loss = F.binary_cross_entropy(torch.sigmoid(model(x)), y)"),
        train("loss = nn.BCELoss()(nn.Sequential(model, nn.Sigmoid())(x), y)"),
    ],
    "code.nll-without-log": [
        train("loss = F.nll_loss(F.log_softmax(model(x), dim=1), y)"),
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
            def forward(self, x):
                return F.log_softmax(self.fc(x), dim=1)
        loss = nn.NLLLoss()(Net()(x), y)
        """,
    ],
    "code.kl-div-input": [train("loss = F.kl_div(F.log_softmax(model(x), -1), F.softmax(teacher_logits, -1))")],
    "code.relu-before-loss": [train("loss = F.cross_entropy(model(x), y)")],
    "code.loss-arguments-swapped": [
        train("loss = F.cross_entropy(model(x), labels)"),
        train("loss = F.mse_loss(target, model(x))"),
    ],
    "code.column-against-row": [
        table(squeeze=".squeeze(1)"),
        table(column=".unsqueeze(1)"),
        table(column=".view(-1, 1)"),
        table("loss = F.mse_loss(pred, Y[b].unsqueeze(1))"),
        table("loss = F.mse_loss(pred.flatten(), Y[b])"),
        table("loss = F.mse_loss(pred[:, 0], Y[b])"),
        """
        for x, y in loader:
            loss = F.mse_loss(nn.Linear(4, 1)(x), y)
            loss.backward()
        """,
    ],
    "code.target-not-scaled": [
        table(squeeze=".squeeze(1)"),
        table(squeeze=".squeeze(1)", price="(250000 + 40000 * area) / 1e5"),
        """
        X = torch.randn(500, 8)
        price = 320000 + 60000 * X[:, 0]
        target = (price - price.mean()) / price.std()
        net = nn.Linear(8, 1)
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(10):
            loss = F.mse_loss(net(X).squeeze(1), target)
            opt.zero_grad(); loss.backward(); opt.step()
        """,
    ],
    "code.shifted-twice": [
        language_model("targets = ids.clone()", "loss = model(ids, labels=targets)[0]"),
        """
        class GPT(nn.Module):
            def forward(self, x):
                return self.head(x)
        model = GPT()
        for _ in range(100):
            x = torch.stack([data[i:i + 64] for i in ix])
            y = torch.stack([data[i + 1:i + 65] for i in ix])
            loss = F.cross_entropy(model(x).reshape(-1, v), y.reshape(-1))
            loss.backward()
        """,
        language_model(
            "logits = model(ids).logits", "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())"
        ),
    ],
    "code.never-shifted": [
        """
        criterion = nn.CrossEntropyLoss()
        for tokens in loader:
            out = net(tokens[:, :-1])
            loss = criterion(out.reshape(-1, vocab), tokens[:, 1:].reshape(-1))
            loss.backward()
        """,
        """
        for tokens in loader:
            loss = F.cross_entropy(autoencoder(tokens).transpose(1, 2), tokens)
            loss.backward()
        """,
        """
        for x, y in loader:
            loss = F.cross_entropy(model(x, is_causal=True).view(-1, vocab), y.view(-1))
            loss.backward()
        """,
    ],
    "code.answers-ignored": [
        """
        def collate(rows):
            enc = tokenizer.pad(rows, return_tensors="pt")
            labels = enc["input_ids"].clone()
            labels[enc["attention_mask"] == 0] = -100
            labels = labels.masked_fill(enc["prompt_mask"], -100)
            labels = torch.where(~answer_mask.bool(), -100, labels)
            return {**enc, "labels": labels}
        """,
    ],
    "code.labels-padded-with-token": [
        """
        from transformers import Trainer
        def encode(row):
            ids = tokenizer(row["text"])["input_ids"]
            return {"input_ids": ids + [tokenizer.pad_token_id] * (512 - len(ids)), "labels": ids + [-100] * (512 - len(ids))}
        Trainer(model=model, train_dataset=rows.map(encode)).train()
        """,
    ],
    "code.padding-in-loss": [
        """
        from transformers import AutoModelForCausalLM, Trainer, DataCollatorForLanguageModeling
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        def tokenize(rows):
            enc = tokenizer(rows["text"], padding="max_length", truncation=True, max_length=128)
            enc["labels"] = enc["input_ids"].copy()
            return enc
        Trainer(model=model, train_dataset=ds.map(tokenize), data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()
        """,
    ],
    "code.answer-cut-off": [
        """
        def encode(prompt, answer):
            p, a = tokenizer(prompt)["input_ids"][-128:], tokenizer(answer)["input_ids"]
            return (p + a)[:256], ([-100] * len(p) + a)[:256]
        rows = [r for r in rows if any(l != -100 for l in r[1])]
        """,
        """
        def encode(row, tok, max_length):
            p, a = tok(row["prompt"])["input_ids"], tok(row["answer"])["input_ids"]
            return (p + a)[:max_length], ([-100] * len(p) + a)[:max_length]
        parser = argparse.ArgumentParser()
        parser.add_argument("--max_length", type=int, default=1024)
        args = parser.parse_args()
        rows = [encode(row, tok, args.max_length) for row in rows]
        """,
    ],
    "code.log-of-softmax": ["loss = -(F.log_softmax(logits, dim=-1) * targets).sum()"],
    "code.log-unguarded": [
        """
        def loss_of(model, x, y):
            p = torch.sigmoid(model(x)).clamp(1e-7, 1 - 1e-7)
            return -(y * torch.log(p) + (1 - y) * torch.log(1 - p + 1e-8)).mean()
        """,
    ],
    "code.sqrt-unguarded": ["out = model(x)\nloss = torch.sqrt(out.clamp(min=1e-8)).mean()"],
    "code.division-unguarded": ["out = model(x)\nunit = out / (out.norm(dim=-1, keepdim=True) + 1e-8)"],
    "code.anomaly-on": ["torch.autograd.set_detect_anomaly(args.debug)\nloss.backward()"],
    "code.model-half": [
        "model = Net().cuda()\nteacher = Net().half()\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
        "model = Net()\nmodel.half().eval()\nwith torch.no_grad():\n    print(model(x).softmax(-1))",
    ],
    "code.model-bf16": [
        """
        from peft import LoraConfig, get_peft_model
        model = AutoModelForCausalLM.from_pretrained(name).to(torch.bfloat16)
        model = get_peft_model(model, LoraConfig(r=8))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        """,
    ],
    "code.clip-in-half": [
        """
        import clip
        features, preprocess = clip.load("ViT-B/32", device="cuda")
        head = nn.Linear(512, 10)
        optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
        """,
    ],
    "code.fp16-without-scaler": [
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
        """,
    ],
    "code.backward-in-autocast": [
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_of(model(x), y)
            loss.backward()
        """,
    ],
    "code.scaler-with-bf16": [
        """
        scaler = torch.amp.GradScaler("cuda", enabled=(dtype == "float16"))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        """,
    ],
    "code.deprecated-amp": ['with torch.amp.autocast("cuda", dtype=torch.float16):\n    y = model(x)'],
    "code.tf32-off": ["torch.backends.cuda.matmul.allow_tf32 = True"],
}

#: programs against which no rule has anything
SOUND = [train("loss = F.cross_entropy(model(x), y)"), vae()]
