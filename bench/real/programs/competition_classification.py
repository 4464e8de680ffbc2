"""Classification as in competitions: a table of files, OpenCV, albumentations, folds, a config class."""

import albumentations as A
import cv2
import numpy as np
import pandas as pd
import torch
from albumentations.pytorch import ToTensorV2
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class CFG:
    size = 256
    seed = 42
    n_fold = 4
    target_col = "label"
    debug = False


def get_transforms(*, data):
    if data == "train":
        return A.Compose(
            [
                A.RandomResizedCrop(size=(CFG.size, CFG.size), scale=(0.5, 1.0)),
                A.HorizontalFlip(p=0.5),
                A.RandomBrightnessContrast(p=0.5),
                A.ShiftScaleRotate(p=0.3, shift_limit=0.06, rotate_limit=15),
                A.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
                ToTensorV2(),
            ],
            seed=CFG.seed,
        )
    return A.Compose([A.Resize(CFG.size, CFG.size), A.Normalize(), ToTensorV2()])


class TrainDataset(Dataset):
    def __init__(self, df, root, transform=None):
        self.df = df
        self.root = root
        self.file_names = df["image"].values
        self.labels = df[CFG.target_col].values
        self.transform = transform

    def __len__(self):
        return len(self.df)

    def __getitem__(self, idx):
        file_path = f"{self.root}/{self.file_names[idx]}"
        image = cv2.imread(file_path)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        if self.transform:
            image = self.transform(image=image)["image"]
        label = torch.tensor(self.labels[idx]).long()
        return image, label


def main():
    args = parser(__doc__).parse_args()
    seed_all(CFG.seed)
    table = pd.read_csv(f"{args.data}/captions.csv").drop_duplicates("image").reset_index(drop=True)
    table["fold"] = np.arange(len(table)) % CFG.n_fold
    train, valid = table[table.fold != 0], table[table.fold == 0]
    train_loader = DataLoader(
        TrainDataset(train.reset_index(drop=True), args.data, get_transforms(data="train")),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        drop_last=True,
    )
    valid_loader = DataLoader(
        TrainDataset(valid.reset_index(drop=True), args.data, get_transforms(data="valid")),
        batch_size=args.batch_size * 2,
        shuffle=False,
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(train_loader):
            pass
        for images, _ in valid_loader:
            assert images.shape[-1] == CFG.size
    recorder.finish()


if __name__ == "__main__":
    main()
