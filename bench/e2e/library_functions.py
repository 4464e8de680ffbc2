"""What the native forms of library functions are worth to programs that read pictures with OpenCV or
torchvision.io: CPU time of a sample in alternation in one process. Either with the library's functions and
with the native forms, or (--pictures) with native decoding alone and with all native forms.
"""

import argparse
import pathlib
import random
import statistics
import time
import warnings

import albucore
import albumentations as A
import cv2
import harness
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from headrace.stage import functions, memory
from torch.utils.data import default_collate
from torchvision.io import ImageReadMode, decode_jpeg, read_file, read_image
from torchvision.transforms import v2

BATCH = 32
SIDE = 640
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
END = [A.Normalize(), ToTensorV2()]


def read(path):
    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)


def with_recipe(*steps, **named):
    recipe = A.Compose([*steps, *END], seed=1, **named)

    def sample(path):
        image = read(path)
        height, width = image.shape[:2]
        more = {}
        if "bbox_params" in named:
            more = {"bboxes": [[0, 0, width // 2, height // 2]], "labels": [1]}
        elif any(isinstance(step, A.Affine) for step in steps):
            more = {"mask": (image[..., 0] > 127).astype(np.uint8)}
        made = recipe(image=image, **more)
        return {"image": made["image"], "mask": made.get("mask", 0)}

    return sample


def plain(path):
    image = cv2.resize(read(path), (224, 224))
    if random.random() < 0.5:
        image = cv2.flip(image, 1)
    return torch.from_numpy((image.astype(np.float32) / 255.0).transpose(2, 0, 1).copy())


def letterbox(path):
    """As detectors of the YOLO family read a picture."""
    image = cv2.imread(path)
    height, width = image.shape[:2]
    ratio = SIDE / max(height, width)
    if ratio != 1:
        kind = cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR
        size = int(width * ratio), int(height * ratio)
        image = cv2.resize(image, size, interpolation=kind)
    height, width = image.shape[:2]
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    below, right = SIDE - height - top, SIDE - width - left
    grey = (114, 114, 114)
    image = cv2.copyMakeBorder(image, top, below, left, right, cv2.BORDER_CONSTANT, value=grey)
    if random.random() < 0.5:
        image = np.fliplr(image)
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)[::-1]))


def smaller(path):
    image = cv2.resize(read(path), (256, 256), interpolation=cv2.INTER_AREA)
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


def shift_scale_rotate():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # albumentations would have people use Affine
        return A.ShiftScaleRotate(p=0.5)


def with_tensors(*steps):
    end = v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)
    transform = v2.Compose([*steps, *end])
    return lambda path: transform(read_image(path, ImageReadMode.RGB))


BOXES = A.BboxParams(format="pascal_voc", label_fields=["labels"])
PROGRAMS = {
    "cv2.imread alone": lambda path: cv2.imread(path)[0, 0],
    "torchvision.io.decode_jpeg alone": lambda path: decode_jpeg(read_file(path))[0, 0, 0],
    "cv2: resize, flip, / 255, transpose": plain,
    "cv2: letterbox, planes of RGB": letterbox,
    "cv2: resize by INTER_AREA": smaller,
    "albumentations, training": with_recipe(
        A.RandomResizedCrop(size=(224, 224)), A.HorizontalFlip(p=0.5)
    ),
    "albumentations, training with ColorJitter": with_recipe(
        A.RandomResizedCrop(size=(224, 224)), A.HorizontalFlip(p=0.5), A.ColorJitter(p=0.8)
    ),
    "albumentations, evaluation": with_recipe(A.SmallestMaxSize(256), A.CenterCrop(224, 224)),
    "albumentations, segmentation": with_recipe(
        A.HorizontalFlip(p=0.5), A.Affine(scale=(0.8, 1.2), rotate=(-15, 15), p=1.0),
        A.PadIfNeeded(320, 320), A.RandomCrop(320, 320),
    ),
    "albumentations, detection": with_recipe(
        A.RandomBrightnessContrast(p=0.5), A.HorizontalFlip(p=0.5), A.Resize(416, 416),
        bbox_params=BOXES,
    ),
    "albumentations, padded (ShiftScaleRotate, GaussianBlur)": with_recipe(
        A.LongestMaxSize(320), A.PadIfNeeded(320, 320), A.HorizontalFlip(p=0.5),
        shift_scale_rotate(), A.GaussianBlur(p=0.5),
    ),
    "torchvision.io and v2, training": with_tensors(
        v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()
    ),
    "torchvision.io and v2, evaluation": with_tensors(
        v2.Resize(256, antialias=True), v2.CenterCrop(224)
    ),
}  # fmt: skip


class Switch:
    """The functions of the libraries, or their native forms."""

    def __init__(self, pictures):
        functions.enable()
        reading = (
            (cv2, "imread"),
            (torch.ops.image, "decode_image"),
            (torch.ops.image, "decode_jpeg"),
        )
        others = (
            (cv2, "resize"),
            (cv2, "warpAffine"),
            (np, "ascontiguousarray"),
            (albucore.functions, "normalize_lut"),
        )
        self.places = [
            (owner, name, getattr(owner, name))
            for owner, name in (others if pictures else reading + others)
        ]

    def set(self, native):
        for owner, name, replaced in self.places:
            setattr(owner, name, replaced if native else replaced.real)


def alternate(sample, paths, switch):
    """CPU milliseconds of a sample (library, native), a batch with the one and then with the other."""
    spent = {False: 0.0, True: 0.0}
    for at in range(0, len(paths), BATCH):
        for native in spent:
            switch.set(native)
            random.seed(at)
            torch.manual_seed(at)
            started = time.process_time()
            default_collate([sample(path) for path in paths[at : at + BATCH]])
            spent[native] += time.process_time() - started
    return [seconds / len(paths) * 1e3 for seconds in spent.values()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--files", type=int, default=160)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--names", nargs="+", default=list(PROGRAMS))
    parser.add_argument("--pictures", action="store_true", help="reading is native on both sides")
    args = parser.parse_args()
    cv2.setNumThreads(0)
    torch.set_num_threads(1)
    memory.keep(128 << 20)  # as a lane does; else what is timed is the kernel, which clears memory
    photos = harness.describe_photos(args.data)
    files = sorted(str(path) for path in args.data.rglob("*.jpg"))
    paths = files[:: max(len(files) // args.files, 1)][: args.files // BATCH * BATCH]
    switch = Switch(args.pictures)
    rows, data = [], {}
    for name in args.names:
        sample = PROGRAMS[name]
        alternate(sample, paths, switch)  # imports, checks, and what only a first call does
        pairs = [alternate(sample, paths, switch) for _ in range(args.pairs)]
        data[name] = {"library_and_native_ms": pairs}
        before, after = map(statistics.median, zip(*pairs, strict=True))
        ratios = [native / library for library, native in pairs]
        shown = f"{before:.2f} ms, {after:.2f} ms, ratio {harness.show(harness.spread(ratios))}"
        rows.append((name, shown))
    versions = {"cv2": cv2.__version__, "albumentations": A.__version__}
    title = "Library functions and their native forms, CPU time a sample"
    if args.pictures:
        title = (
            "Functions on pictures and their native forms, after native reading, CPU time a sample"
        )
    harness.write_report(
        "picture_functions" if args.pictures else "library_functions",
        title,
        rows,
        {"photos": photos, **versions, "ms": data},
    )


if __name__ == "__main__":
    main()
