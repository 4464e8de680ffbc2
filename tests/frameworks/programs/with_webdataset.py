"""WebDataset over tar files: split by node and worker, shuffled, decoded; WebLoader; resampling."""

import sys
from pathlib import Path

import torch
import webdataset as wds
from told import tell
from torch.utils.data import DataLoader
from torchvision import transforms

AUGMENT = transforms.Compose(
    [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
)


def write_shards(folder: str, out: str) -> str:
    with wds.ShardWriter(f"{out}/photos-%02d.tar", maxcount=5, verbose=0) as sink:
        for number, file in enumerate(sorted(Path(folder).glob("*/*.jpg"))):
            label = int(file.parent.name.removeprefix("class"))
            sink.write({"__key__": f"{number:04}", "jpg": file.read_bytes(), "cls": label})
    shards = len(list(Path(out).glob("photos-*.tar")))
    return f"{out}/photos-{{00..{shards - 1:02}}}.tar"


def prepare(sample: tuple) -> tuple:
    image, label = sample
    return AUGMENT(image.convert("RGB")), label


if __name__ == "__main__":
    torch.manual_seed(15)
    shards = write_shards(sys.argv[1], sys.argv[2])
    data = (
        wds.WebDataset(
            shards,
            nodesplitter=wds.split_by_node,
            workersplitter=wds.split_by_worker,
            shardshuffle=3,
            seed=1,
        )
        .shuffle(8, seed=2)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map(prepare)
    )
    loader = DataLoader(data, batch_size=4, num_workers=2)
    for epoch in range(2):
        for step, (images, labels) in enumerate(loader):
            tell(("plain", epoch, step), len(labels), (images, labels))

    again = wds.DataPipeline(
        wds.ResampledShards(shards, deterministic=True, seed=1),
        wds.tarfile_to_samples(),
        wds.decode("pil"),
        wds.to_tuple("jpg", "cls"),
        wds.map(prepare),
    )
    batches = wds.WebLoader(again, batch_size=4, num_workers=2, persistent_workers=True)
    batches = batches.unbatched().shuffle(6, seed=3).batched(5).with_epoch(4)
    for epoch in range(2):
        for step, (images, labels) in enumerate(batches):
            tell(
                ("resampled", epoch, step),
                len(torch.as_tensor(labels)),
                (images, torch.as_tensor(labels)),
            )
