"""Trains a ResNet on a folder of images for some seconds, and tells what the GPU did meanwhile.

    python bench/gpu/train.py DATA --model resnet50
    headrace run --report report.json python bench/gpu/train.py DATA --model resnet50

A plain PyTorch program that does not know Headrace: bf16 autocast, channels_last, SGD, pinned batches,
copies that do not block, ImageNet's transforms. The sampler goes through the folder again and again, so
that a window of measuring holds no start of an epoch. `--passes` lets it go through the folder so often
before the window.

Several models are trained one after the other on the same loader. Prints one JSON line: images a second, what the GPU stood still (CUDA events on its stream, NVML, and
the profiler's kernels of some steps after the window), what the program waited in next(), CPU seconds of
the whole machine. Shares are of the window's wall time. Without a GPU it runs on the CPU, to try the
program; those numbers say nothing.
"""

import argparse
import itertools
import json
import resource
import time
from collections.abc import Iterator

import torch
import watch
from torch import nn
from torch.utils.data import DataLoader, Sampler
from torchvision import models
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class Endless(Sampler):
    """All rows in an order of chance, again and again."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from torch.randperm(self.rows, generator=self.generator).tolist()

    def __len__(self) -> int:
        return 1 << 40


def make_transform(kind: str, size: int) -> T.Compose | v2.Compose:
    """ImageNet's training transforms: of PIL images, of tensors, or uint8 batches that the GPU
    normalises."""
    if kind == "v2":
        return v2.Compose(
            [
                v2.ToImage(),
                v2.RandomResizedCrop(size, antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        )
    steps = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    if kind == "uint8":
        return T.Compose([*steps, T.PILToTensor()])
    return T.Compose([*steps, T.ToTensor(), T.Normalize(MEAN, STD)])


class Training:
    """A model and its steps on a device. One thread."""

    def __init__(self, name: str, device: torch.device, classes: int) -> None:
        torch.backends.cudnn.benchmark = True
        model = getattr(models, name)(num_classes=classes)
        self.model = model.to(device, memory_format=torch.channels_last)
        self.device = device
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        self.mean = torch.tensor(MEAN, device=device).mul(255).view(1, 3, 1, 1)
        self.std = torch.tensor(STD, device=device).mul(255).view(1, 3, 1, 1)

    def take(self, images: torch.Tensor, labels: torch.Tensor) -> tuple:
        """The batch on the device."""
        return (
            images.to(self.device, non_blocking=True),
            labels.to(self.device, non_blocking=True),
        )

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        if images.dtype == torch.uint8:
            images = (images - self.mean) / self.std
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            loss = self.loss(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


class Loop:
    """Steps of the training on the loader's batches, and what each took."""

    def __init__(self, training: Training, batches: Iterator, device: watch.Device) -> None:
        self.training, self.batches, self.device = training, batches, device
        self.waits: list[float] = []  # seconds in next()
        self.images = None

    def step(self) -> int:
        """Returns the number of samples."""
        called = time.perf_counter()
        images, labels = next(self.batches)
        self.waits.append(time.perf_counter() - called)
        self.device.mark("got")
        self.pinned = images.is_pinned() if self.device.cuda else False
        self.bytes = images.nbytes
        on_device = self.training.take(images, labels)
        self.device.mark("copied")
        self.training.step(*on_device)
        self.device.mark("done")
        return len(labels)

    def run(self, seconds: float) -> dict:
        """Steps for so long, from an idle device to an idle device."""
        self.device.synchronize()
        first, first_mark, samples = len(self.waits), self.device.marks, 0
        self.device.mark("done")
        with self.device.nvml() as nvml:
            cpu, own = watch.machine_cpu_seconds(), time.process_time()
            begun = time.perf_counter()
            while time.perf_counter() - begun < seconds:
                samples += self.step()
            self.device.synchronize()
            wall = time.perf_counter() - begun
            cpu, own = watch.machine_cpu_seconds() - cpu, time.process_time() - own
        steps = len(self.waits) - first
        return {
            "wall_s": wall,
            "steps": steps,
            "samples": samples,
            "images_s": samples / wall,
            "next_share": sum(self.waits[first:]) / wall,
            "cpu_s_per_1000": 1000 * cpu / samples,
            "trainer_cpu_s_per_1000": 1000 * own / samples,
            "nvml": nvml.summary(),
            **self.device.shares(wall, self.bytes, first_mark),
        }


def make_loader(args: argparse.Namespace) -> DataLoader:
    dataset = ImageFolder(args.data, make_transform(args.transforms, args.size))
    return DataLoader(
        dataset,
        batch_size=args.batch_size,
        sampler=Endless(len(dataset), args.seed),
        num_workers=args.num_workers,
        pin_memory=not args.no_pin,
        drop_last=True,
    )


def synthetic(args: argparse.Namespace, device: torch.device) -> Iterator:
    """One batch on the device, again and again: the most that the training can do."""
    shape = (args.batch_size, 3, args.size, args.size)
    images = torch.rand(shape, device=device)
    labels = torch.zeros(args.batch_size, dtype=torch.int64, device=device)
    return itertools.repeat((images, labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="a folder with a folder of images for each class")
    parser.add_argument("--model", nargs="+", default=["resnet50"])
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--num-workers", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--transforms", choices=["pil", "v2", "uint8"], default="pil")
    parser.add_argument("--no-pin", action="store_true", help="without pin_memory")
    parser.add_argument("--passes", type=int, default=0, help="through the folder, before all else")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds")
    parser.add_argument("--seconds", type=float, default=10.0, help="the window that is measured")
    parser.add_argument("--profile", type=int, default=0, help="steps to profile after the window")
    parser.add_argument("--synthetic", action="store_true", help="no loading: one batch again")
    args = parser.parse_args()

    device = watch.Device()
    torch.manual_seed(args.seed)
    loader = make_loader(args)
    classes = len(loader.dataset.classes)
    trainings = {name: Training(name, device.torch, classes) for name in args.model}
    for training in trainings.values():
        warm = Loop(training, synthetic(args, device.torch), device)
        for _ in range(5):  # cuDNN chooses its algorithms
            warm.step()
    device.synchronize()

    begun, first_mark = time.perf_counter(), device.marks
    device.mark("done")
    loop = Loop(training, synthetic(args, device.torch) if args.synthetic else iter(loader), device)
    result = {"iter_s": time.perf_counter() - begun}
    loop.step()
    result["first_batch_s"] = result["iter_s"] + loop.waits[0]
    for _ in range(args.passes * len(loader.dataset) // args.batch_size):
        loop.step()
    result["models"] = {}
    for name, loop.training in trainings.items():
        until = time.perf_counter() + args.warm_up
        while time.perf_counter() < until:
            loop.step()
        result["models"][name] = window = loop.run(args.seconds)
        if args.profile:
            window["profiled"] = device.profiled(loop.step, args.profile)
    device.synchronize()
    wall = time.perf_counter() - begun
    result |= {
        "pinned": loop.pinned,
        # From the first batch to the last: what `headrace run --report` counts, too.
        "all": {"wall_s": wall, "next_s": sum(loop.waits), **device.shares(wall, 0, first_mark)},
        "device": device.name,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
