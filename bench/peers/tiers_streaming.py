"""MosaicML Streaming: shards of JPEG files, local or of a bucket with a local copy; decoded by PIL."""

import argparse
import io
import pathlib

import tiers_epochs
import torch
from PIL import Image
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
parser.add_argument("local", type=pathlib.Path)
parser.add_argument("--remote")
parser.add_argument("--write", help="the folder of images to make shards of")
arguments = parser.parse_args()

if arguments.write:
    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=str(arguments.local), columns=columns, size_limit=8 << 20) as out:
        for path, label in ImageFolder(arguments.write).samples:
            out.write({"image": pathlib.Path(path).read_bytes(), "label": label})
    raise SystemExit


class Images(StreamingDataset):
    augment = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.PILToTensor()])

    def __getitem__(self, index):
        sample = super().__getitem__(index)
        image = Image.open(io.BytesIO(sample["image"])).convert("RGB")
        return self.augment(image), sample["label"]


torch.set_num_threads(1)
clean_stale_shared_memory()  # of programs that were killed; it trusts what it finds there
dataset = Images(local=str(arguments.local), remote=arguments.remote, shuffle=True, batch_size=64)
loader = torch.utils.data.DataLoader(dataset, 64, num_workers=2, persistent_workers=True)
tiers_epochs.serve(lambda: tiers_epochs.count_batches(loader))
