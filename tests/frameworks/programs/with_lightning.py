"""Lightning: fit, a checkpoint, and a second Trainer that resumes from it."""

import logging
import sys
import warnings

import lightning
import torch
from common import small_model, train_set
from told import tell
from torch.utils.data import DataLoader

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", ".*(does not have many workers|logging interval|num_workers).*")


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = small_model()

    def training_step(self, batch, step):
        images, labels = batch
        tell((self.current_epoch, step), len(labels), (images, labels))
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def trainer(epochs: int, folder: str) -> lightning.Trainer:
    return lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=folder,
    )


if __name__ == "__main__":
    lightning.seed_everything(3, workers=True, verbose=False)
    loader = DataLoader(train_set(sys.argv[1]), 4, shuffle=True, num_workers=2)
    checkpoint = f"{sys.argv[2]}/one.ckpt"
    first = trainer(1, sys.argv[2])
    first.fit(Classifier(), loader)
    first.save_checkpoint(checkpoint)
    trainer(3, sys.argv[2]).fit(Classifier(), loader, ckpt_path=checkpoint)
