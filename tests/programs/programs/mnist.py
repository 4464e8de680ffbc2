"""The shape of the MNIST example on a CPU: no workers, nothing random in the transforms."""

import sys

import torch
import torch.nn.functional as F
from told import say, tell
from torchvision import datasets, transforms


def train(model, loader, optimizer, epoch):
    model.train()
    for step, (data, target) in enumerate(loader):
        tell(("train", epoch, step), len(target), (data, target))
        optimizer.zero_grad()
        F.nll_loss(model(data), target).backward()
        optimizer.step()


def test(model, loader, epoch):
    model.eval()
    loss = 0.0
    with torch.no_grad():
        for step, (data, target) in enumerate(loader):
            tell(("test", epoch, step), len(target), (data, target))
            loss += F.nll_loss(model(data), target, reduction="sum").item()
    say(f"result {epoch} {loss:.9g}")


def main():
    torch.manual_seed(1)
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]
    )
    first = datasets.MNIST(sys.argv[1], train=True, download=True, transform=transform)
    second = datasets.MNIST(sys.argv[1], train=False, transform=transform)
    train_loader = torch.utils.data.DataLoader(first, batch_size=8, shuffle=True)
    test_loader = torch.utils.data.DataLoader(second, batch_size=10)
    model = torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(784, 10),
        torch.nn.Dropout(0.25),
        torch.nn.LogSoftmax(dim=1),
    )
    optimizer = torch.optim.Adadelta(model.parameters())
    for epoch in range(2):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader, epoch)


if __name__ == "__main__":
    main()
