"""Segmentation of scans: an endless set of whole batches, cases as memory maps with pickled properties, elastic turns."""

import pickle
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from scipy.ndimage import gaussian_filter, map_coordinates
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

PATCH = (160, 160)


def preprocess(data, folder, rng):
    for path in sorted(Path(data, "slices").glob("*.npz"))[:24]:
        with np.load(path) as case:
            image, label = case["image"][None], case["label"][None].astype(np.int16)
        np.save(folder / f"{path.stem}.npy", image)
        np.save(folder / f"{path.stem}_seg.npy", label)
        where = {kind: np.argwhere(label[0] == kind) for kind in (1, 2, 3)}
        where = {
            kind: found[rng.choice(len(found), min(100, len(found)), replace=False)]
            for kind, found in where.items()
        }
        with open(folder / f"{path.stem}.pkl", "wb") as file:
            pickle.dump({"spacing": (1.0, 1.0), "class_locations": where}, file)


class Cases:
    def __init__(self, folder):
        self.folder = str(folder)
        self.identifiers = sorted(path.stem for path in Path(folder).glob("*.pkl"))

    def load_case(self, identifier):
        data = np.load(f"{self.folder}/{identifier}.npy", mmap_mode="r")
        seg = np.load(f"{self.folder}/{identifier}_seg.npy", mmap_mode="r")
        with open(f"{self.folder}/{identifier}.pkl", "rb") as file:
            return data, seg, pickle.load(file)


class RandomTransform:
    def __init__(self, transform, probability):
        self.transform, self.probability = transform, probability

    def __call__(self, **sample):
        return self.transform(**sample) if torch.rand(1).item() < self.probability else sample


def spatial(image, segmentation):
    angle, scale = np.random.uniform(-0.3, 0.3), np.random.uniform(0.8, 1.3)
    centre = (np.array(PATCH) - 1) / 2
    y, x = np.mgrid[: PATCH[0], : PATCH[1]] - centre[:, None, None]
    y, x = np.cos(angle) * y - np.sin(angle) * x, np.sin(angle) * y + np.cos(angle) * x
    places = np.stack([y, x]) * scale + centre[:, None, None]
    for axis in (0, 1):
        places[axis] += gaussian_filter(np.random.uniform(-1, 1, PATCH), 12) * 40
    image = np.stack([map_coordinates(channel, places, order=1) for channel in image])
    turned = [map_coordinates(one, places, order=0, cval=-1) for one in segmentation]
    return {"image": image, "segmentation": np.stack(turned)}


def gamma(image, segmentation):
    low, span = image.min(), np.ptp(image)
    image = ((image - low) / (span + 1e-7)) ** np.random.uniform(0.7, 1.5) * span + low
    return {"image": image.astype(np.float32), "segmentation": segmentation}


def mirror(image, segmentation):
    for axis in (1, 2):
        if np.random.uniform() < 0.5:
            image, segmentation = np.flip(image, axis), np.flip(segmentation, axis)
    return {"image": image, "segmentation": segmentation}


class PatchLoader(IterableDataset):
    def __init__(self, cases, batch_size, transforms, oversample=0.33):
        self.cases, self.batch_size, self.transforms = cases, batch_size, transforms
        self.foreground_from = round(batch_size * (1 - oversample))

    def corner(self, shape, locations, foreground):
        if not foreground:
            return [np.random.randint(0, s - p + 1) for s, p in zip(shape, PATCH, strict=True)]
        kinds = [kind for kind, found in locations.items() if len(found)]
        found = locations[kinds[np.random.choice(len(kinds))]]
        voxel = found[np.random.choice(len(found))]
        return [
            int(np.clip(v - p // 2, 0, s - p)) for v, p, s in zip(voxel, PATCH, shape, strict=True)
        ]

    def generate_batch(self):
        keys = np.random.choice(self.cases.identifiers, self.batch_size, replace=True)
        data = np.zeros((self.batch_size, 1, *PATCH), np.float32)
        target = np.zeros((self.batch_size, 1, *PATCH), np.int16)
        for number, key in enumerate(keys):
            image, seg, properties = self.cases.load_case(key)
            top, left = self.corner(
                image.shape[1:], properties["class_locations"], number >= self.foreground_from
            )
            window = np.s_[:, top : top + PATCH[0], left : left + PATCH[1]]
            sample = {"image": np.copy(image[window]), "segmentation": np.copy(seg[window])}
            for transform in self.transforms:
                sample = transform(**sample)
            data[number], target[number] = sample["image"], sample["segmentation"]
        return {"data": torch.from_numpy(data), "target": torch.from_numpy(target), "keys": keys}

    def __iter__(self):
        while True:
            yield self.generate_batch()


def seed_worker(_):
    np.random.seed(get_worker_info().seed % 2**32)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(12345)
    folder = made(args.data, "patches_without_end", partial(preprocess, args.data))
    transforms = [RandomTransform(spatial, 0.5), RandomTransform(gamma, 0.3), mirror]
    dataset = PatchLoader(Cases(folder), args.batch_size, transforms)
    loader = DataLoader(
        dataset, batch_size=None, num_workers=args.workers, worker_init_fn=seed_worker
    )
    recorder = Recorder()
    batches = iter(loader)
    for _ in range(args.epochs):
        for batch in recorder.epoch(islice(batches, 30)):
            assert len(batch["data"]) == args.batch_size
    recorder.finish()
