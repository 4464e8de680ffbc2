"""Pipelines of timm, and of torchvision.io with v2, as a Python stage runs them: CPU time of 1,000 samples,
with and without native pictures, each in processes of its own, in alternation. Batches are compared.
"""

import argparse
import hashlib
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
import torch
from PIL import Image
from torch.utils.data import default_collate
from torchvision.io import ImageReadMode, read_image
from torchvision.transforms import v2

BATCH = 32
TAIL = [
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
]


def of_timm(policy: str) -> Callable[[pathlib.Path], Any]:
    from timm.data import create_transform

    transform = create_transform(224, is_training=True, auto_augment=policy, re_prob=0.25)

    def sample(path: pathlib.Path) -> Any:
        with open(path, "rb") as file:
            return transform(Image.open(file).convert("RGB"))

    return sample


def of_tensors(*steps: Any) -> Callable[[pathlib.Path], Any]:
    transform = v2.Compose([*steps, *TAIL])
    return lambda path: transform(read_image(str(path), ImageReadMode.RGB))


PIPELINES: dict[str, Callable[[], Callable[[pathlib.Path], Any]]] = {
    "timm, rand-m9-mstd0.5-inc1 and erasing": lambda: of_timm("rand-m9-mstd0.5-inc1"),
    "timm, original": lambda: of_timm("original"),
    "timm, augmix-m3": lambda: of_timm("augmix-m3"),
    "torchvision.io and v2, training": lambda: of_tensors(
        v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()
    ),
    "torchvision.io and v2, evaluation": lambda: of_tensors(v2.Resize(256), v2.CenterCrop(224)),
}


def child(name: str, native: bool, paths: list[pathlib.Path]) -> None:
    """Prints CPU seconds of 1,000 samples, and a digest of the batches."""
    torch.set_num_threads(1)
    sample = PIPELINES[name]()
    if native:
        from headrace.stage import functions, images

        images.enable([])
        functions.enable()
        images._current.on = True  # type: ignore[union-attr]
    seconds = 0.0
    digest = hashlib.sha256()
    for epoch in range(3):
        random.seed(epoch)
        np.random.seed(epoch)
        torch.manual_seed(epoch)
        started = time.process_time()
        for at in range(0, len(paths), BATCH):
            batch = default_collate([sample(path) for path in paths[at : at + BATCH]])
            if epoch == 0:  # imports, checks, and what only first calls do
                digest.update(batch.numpy().tobytes())
        spent = time.process_time() - started
        seconds = spent if epoch == 1 else min(seconds, spent)
    print(json.dumps({"seconds": seconds / len(paths) * 1e3, "digest": digest.hexdigest()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--files", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--child", nargs=2)
    args = parser.parse_args()
    files = sorted(args.data.rglob("*.jpg"))
    paths = files[:: max(len(files) // args.files, 1)][: args.files // BATCH * BATCH]
    if args.child:
        return child(args.child[0], args.child[1] == "native", paths)
    photos = harness.describe_photos(args.data)
    rows, data, equal = [], {}, 0
    for name in PIPELINES:
        pairs = []
        for _ in range(args.pairs):
            command = [sys.executable, *sys.argv, "--child", name]
            pairs.append(
                [
                    json.loads(subprocess.check_output([*command, way], text=True).splitlines()[-1])
                    for way in ("stock", "native")
                ]
            )
        equal += all(stock["digest"] == ours["digest"] for stock, ours in pairs)
        stock, ours = (statistics.median(p[i]["seconds"] for p in pairs) for i in (0, 1))
        ratios = [a["seconds"] / b["seconds"] for a, b in pairs]
        shown = f"{stock:.2f} s, {ours:.2f} s, ratio {harness.show(harness.spread(ratios))}"
        rows.append((name, shown))
        print(name, shown, flush=True)
        data[name] = pairs
    rows.append(("pipelines whose batches equal stock's", f"{equal} of {len(PIPELINES)}"))
    title = "Pipelines of a Python stage, CPU time of 1,000 samples: stock, native"
    harness.write_report("stage_pipelines", title, rows, {"photos": photos, "pipelines": data})


if __name__ == "__main__":
    main()
