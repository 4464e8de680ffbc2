"""FFCV with raw (decoded) images: writes its file once, then a random crop and flip, as uint8."""

import argparse
import pathlib

import tiers_epochs
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor
from ffcv.writer import DatasetWriter
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
parser.add_argument("where")
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--write", action="store_true")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument(
    "--from-disk", action="store_true", help="as for data that memory does not hold"
)
arguments = parser.parse_args()

if arguments.write:
    fields = {"image": RGBImageField(write_mode="raw"), "label": IntField()}
    DatasetWriter(str(arguments.file), fields, num_workers=2).from_indexed_dataset(
        ImageFolder(arguments.where)
    )
    raise SystemExit

loader = Loader(
    str(arguments.file),
    batch_size=64,
    num_workers=arguments.threads,
    order=OrderOption.QUASI_RANDOM if arguments.from_disk else OrderOption.RANDOM,
    os_cache=not arguments.from_disk,
    drop_last=False,
    pipelines={
        "image": [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(), ToTensor()],
        "label": [IntDecoder(), ToTensor()],
    },
)
tiers_epochs.count_batches(loader)  # compiles
tiers_epochs.serve(lambda: tiers_epochs.count_batches(loader))
