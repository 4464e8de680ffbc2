"""Binary segmentation: scaled pictures and masks from two folders, a dict of tensors, random_split."""

import logging
from os import listdir
from os.path import splitext
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset, random_split
from tqdm import tqdm


def load_image(filename):
    ext = splitext(filename)[1]
    if ext == ".npy":
        return Image.fromarray(np.load(filename))
    return Image.open(filename)


class BasicDataset(Dataset):
    def __init__(self, images_dir: str, mask_dir: str, scale: float = 1.0):
        self.images_dir = Path(images_dir)
        self.mask_dir = Path(mask_dir)
        assert 0 < scale <= 1, "Scale must be between 0 and 1"
        self.scale = scale
        self.ids = sorted(
            f"{folder}/{splitext(file)[0]}"
            for folder in listdir(images_dir)
            for file in listdir(self.images_dir / folder)
            if not file.startswith(".")
        )
        if not self.ids:
            raise RuntimeError(f"No input file found in {images_dir}")
        logging.info(f"Creating dataset with {len(self.ids)} examples")
        self.mask_values = list(range(21))

    def __len__(self):
        return len(self.ids)

    @staticmethod
    def preprocess(mask_values, pil_img, scale, is_mask):
        w, h = 480, 360
        new_w, new_h = int(scale * w), int(scale * h)
        pil_img = pil_img.resize(
            (new_w, new_h), resample=Image.NEAREST if is_mask else Image.BICUBIC
        )
        img = np.asarray(pil_img)
        if is_mask:
            mask = np.zeros((new_h, new_w), dtype=np.int64)
            for i, v in enumerate(mask_values):
                mask[img == v] = i
            return mask
        img = img[np.newaxis, ...] if img.ndim == 2 else img.transpose((2, 0, 1))
        if (img > 1).any():
            img = img / 255.0
        return img

    def __getitem__(self, idx):
        name = self.ids[idx]
        mask_file = list(self.mask_dir.glob(name.replace("/", "_") + ".*"))
        img_file = list(self.images_dir.glob(name + ".*"))
        assert len(img_file) == 1 and len(mask_file) == 1, name
        mask = load_image(mask_file[0])
        img = load_image(img_file[0])
        assert img.size == mask.size, name
        img = self.preprocess(self.mask_values, img, self.scale, is_mask=False)
        mask = self.preprocess(self.mask_values, mask, self.scale, is_mask=True)
        return {
            "image": torch.as_tensor(img.copy()).float().contiguous(),
            "mask": torch.as_tensor(mask.copy()).long().contiguous(),
        }


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    seed_all(0)
    dataset = BasicDataset(f"{args.data}/photos", f"{args.data}/masks", 0.8)
    n_val = len(dataset) // 10
    train_set, _ = random_split(
        dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(0)
    )
    loader = DataLoader(
        train_set, shuffle=True, batch_size=args.batch_size, num_workers=args.workers
    )
    recorder = Recorder()
    for epoch in range(args.epochs):
        with tqdm(total=len(train_set), desc=f"Epoch {epoch}", unit="img", disable=True) as bar:
            for batch in recorder.epoch(loader):
                bar.update(batch["image"].shape[0])
    recorder.finish()


if __name__ == "__main__":
    main()
