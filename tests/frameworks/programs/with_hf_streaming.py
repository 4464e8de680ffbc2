"""An IterableDataset of Hugging Face: shards, map, a shuffle buffer, set_epoch, torch's format."""

import sys
from pathlib import Path

import torch
from datasets import Dataset, Image
from told import tell
from torch.utils.data import DataLoader
from torchvision.transforms import functional


def prepare(row: dict) -> dict:
    picture = functional.to_tensor(row["image"].convert("RGB").resize((32, 32)))
    picture += 0.01 * torch.rand(3, 32, 32)
    return {"image": picture.numpy(), "label": row["label"]}


def train_set(folder: str) -> Dataset:
    files = sorted(Path(folder).glob("*/*.jpg"))
    rows = {
        "image": [str(file) for file in files],
        "label": [int(file.parent.name.removeprefix("class")) for file in files],
    }
    return Dataset.from_dict(rows).cast_column("image", Image())


if __name__ == "__main__":
    torch.manual_seed(13)
    data = train_set(sys.argv[1]).to_iterable_dataset(num_shards=4)
    data = data.shuffle(seed=5, buffer_size=6).map(prepare).with_format("torch")
    for persistent in (False, True):
        loader = DataLoader(data, batch_size=4, num_workers=2, persistent_workers=persistent)
        for epoch in range(2):
            data.set_epoch(epoch)
            for step, batch in enumerate(loader):
                tell(
                    (persistent, epoch, step), len(batch["label"]), (batch["image"], batch["label"])
                )
