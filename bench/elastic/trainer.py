"""A plain PyTorch program with a step of a fixed time instead of a model, which may change on the way.

Prints one JSON line: for each step when it was taken and how long next() was waited for.
"""

import argparse
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, RandomSampler
from torchvision import transforms as T
from torchvision.datasets import ImageFolder


def parse_schedule(text: str) -> list[tuple[float, float]]:
    """ "10:0.04,10:0.01" -> [(10.0, 0.04), (10.0, 0.01)]: seconds, and the time of a step then."""
    phases = []
    for part in text.split(","):
        seconds, step = part.split(":")
        phases.append((float(seconds), float(step)))
    return phases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--schedule", type=parse_schedule, required=True)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--num-workers", type=int, default=4)
    parser.add_argument("--prefetch", type=int, default=4)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--from-start", action="store_true", help="the loader's start counts, too")
    parser.add_argument("--passes", action="store_true", help="each sample once in every pass")
    parser.add_argument(
        "--steps", type=int, default=0, help="ends after so many; 0: the schedule's end"
    )
    args = parser.parse_args()
    transform = T.Compose([T.RandomResizedCrop(args.size), T.RandomHorizontalFlip(), T.ToTensor()])
    folder = ImageFolder(args.data, transform)
    loader = DataLoader(
        folder,
        batch_size=args.batch_size,
        # One long epoch: the photographs are few, and a new epoch's first batch is waited for, which is
        # not what is measured. Without replacement torch takes each sample once, and again.
        sampler=RandomSampler(
            folder,
            replacement=not args.passes,
            num_samples=args.steps * args.batch_size or 1 << 22,
        ),
        num_workers=args.num_workers,
        prefetch_factor=args.prefetch,
    )
    torch.set_num_threads(1)
    if not args.from_start:
        batches = iter(loader)
        next(batches)  # capture, connecting and the first batch are not what is measured
    print("ready", flush=True)
    sys.stdin.readline()  # the other programs are ready too
    begin = time.perf_counter()
    if args.from_start:
        batches = iter(loader)
    phase_ends, end = [], 0.0
    for seconds, _ in args.schedule:
        end += seconds
        phase_ends.append(end)
    steps = []  # (seconds since the beginning, seconds waited)
    phase = 0
    while True:
        asked = time.perf_counter()
        next(batches)
        got = time.perf_counter()
        steps.append((got - begin, got - asked))
        while phase < len(phase_ends) and got - begin >= phase_ends[phase]:
            phase += 1
        if phase == len(phase_ends) or len(steps) == args.steps:
            break
        time.sleep(args.schedule[phase][1])
    print(json.dumps({"batch_size": args.batch_size, "steps": steps}))


if __name__ == "__main__":
    main()
