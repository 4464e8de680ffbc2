"""Translation between two folders that are not paired: each picture of A with a random one of B."""

import glob
import os
import random

import torchvision.transforms as transforms
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def to_rgb(image):
    rgb_image = Image.new("RGB", image.size)
    rgb_image.paste(image)
    return rgb_image


class ImageDataset(Dataset):
    def __init__(self, root, transforms_=None, unaligned=False, mode="train"):
        self.transform = transforms.Compose(transforms_)
        self.unaligned = unaligned
        self.files_A = sorted(glob.glob(os.path.join(root, f"{mode}A") + "/*.*"))
        self.files_B = sorted(glob.glob(os.path.join(root, f"{mode}B") + "/*.*"))

    def __getitem__(self, index):
        image_A = Image.open(self.files_A[index % len(self.files_A)])
        if self.unaligned:
            image_B = Image.open(self.files_B[random.randint(0, len(self.files_B) - 1)])
        else:
            image_B = Image.open(self.files_B[index % len(self.files_B)])
        if image_A.mode != "RGB":
            image_A = to_rgb(image_A)
        if image_B.mode != "RGB":
            image_B = to_rgb(image_B)
        return {"A": self.transform(image_A), "B": self.transform(image_B)}

    def __len__(self):
        return max(len(self.files_A), len(self.files_B)) * 3


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(16)
    size = 256
    transforms_ = [
        transforms.Resize(int(size * 1.12), Image.BICUBIC),
        transforms.RandomCrop((size, size)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    ]
    dataloader = DataLoader(
        ImageDataset(f"{args.data}/unpaired", transforms_=transforms_, unaligned=True),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(dataloader):
            assert batch["A"].shape == batch["B"].shape
    recorder.finish()


if __name__ == "__main__":
    main()
