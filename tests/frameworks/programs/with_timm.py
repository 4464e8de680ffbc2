"""timm's own dataset and loader, as its train.py makes them."""

import sys

import torch
from timm.data import create_dataset, create_loader
from told import tell

if __name__ == "__main__":
    torch.manual_seed(11)
    data = create_dataset("", root=sys.argv[1], split="train", is_training=True)
    loader = create_loader(
        data,
        input_size=(3, 32, 32),
        batch_size=4,
        is_training=True,
        no_aug=False,
        num_workers=2,
        use_prefetcher=False,
        persistent_workers=False,
        device=torch.device("cpu"),
    )
    for epoch in range(2):
        for step, (images, labels) in enumerate(loader):
            tell((epoch, step), len(labels), (images, labels))
