"""A generator and a discriminator of points on a ring."""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
LATENT, BATCH = 8, 128


def ring(count):
    angle = 2 * math.pi * torch.rand(count)
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.02 * torch.randn(count, 2)


generator = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
discriminator = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
for step in range(2000):
    real = ring(BATCH)
    fake = generator(torch.randn(BATCH, LATENT))
    on_real, on_fake = discriminator(real), discriminator(fake.detach())
    loss_d = F.binary_cross_entropy_with_logits(on_real, torch.ones_like(on_real))
    loss_d = loss_d + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    judged = discriminator(fake)
    loss_g = F.binary_cross_entropy_with_logits(judged, torch.ones_like(judged))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 200 == 0:
        print(step, loss_d.item(), loss_g.item())
