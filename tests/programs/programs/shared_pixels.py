"""A data set that puts a picture's memory into another tensor, in a way of which torch tells nobody."""

import pathlib
import sys

import torch
from told import tell
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, read_image
from torchvision.transforms import v2

TRAIN = v2.Compose([v2.RandomResizedCrop(32), v2.ToDtype(torch.float32, scale=True)])


class Shared(Dataset):
    def __init__(self, root):
        self.files = sorted(map(str, pathlib.Path(root).rglob("*.jpg")))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        holder = torch.empty(0, dtype=torch.uint8)
        holder.data = read_image(self.files[index], ImageReadMode.RGB)
        return TRAIN(holder), index


if __name__ == "__main__":
    torch.manual_seed(1)
    loader = DataLoader(Shared(sys.argv[1]), batch_size=4, shuffle=True, num_workers=2)
    for step, batch in enumerate(loader):
        tell(step, len(batch[0]), batch)
