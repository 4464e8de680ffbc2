"""timm's loader around torchvision's own data set and transforms."""

import sys

import torch
from common import train_set
from timm.data import create_loader
from told import tell

if __name__ == "__main__":
    torch.manual_seed(11)
    data = train_set(sys.argv[1])
    transform = data.transform
    loader = create_loader(
        data,
        input_size=(3, 32, 32),
        batch_size=4,
        is_training=True,
        num_workers=2,
        use_prefetcher=False,
        persistent_workers=True,
        device=torch.device("cpu"),
    )
    data.transform = transform  # create_loader sets timm's
    for epoch in range(2):
        for step, (images, labels) in enumerate(loader):
            tell((epoch, step), len(labels), (images, labels))
