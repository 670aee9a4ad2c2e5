"""Two ranks and more: DistributedDataParallel with a sampler, the first rank saves."""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.manual_seed(11)
x = torch.randn(4096, 16)
y = (x[:, 0] + x[:, 1] > 0).long()
data = TensorDataset(x[:3584], y[:3584])
held = TensorDataset(x[3584:], y[3584:])
sampler = DistributedSampler(data, shuffle=True)
loader = DataLoader(data, batch_size=64, sampler=sampler)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2)).cuda(rank)
model = DistributedDataParallel(model, device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(10):
    sampler.set_epoch(epoch)
    model.train()
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb.cuda(rank)), yb.cuda(rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(held.tensors[0].cuda(rank)).argmax(1) == held.tensors[1].cuda(rank)).float().mean()
    dist.all_reduce(right)
    if rank == 0:
        print(epoch, right.item() / dist.get_world_size())
        torch.save(model.module.state_dict(), "model.pt")
dist.destroy_process_group()
