"""timm's loader with its own augmentations, as its recipes name them, and random erasing."""

import sys

import torch
from timm.data import create_dataset, create_loader
from told import tell

POLICIES = (
    "rand-m9-mstd0.5-inc1",
    "rand-m7-n3-tweights",
    "original-mstd0.5",
    "v0r",
    "3a",
    "augmix-m5-w3",
    "augmix-m3-b1",
)

if __name__ == "__main__":
    torch.manual_seed(11)
    for epoch, policy in enumerate(POLICIES):
        data = create_dataset("", root=sys.argv[1], split="train", is_training=True)
        loader = create_loader(
            data,
            input_size=(3, 32, 32),
            batch_size=4,
            is_training=True,
            auto_augment=policy,
            re_prob=0.25,
            num_workers=2,
            use_prefetcher=False,
            persistent_workers=False,
            device=torch.device("cpu"),
        )
        for step, (images, labels) in enumerate(loader):
            tell((epoch, step), len(labels), (images, labels))
