"""A variational autoencoder over bars."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
BETA = 0.5


def bars(count):
    images = torch.zeros(count, 12, 12)
    for image, place in zip(images, torch.randint(0, 12, (count,)).tolist()):
        image[place] = 1.0
    return TensorDataset(images.flatten(1))


class Autoencoder(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(144, 64), nn.ReLU())
        self.mu, self.logvar = nn.Linear(64, latent), nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 144))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(bars(2000), batch_size=50, shuffle=True, drop_last=True)
for epoch in range(10):
    total = 0.0
    for (x,) in loader:
        logits, mu, logvar = model(x)
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / x.size(0)
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = reconstruction + BETA * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
