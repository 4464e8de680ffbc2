"""Detection: boxes as tv_tensors, transforms that drop some of them, batches that are not tensors."""

import os
import sys

import torch
from PIL import Image
from told import tell
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F


class Objects(Dataset):
    """A picture with up to four boxes, made up from its number."""

    def __init__(self, root, transforms):
        self.files = sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
        )
        self.transforms = transforms

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        width, height = image.size
        random = torch.Generator().manual_seed(idx)
        corner = torch.rand(1 + idx % 4, 2, generator=random) * 0.6
        extent = 0.1 + torch.rand(len(corner), 2, generator=random) * 0.3
        scale = torch.tensor([width, height] * 2)
        boxes = tv_tensors.BoundingBoxes(
            torch.cat([corner, corner + extent], 1) * scale,
            format="XYXY",
            canvas_size=F.get_size(image),
        )
        labels = torch.arange(len(boxes)) % 3
        target = {"boxes": boxes, "labels": labels, "image_id": idx}
        return self.transforms(tv_tensors.Image(image), target)


def preset():
    return v2.Compose(
        [
            v2.RandomPhotometricDistort(),
            v2.RandomZoomOut(fill={tv_tensors.Image: (123, 117, 104), "others": 0}),
            v2.RandomIoUCrop(),
            v2.RandomHorizontalFlip(p=0.5),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float, scale=True),
        ]
    )


def collate_fn(batch):
    return tuple(zip(*batch, strict=True))


def main(root):
    torch.manual_seed(23)
    data = Objects(root, preset())
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=2, collate_fn=collate_fn)
    for epoch in range(2):
        for step, (images, targets) in enumerate(loader):
            tell((epoch, step), len(images), (images, targets))


if __name__ == "__main__":
    main(sys.argv[1])
