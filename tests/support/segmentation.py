"""Segmentation: pictures with masks, and programs that load them as people write them."""

from pathlib import Path

import numpy as np
import torch
import torchvision.transforms.functional as TF
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F2

NEAREST = InterpolationMode.NEAREST
CLASSES = 21


def write_pairs(root: Path, count: int, seed: int = 0) -> Path:
    """JPEG files with a mask of the same size for each: with palettes of 4 and of 8 bits, and gray."""
    rng = np.random.default_rng(seed)
    for folder in ("images", "masks"):
        (root / folder).mkdir(parents=True)
    for number in range(count):
        height, width = (int(side) for side in rng.integers(40, 90, 2))
        write_picture(root / f"images/{number:03}.jpg", height, width, rng)
        classes = 9 if number % 3 == 0 else CLASSES
        write_mask(root / f"masks/{number:03}.png", height, width, rng, classes, number % 3 == 2)
    return root


def write_picture(path: Path, height: int, width: int, rng: np.random.Generator) -> None:
    coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    picture = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, quality=90)


def write_mask(
    path: Path, height: int, width: int, rng: np.random.Generator, classes: int, gray: bool = False
) -> None:
    mask = Image.fromarray(rng.integers(0, classes, (height, width), dtype=np.uint8))
    if not gray:
        mask.putpalette(rng.integers(0, 256, 3 * classes, dtype=np.uint8).tobytes())
    path.parent.mkdir(parents=True, exist_ok=True)
    mask.save(path)


class Pairs(Dataset):
    """A folder of pictures, and one of masks."""

    def __init__(self, root, transform=None, target_transform=None):
        self.images = sorted(map(str, Path(root).glob("images/*")))
        self.masks = sorted(map(str, Path(root).glob("masks/*")))
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = Image.open(self.masks[idx])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            mask = self.target_transform(mask)
        return image, mask


class OfNumPy(Pairs):
    """The mask as class indices, in a dict."""

    def __getitem__(self, idx):
        image = self.transform(Image.open(self.images[idx]).convert("RGB"))
        mask = self.target_transform(Image.open(self.masks[idx]))
        mask = torch.as_tensor(np.array(mask), dtype=torch.int64)
        return {"image": image, "mask": mask, "index": idx}


class FromNumPy(Pairs):
    def __getitem__(self, idx):
        image = self.transform(Image.open(self.images[idx]).convert("RGB"))
        mask = np.array(self.target_transform(Image.open(self.masks[idx]).convert("L")))
        return image, torch.from_numpy(mask).long()


class Restored(Pairs):
    """Two pictures in colour, as for image restoration."""

    def __getitem__(self, idx):
        low = Image.open(self.images[idx]).convert("RGB")
        high = Image.open(self.masks[idx]).convert("RGB")
        return {"low": self.transform(low), "high": self.transform(high)}


class Several(Pairs):
    """A picture, two ways to read its mask, and a number."""

    def __getitem__(self, idx):
        image = self.transform(Image.open(self.images[idx]).convert("RGB"))
        mask = self.target_transform(Image.open(self.masks[idx]))
        edges = self.target_transform(Image.open(self.masks[idx]).convert("L"))
        return image, [mask, edges], idx


class Joint(Pairs):
    """v2's transforms, of a picture and a tv_tensors.Mask."""

    def __init__(self, root, transforms):
        super().__init__(root)
        self.transforms = transforms

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = tv_tensors.Mask(Image.open(self.masks[idx]))
        return self.transforms(image, mask)


class JointTensors(Joint):
    """The same, of tensors in a dict."""

    def __getitem__(self, idx):
        image = tv_tensors.Image(Image.open(self.images[idx]).convert("RGB"))
        mask = tv_tensors.Mask(Image.open(self.masks[idx]))
        return self.transforms({"image": image, "mask": mask, "index": idx})


class JointPictures(Joint):
    """Both are PIL images, and both are pictures to the transforms."""

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = Image.open(self.masks[idx])
        image, mask = self.transforms(image, mask)
        return image, mask.squeeze(0).long()


class Functional(Pairs):
    """As torchvision's own documentation says it."""

    def transform_both(self, image, mask):
        image = TF.resize(image, (52, 60))
        mask = TF.resize(mask, (52, 60), interpolation=NEAREST)
        i, j, h, w = v1.RandomCrop.get_params(image, output_size=(40, 40))
        image = TF.crop(image, i, j, h, w)
        mask = TF.crop(mask, i, j, h, w)
        if torch.rand(1) < 0.5:
            image = TF.hflip(image)
            mask = TF.hflip(mask)
        if torch.rand(1).item() <= 0.3:
            image, mask = TF.vflip(image), TF.vflip(mask)
        image = TF.normalize(TF.to_tensor(image), [0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
        return image, TF.pil_to_tensor(mask).squeeze(0).long()

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = Image.open(self.masks[idx])
        return self.transform_both(image, mask)


class FunctionalDict(Pairs):
    """Of a sample in a dict, which changes."""

    crop = v1.RandomResizedCrop(32)

    def __getitem__(self, idx):
        sample = {"image": Image.open(self.images[idx]).convert("RGB")}
        sample["label"] = Image.open(self.masks[idx])
        place = v1.RandomResizedCrop.get_params(sample["image"], self.crop.scale, [3 / 4, 2 * 0.75])
        mode = v1.InterpolationMode.NEAREST
        sample["label"] = TF.resized_crop(sample["label"], *place, (32, 32), mode)
        sample["image"] = TF.resized_crop(sample["image"], *place, (32, 32))
        drawn = torch.rand(1)
        if drawn < 0.5:
            sample["image"] = TF.hflip(sample["image"])
        if drawn < 0.5:
            sample["label"] = TF.hflip(sample["label"])
        label = torch.from_numpy(np.array(sample["label"]))
        return {"image": F2.pil_to_tensor(sample["image"]), "label": label}


def fixed(*end):
    return v1.Compose([v1.Resize((32, 40)), *(end or [v1.ToTensor()])])


def nearest(*end):
    return v1.Compose([v1.Resize((32, 40), interpolation=NEAREST), *end])


def to_types():
    types = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    return v2.ToDtype(types, scale=True)


def crops():
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop((32, 40)),
            v2.RandomHorizontalFlip(),
            v2.RandomVerticalFlip(0.3),
            to_types(),
            v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
        ]
    )


def padded():
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomCrop(64, pad_if_needed=True, fill={tv_tensors.Image: (9, 8, 7), tv_tensors.Mask: 255}),
            v2.RandomApply([v2.ColorJitter(0.2, 0.2), v2.RandomGrayscale(0.5)], p=0.5),
            v2.RandomApply([v2.RandomHorizontalFlip(), v2.GaussianBlur(3)], p=0.7),
            to_types(),
        ]
    )  # fmt: skip


def elastic():
    fill = {tv_tensors.Image: 90, tv_tensors.Mask: 255}
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomCrop(40, pad_if_needed=True),
            v2.ElasticTransform(90.0, 2.0, fill=fill),
            v2.RandomApply([v2.ElasticTransform(40.0, 1.0)], p=0.5),
            to_types(),
        ]
    )


def deterministic():
    return v2.Compose(
        [v2.ToImage(), v2.Resize((48, 40)), v2.CenterCrop((32, 32)), v2.Pad(3, fill=1), to_types()]
    )


def reference():
    """As torchvision's segmentation reference trains with v2."""
    fill = {tv_tensors.Image: 0, tv_tensors.Mask: 255, "others": 0}
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResize(min_size=24, max_size=90),
            v2.RandomHorizontalFlip(0.5),
            v2.RandomCrop((32, 32), pad_if_needed=True, fill=fill),
            to_types(),
            v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


def of_pil():
    return v2.Compose(
        [v2.RandomCrop(36, pad_if_needed=True), v2.RandomHorizontalFlip(), v2.ToImage()]
    )


def pil_and_mask():
    return v2.Compose(
        [
            v2.RandomResizedCrop((32, 40)),
            v2.RandomHorizontalFlip(),
            v2.PILToTensor(),
            v2.ToPureTensor(),
        ]
    )


# Programs that become native plans.
NATIVE = {
    "transform and target_transform": lambda root: Pairs(root, fixed(), nearest(v1.PILToTensor())),
    "a mask in 0..1": lambda root: Pairs(root, fixed(), nearest(v1.ToTensor())),
    "squeezed": lambda root: Pairs(
        root, fixed(), nearest(v1.PILToTensor(), lambda mask: mask.squeeze(0).long())
    ),
    "class indices": lambda root: OfNumPy(root, fixed(), nearest()),
    "from_numpy": lambda root: FromNumPy(root, fixed(), nearest()),
    "restoration": lambda root: Restored(root, fixed()),
    "several": lambda root: Several(root, fixed(), nearest(v1.PILToTensor())),
    "v2: crops": lambda root: Joint(root, crops()),
    "v2: padded": lambda root: Joint(root, padded()),
    "v2: torchvision's reference": lambda root: Joint(root, reference()),
    "v2: elastic": lambda root: Joint(root, elastic()),
    "v2: nothing drawn": lambda root: Joint(root, deterministic()),
    "v2: tensors in a dict": lambda root: JointTensors(root, crops()),
    "v2: pictures": lambda root: JointPictures(root, of_pil()),
    "v2: a picture of PIL's and a mask": lambda root: Joint(root, pil_and_mask()),
    "functional": Functional,
    "functional, in a dict": FunctionalDict,
}


def write_voc(root: Path, count: int, seed: int = 0) -> Path:
    """Files as torchvision's VOCSegmentation of 2011 reads them."""
    rng = np.random.default_rng(seed)
    base = root / "TrainVal/VOCdevkit/VOC2011"
    names = [f"2011_{number:06}" for number in range(count)]
    for name in names:
        height, width = (int(side) for side in rng.integers(40, 90, 2))
        write_picture(base / f"JPEGImages/{name}.jpg", height, width, rng)
        write_mask(base / f"SegmentationClass/{name}.png", height, width, rng, CLASSES)
    lists = base / "ImageSets/Segmentation"
    lists.mkdir(parents=True)
    (lists / "train.txt").write_text("\n".join(names) + "\n")
    return root


def write_pets(root: Path, count: int, seed: int = 0) -> Path:
    """Files as torchvision's OxfordIIITPet reads them."""
    rng = np.random.default_rng(seed)
    base = root / "oxford-iiit-pet"
    for number in range(count):
        height, width = (int(side) for side in rng.integers(40, 90, 2))
        write_picture(base / f"images/Abys_{number}.jpg", height, width, rng)
        write_mask(base / f"annotations/trimaps/Abys_{number}.png", height, width, rng, 4, True)
    lines = [f"Abys_{number} {number % 3 + 1} {number % 2 + 1} 1" for number in range(count)]
    (base / "annotations/trainval.txt").write_text("\n".join(lines) + "\n")
    return root


def write_cities(root: Path, count: int, seed: int = 0) -> Path:
    """Files as torchvision's Cityscapes reads them."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        name = f"train/a/{number}"
        write_picture(root / f"leftImg8bit/{name}_leftImg8bit.png", 40, 60 + number, rng)
        write_mask(root / f"gtFine/{name}_gtFine_labelIds.png", 40, 60 + number, rng, 30, True)
    return root
