"""Detection: pictures with boxes, and programs that load them as people write them."""

import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision import ops, tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from support.segmentation import write_picture

FORMATS = ("XYXY", "XYWH", "CXCYWH")


def write_photos(root: Path, count: int, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    for number in range(count):
        height, width = (int(side) for side in rng.integers(40, 90, 2))
        write_picture(root / f"{number:03}.jpg", height, width, rng)
    return root


def draw_boxes(root: Path, most: int = 5, seed: int = 0, integers: bool = False) -> list:
    """For each picture up to `most` boxes [x0, y0, x1, y1] in it: some touch its border, some are
    degenerate, some pictures have none."""
    rng = np.random.default_rng(seed)
    every = []
    for number, path in enumerate(sorted(root.glob("*.jpg"))):
        with Image.open(path) as image:
            width, height = image.size
        boxes = []
        for _ in range(0 if number % 5 in (0, 3) else int(rng.integers(1, most + 1))):
            x = np.sort(rng.uniform(0, width, 2))
            y = np.sort(rng.uniform(0, height, 2))
            if rng.integers(6) == 0:
                x[1] = x[0]
            if rng.integers(6) == 0:
                y[1] = height
            box = [float(x[0]), float(y[0]), float(x[1]), float(y[1])]
            boxes.append([int(side) for side in box] if integers else box)
        every.append(boxes)
    return every


class Objects(Dataset):
    """Boxes and labels in lists of the program's own."""

    def __init__(self, root, transforms, integers=False, seed=0):
        self.files = sorted(map(str, Path(root).glob("*.jpg")))
        self.boxes = draw_boxes(Path(root), seed=seed, integers=integers)
        self.labels = [[1 + i % 7 for i in range(len(boxes))] for boxes in self.boxes]
        self.transforms = transforms

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.tensor(self.boxes[idx], dtype=torch.float32).reshape(-1, 4)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=F.get_size(image))
        labels = torch.tensor(self.labels[idx], dtype=torch.int64)
        return self.transforms(image, {"boxes": boxes, "labels": labels, "image_id": idx})


class Annotated(Objects):
    """Annotations as dicts of arrays; boxes by their corner, width and height; fields of COCO's."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.annotations = []
        for boxes, labels in zip(self.boxes, self.labels, strict=True):
            corners = np.asarray(boxes, np.float64).reshape(-1, 4)
            corners[:, 2:] -= corners[:, :2]
            self.annotations.append(
                {"bbox": corners, "category": np.asarray(labels, np.int64), "crowd": labels}
            )

    def __getitem__(self, idx):
        image = tv_tensors.Image(Image.open(self.files[idx]).convert("RGB"))
        annotation = self.annotations[idx]
        boxes = torch.as_tensor(annotation["bbox"], dtype=torch.float32)
        target = {}
        target["boxes"] = tv_tensors.BoundingBoxes(
            boxes, format=tv_tensors.BoundingBoxFormat.XYWH, canvas_size=F.get_size(image)
        )
        target["labels"] = torch.from_numpy(annotation["category"])
        target["area"] = boxes[:, 2] * boxes[:, 3]
        target["iscrowd"] = torch.zeros((len(annotation["crowd"]),), dtype=torch.int64)
        target["image_id"] = torch.tensor([idx])
        target["name"] = self.files[idx]
        if self.transforms is not None:
            image, target = self.transforms(image, target)
        return image, target


class Listed(Objects):
    """A list of dicts for each picture, as COCO's files have them."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.annotations = [
            [
                {
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "category_id": label,
                    "iscrowd": label % 3 == 0,
                }
                for (x0, y0, x1, y1), label in zip(boxes, labels, strict=True)
            ]
            for boxes, labels in zip(self.boxes, self.labels, strict=True)
        ]

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        width, height = image.size
        found = self.annotations[idx]
        found = [one for one in found if not one["iscrowd"] if one["bbox"][2] >= 0]
        corners = [[x, y, x + w, y + h] for x, y, w, h in [one["bbox"] for one in found]]
        boxes = torch.as_tensor(corners, dtype=torch.float32)
        boxes = ops.box_convert(boxes.reshape(-1, 4), "xyxy", "cxcywh")
        boxes = tv_tensors.BoundingBoxes(boxes, format="CXCYWH", canvas_size=(height, width))
        labels = torch.tensor([one["category_id"] for one in found], dtype=torch.int64)
        return self.transforms((image, {"boxes": boxes, "labels": labels}))


class Records(Objects):
    """The file's name stands with its boxes."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.root = str(root)
        self.records = [
            (
                {"file_name": Path(file).name, "id": 7 * number},
                [{"box": box, "label": label} for box, label in zip(boxes, labels, strict=True)],
            )
            for number, (file, boxes, labels) in enumerate(
                zip(self.files, self.boxes, self.labels, strict=True)
            )
        ]

    def __len__(self):
        return len(self.records)

    def __getitem__(self, idx):
        info, found = self.records[idx]
        image = Image.open(os.path.join(self.root, info["file_name"])).convert("RGB")
        boxes = torch.tensor([one["box"] for one in found]).reshape(-1, 4)
        target = {
            "boxes": tv_tensors.BoundingBoxes(
                boxes, format="XYXY", canvas_size=(image.height, image.width)
            ),
            "labels": torch.tensor([one["label"] for one in found]),
            "image_id": info["id"],
            "file": info["file_name"],
        }
        return self.transforms(image, target)


class InPlace(Objects):
    """Changes boxes that it has made, as many programs do."""

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.as_tensor([box for box in self.boxes[idx]], dtype=torch.float32)
        boxes = boxes.reshape(-1, 4)
        boxes[:, 2:] -= boxes[:, :2]
        boxes[:, 0] = boxes[:, 0] * 2 / 2
        boxes *= 1.0
        area = boxes[:, 2] * boxes[:, 3]
        keep = (boxes[:, 2] > 2) & (boxes[:, 3] > 2)
        boxes = tv_tensors.BoundingBoxes(
            boxes[keep], format="XYWH", canvas_size=(image.height, image.width)
        )
        labels = torch.tensor(self.labels[idx], dtype=torch.int64)[keep]
        target = {"boxes": boxes, "labels": labels, "area": area[keep], "n": len(keep)}
        return self.transforms(image, target)


def zipped(batch):
    return tuple(zip(*batch, strict=True))


def lists(batch):
    images, targets = [], []
    for image, target in batch:
        images.append(image)
        targets.append(target)
    return images, targets


def flips():
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomHorizontalFlip(0.5),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


def of_pil():
    return v2.Compose(
        [
            v2.Resize((48, 64)),
            v2.RandomHorizontalFlip(),
            v2.RandomVerticalFlip(0.3),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.25)),
            v2.SanitizeBoundingBoxes(),
        ]
    )


def longest():
    return v2.Compose(
        [
            v2.Resize(60, max_size=77),
            v2.ColorJitter(0.3, 0.2),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
            v2.ConvertBoundingBoxFormat("CXCYWH"),
            v2.ClampBoundingBoxes(),
            v2.SanitizeBoundingBoxes(min_size=3, min_area=12, labels_getter=None),
            v2.ToPureTensor(),
        ]
    )


def cropped():
    return v2.Compose(
        [
            v2.Pad((3, 7), fill=9),
            v2.CenterCrop((40, 44)),
            v2.RandomGrayscale(0.4),
            v2.ToImage(),
            v2.ClampBoundingBoxes(),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float32),
        ]
    )


def of_tensors():
    return v2.Compose(
        [
            v2.ToImage(),
            v2.Resize(50, max_size=70),
            v2.RandomHorizontalFlip(),
            v2.SanitizeBoundingBoxes(),
            v2.Resize((64, 48)),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


def drawn_length():
    return v2.Compose(
        [
            v2.RandomHorizontalFlip(),
            v2.RandomResize(40, 70),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.SanitizeBoundingBoxes(),
        ]
    )


def shortest():
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomShortestSize([40, 50, 61, 72], max_size=90),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.SanitizeBoundingBoxes(),
        ]
    )


def jittered():
    return v2.Compose(
        [
            v2.RandomZoomOut(fill=(12, 200, 90), side_range=(1.0, 2.5), p=0.6),
            v2.ScaleJitter((64, 80), (0.5, 1.7)),
            v2.RandomHorizontalFlip(),
            v2.SanitizeBoundingBoxes(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


def drawn_program(random):
    """A Compose of transforms in an order that `random` draws."""
    of_both = [
        lambda: v2.RandomHorizontalFlip(random.choice([0.0, 0.3, 1.0])),
        lambda: v2.RandomVerticalFlip(0.5),
        lambda: v2.Resize((random.randint(20, 60), random.randint(20, 60))),
        lambda: v2.Resize(random.randint(20, 50), max_size=random.randint(60, 90)),
        lambda: v2.RandomResize(20, random.randint(21, 70)),
        lambda: v2.RandomShortestSize([30, 41, 57], max_size=random.choice([None, 66])),
        lambda: v2.ScaleJitter((random.randint(30, 90), 64), (0.4, random.uniform(0.5, 2))),
    ]
    of_pictures = [
        *of_both,
        lambda: v2.RandomZoomOut(random.randint(0, 255), (1.0, random.uniform(1, 3)), p=0.5),
        lambda: v2.Pad(random.randint(0, 9)),
        lambda: v2.CenterCrop((random.randint(20, 60), 50)),
        lambda: v2.RandomGrayscale(0.3),
        lambda: v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4)], p=0.6),
    ]
    of_boxes = [
        v2.ClampBoundingBoxes,
        lambda: v2.ConvertBoundingBoxFormat(random.choice(FORMATS)),
        v2.SanitizeBoundingBoxes,
    ]
    steps = [random.choice(of_pictures)() for _ in range(random.randint(0, 3))]
    steps.append(v2.ToImage())
    steps += [random.choice(of_both)() for _ in range(random.randint(0, 3))]
    steps.append(v2.ToDtype(torch.float32, scale=True))
    for _ in range(random.randint(0, 3)):
        steps.insert(random.randrange(len(steps)), random.choice(of_boxes)())
    return v2.Compose(steps)


DRAWN = {"drawn length": drawn_length, "shortest": shortest, "jittered": jittered}
TRANSFORMS = {
    "flips": flips,
    "of PIL": of_pil,
    "longest": longest,
    "cropped": cropped,
    "of tensors": of_tensors,
    **DRAWN,
}
PROGRAMS = {
    "own": lambda root, transforms: Objects(root, transforms),
    "integers": lambda root, transforms: Objects(root, transforms, integers=True),
    "annotated": Annotated,
    "listed": Listed,
    "in place": InPlace,
    "records": Records,
}
