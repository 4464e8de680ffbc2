"""The shape of Lightning's tutorials: a data module that splits MNIST, fit and test."""

import sys
import warnings

import lightning as L
import torch
import torch.nn.functional as F
from told import say, tell
from torch.utils.data import DataLoader, random_split
from torchvision import transforms
from torchvision.datasets import MNIST

# As many users of small machines silence its hints.
warnings.filterwarnings("ignore", ".*(does not have many workers|logging interval|num_workers).*")


class DataModule(L.LightningDataModule):
    def __init__(self, data_dir):
        super().__init__()
        self.data_dir = data_dir
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]
        )

    def prepare_data(self):
        MNIST(self.data_dir, train=True, download=True)
        MNIST(self.data_dir, train=False, download=True)

    def setup(self, stage):
        if stage == "fit":
            full = MNIST(self.data_dir, train=True, transform=self.transform)
            self.train, self.val = random_split(full, [24, 6])
        else:
            self.test = MNIST(self.data_dir, train=False, transform=self.transform)

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=4, num_workers=2, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, batch_size=4, num_workers=2)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=4, num_workers=2)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        tell(("train", self.current_epoch, batch_idx), len(y), batch)
        return F.cross_entropy(self.layers(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        tell(("val", self.current_epoch, batch_idx), len(y), batch)
        self.log("val_loss", F.cross_entropy(self.layers(x), y))

    def test_step(self, batch, batch_idx):
        x, y = batch
        tell(("test", batch_idx), len(y), batch)
        self.log("test_loss", F.cross_entropy(self.layers(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.02)


if __name__ == "__main__":
    L.seed_everything(7, verbose=False)
    model, data = Model(), DataModule(sys.argv[1])
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(model, data)
    (result,) = trainer.test(model, data, verbose=False)
    say(f"result {result['test_loss']:.9g}")
