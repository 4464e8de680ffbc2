"""A data set that reads with torchvision.io and augments tensors: training, evaluation, two views."""

import pathlib
import sys

import torch
from told import tell
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_image, decode_jpeg, read_file, read_image
from torchvision.transforms import v2

TAIL = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)]
TRAIN = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), *TAIL])
EVALUATE = v2.Compose([v2.Resize(36), v2.CenterCrop(32), *TAIL])


class Files(Dataset):
    def __init__(self, root):
        self.files = sorted(map(str, pathlib.Path(root).rglob("*.jpg")))

    def __len__(self):
        return len(self.files)


class Train(Files):
    def __getitem__(self, index):
        image = read_image(self.files[index], ImageReadMode.RGB)
        return TRAIN(image), image.shape[1]


class Evaluate(Files):
    def __getitem__(self, index):
        image = decode_image(read_file(self.files[index]), mode="RGB")
        if image.shape[0] == 1:
            image = image.repeat(3, 1, 1)
        return EVALUATE(image), index


class Views(Files):
    """Two of one tensor, which is looked at afterwards."""

    def __getitem__(self, index):
        image = decode_jpeg(read_file(self.files[index]), mode=ImageReadMode.RGB)
        kept = torch.as_tensor(image)
        return TRAIN(image), TRAIN(image), kept[:, ::7, ::7].sum()


if __name__ == "__main__":
    for epoch, dataset in enumerate((Train, Evaluate, Views, Train)):
        torch.manual_seed(epoch)
        loader = DataLoader(dataset(sys.argv[1]), batch_size=4, shuffle=True, num_workers=2)
        for step, batch in enumerate(loader):
            tell((epoch, step), len(batch[0]), batch)
