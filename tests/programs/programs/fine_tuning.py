"""Fine-tuning a detector, as torchvision's tutorial begins: annotations in a file, flips, lists."""

import json
import os
import sys

import torch
from PIL import Image
from told import tell
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2 as T
from torchvision.transforms.v2 import functional as F


def annotate(root):
    """A file of annotations, as a labelling tool writes it."""
    path = os.path.join(root, "boxes.json")
    entries = []
    names = sorted(name for name in os.listdir(root) if name.endswith(".jpg"))
    for number, name in enumerate(names):
        boxes = [[4 + i, 3, 20 + 3 * i, 22 + number % 9] for i in range(number % 4)]
        found = [{"bbox": box, "category": 1 + i % 2} for i, box in enumerate(boxes)]
        entries.append({"file": name, "objects": found})
    with open(path, "w") as file:
        json.dump(entries, file)
    return path


class Annotated(Dataset):
    def __init__(self, root, transforms):
        self.root = root
        self.transforms = transforms
        with open(annotate(root)) as file:
            self.entries = json.load(file)

    def __getitem__(self, idx):
        entry = self.entries[idx]
        img = Image.open(os.path.join(self.root, entry["file"])).convert("RGB")
        img = tv_tensors.Image(img)
        boxes = torch.tensor([one["bbox"] for one in entry["objects"]], dtype=torch.float32)
        boxes = boxes.reshape(-1, 4)
        area = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0])

        target = {}
        target["boxes"] = tv_tensors.BoundingBoxes(
            boxes, format="XYXY", canvas_size=F.get_size(img)
        )
        target["labels"] = torch.tensor(
            [one["category"] for one in entry["objects"]], dtype=torch.int64
        )
        target["image_id"] = idx
        target["area"] = area
        target["iscrowd"] = torch.zeros((len(boxes),), dtype=torch.int64)

        if self.transforms is not None:
            img, target = self.transforms(img, target)
        return img, target

    def __len__(self):
        return len(self.entries)


def get_transform(train):
    transforms = []
    if train:
        transforms.append(T.RandomHorizontalFlip(0.5))
    transforms.append(T.ToDtype(torch.float, scale=True))
    transforms.append(T.ToPureTensor())
    return T.Compose(transforms)


def collate_fn(batch):
    return tuple(zip(*batch, strict=True))


def main(root):
    torch.manual_seed(7)
    data = Annotated(os.path.join(root, "class0"), get_transform(train=True))
    test = Annotated(os.path.join(root, "class1"), get_transform(train=False))
    indices = torch.randperm(len(data)).tolist()
    data = torch.utils.data.Subset(data, indices[:-1])
    loader = DataLoader(data, batch_size=2, shuffle=True, num_workers=2, collate_fn=collate_fn)
    of_test = DataLoader(test, batch_size=1, num_workers=1, collate_fn=collate_fn)
    for epoch in range(2):
        for step, (images, targets) in enumerate(loader):
            tell((epoch, step), len(images), (images, targets))
        for step, (images, targets) in enumerate(of_test):
            tell((epoch, "test", step), len(images), (images, targets))


if __name__ == "__main__":
    main(sys.argv[1])
