"""Pictures of two kinds, a small convolutional network, a plain loop with a held-out set."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
EPOCHS = 5


def pictures(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (count,), generator=generator)
    images = torch.randn(count, 1, 16, 16, generator=generator)
    images[labels == 1, :, 4:12, 4:12] += 1.0
    return TensorDataset(images, labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8 * 8 * 8, 2)

    def forward(self, x):
        return self.head(self.drop(self.body(x)))


train_loader = DataLoader(pictures(800, 0), batch_size=32, shuffle=True)
test_loader = DataLoader(pictures(200, 1), batch_size=100)
model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, betas=(0.9, 0.99))
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS * len(train_loader))
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in test_loader:
            right += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    print(epoch, total / len(train_loader), right / 200)
