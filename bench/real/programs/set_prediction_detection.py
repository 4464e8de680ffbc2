"""Detection by set prediction: boxes in COCO's layout, transforms of picture and target, padded batches."""

import json
import random

import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from box_transforms import Compose, Normalize, RandomHorizontalFlip, RandomResize, RandomSizeCrop
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class RandomSelect:
    def __init__(self, transforms1, transforms2, p=0.5):
        self.transforms1 = transforms1
        self.transforms2 = transforms2
        self.p = p

    def __call__(self, img, target):
        if random.random() < self.p:
            return self.transforms1(img, target)
        return self.transforms2(img, target)


class ToTensor:
    def __call__(self, img, target):
        return F.to_tensor(img), target


class CocoBoxes(Dataset):
    def __init__(self, root, transforms):
        with open(f"{root}/instances.json") as file:
            index = json.load(file)
        self.root = root
        self.images = index["images"]
        self.by_image = {}
        for annotation in index["annotations"]:
            self.by_image.setdefault(annotation["image_id"], []).append(annotation)
        self.transforms = transforms

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        entry = self.images[idx]
        img = Image.open(f"{self.root}/{entry['file_name']}").convert("RGB")
        w, h = img.size
        anno = [a for a in self.by_image[entry["id"]] if a["iscrowd"] == 0]
        boxes = torch.as_tensor([a["bbox"] for a in anno], dtype=torch.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        boxes[:, 0::2].clamp_(min=0, max=w)
        boxes[:, 1::2].clamp_(min=0, max=h)
        target = {
            "boxes": boxes,
            "labels": torch.tensor([a["category_id"] for a in anno], dtype=torch.int64),
            "image_id": torch.tensor([entry["id"]]),
            "area": torch.tensor([a["area"] for a in anno]),
            "orig_size": torch.as_tensor([int(h), int(w)]),
            "size": torch.as_tensor([int(h), int(w)]),
        }
        return self.transforms(img, target)


class NestedTensor:
    def __init__(self, tensors, mask):
        self.tensors = tensors
        self.mask = mask


def collate_fn(batch):
    images, targets = zip(*batch, strict=True)
    most = [max(sizes) for sizes in zip(*[image.shape for image in images], strict=True)]
    tensor = torch.zeros([len(images), *most])
    mask = torch.ones((len(images), *most[1:]), dtype=torch.bool)
    for img, pad_img, m in zip(images, tensor, mask, strict=True):
        pad_img[: img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
        m[: img.shape[1], : img.shape[2]] = False
    return NestedTensor(tensor, mask), targets


def make_transforms():
    scales = [240, 264, 288, 312, 336, 360]
    return Compose(
        [
            RandomHorizontalFlip(),
            RandomSelect(
                RandomResize(scales, max_size=600),
                Compose(
                    [
                        RandomResize([200, 250, 300]),
                        RandomSizeCrop(192, 300),
                        RandomResize(scales, max_size=600),
                    ]
                ),
            ),
            ToTensor(),
            Normalize(T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])),
        ]
    )


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(42)
    dataset = CocoBoxes(args.data, make_transforms())
    batches = BatchSampler(RandomSampler(dataset), args.batch_size, drop_last=True)
    loader = DataLoader(
        dataset, batch_sampler=batches, collate_fn=collate_fn, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for samples, targets in recorder.epoch(loader):
            assert samples.mask.shape[0] == len(targets)
    recorder.finish()


if __name__ == "__main__":
    main()
