"""What measuring the stall costs a step of the training process.

One loader's batches, all of them ready, are taken in bursts back to back. Bursts take turns: as it
is; with the marks of next() and of the sampler taken out (the C++ client then counts its own part of
next() alone, as it does for C++ programs); and with a device that is played in Python, for what the
idle time adds beside the driver's own calls (two events recorded, one asked for, one time read).
"""

import argparse
import statistics
import sys
import time

import harness
import headrace
import torch
from headrace.serve import served
from headrace.service import device, service, session
from torch.utils.data import DataLoader, TensorDataset

WINDOW = 40


class FakeEvent:
    def record(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: object) -> float:
        return 0.001


class FakeDevice:
    def in_use(self) -> bool:
        return True

    def event(self) -> FakeEvent:
        return FakeEvent()


class Marks:
    """Of the package's classes: put back, or taken out."""

    def __init__(self) -> None:
        names = ("_enter_next", "_leave_next", "_next_index")
        self._kept = {name: vars(served.Served)[name] for name in names}

    def put(self) -> None:
        for name, function in self._kept.items():
            setattr(served.Served, name, function)

    def take_out(self) -> None:
        served.Served._enter_next = lambda self: None
        served.Served._leave_next = lambda self, handle: None
        del served.Served._next_index


def burst(batches: object) -> float:
    """Microseconds of one next(), the median of a burst."""
    time.sleep(0.05)  # until all that was asked for is there
    times = []
    for _ in range(WINDOW):
        called = time.perf_counter_ns()
        next(batches)
        times.append(time.perf_counter_ns() - called)
    return statistics.median(times) / 1e3


def calls(handle: session.SessionHandle, times: int = 20_000) -> float:
    """Microseconds of one step's marks alone."""
    raw = handle.raw
    began = time.perf_counter_ns()
    for _ in range(times):
        handle.enter_next()
        raw.enter_sampler()
        raw.leave_sampler()
        handle.leave_next()
    return (time.perf_counter_ns() - began) / times / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help=argparse.SUPPRESS)  # as the other benchmarks; not used
    parser.add_argument("--pairs", type=int, default=100, help="bursts of each kind")
    args = parser.parse_args()
    torch.set_num_threads(1)
    headrace.install()
    kinds = ("as it is", "without the marks", "with a device")
    rows = TensorDataset(torch.arange(64 * WINDOW * (len(kinds) * args.pairs + 5)))
    loader = DataLoader(rows, 64, num_workers=2, prefetch_factor=WINDOW // 2)
    batches = iter(loader)
    handle = batches._handle
    marks = Marks()
    burst(batches)
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(args.pairs):
        for kind in kinds:
            marks.put()
            handle._idle = None
            if kind == "without the marks":
                marks.take_out()
            elif kind == "with a device":
                handle._idle = device.IdleMeter(FakeDevice(), handle.raw.add_idle)
            found[kind].append(burst(batches))
    marks.put()
    handle._idle = None
    alone = [calls(handle) for _ in range(10)]
    del batches, handle
    service.close()

    without = found["without the marks"]
    data: dict[str, dict] = {kind: harness.spread(values) for kind, values in found.items()}
    data["marks"] = harness.spread([a - b for a, b in zip(found["as it is"], without, strict=True)])
    data["marks and a device"] = harness.spread(
        [a - b for a, b in zip(found["with a device"], without, strict=True)]
    )
    data["calls alone"] = harness.spread(alone)
    table = [(f"ready `next()`, {kind}, µs", harness.show(data[kind])) for kind in kinds]
    table += [
        ("of it the marks, burst by burst, µs", harness.show(data["marks"])),
        ("the marks and a device's events, µs", harness.show(data["marks and a device"])),
        ("the four calls of a step in a loop, µs", harness.show(data["calls alone"])),
    ]
    harness.write_report("stall_cost", "What measuring the stall costs a step", table, data)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
