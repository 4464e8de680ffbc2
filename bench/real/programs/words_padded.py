"""Reading words of files: grey pictures that keep their shape, padded to the widest of a batch, encoded text."""

import enum
import logging

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger(__name__)


class Special(enum.IntEnum):
    BLANK = 0
    UNKNOWN = 1


ALPHABET = {character: number + 2 for number, character in enumerate("abcdefghijklmnopqrstuvwxyz")}


class WordPictures(Dataset):
    def __init__(self, root, height=48, train=True):
        self.root, self.height, self.train = root, height, train
        with open(f"{root}/words.txt") as file:
            self.items = [line.rstrip("\n").split(" ") for line in file]
        log.debug("%d words", len(self.items))

    def __len__(self):
        return len(self.items)

    def distort(self, image):
        if np.random.rand() < 0.3:
            image = cv2.GaussianBlur(image, (3, 3), 0)
        if np.random.rand() < 0.5:
            h, w = image.shape
            shift = np.random.uniform(-0.06, 0.06, (4, 2)) * (w, h)
            corners = np.array([(0, 0), (w, 0), (w, h), (0, h)])
            matrix = cv2.getPerspectiveTransform(
                corners.astype(np.float32), (corners + shift).astype(np.float32)
            )
            image = cv2.warpPerspective(image, matrix, (w, h), borderMode=cv2.BORDER_REPLICATE)
        noise = np.random.normal(0, 4, image.shape)
        return np.clip(image + noise, 0, 255).astype(np.uint8)

    def __getitem__(self, index):
        name, text = self.items[index]
        image = cv2.imread(f"{self.root}/words/{name}", cv2.IMREAD_GRAYSCALE)
        if self.train:
            image = self.distort(image)
        width = max(8, int(image.shape[1] * self.height / image.shape[0]))
        image = cv2.resize(image, (width, self.height), interpolation=cv2.INTER_AREA)
        codes = [ALPHABET.get(character, Special.UNKNOWN) for character in text.lower()]
        return (image.astype(np.float32) - 127.5) / 127.5, np.array(codes, dtype=np.int64)


def pad_collate(batch):
    batch.sort(key=lambda item: item[0].shape[1], reverse=True)
    most = batch[0][0].shape[1]
    images = torch.zeros(len(batch), 1, batch[0][0].shape[0], most)
    for row, (image, _) in enumerate(batch):
        images[row, 0, :, : image.shape[1]] = torch.from_numpy(image)
    texts = torch.full((len(batch), max(len(t) for _, t in batch)), int(Special.BLANK))
    for row, (_, text) in enumerate(batch):
        texts[row, : len(text)] = torch.from_numpy(text)
    return images, texts, torch.tensor([len(t) for _, t in batch])


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    logging.basicConfig(level=logging.WARNING)
    seed_all(19)
    loader = DataLoader(
        WordPictures(args.data),
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        collate_fn=pad_collate,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, texts, lengths in recorder.epoch(loader):
            assert len(images) == len(texts) == len(lengths)
    recorder.finish()


if __name__ == "__main__":
    main()
