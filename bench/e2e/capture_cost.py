"""What iter() costs an ImageFolder of many files: the first look at it, and at later epochs.

Each figure comes from processes of their own. The entries are links to a few photographs.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import harness

CLASSES = 1000


def measure(root: str, entries: int) -> dict:
    """In this process: seconds of capture() and of iter()."""
    import headrace
    import torch
    from headrace.capture import capture
    from headrace.loader.seam import state_of
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    torch.set_num_threads(1)
    data = datasets.ImageFolder(
        root, transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
    )
    times = -(-entries // len(data))
    # Strings of their own, as a larger folder would have them.
    data.samples = [(path[:1] + path[1:], label) for path, label in data.samples * times][:entries]
    loader = DataLoader(data, 8, num_workers=2, sampler=range(64))

    def timed(act):
        start = time.perf_counter()
        return act(), time.perf_counter() - start

    capture(DataLoader(torch.utils.data.Subset(data, [0]), num_workers=1), "auto")  # imports
    first, first_s = timed(lambda: capture(loader, "auto"))
    again, again_s = timed(lambda: capture(loader, "auto", first))
    headrace.install()
    _, first_iter_s = timed(lambda: list(iter(loader)))
    kept = state_of(loader).captured
    batches, again_iter_s = timed(lambda: iter(loader))
    list(batches)
    return {
        "capture_s": first_s,
        "capture_again_s": again_s,
        "first_epoch_s": first_iter_s,
        "iter_again_s": again_iter_s,
        "same_table": again.plan.leaves[0].table is first.plan.leaves[0].table
        and state_of(loader).captured.plan.leaves[0].table is kept.plan.leaves[0].table,
    }


def link_photos(photos: pathlib.Path, root: pathlib.Path, files: int) -> None:
    """Class folders with names as ImageNet's."""
    kept = sorted(photos.rglob("*.jpg"))[:8]
    for c in range(CLASSES):
        folder = root / f"n{1440764 + 7919 * c:08}"
        folder.mkdir()
        for i in range(files // CLASSES):
            os.symlink(kept[i % len(kept)], folder / f"{folder.name}_{i}.JPEG")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5, help="processes for each size")
    parser.add_argument("--once", nargs=2, metavar=("ROOT", "ENTRIES"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        print(json.dumps(measure(args.once[0], int(args.once[1]))))
        return
    sizes = {"100,000 files": 100_000, "1.3 million entries": 1_300_000}
    found = {name: [] for name in sizes}
    with tempfile.TemporaryDirectory() as folder:
        link_photos(args.data.resolve(), pathlib.Path(folder), 100_000)
        for number in range(args.pairs):
            print(f"  round {number + 1} of {args.pairs}", file=sys.stderr, flush=True)
            for name, entries in sizes.items():
                command = [sys.executable, __file__, "--once", folder, str(entries)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
    rows = []
    for name, results in found.items():
        for key, label in (
            ("capture_s", "capture at the first iter(), ms"),
            ("capture_again_s", "capture where nothing has changed, ms"),
            ("iter_again_s", "iter() of the second epoch, ms"),
        ):
            values = harness.spread([1e3 * result[key] for result in results])
            rows.append((f"{name}: {label}", harness.show(values, 1)))
        sent = "no" if all(result["same_table"] for result in results) else "YES"
        rows.append((f"{name}: table made and sent again", sent))
    harness.write_report("capture_cost", "Capture of large folders", rows, {"sizes": found})


if __name__ == "__main__":
    main()
