"""Programs whose mistake is carried by what a framework does: buffers that are registered, batches that Lightning hands on,
settings that depend on the machine, values that a helper fills up with."""

POWER = """
import lightning as L
class Data(L.LightningDataModule):
    def setup(self, stage=None):
        x, y = torch.randn(100, 4), torch.randn(100{more})
        self.train_set = TensorDataset(x[:80], y[:80])
    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=8, shuffle=True)
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    def forward(self, x):
        return self.net(x){end}
    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self(x), y)  # <-
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)
L.Trainer(max_epochs=2).fit(Net(), datamodule=Data())
"""
MASKED = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.{kind}(torch.ones(64, 64, dtype=torch.bool){more}), persistent=False)
    def forward(self, q, k, v):
        t = q.size(-2)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:t, :t])  # <-
"""
ACCELERATED = """
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="{format}" if torch.cuda.is_available() else "no")
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    accelerator.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-
    optimizer.step()
    optimizer.zero_grad()
"""
PADDED = """
from transformers import Seq2SeqTrainer
PAD = 0
def right_pad(rows, value):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])
def collate(rows):
    ids = right_pad([row["input_ids"] for row in rows], PAD)
    labels = right_pad([row["labels"] for row in rows], {fill})  # <-
    return {{"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}}
Seq2SeqTrainer(model=model, args=args, data_collator=collate, train_dataset=rows).train()
"""
RANKED = """
def pair(thread):
    ranked = sorted(thread["replies"], key=lambda reply: reply["upvotes"]{order})
    return {{
        "prompt": thread["question"],
        "chosen": " " + ranked[0]["body"],  # <-
        "rejected": " " + ranked[-1]["body"],
    }}
"""
PPO = """
for update in range(100):
    data = collect(env, net)
    obs, act, adv{kept} = flatten(data)
    for _ in range(4):
        for idx in torch.randperm(len(obs)).split(64):
            {old}
            logp = net.dist(obs[idx]).log_prob(act[idx]).sum(-1)
            ratio = (logp - old).exp()
            loss = -torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
AGAIN = "with torch.no_grad(): old = net.dist(obs[idx]).log_prob(act[idx]).sum(-1)  # <-"

WRONG = {
    "code.column-against-row": [POWER.format(more="", end="")],
    "code.mask-fills-real": [MASKED.format(kind="triu", more=", diagonal=1")],
    "code.clip-past-accelerator": [ACCELERATED.format(format="fp16")],
    "code.labels-padded-with-token": [PADDED.format(fill="PAD")],
    "code.preference-swapped": [RANKED.format(order="")],
    "code.old-policy-recomputed": [PPO.format(kept="", old=AGAIN)],
}

RIGHT = {
    "code.column-against-row": [POWER.format(more=", 1", end=""), POWER.format(more="", end=".squeeze(-1)")],
    "code.mask-fills-real": [MASKED.format(kind="tril", more="")],
    "code.clip-past-accelerator": [ACCELERATED.format(format="bf16")],
    "code.labels-padded-with-token": [PADDED.format(fill="-100")],
    "code.preference-swapped": [RANKED.format(order=", reverse=True")],
    "code.old-policy-recomputed": [PPO.format(kept=", before", old="old = before[idx]")],
    "code.tf32-off": [
        """
        model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2)).to("cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    ],
}

ACTOR = """
for rollout in rollouts:
    flat, adv = rollout.flat, rollout.advantages
    for index in torch.randperm(len(adv)).split(64):
        logp = agent.dist(flat["obs"][index]).log_prob(flat["action"][index])
        ratio = ({ratio}).exp()
        a = adv[index]
        a = (a - a.mean()) / (a.std() + 1e-8)
        gain = torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
        loss = {sign}gain
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
RIGHT_RATIO = 'logp - flat["logp"][index]'
CUT = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        h = self.head(x)
        return {value}
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    out{more} = model(x)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
EXCHANGED = """
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, wanted in loader:
    objective = F.cross_entropy({first}, {second})
    opt.zero_grad()
    objective.backward()
    opt.step()
"""
LOADERS = """
import lightning as L
class Data(L.LightningDataModule):
    def setup(self, stage=None):
        self.train_set, self.val_set = torch.utils.data.random_split(make(), [800, 200])
    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=8, shuffle=True)
    def val_dataloader(self):
        return DataLoader(self.{held}, batch_size=8)
"""
ADVANTAGES = """
rewards, values, dones = [], [], []
with torch.no_grad():
    for _ in range(64):
        obs, reward, done = env.step(policy(obs).argmax(-1))
        rewards.append(reward); dones.append(done.float()); values.append(critic(obs))
    last = critic(obs)
running = 0.0
for t in reversed(range(64)):
    ahead = last if t == 63 else values[t + 1]
    delta = rewards[t] + 0.99 * ahead{mask} - values[t]  # <-
    running = delta + 0.95 * 0.99 * (1.0 - dones[t]) * running
"""
WRONG |= {
    "code.bootstrap-through-end": [ADVANTAGES.format(mask="")],
    "code.ratio-inverted": [ACTOR.format(ratio='flat["logp"][index] - logp', sign="-")],
    "code.policy-gradient-sign": [ACTOR.format(ratio=RIGHT_RATIO, sign="")],
    "code.detached": [CUT.format(value="h.detach()", more=""), CUT.format(value="h.detach(), x", more=", _")],
    "code.loss-arguments-swapped": [EXCHANGED.format(first="wanted.cuda()", second="net(inputs)")],
    "code.same-data-for-eval": [LOADERS.format(held="train_set")],
}
RIGHT |= {
    "code.bootstrap-through-end": [ADVANTAGES.format(mask=" * (1.0 - dones[t])")],
    "code.ratio-inverted": [ACTOR.format(ratio=RIGHT_RATIO, sign="-")],
    "code.policy-gradient-sign": [ACTOR.format(ratio=RIGHT_RATIO, sign="-")],
    "code.detached": [CUT.format(value="h, h.detach()", more=", _")],
    "code.loss-arguments-swapped": [EXCHANGED.format(first="net(inputs)", second="wanted.cuda()")],
    "code.same-data-for-eval": [LOADERS.format(held="val_set")],
}
