"""Trains a small network to tell photographs apart: an ordinary PyTorch program.

    python examples/train.py DATA [--epochs 3] [--workers 2] ...

DATA holds train/CLASS/*.jpg and val/CLASS/*.jpg (examples/make_photos.py makes such a set).
Two runs with the same arguments print the same losses.
"""

import argparse
import json
import resource
import time
import zlib
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_loaders(args):
    train_transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(args.image_size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    val_transform = transforms.Compose(
        [
            transforms.Resize(args.image_size * 8 // 7),
            transforms.CenterCrop(args.image_size),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    train_set = ImageFolder(args.data / "train", train_transform)
    val_set = ImageFolder(args.data / "val", val_transform)
    generator = torch.Generator().manual_seed(args.seed)
    options = {"batch_size": args.batch_size, "num_workers": args.workers}
    train = DataLoader(train_set, shuffle=True, drop_last=True, generator=generator, **options)
    return train, DataLoader(val_set, **options), len(train_set.classes)


def make_model(classes):
    def block(inputs, outputs, stride):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )

    return nn.Sequential(
        nn.AvgPool2d(2),
        block(3, 16, 2),
        block(16, 32, 2),
        block(32, 64, 2),
        block(64, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, classes),
    )


class Waits:
    """Iterates over a loader and adds up the seconds that its consumer waited for batches."""

    def __init__(self):
        self.seconds = 0.0

    def over(self, loader):
        batches = iter(loader)
        while True:
            start = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - start
            yield batch


def step(model, optimizer, images, labels, args):
    """One training step; returns the loss, or None where the network is left out."""
    if args.no_train:
        time.sleep(args.step_ms / 1000)
        return None
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader:
            right += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    model.train()
    return right / total


def cpu_seconds():
    """CPU seconds of this process and of those of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2, help="the DataLoader's num_workers")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image-size", type=int, default=160)
    parser.add_argument(
        "--no-train", action="store_true", help="load the batches, leave the network out"
    )
    parser.add_argument(
        "--step-ms", type=float, default=0, help="with --no-train: sleep this long a step"
    )
    parser.add_argument(
        "--log-batches", type=Path, help="write a checksum of every training batch here"
    )
    parser.add_argument("--json", type=Path, help="write what was measured here")
    return parser.parse_args()


def main():
    args = parse_arguments()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    train_loader, val_loader, classes = make_loaders(args)
    model = make_model(classes)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    checksums, epochs, waits = [], [], Waits()
    cpu_before, start = cpu_seconds(), time.perf_counter()
    samples = 0
    for epoch in range(args.epochs):
        losses = []
        for images, labels in waits.over(train_loader):
            samples += len(labels)
            if args.log_batches:
                checksum = zlib.crc32(labels.numpy(), zlib.crc32(images.numpy()))
                checksums.append(f"{epoch} {len(losses)} {checksum:08x}")
            losses.append(step(model, optimizer, images, labels, args))
        seconds = time.perf_counter() - start
        mean_loss = None if args.no_train else sum(losses) / len(losses)
        epochs.append({"loss": mean_loss, "seconds_since_start": seconds})
        shown = "" if args.no_train else f"loss {mean_loss:.4f}, "
        print(f"epoch {epoch}: {shown}{samples / seconds:.0f} samples/s", flush=True)

    seconds = time.perf_counter() - start
    result = {
        "samples": samples,
        "seconds": seconds,
        "samples_per_second": samples / seconds,
        "wait_share": waits.seconds / seconds,
        "cpu_seconds": cpu_seconds() - cpu_before,
        "cpu_seconds_before": cpu_before,
        "epochs": epochs,
    }
    if not args.no_train:
        result["val_accuracy"] = accuracy(model, val_loader)
        print(f"validation accuracy {result['val_accuracy']:.3f}")
    if args.log_batches:
        args.log_batches.write_text("\n".join(checksums) + "\n")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
