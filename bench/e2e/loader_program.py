"""A plain PyTorch program that only loads data: the ImageNet training pipeline without a model.

Prints one JSON line: per epoch the wall seconds from iter() to the last batch and the samples, the
process's own CPU seconds, optionally the time each next() took, and optionally a checksum a batch.
"""

import argparse
import json
import resource
import threading
import time
import zlib

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms import functional as F
from torchvision.transforms.v2.functional import get_size
from torchvision.tv_tensors import BoundingBoxes


class OwnDataset(Dataset):
    """The same samples from a class of the program's own, which no one but the program knows."""

    def __init__(self, folder: ImageFolder) -> None:
        self.samples, self.transform = folder.samples, folder.transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple:
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        return self.transform(image), label


class LockedDataset(OwnDataset):
    """It cannot leave its process."""

    def __init__(self, folder: ImageFolder) -> None:
        super().__init__(folder)
        self.lock = threading.Lock()

    def __getitem__(self, index: int) -> tuple:
        with self.lock:
            return super().__getitem__(index)


class ForgivingDataset(OwnDataset):
    """Takes the next picture where one is damaged: code that only Python can run."""

    def __getitem__(self, index: int) -> tuple:
        try:
            return super().__getitem__(index)
        except OSError:
            return self[(index + 1) % len(self)]


class Views(OwnDataset):
    """Two views of one picture, as contrastive training has them."""

    def __getitem__(self, index: int) -> tuple:
        path, _ = self.samples[index]
        image = Image.open(path).convert("RGB")
        return self.transform(image), self.transform(image)


class Masked(Dataset):
    """A picture and its mask, as segmentation has them. Masks lie beside the folder of photographs."""

    def __init__(self, folder: ImageFolder) -> None:
        self.pairs = [(path, mask_path(folder.root, path)) for path, _ in folder.samples]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple:
        path, of_mask = self.pairs[index]
        image = Image.open(path).convert("RGB")
        mask = Image.open(of_mask)
        i, j, h, w = T.RandomResizedCrop.get_params(image, [0.5, 1.0], [3 / 4, 4 / 3])
        image = F.resized_crop(image, i, j, h, w, [224, 224])
        mask = F.resized_crop(mask, i, j, h, w, [224, 224], InterpolationMode.NEAREST)
        if torch.rand(1) < 0.5:
            image = F.hflip(image)
            mask = F.hflip(mask)
        image = F.normalize(F.to_tensor(image), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        return image, torch.as_tensor(np.array(mask), dtype=torch.int64)


class Boxes(Dataset):
    """A picture with up to eight boxes, made up from its number, as detectors are trained with."""

    def __init__(self, folder: ImageFolder) -> None:
        self.files = [path for path, _ in folder.samples]
        rng = np.random.default_rng(0)
        corners = [rng.uniform(0, 160, (1 + i % 8, 2)) for i in range(len(self.files))]
        self.boxes = [np.hstack([one, one + rng.uniform(8, 160, one.shape)]) for one in corners]
        self.labels = [rng.integers(0, 90, len(boxes)).tolist() for boxes in self.boxes]
        self.transforms = v2.Compose(
            [
                v2.ToImage(),
                v2.RandomHorizontalFlip(),
                v2.RandomShortestSize(list(range(240, 401, 32)), max_size=666),
                v2.ToDtype(torch.float32, scale=True),
                v2.ClampBoundingBoxes(),
                v2.SanitizeBoundingBoxes(),
            ]
        )

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple:
        image = Image.open(self.files[index]).convert("RGB")
        boxes = torch.as_tensor(self.boxes[index], dtype=torch.float32)
        boxes = BoundingBoxes(boxes, format="XYXY", canvas_size=get_size(image))
        target = {"boxes": boxes, "labels": torch.tensor(self.labels[index]), "image_id": index}
        return self.transforms(image, target)


def mask_path(root: str, photo: str) -> str:
    return root.rstrip("/") + "-masks" + photo.removeprefix(root.rstrip("/")) + ".png"


class TwoViews:
    """SimCLR's transform of torchvision's own ImageFolder."""

    def __init__(self, augment: T.Compose) -> None:
        self.augment = augment

    def __call__(self, image: Image.Image) -> list:
        return [self.augment(image), self.augment(image)]


KINDS = {
    "folder": None,
    "simclr": None,
    "tensor": None,
    "floats": None,
    "mixup": None,
    "own": OwnDataset,
    "forgiving": ForgivingDataset,
    "locked": LockedDataset,
    "views": Views,
    "masks": Masked,
    "boxes": Boxes,
    "timm": None,
}


def make_transform(kind: str, size: int) -> T.Compose | v2.Compose | TwoViews:
    """float32 [3, size, size]: the usual training transforms, of PIL images or of tensors as
    torchvision recommends them, of tensors of float32 from the start, SimCLR's ("views" without
    its blur), or timm's recipe."""
    if kind == "timm":
        from timm.data import create_transform  # which no other kind needs

        # With its usual m9 timm posterizes to no bits now and then, and Pillow 13 raises.
        return create_transform(
            size, is_training=True, auto_augment="rand-m7-mstd0.5-inc1", re_prob=0.25
        )
    if kind == "tensor":
        return v2.Compose(
            [
                v2.ToImage(),
                v2.RandomResizedCrop(size, antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        )
    if kind == "floats":
        return T.Compose(
            [
                T.ToTensor(),
                T.RandomResizedCrop(size),
                T.RandomHorizontalFlip(),
                T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
                T.RandomGrayscale(0.2),
                T.RandomRotation(10),
                T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        )
    steps = [T.RandomResizedCrop(size), T.RandomHorizontalFlip()]
    if kind in ("views", "simclr"):
        jitter = T.ColorJitter(0.8, 0.8, 0.8, 0.2)
        steps += [T.RandomApply([jitter], p=0.8), T.RandomGrayscale(0.2)]
    if kind == "simclr":
        steps.append(T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], p=0.5))
    normalize = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    transform = T.Compose([*steps, T.ToTensor(), normalize])
    return TwoViews(transform) if kind == "simclr" else transform


def make_dataset(folder: str, size: int, kind: str) -> Dataset:
    dataset = ImageFolder(folder, make_transform(kind, size))
    own = KINDS[kind]
    return own(dataset) if own else dataset  # "masks" and "boxes" have transforms of their own


class Mixed:
    """A collate_fn as torchvision's references have it."""

    def __init__(self, classes: int) -> None:
        self.mix = v2.RandomChoice([v2.MixUp(num_classes=classes), v2.CutMix(num_classes=classes)])

    def __call__(self, batch: list) -> tuple:
        return self.mix(*default_collate(batch))


def collate_of(kind: str, dataset: Dataset) -> object:
    if kind == "boxes":
        return lambda batch: tuple(zip(*batch, strict=True))
    return Mixed(len(dataset.classes)) if kind == "mixup" else None


def make_loader(args: argparse.Namespace) -> DataLoader:
    generator = torch.Generator()
    generator.manual_seed(args.seed)
    dataset = make_dataset(args.data, args.size, args.kind)
    return DataLoader(
        dataset,
        collate_fn=collate_of(args.kind, dataset),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.num_workers,
        prefetch_factor=args.prefetch if args.num_workers else None,
        persistent_workers=args.persistent,
        generator=generator,
    )


def tensors_in(batch: object) -> list:
    if isinstance(batch, torch.Tensor):
        return [batch]
    if isinstance(batch, dict):
        batch = list(batch.values())
    parts = batch if isinstance(batch, list | tuple) else []
    return [tensor for part in parts for tensor in tensors_in(part)]


def run_epoch(loader: DataLoader, args: argparse.Namespace) -> dict:
    next_seconds, sums = [], []
    samples = 0
    cpu = time.process_time()
    start = time.perf_counter()
    batches = iter(loader)
    first = None
    while True:
        called = time.perf_counter()
        try:
            images, labels = next(batches)
        except StopIteration:
            break
        done = time.perf_counter()
        next_seconds.append(done - called)
        first = first if first is not None else done - start
        samples += len(labels)
        if args.sums:
            values = tensors_in([images, labels])
            sums.append(zlib.crc32(b"".join(value.numpy().tobytes() for value in values)))
        if args.max_batches and len(next_seconds) >= args.max_batches:
            break
    wall = time.perf_counter() - start
    result = {
        "wall_s": wall,
        "first_batch_s": first,
        "samples": samples,
        "batches": len(next_seconds),
        "process_cpu_s": time.process_time() - cpu,
    }
    if args.sums:
        result["sums"] = sums
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--prefetch", type=int, default=2)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-batches", type=int, default=0, help="of each epoch; 0: all")
    parser.add_argument("--sums", action="store_true")
    parser.add_argument("--kind", choices=KINDS, default="folder")
    parser.add_argument("--hold-s", type=float, default=0.0, help="stay alive and idle at the end")
    args = parser.parse_args()
    torch.set_num_threads(1)

    made = time.perf_counter()
    loader = make_loader(args)
    epochs = [run_epoch(loader, args) for _ in range(args.epochs)]
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "epochs": epochs,
                "since_made_s": time.perf_counter() - made,
                "own_cpu_s": own.ru_utime + own.ru_stime,
                "children_cpu_s": children.ru_utime + children.ru_stime,
            }
        ),
        flush=True,
    )
    time.sleep(args.hold_s)


if __name__ == "__main__":
    main()
