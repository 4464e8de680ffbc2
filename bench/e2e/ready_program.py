"""A training process whose next batch is always ready: what does next() cost it?

Prints one JSON line: the time of each next(), the process's CPU seconds, with the program's own
steps taken out, and how often its threads were woken for it. `--control` loads nothing: an iterator of torch's own base class that runs the same
sampler and hands out tensors that are there already, which is what torch's part of next() costs.
"""

import argparse
import json
import os
import time

import torch
from loader_program import make_dataset
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter


class Control(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._batch = [torch.zeros(loader.batch_size, 3, 224, 224), torch.zeros(loader.batch_size)]

    def _next_data(self) -> list[torch.Tensor]:
        self._next_index()
        return self._batch


def step(kind: str, seconds: float) -> None:
    """What the program does between batches: nothing, computing, or sleeping."""
    if kind == "sleep":
        time.sleep(seconds)
    elif kind == "compute":
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass


def wake_ups() -> int:
    """How often threads of this process have waited and gone on."""
    total = 0
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status") as status:
            found = (line for line in status if line.startswith("voluntary_ctxt_switches"))
            total += int(next(found).split()[1])
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--step", choices=["none", "compute", "sleep"], default="compute")
    parser.add_argument("--step-ms", type=float, default=60.0)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--window", type=int, default=4, help="batches asked for ahead")
    parser.add_argument("--cpu", type=int, help="the trainer's own core, once the service runs")
    parser.add_argument("--control", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)

    dataset = make_dataset(args.data, 224, "folder")
    generator = torch.Generator()
    generator.manual_seed(0)
    batch = 64
    warm = len(dataset) // batch + args.window  # the cache has seen every sample
    first = [key % len(dataset) for key in range(warm * batch)]
    then = RandomSampler(
        dataset, replacement=True, num_samples=args.batches * batch, generator=generator
    )
    loader = DataLoader(
        dataset,
        batch_size=batch,
        sampler=first + list(then),
        num_workers=2,
        prefetch_factor=args.window // 2,
        generator=generator,
    )
    batches = Control(loader) if args.control else iter(loader)
    for _ in range(warm):
        next(batches)
    if args.cpu is not None:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), {args.cpu})

    times, own = [], 0.0  # own: CPU of the steps themselves
    burst = args.window if args.step == "none" else 1
    steps = range(0, args.batches - args.window, burst)
    woken = wake_ups()
    used = time.process_time()
    for _ in steps:
        before = time.thread_time()
        if args.step == "none":
            time.sleep(0.02 * burst)  # until all that was asked for is there
        else:
            step(args.step, args.step_ms / 1e3)
        own += time.thread_time() - before
        for _ in range(burst):
            called = time.perf_counter()
            next(batches)
            times.append(time.perf_counter() - called)
    cpu = time.process_time() - used - own
    woken = wake_ups() - woken - (0 if args.step == "compute" else len(steps))
    result = {"next_s": times, "cpu_s": cpu, "wake_ups": woken, "samples": len(times) * batch}
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
