"""Reading words: pictures in LMDB, batches resized and normalised by the collate."""

import io
import re
import sys

import lmdb
import torch
import torchvision.transforms as transforms
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class LmdbDataset(Dataset):
    def __init__(self, root, character="abcdefghijklmnopqrstuvwxyz", max_length=25):
        self.root = root
        self.character = character
        self.env = lmdb.open(
            root, max_readers=32, readonly=True, lock=False, readahead=False, meminit=False
        )
        if not self.env:
            print(f"cannot open lmdb from {root}", file=sys.stderr)
            sys.exit(0)
        with self.env.begin(write=False) as txn:
            self.nSamples = int(txn.get(b"num-samples"))
            self.filtered_index_list = []
            for index in range(1, self.nSamples + 1):
                label = txn.get(b"label-%09d" % index).decode("utf-8")
                if len(label) <= max_length and not re.search(f"[^{character}]", label.lower()):
                    self.filtered_index_list.append(index)

    def __len__(self):
        return len(self.filtered_index_list)

    def __getitem__(self, index):
        index = self.filtered_index_list[index]
        with self.env.begin(write=False) as txn:
            label = txn.get(b"label-%09d" % index).decode("utf-8")
            imgbuf = txn.get(b"image-%09d" % index)
            buf = io.BytesIO()
            buf.write(imgbuf)
            buf.seek(0)
            try:
                img = Image.open(buf).convert("L")
            except OSError:
                print(f"Corrupted image for {index}")
                img = Image.new("L", (100, 32))
                label = "[dummy_label]"
            label = re.sub(f"[^{self.character}]", "", label.lower())
        return img, label


class ResizeNormalize:
    def __init__(self, size, interpolation=Image.BICUBIC):
        self.size = size
        self.interpolation = interpolation
        self.toTensor = transforms.ToTensor()

    def __call__(self, img):
        img = img.resize(self.size, self.interpolation)
        img = self.toTensor(img)
        img.sub_(0.5).div_(0.5)
        return img


class AlignCollate:
    def __init__(self, imgH=32, imgW=100):
        self.imgH, self.imgW = imgH, imgW

    def __call__(self, batch):
        images, labels = zip(*filter(lambda x: x is not None, batch), strict=True)
        transform = ResizeNormalize((self.imgW, self.imgH))
        image_tensors = [transform(image) for image in images]
        return torch.cat([t.unsqueeze(0) for t in image_tensors], 0), labels


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(1111)
    dataset = LmdbDataset(f"{args.data}/words_lmdb")
    loader = DataLoader(
        dataset,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        collate_fn=AlignCollate(),
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for image, labels in recorder.epoch(loader):
            assert len(labels) == image.size(0)
    recorder.finish()
