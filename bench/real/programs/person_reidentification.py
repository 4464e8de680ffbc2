"""Re-identification: names that hold persons and cameras, batches of P persons with K pictures, erasing."""

import copy
import glob
import math
import os.path as osp
import random
import re
from collections import defaultdict

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import Sampler


def read_image(img_path):
    """Keep reading image until succeed: heavy IO may interrupt it."""
    got_img = False
    if not osp.exists(img_path):
        raise OSError(f"{img_path} does not exist")
    while not got_img:
        try:
            img = Image.open(img_path).convert("RGB")
            got_img = True
        except OSError:
            print(f"IOError incurred when reading '{img_path}'. Will redo.")
    return img


class RandomErasing:
    def __init__(self, probability=0.5, sl=0.02, sh=0.4, r1=0.3, mean=(0.4914, 0.4822, 0.4465)):
        self.probability, self.mean, self.sl, self.sh, self.r1 = probability, mean, sl, sh, r1

    def __call__(self, img):
        if random.uniform(0, 1) >= self.probability:
            return img
        for _ in range(100):
            area = img.size()[1] * img.size()[2]
            target_area = random.uniform(self.sl, self.sh) * area
            aspect_ratio = random.uniform(self.r1, 1 / self.r1)
            h = int(round(math.sqrt(target_area * aspect_ratio)))
            w = int(round(math.sqrt(target_area / aspect_ratio)))
            if w < img.size()[2] and h < img.size()[1]:
                x1, y1 = random.randint(0, img.size()[1] - h), random.randint(0, img.size()[2] - w)
                for plane in range(3):
                    img[plane, x1 : x1 + h, y1 : y1 + w] = self.mean[plane]
                return img
        return img


class ImageDataset(Dataset):
    def __init__(self, dataset, transform=None):
        self.dataset, self.transform = dataset, transform

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        img_path, pid, camid = self.dataset[index]
        img = read_image(img_path)
        if self.transform is not None:
            img = self.transform(img)
        return img, pid, camid, img_path


class RandomIdentitySampler(Sampler):
    def __init__(self, data_source, batch_size, num_instances):
        self.num_instances = num_instances
        self.num_pids_per_batch = batch_size // num_instances
        self.index_dic = defaultdict(list)
        for index, (_, pid, _) in enumerate(data_source):
            self.index_dic[pid].append(index)
        self.pids = list(self.index_dic.keys())

    def __iter__(self):
        batch_idxs_dict = defaultdict(list)
        for pid in self.pids:
            idxs = copy.deepcopy(self.index_dic[pid])
            if len(idxs) < self.num_instances:
                idxs = np.random.choice(idxs, size=self.num_instances, replace=True)
            random.shuffle(idxs)
            for start in range(0, len(idxs) - self.num_instances + 1, self.num_instances):
                batch_idxs_dict[pid].append(idxs[start : start + self.num_instances])
        avai_pids = copy.deepcopy(self.pids)
        final_idxs = []
        while len(avai_pids) >= self.num_pids_per_batch:
            for pid in random.sample(avai_pids, self.num_pids_per_batch):
                final_idxs.extend(batch_idxs_dict[pid].pop(0))
                if not batch_idxs_dict[pid]:
                    avai_pids.remove(pid)
        return iter(final_idxs)

    def __len__(self):
        return len(self.pids) * self.num_instances


def train_collate_fn(batch):
    imgs, pids, _, _ = zip(*batch, strict=True)
    return torch.stack(imgs, dim=0), torch.tensor(pids, dtype=torch.int64)


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(20)
    pattern = re.compile(r"([-\d]+)_c(\d)")
    items = []
    for path in sorted(glob.glob(f"{args.data}/people/*.jpg")):
        pid, camid = map(int, pattern.search(path).groups())
        items.append((path, pid, camid - 1))
    transform = T.Compose(
        [T.Resize((256, 128)), T.RandomHorizontalFlip(0.5), T.Pad(10), T.RandomCrop((256, 128)),
         T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), RandomErasing()]
    )  # fmt: skip
    loader = DataLoader(
        ImageDataset(items, transform), args.batch_size, sampler=RandomIdentitySampler(items, args.batch_size, 3),
        num_workers=args.workers, collate_fn=train_collate_fn,
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()


if __name__ == "__main__":
    main()
