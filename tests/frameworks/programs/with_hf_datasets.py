"""A map-style dataset of Hugging Face on disk, with pictures and a transform at access."""

import sys
from pathlib import Path

import torch
from datasets import Dataset, Image, disable_progress_bars, load_from_disk
from told import tell
from torch.utils.data import DataLoader
from torchvision import transforms

AUGMENT = transforms.Compose(
    [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
)


def augment(rows: dict) -> dict:
    rows["image"] = [AUGMENT(picture.convert("RGB")) for picture in rows["image"]]
    return rows


def write(folder: str, out: str) -> None:
    files = sorted(Path(folder).glob("*/*.jpg"))
    rows = {
        "image": [{"path": file.name, "bytes": file.read_bytes()} for file in files],
        "label": [int(file.parent.name.removeprefix("class")) for file in files],
    }
    Dataset.from_dict(rows).cast_column("image", Image()).save_to_disk(out)


if __name__ == "__main__":
    torch.manual_seed(14)
    disable_progress_bars()
    stored = f"{sys.argv[2]}/photos"
    write(sys.argv[1], stored)
    data = load_from_disk(stored)
    for transformed in (data.with_transform(augment), data.shuffle(seed=3)):
        transformed.set_transform(augment)
        loader = DataLoader(transformed, batch_size=4, shuffle=True, num_workers=2)
        for epoch in range(2):
            for step, batch in enumerate(loader):
                tell((epoch, step), len(batch["label"]), (batch["image"], batch["label"]))
