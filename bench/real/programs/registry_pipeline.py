"""Detection through a registry of transforms on dictionaries; notes pickled into one array; retries of bad samples."""

import copy
import json
import pickle
import random
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset, Sampler


class Registry:
    def __init__(self):
        self.modules = {}

    def register_module(self):
        def add(cls):
            self.modules[cls.__name__] = cls
            return cls

        return add

    def build(self, cfg):
        cfg = dict(cfg)
        return self.modules[cfg.pop("type")](**cfg)


TRANSFORMS = Registry()


class BaseTransform:
    def __call__(self, results):
        return self.transform(results)


@TRANSFORMS.register_module()
class LoadImageFromFile(BaseTransform):
    def transform(self, results):
        with open(results["img_path"], "rb") as f:
            img_bytes = f.read()
        img = cv2.imdecode(np.frombuffer(img_bytes, np.uint8), cv2.IMREAD_COLOR)
        results["img"] = img
        results["img_shape"] = results["ori_shape"] = img.shape[:2]
        return results


@TRANSFORMS.register_module()
class LoadAnnotations(BaseTransform):
    def transform(self, results):
        boxes = [i["bbox"] for i in results["instances"]]
        results["gt_bboxes"] = np.array(boxes, dtype=np.float32).reshape((-1, 4))
        results["gt_bboxes_labels"] = np.array(
            [i["bbox_label"] for i in results["instances"]], dtype=np.int64
        )
        return results


@TRANSFORMS.register_module()
class RandomResize(BaseTransform):
    def __init__(self, scale, ratio_range):
        self.scale, self.ratio_range = scale, ratio_range

    def transform(self, results):
        lo, hi = self.ratio_range
        ratio = np.random.random_sample() * (hi - lo) + lo
        h, w = results["img"].shape[:2]
        factor = min(max(self.scale) * ratio / max(h, w), min(self.scale) * ratio / min(h, w))
        size = int(w * factor + 0.5), int(h * factor + 0.5)
        results["img"] = cv2.resize(results["img"], size, interpolation=cv2.INTER_LINEAR)
        results["scale_factor"] = (size[0] / w, size[1] / h)
        results["gt_bboxes"] = results["gt_bboxes"] * np.tile(results["scale_factor"], 2)
        results["img_shape"] = results["img"].shape[:2]
        return results


@TRANSFORMS.register_module()
class RandomCrop(BaseTransform):
    def __init__(self, crop_size):
        self.crop_size = crop_size

    def transform(self, results):
        img = results["img"]
        oy = np.random.randint(0, max(img.shape[0] - self.crop_size[0], 0) + 1)
        ox = np.random.randint(0, max(img.shape[1] - self.crop_size[1], 0) + 1)
        img = img[oy : oy + self.crop_size[0], ox : ox + self.crop_size[1]]
        boxes = results["gt_bboxes"] - np.array([ox, oy, ox, oy])
        boxes[:, 0::2] = boxes[:, 0::2].clip(0, img.shape[1])
        boxes[:, 1::2] = boxes[:, 1::2].clip(0, img.shape[0])
        valid = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        if not valid.any():
            return None
        results["img"], results["img_shape"] = img, img.shape[:2]
        results["gt_bboxes"] = boxes[valid]
        results["gt_bboxes_labels"] = results["gt_bboxes_labels"][valid]
        return results


@TRANSFORMS.register_module()
class PhotoMetricDistortion(BaseTransform):
    def transform(self, results):
        img = results["img"].astype(np.float32)
        if random.randint(0, 1):
            img += random.uniform(-32, 32)
        if random.randint(0, 1):
            img *= random.uniform(0.5, 1.5)
        img = cv2.cvtColor(img, cv2.COLOR_BGR2HSV)
        img[..., 1] *= random.uniform(0.5, 1.5)
        results["img"] = cv2.cvtColor(img, cv2.COLOR_HSV2BGR)
        return results


@TRANSFORMS.register_module()
class RandomFlip(BaseTransform):
    def __init__(self, prob):
        self.prob = prob

    def transform(self, results):
        results["flip"] = bool(np.random.choice([True, False], p=[self.prob, 1 - self.prob]))
        if results["flip"]:
            results["img"] = np.flip(results["img"], axis=1)
            w = results["img_shape"][1]
            b = results["gt_bboxes"].copy()
            b[:, 0], b[:, 2] = w - results["gt_bboxes"][:, 2], w - results["gt_bboxes"][:, 0]
            results["gt_bboxes"] = b
        return results


class DetDataSample:
    def __init__(self, metainfo, boxes, labels):
        self.metainfo, self.bboxes, self.labels = metainfo, boxes, labels


@TRANSFORMS.register_module()
class PackDetInputs(BaseTransform):
    def __init__(self, meta_keys=("img_id", "img_path", "ori_shape", "img_shape", "flip")):
        self.meta_keys = meta_keys

    def transform(self, results):
        img = np.ascontiguousarray(results["img"].transpose(2, 0, 1))
        meta = {k: results[k] for k in self.meta_keys if k in results}
        sample = DetDataSample(
            meta,
            torch.from_numpy(results["gt_bboxes"]),
            torch.from_numpy(results["gt_bboxes_labels"]),
        )
        return {"inputs": torch.from_numpy(img), "data_samples": sample}


class BaseDetDataset(Dataset):
    def __init__(self, root, pipeline, max_refetch=1000):
        self.transforms = [TRANSFORMS.build(t) for t in pipeline]
        self.max_refetch = max_refetch
        found = []
        for n, note in enumerate(json.loads(Path(root, "notes.json").read_text())[:128]):
            boxes = [[x, y, x + w, y + h] for x, y, w, h in note["boxes"]]
            instances = [
                {"bbox": b, "bbox_label": c} for b, c in zip(boxes, note["classes"], strict=False)
            ]
            found.append(
                {"img_path": str(Path(root, note["file"])), "img_id": n, "instances": instances}
            )
        blobs = [np.frombuffer(pickle.dumps(one, protocol=4), dtype=np.uint8) for one in found]
        self.data_address = np.cumsum([len(b) for b in blobs])
        self.data_bytes = np.concatenate(blobs)

    def __len__(self):
        return len(self.data_address)

    def get_data_info(self, idx):
        start = 0 if idx == 0 else self.data_address[idx - 1].item()
        data = pickle.loads(memoryview(self.data_bytes[start : self.data_address[idx].item()]))
        data["sample_idx"] = idx
        return data

    def prepare(self, idx):
        results = copy.deepcopy(self.get_data_info(idx))
        for t in self.transforms:
            results = t(results)
            if results is None:
                return None
        return results

    def __getitem__(self, idx):
        for _ in range(self.max_refetch + 1):
            data = self.prepare(idx)
            if data is None:
                idx = np.random.randint(0, len(self))
                continue
            return data
        raise Exception("no valid sample")


class DefaultSampler(Sampler):
    def __init__(self, dataset, seed):
        self.dataset, self.seed, self.epoch = dataset, seed, 0

    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.seed + self.epoch)
        return iter(torch.randperm(len(self.dataset), generator=g).tolist())

    def __len__(self):
        return len(self.dataset)


def worker_init_fn(worker_id, num_workers, rank, seed):
    worker_seed = num_workers * rank + worker_id + seed
    np.random.seed(worker_seed)
    random.seed(worker_seed)
    torch.manual_seed(worker_seed)


def pseudo_collate(batch):
    return {key: [one[key] for one in batch] for key in batch[0]}


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(2)
    pipeline = [
        {"type": "LoadImageFromFile"}, {"type": "LoadAnnotations"},
        {"type": "RandomResize", "scale": (333, 200), "ratio_range": (0.8, 1.6)},
        {"type": "RandomCrop", "crop_size": (192, 192)}, {"type": "PhotoMetricDistortion"},
        {"type": "RandomFlip", "prob": 0.5}, {"type": "PackDetInputs"},
    ]  # fmt: skip
    dataset = BaseDetDataset(args.data, pipeline)
    sampler = DefaultSampler(dataset, seed=7)
    loader = DataLoader(
        dataset, args.batch_size, sampler=sampler, num_workers=args.workers, collate_fn=pseudo_collate,
        worker_init_fn=partial(worker_init_fn, num_workers=args.workers, rank=0, seed=7),
        persistent_workers=args.workers > 0, drop_last=True,
    )  # fmt: skip
    recorder = Recorder()
    for epoch in range(args.epochs):
        sampler.epoch = epoch
        for data in recorder.epoch(loader):
            assert len(data["inputs"]) == len(data["data_samples"])
    recorder.finish()
