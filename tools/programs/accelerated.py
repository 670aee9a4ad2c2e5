"""accelerate: sums of digits, with gradient accumulation."""

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(2)
accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
digits = torch.randint(0, 10, (4000, 4))
sums = digits.sum(1)
train_set, test_set = TensorDataset(digits[:3600], sums[:3600]), TensorDataset(digits[3600:], sums[3600:])
loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=200)
model = nn.Sequential(
    nn.Embedding(10, 32), nn.Flatten(), nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 37)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=10 * len(loader) // 2)
model, optimizer, loader, test_loader, scheduler = accelerator.prepare(model, optimizer, loader, test_loader, scheduler)
for epoch in range(10):
    model.train()
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for x, y in test_loader:
            guess, y = accelerator.gather_for_metrics((model(x).argmax(1), y))
            right += (guess == y).sum().item()
            count += len(y)
    accelerator.print(epoch, right / count)
