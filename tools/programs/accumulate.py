"""A language model over characters: accumulation, a loss scale, warm-up, checkpoints that a run goes on from."""

import os

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
device = "cuda"
TEXT = "the quick brown fox jumps over the lazy dog. " * 500
CHARS = sorted(set(TEXT))
CONTEXT, WIDTH, ACCUMULATE, STEPS = 64, 128, 4, 1000
ids = torch.tensor([CHARS.index(c) for c in TEXT])
cut = int(0.9 * len(ids))
train_ids, test_ids = ids[:cut], ids[cut:]


def batch_of(source, count=16):
    starts = torch.randint(len(source) - CONTEXT - 1, (count,))
    x = torch.stack([source[i : i + CONTEXT] for i in starts])
    y = torch.stack([source[i + 1 : i + CONTEXT + 1] for i in starts])
    return x.to(device), y.to(device)


class Attention(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("keep", torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).tril())

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.mix(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        scores = scores.masked_fill(~self.keep[:t, :t], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(len(CHARS), WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(CHARS))

    def forward(self, x):
        h = self.tokens(x) + self.places(torch.arange(x.size(1), device=x.device))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


model = Model().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 100))
scaler = torch.amp.GradScaler("cuda")
begin = 0
if os.path.exists("last.pt"):
    state = torch.load("last.pt")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    scaler.load_state_dict(state["scaler"])
    begin = state["step"] + 1
for step in range(begin, STEPS):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    for _ in range(ACCUMULATE):
        x, y = batch_of(train_ids)
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / ACCUMULATE
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % 100 == 99:
        model.eval()
        with torch.no_grad():
            x, y = batch_of(test_ids, 64)
            held = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        print(step, loss.item() * ACCUMULATE, held.item())
        parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save({**parts, "scaler": scaler.state_dict(), "step": step}, "last.pt")
