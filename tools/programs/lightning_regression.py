"""Lightning: the strength of a mixture, a regression with scaled targets."""

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

L.seed_everything(3)


class Mixtures(L.LightningDataModule):
    def setup(self, stage=None):
        generator = torch.Generator().manual_seed(0)
        x = torch.rand(2000, 6, generator=generator)
        y = 3 * x[:, 0] - 2 * x[:, 1] * x[:, 2] + 0.1 * torch.randn(2000, generator=generator)
        mean, std = y[:1600].mean(), y[:1600].std()
        y = (y - mean) / std
        self.train_set = TensorDataset(x[:1600], y[:1600])
        self.val_set = TensorDataset(x[1600:], y[1600:])

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=64, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=200)


class Strength(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.mse_loss(self(x), y))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.max_epochs)
        return {"optimizer": optimizer, "lr_scheduler": scheduler}


data = Mixtures()
model = Strength()
trainer = L.Trainer(max_epochs=20, logger=False, enable_checkpointing=False, gradient_clip_val=1.0)
trainer.fit(model, datamodule=data)
