"""The stock loader, or Headrace: images of a folder or of a bucket, as uint8 crops."""

import argparse

import headrace
import tiers_epochs
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
parser.add_argument("where")
parser.add_argument("--endpoint")
parser.add_argument("--remember", type=float, default=0)
arguments = parser.parse_args()

torch.set_num_threads(1)
transform = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.PILToTensor()])
if arguments.endpoint:
    dataset = headrace.open_dataset(
        arguments.where, transform, endpoint=arguments.endpoint, remember=arguments.remember
    )
else:
    dataset = ImageFolder(arguments.where, transform)
# As many batches ahead as hide a slow store; the stock loader has its own two processes.
loader = torch.utils.data.DataLoader(
    dataset, 64, shuffle=True, num_workers=2, prefetch_factor=4, persistent_workers=True
)
tiers_epochs.serve(lambda: tiers_epochs.count_batches(loader))
