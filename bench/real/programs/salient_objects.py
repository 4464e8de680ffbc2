"""Salient objects: a dict of numpy arrays through rescaling, a random crop and colours of the LAB kind."""

import json
import random

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import Compose


class RescaleT:
    def __init__(self, output_size):
        assert isinstance(output_size, int | tuple)
        self.output_size = output_size

    def __call__(self, sample):
        imidx, image, label = sample["imidx"], sample["image"], sample["label"]
        size = (self.output_size, self.output_size)
        img = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        lbl = cv2.resize(label, size, interpolation=cv2.INTER_NEAREST)[..., None]
        return {"imidx": imidx, "image": img, "label": lbl}


class RandomCrop:
    def __init__(self, output_size):
        self.output_size = (output_size, output_size)

    def __call__(self, sample):
        imidx, image, label = sample["imidx"], sample["image"], sample["label"]
        if random.random() >= 0.5:
            image = image[::-1]
            label = label[::-1]
        h, w = image.shape[:2]
        new_h, new_w = self.output_size
        top = np.random.randint(0, h - new_h)
        left = np.random.randint(0, w - new_w)
        part = (slice(top, top + new_h), slice(left, left + new_w))
        return {"imidx": imidx, "image": image[part], "label": label[part]}


class ToTensorLab:
    """One or three planes of colour, normalised each by its own mean."""

    def __init__(self, flag=0):
        self.flag = flag

    def __call__(self, sample):
        imidx, image, label = sample["imidx"], sample["image"], sample["label"]
        tmpLbl = np.zeros(label.shape)
        label = label if np.max(label) < 1e-6 else label / np.max(label)
        if self.flag == 1:
            image = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
        tmpImg = np.zeros((image.shape[0], image.shape[1], 3))
        image = image / np.max(image)
        for plane, (mean, std) in enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))):
            tmpImg[:, :, plane] = (image[:, :, plane] - mean) / std
        tmpLbl[:, :, 0] = label[:, :, 0]
        tmpImg = tmpImg.transpose((2, 0, 1))
        tmpLbl = tmpLbl.transpose((2, 0, 1))
        return {
            "imidx": torch.from_numpy(imidx),
            "image": torch.from_numpy(tmpImg),
            "label": torch.from_numpy(tmpLbl),
        }


class SalObjDataset(Dataset):
    def __init__(self, root, transform=None):
        with open(f"{root}/notes.json") as file:
            notes = json.load(file)
        self.image_name_list = [f"{root}/{note['file']}" for note in notes]
        self.label_name_list = [f"{root}/masks/{note['stem']}.png" for note in notes]
        self.transform = transform

    def __len__(self):
        return len(self.image_name_list)

    def __getitem__(self, idx):
        image = cv2.imread(self.image_name_list[idx])[:, :, ::-1]
        label = cv2.imread(self.label_name_list[idx], 0)
        sample = {"imidx": np.array([idx]), "image": np.ascontiguousarray(image), "label": label}
        if self.transform:
            sample = self.transform(sample)
        return sample


if __name__ == "__main__":
    args = parser(__doc__, batch_size=12).parse_args()
    seed_all(13)
    dataset = SalObjDataset(
        args.data, Compose([RescaleT(320), RandomCrop(288), ToTensorLab(flag=0)])
    )
    salobj_dataloader = DataLoader(dataset, args.batch_size, shuffle=True, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for data in recorder.epoch(salobj_dataloader):
            inputs, labels = (
                data["image"].type(torch.FloatTensor),
                data["label"].type(torch.FloatTensor),
            )
            assert inputs.shape[-2:] == labels.shape[-2:]
    recorder.finish()
