"""LitData: chunks of JPEG files, local or of a bucket with a local copy; decoded by PIL."""

import argparse
import io
import pathlib

import litdata
import litdata.streaming.downloader
import tiers_epochs
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
parser.add_argument("where")
parser.add_argument("--write", help="the folder of images to make chunks of")
parser.add_argument("--copies", help="where chunks of a bucket are kept")
parser.add_argument("--endpoint")
arguments = parser.parse_args()


def sample(pair):
    return {"image": pathlib.Path(pair[0]).read_bytes(), "label": pair[1]}


class Images(litdata.StreamingDataset):
    augment = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.PILToTensor()])

    def __getitem__(self, index):
        read = super().__getitem__(index)
        return self.augment(Image.open(io.BytesIO(read["image"])).convert("RGB")), read["label"]


def main():
    if arguments.write:
        pairs = ImageFolder(arguments.write).samples
        litdata.optimize(sample, pairs, arguments.where, chunk_bytes="8MB", num_workers=1)
        return
    torch.set_num_threads(1)
    more = {}
    if arguments.endpoint:
        more = {"storage_options": {"endpoint_url": arguments.endpoint}}
        more["cache_dir"] = arguments.copies
        # Else it takes no store without TLS.
        litdata.streaming.downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    dataset = Images(arguments.where, shuffle=True, **more)
    loader = litdata.StreamingDataLoader(
        dataset, batch_size=64, num_workers=2, persistent_workers=True
    )
    tiers_epochs.serve(lambda: tiers_epochs.count_batches(loader))


if __name__ == "__main__":
    main()
