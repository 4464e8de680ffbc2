"""What the programs share: a small classification task, and a line for each batch they are given."""

import torch
from torchvision import datasets, transforms


def train_set(folder: str) -> datasets.ImageFolder:
    return datasets.ImageFolder(
        folder,
        transforms.Compose(
            [
                transforms.RandomResizedCrop(32),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        ),
    )


def small_model(classes: int = 3) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 5, stride=4), torch.nn.Flatten(), torch.nn.Linear(4 * 49, classes)
    )
