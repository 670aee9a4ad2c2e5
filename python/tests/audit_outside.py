"""Programs of kinds that strangers' runs brought: each rule on a wrong program and on sound ones that look alike."""

LIGHTNING = """
import lightning as L
class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.kept = []
    def forward(self, x):
        return {forward}
    def training_step(self, batch, _):
        x, y = batch
        return F.cross_entropy(self(x), y)
    def validation_step(self, batch, _):
        x, y = batch
        self.kept.append({kept})
    def on_validation_epoch_end(self):
        {end}
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)
"""


def lightning(forward="self.net(x)", kept="self(x)", end="self.kept.clear()"):
    return LIGHTNING.format(forward=forward, kept=kept, end=end)



LOOP = """
from transformers import get_linear_schedule_with_warmup, get_constant_schedule_with_warmup
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = {schedule}
for epoch in range({epochs}):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
"""
LINEAR = "get_linear_schedule_with_warmup(optimizer, num_warmup_steps=10, num_training_steps={})"
TAGS = """
from transformers import AutoTokenizer, Trainer
def encode(row):
    enc = tokenizer(row["words"], is_split_into_words=True, truncation=True)
    {labels}
    return enc
train = rows.map(encode)
Trainer(model=model, args=args, train_dataset=train).train()
enc = tokenizer("a b".split(), is_split_into_words=True)
print(enc.word_ids())
"""
SEQ2SEQ = """
from transformers import Seq2SeqTrainer
def encode(rows):
    enc = tokenizer(rows["source"])
    target = tokenizer(rows["target"])
    {parts}
    return enc
Seq2SeqTrainer(model=model, args=args, train_dataset=rows.map(encode, batched=True)).train()
"""
CHAT = """
from trl import SFTTrainer
def text_of(row):
    {text}
SFTTrainer(model=model, args=args, train_dataset=rows.map(text_of)).train()
prompt = tokenizer.apply_chat_template([{{"role": "user", "content": "hi"}}], add_generation_prompt=True, tokenize=False)
"""
CONTROL = """
gamma = 0.99
policy = nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
for update in range(100):
    rewards, dones, values = [], [], []
    for t in range(128):
        obs, r, done, info = env.step(policy(obs).argmax())
        rewards.append(r); dones.append(done); values.append(value(obs))
        {reset}
    g = 0
    for t in reversed(range(127)):
        {target}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
REPLAY = """
GAMMA = 0.98
q, target_net = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.Adam(q.parameters(), 1e-3)
for step in range(1000):
    s2, r, done, _ = env.step(a)
    memory.push(s, a, r, s2, done)
    if done:
        s2 = env.reset()
    states, actions, rewards, following, {name} = memory.sample(64)
    y = rewards + GAMMA * target_net(following).max(1).values{cut}
    loss = F.mse_loss(q(states), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


ADAPTED = """
from peft import LoraConfig, get_peft_model
def make_optimizer(params, lr):
    return_value = torch.optim.AdamW(params, lr=lr)
    return return_value
model = nn.Linear(4, 2)
{lines}
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
MADE = "opt = make_optimizer([p for p in model.parameters() if p.requires_grad], 1e-3)"
WRAP = "model = get_peft_model(model, LoraConfig())"
RANKS = """
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
net = DDP(Net())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for x, y in loader:
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
out = net.module(x)
"""


ONE_CYCLE = """
import lightning as L
class Lit(L.LightningModule):
    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=self.trainer.estimated_stepping_batches)
        return {given}
"""
ACCELERATED = """
from accelerate import Accelerator
acc = Accelerator()
net = CharLM()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
step = 0
if args.resume:
    ck = torch.load(args.resume)
    acc.unwrap_model(net).load_state_dict(ck["model"]); step = ck["step"]{also}
while step < 100:
    loss = F.cross_entropy(net(x), y)
    acc.backward(loss)
    opt.step()
    opt.zero_grad()
    step += 1
"""


def scheduled(schedule, epochs):
    return LOOP.format(schedule=schedule, epochs=epochs)


def seq2seq(*parts):
    return SEQ2SEQ.format(parts="\n    ".join(parts))


def control(target, reset="pass"):
    return CONTROL.format(reset=reset, target=target)


WRONG = {
    "code.softmax-before-cross-entropy": [lightning(forward="F.softmax(self.net(x), dim=-1)")],
    "code.outputs-kept": [lightning(end='self.log("n", torch.cat(self.kept).mean())')],
    "code.schedule-runs-out": [scheduled(LINEAR.format("len(loader)"), 5)],
    "code.schedule-barely-moves": [
        ONE_CYCLE.format(given="[opt], [sched]"),
        ONE_CYCLE.format(given='{"optimizer": opt, "lr_scheduler": sched}'),
    ],
    "code.optimizer-not-restored": [ACCELERATED.format(also="")],
    "code.checkpoints-sorted-as-text": [
        'from glob import glob\nfound = sorted(glob("out/checkpoint-*"))  # <-\nstate = torch.load(found[-1])\n',
        'import os\nnames = [n for n in os.listdir("ckpt") if n.startswith("epoch_")]\nnames.sort()  # <-\nlast = names[-1]\n',
        'import pathlib\nlast = max(pathlib.Path("out").glob("step*.pt"))  # <-\n',
        'import glob\nlast = sorted(glob.glob(f"{out}/model_epoch*.pth"))[-1]  # <-\n',
    ],
    "code.word-labels-by-position": [TAGS.format(labels='enc["labels"] = row["tags"] + [-100] * 3')],
    "code.decoder-sees-answers": [
        seq2seq('enc["decoder_input_ids"] = target["input_ids"]', 'enc["labels"] = target["input_ids"]'),
        seq2seq(
            'enc["labels"] = [[t if t else -100 for t in row] for row in target["input_ids"]]',
            'enc["decoder_input_ids"] = target["input_ids"]',
        ),
        'def collate(rows):\n    return {"decoder_input_ids": tgt, "labels": tgt.masked_fill(tgt == 0, -100)}\n',
    ],
    "code.optimizer-before-model": [ADAPTED.format(lines=f"{MADE}  # <-\n{WRAP}")],
    "code.wrapper-bypassed": [RANKS.format(loss="net.module.loss(x, y)  # <-")],
    "code.class-zero-ignored": [
        'labels = [TAGS.get(tag) or -100 for tag in tags]',
        'IGNORE = -100\nlabel = ids[word] or IGNORE\n',
    ],
    "code.two-chat-templates": [
        CHAT.format(text='return {"text": f"### Instruction: {row[0]} ### Response: {row[1]}"}'),
        CHAT.format(text='return {"text": "[INST] " + row[0] + " [/INST] " + row[1]}'),
    ],
    "code.ends-not-cut": [
        control("delta = rewards[t] + gamma * values[t + 1] - values[t]  # <-", "obs = env.reset() if done else obs"),
        control("target = rewards[t] + gamma * values[t + 1].detach()  # <-"),
        REPLAY.format(name="_", cut="  # <-"),
    ],
}

RIGHT = {
    "code.softmax-before-cross-entropy": [lightning()],
    "code.outputs-kept": [
        lightning(),
        lightning(end="self.kept = []"),
        lightning(end="del self.kept[:]"),
        lightning(end="out, self.kept = self.kept, []"),
        lightning(kept="self(x).mean().item()", end="pass"),
    ],
    "code.schedule-runs-out": [
        scheduled(LINEAR.format("len(loader) * 5"), 5),
        scheduled(LINEAR.format("len(loader)"), 1),
        scheduled("get_constant_schedule_with_warmup(optimizer, num_warmup_steps=len(loader))", 5),
        scheduled("torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=len(loader))", 5),
    ],
    "code.schedule-barely-moves": [
        ONE_CYCLE.format(given='[opt], [{"scheduler": sched, "interval": "step"}]'),
        ONE_CYCLE.replace("OneCycleLR", "ExponentialLR").format(given="[opt], [sched]"),
    ],
    "code.optimizer-not-restored": [ACCELERATED.format(also='; opt.load_state_dict(ck["optimizer"])')],
    "code.checkpoints-sorted-as-text": [
        'from glob import glob\nlast = sorted(glob("out/checkpoint-*"), key=lambda n: int(n.split("-")[-1]))[-1]\n',
        'import os\nfrom glob import glob\nlast = max(glob("ckpt/*.pt"), key=os.path.getmtime)\n',
        'from glob import glob\ntorch.save(state, f"ckpt/epoch_{epoch:04d}.pt")\nlast = sorted(glob("ckpt/epoch_*.pt"))[-1]\n',
        'from glob import glob\nfor name in sorted(glob("data/*.txt")):\n    print(name)\n',
        'from glob import glob\nfor name in sorted(glob("ckpt/epoch_*.pt")):\n    print(name)\n',
    ],
    "code.word-labels-by-position": [
        TAGS.format(labels='enc["labels"] = [-100 if w is None else row["tags"][w] for w in enc.word_ids()]'),
    ],
    "code.decoder-sees-answers": [
        seq2seq('enc["labels"] = target["input_ids"]'),
        seq2seq(
            'enc["decoder_input_ids"] = [[0] + row[:-1] for row in target["input_ids"]]', 'enc["labels"] = target["input_ids"]'
        ),
        'def collate(rows):\n    return {"decoder_input_ids": tgt[:, :-1], "labels": tgt[:, 1:].masked_fill(tgt[:, 1:] == 0, -100)}\n',
        'out = model(decoder_input_ids=enc["decoder_input_ids"], labels=enc["labels"])\n',
        seq2seq('enc["decoder_input_ids"] = model._shift_right(target["input_ids"])', 'enc["labels"] = target["input_ids"]'),
    ],
    "code.optimizer-before-model": [
        ADAPTED.format(lines=f"{WRAP}\n{MADE}"),
        ADAPTED.format(lines=f"{MADE}\n{WRAP}\n{MADE}"),
    ],
    "code.wrapper-bypassed": [RANKS.format(loss="F.cross_entropy(net(x), y)")],
    "code.class-zero-ignored": [
        'labels = [TAGS.get(tag, -100) for tag in tags]',
        'seed = args.seed or -1\n',
    ],
    "code.two-chat-templates": [
        CHAT.format(text='return {"text": tokenizer.apply_chat_template(row, tokenize=False)}'),
        CHAT.format(text='return {"messages": row}'),
    ],
    "code.ends-not-cut": [
        control("delta = rewards[t] + gamma * values[t + 1] * (1 - dones[t]) - values[t]"),
        control("g = rewards[t] + gamma * g * (1.0 - dones[t])"),
        control("nxt = 0 if dones[t] else values[t + 1]; delta = rewards[t] + gamma * nxt - values[t]"),
        control("mask = ~torch.tensor(dones); delta = rewards[t] + gamma * values[t + 1] * mask[t]"),
        REPLAY.format(name="dones", cut=" * (1 - dones)"),
        """
        dones = []
        done = False
        while not done:
            s, r, done, _ = env.step(a)
            rewards.append(r); dones.append(done)
        G = 0
        for r in reversed(rewards):
            G = r + gamma * G
        """,
        # rewards that are shaped by a difference of lengths have no values in them
        """
        gamma, ends = 0.5, []
        for row in rows:
            ends.append(row.end)
            advantage = base + gamma * (row.length - mean)
        """,
    ],
}
