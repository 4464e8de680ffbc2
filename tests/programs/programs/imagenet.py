"""The shape of the ImageNet example: class folders, two loaders, an epoch of training and checking."""

import argparse
import os

import torch
from told import say, tell
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=5)
parser.add_argument("--seed", type=int, default=3)


def loaders(args):
    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train = datasets.ImageFolder(
        os.path.join(args.data, "train"),
        transforms.Compose(
            [
                transforms.RandomResizedCrop(48),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                normalize,
            ]
        ),
    )
    check = datasets.ImageFolder(
        os.path.join(args.data, "val"),
        transforms.Compose(
            [
                transforms.Resize(56),
                transforms.CenterCrop(48),
                transforms.ToTensor(),
                normalize,
            ]
        ),
    )
    common = {"batch_size": args.batch_size, "num_workers": args.workers, "pin_memory": True}
    return (
        torch.utils.data.DataLoader(train, shuffle=True, sampler=None, **common),
        torch.utils.data.DataLoader(check, shuffle=False, **common),
    )


def main():
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    train, check = loaders(args)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, 4), nn.Flatten(), nn.Dropout(), nn.Linear(576, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.1)
    for epoch in range(args.epochs):
        model.train()
        for step, (images, target) in enumerate(train):
            tell(("train", epoch, step), len(target), (images, target))
            loss = nn.functional.cross_entropy(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for step, (images, target) in enumerate(check):
                tell(("check", epoch, step), len(target), (images, target))
                say(f"result {epoch} {step} {model(images).double().sum().item():.12g}")
        scheduler.step()


if __name__ == "__main__":
    main()
