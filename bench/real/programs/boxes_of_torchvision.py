"""Detection after torchvision's own guide: tv_tensors, v2 transforms, and a target that is a dict."""

import json

import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2 as T
from torchvision.transforms.v2 import functional as F


class PersonDataset(Dataset):
    def __init__(self, root, transforms):
        self.root = root
        self.transforms = transforms
        with open(f"{root}/notes.json") as file:
            self.notes = json.load(file)

    def __getitem__(self, idx):
        note = self.notes[idx]
        img = tv_tensors.Image(
            F.pil_to_tensor(Image.open(f"{self.root}/{note['file']}").convert("RGB"))
        )
        boxes = torch.tensor(note["boxes"])
        target = {
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=F.get_size(img)),
            "labels": torch.ones((len(boxes),), dtype=torch.int64),
            "image_id": idx,
            "area": boxes[:, 2] * boxes[:, 3],
            "iscrowd": torch.zeros((len(boxes),), dtype=torch.int64),
        }
        if self.transforms is not None:
            img, target = self.transforms(img, target)
        return img, target

    def __len__(self):
        return len(self.notes)


def get_transform(train):
    transforms = []
    if train:
        transforms += [
            T.RandomPhotometricDistort(p=0.5),
            T.RandomZoomOut(
                fill={tv_tensors.Image: (123, 117, 104), "others": 0}, side_range=(1.0, 2.0)
            ),
            T.RandomIoUCrop(),
            T.RandomHorizontalFlip(0.5),
            T.RandomShortestSize(min_size=(256, 288, 320), max_size=480),
        ]
    transforms += [
        T.ToDtype(torch.float, scale=True),
        T.ConvertBoundingBoxFormat("XYXY"),
        T.ClampBoundingBoxes(),
        T.SanitizeBoundingBoxes(),
        T.ToPureTensor(),
    ]
    return T.Compose(transforms)


def collate_fn(batch):
    return tuple(zip(*batch, strict=True))


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(11)
    dataset = PersonDataset(args.data, get_transform(train=True))
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, collate_fn=collate_fn
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, targets in recorder.epoch(loader):
            assert len(images) == len(targets)
    recorder.finish()


if __name__ == "__main__":
    main()
