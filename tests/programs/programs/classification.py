"""The shape of torchvision's classification reference: presets of both APIs, mixing in the collate."""

import os
import sys

import presets
import torch
from told import tell
from torch.utils.data.dataloader import default_collate
from torchvision import datasets
from torchvision.transforms import v2


def train(data, use_v2, policy, erase, collate_fn=default_collate):
    dataset = datasets.ImageFolder(
        os.path.join(data, "train"),
        presets.Train(size=40, policy=policy, erase=erase, use_v2=use_v2),
    )
    sampler = torch.utils.data.RandomSampler(dataset)
    return torch.utils.data.DataLoader(
        dataset,
        batch_size=5,
        sampler=sampler,
        num_workers=2,
        pin_memory=True,
        collate_fn=collate_fn,
    )


def check(data, use_v2):
    dataset = datasets.ImageFolder(os.path.join(data, "val"), presets.Check(40, use_v2))
    sampler = torch.utils.data.SequentialSampler(dataset)
    return torch.utils.data.DataLoader(dataset, batch_size=5, sampler=sampler, num_workers=2)


def main(data):
    mix = v2.RandomChoice([v2.MixUp(alpha=0.2, num_classes=3), v2.CutMix(alpha=1.0, num_classes=3)])

    def mixed(batch):
        return mix(*default_collate(batch))

    loaders = {
        "v1": train(data, False, "ta_wide", 0.5),
        "v1 check": check(data, False),
        "v2": train(data, True, "ra", 0.5),
        "v2 check": check(data, True),
        "mixed": train(data, True, "ra", 0.0, mixed),
    }
    torch.manual_seed(17)
    for name, loader in loaders.items():
        for step, (images, target) in enumerate(loader):
            tell((name, step), len(target), (images, target))


if __name__ == "__main__":
    main(sys.argv[1])
