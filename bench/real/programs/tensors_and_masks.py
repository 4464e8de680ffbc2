"""Segmentation with torchvision.io: tensors of a photograph and its mask, cropped and mirrored together."""

import json
import os

import torch
import torchvision.transforms.v2.functional as F
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, read_image


class PhotosAndMasks(Dataset):
    def __init__(self, root, size=192):
        self.root, self.size = root, size
        with open(os.path.join(root, "notes.json")) as file:
            notes = json.load(file)
        self.pairs = [
            (os.path.join(root, note["file"]), os.path.join(root, "masks", note["stem"] + ".png"))
            for note in notes
            if os.path.exists(os.path.join(root, "masks", note["stem"] + ".png"))
        ]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, idx):
        image = read_image(self.pairs[idx][0], ImageReadMode.RGB)
        mask = read_image(self.pairs[idx][1], ImageReadMode.UNCHANGED)[:1]
        place = self.place(image)
        image, mask = F.crop(image, *place), F.crop(mask, *place)
        if torch.rand(1) < 0.5:
            image, mask = F.horizontal_flip(image), F.horizontal_flip(mask)
        image = F.to_dtype(image, torch.float32, scale=True)
        image = F.normalize(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        return image, mask.squeeze(0).long()

    def place(self, image):
        _, height, width = image.shape
        top = int(torch.randint(0, height - self.size + 1, (1,)))
        left = int(torch.randint(0, width - self.size + 1, (1,)))
        return top, left, self.size, self.size


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(77)
    loader = DataLoader(
        PhotosAndMasks(args.data), args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for _images, _masks in recorder.epoch(loader):
            pass
    recorder.finish()
