"""Detection: a mapper of copied dictionaries, an endless sampler, batches grouped by aspect ratio in the program."""

import copy
import itertools
import json
import logging
import random
from pathlib import Path

import numpy as np
import torch
import torch.utils.data as torchdata
from PIL import Image
from recording import Recorder, parser, seed_all


class Augmentation:
    def __repr__(self):
        return f"{type(self).__name__}({vars(self)})"


class ResizeShortestEdge(Augmentation):
    def __init__(self, lengths, max_size):
        self.lengths, self.max_size = lengths, max_size

    def __call__(self, img, boxes):
        h, w = img.shape[:2]
        size = np.random.choice(self.lengths)
        scale = min(size / min(h, w), self.max_size / max(h, w))
        nh, nw = int(h * scale + 0.5), int(w * scale + 0.5)
        pil = Image.fromarray(img).resize((nw, nh), Image.BILINEAR)
        return np.asarray(pil), boxes * [nw / w, nh / h, nw / w, nh / h]


class RandomFlip(Augmentation):
    def __call__(self, img, boxes):
        if np.random.uniform() < 0.5:
            img = np.flip(img, axis=1)
            boxes = boxes.copy()
            boxes[:, [0, 2]] = img.shape[1] - boxes[:, [2, 0]]
        return img, boxes


class Instances:
    def __init__(self, image_size, **fields):
        self.image_size, self.fields = image_size, fields


class DatasetMapper:
    def __init__(self, augmentations):
        self.augmentations = augmentations
        logging.getLogger(__name__).info("Augmentations used in training: %s", augmentations)

    def __call__(self, dataset_dict):
        dataset_dict = copy.deepcopy(dataset_dict)
        with open(dataset_dict["file_name"], "rb") as f:
            image = np.asarray(Image.open(f).convert("RGB"))[:, :, ::-1]
        if dataset_dict["width"] != image.shape[1]:
            raise ValueError("mismatched size")
        boxes = np.array([a["bbox"] for a in dataset_dict["annotations"]])
        for augmentation in self.augmentations:
            image, boxes = augmentation(image, boxes)
        dataset_dict["image"] = torch.as_tensor(np.ascontiguousarray(image.transpose(2, 0, 1)))
        classes = torch.tensor([a["category_id"] for a in dataset_dict.pop("annotations")])
        dataset_dict["instances"] = Instances(
            image.shape[:2], gt_boxes=torch.as_tensor(boxes), gt_classes=classes
        )
        return dataset_dict


class MapDataset(torchdata.Dataset):
    def __init__(self, dataset, map_func):
        self._dataset, self._map_func = dataset, map_func
        self._rng = random.Random(42)
        self._fallback_candidates = set(range(len(dataset)))

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, idx):
        cur = int(idx)
        for _ in range(3):
            data = self._map_func(self._dataset[cur])
            if data is not None:
                self._fallback_candidates.add(cur)
                return data
            self._fallback_candidates.discard(cur)
            cur = self._rng.sample(sorted(self._fallback_candidates), k=1)[0]
        raise RuntimeError


class TrainingSampler(torchdata.Sampler):
    def __init__(self, size, seed):
        self._size, self._seed = size, seed

    def __iter__(self):
        yield from itertools.islice(self._infinite_indices(), 0, None, 1)

    def _infinite_indices(self):
        g = torch.Generator()
        g.manual_seed(self._seed)
        while True:
            yield from torch.randperm(self._size, generator=g).tolist()


class ToIterableDataset(torchdata.IterableDataset):
    def __init__(self, dataset, sampler):
        self.dataset, self.sampler = dataset, sampler

    def __iter__(self):
        info = torchdata.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for idx in itertools.islice(self.sampler, start, None, step):
            yield self.dataset[idx]


class AspectRatioGroupedDataset(torchdata.IterableDataset):
    def __init__(self, dataset, batch_size):
        self.dataset, self.batch_size = dataset, batch_size
        self._buckets = [[] for _ in range(2)]

    def __iter__(self):
        for d in self.dataset:
            bucket = self._buckets[0 if d["width"] > d["height"] else 1]
            bucket.append(d)
            if len(bucket) == self.batch_size:
                data = bucket[:]
                del bucket[:]
                yield data


def worker_init_reset_seed(worker_id):
    initial = torch.initial_seed() % 2**31
    random.seed(initial + worker_id)
    np.random.seed(initial + worker_id)
    torch.set_rng_state(torch.manual_seed(initial + worker_id).get_state())


def first(xs):
    return xs[0]


if __name__ == "__main__":
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(3)
    dicts = []
    for n, note in enumerate(json.loads(Path(args.data, "notes.json").read_text())[:96]):
        annotations = [
            {"bbox": [x, y, x + w, y + h], "category_id": c, "iscrowd": 0}
            for (x, y, w, h), c in zip(note["boxes"], note["classes"], strict=False)
        ]
        dicts.append(
            {"file_name": str(Path(args.data, note["file"])), "image_id": n, "width": note["width"],
             "height": note["height"], "annotations": annotations}
        )  # fmt: skip
    mapper = DatasetMapper([ResizeShortestEdge((160, 192, 224), 333), RandomFlip()])
    dataset = ToIterableDataset(MapDataset(dicts, mapper), TrainingSampler(len(dicts), 5))
    loader = torchdata.DataLoader(
        dataset, num_workers=args.workers, batch_size=None, collate_fn=None,
        worker_init_fn=worker_init_reset_seed,
    )  # fmt: skip
    recorder = Recorder()
    batches = iter(AspectRatioGroupedDataset(loader, args.batch_size))
    for _ in range(args.epochs):
        for batch in recorder.epoch(itertools.islice(batches, 20)):
            assert len(batch) == args.batch_size
    recorder.finish()
