"""A pool on an engine against fixed allocations: a demand that goes to more than twice and back.

Slurm is real: slurmctld, munged and four slurmd on this host. Kubernetes is the strict double of the tests. Workers
have a core each, so a machine of two cores has room for two of them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import cluster as clusters
import harness

sys.path.insert(0, str(harness.ROOT / "tests"))
from support.servers.kubernetes import kubernetes
from support.servers.slurm import slurm

FIXED_ONE, FIXED_TWO, ELASTIC = "1 worker", "2 workers", "1 to 2 workers"
SIZES = {FIXED_ONE: ("1",), FIXED_TWO: ("2",), ELASTIC: ("1", "--max-workers", "2")}


class Pool(clusters.Cluster):
    """A coordinator whose workers an engine starts."""

    def __init__(self, words: list[str], environment: dict[str, str], log: pathlib.Path) -> None:
        self._environment, self._log = os.environ | environment, log
        super().__init__(*words)
        self.until(1)

    def _start(self, *command: str, limit: clusters.CpuLimit | None = None) -> None:
        with self._log.open("w") as log:
            self.processes.append(
                subprocess.Popen(
                    [str(clusters.HEADRACE), *command],
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                )
            )

    def ready(self) -> int:
        return sum(each["state"] == "ready" for each in self.show("workers")["workers"])

    def until(self, count: int) -> None:
        for _ in range(600):
            if self.ready() >= count:
                return
            time.sleep(0.1)
        raise SystemExit(f"no {count} workers within 60 s:\n{self._log.read_text()}")


@contextlib.contextmanager
def engine(name: str, folder: pathlib.Path) -> Iterator[tuple[list[str], dict[str, str], Any]]:
    """Options of a coordinator, variables, and the engine."""
    if name == "slurm":
        with slurm(folder / "engine") as made:
            output = str(folder / "worker-%A_%a")
            words = ["--pool", "slurm", "--slurm-memory", "512M", "--slurm-output", output]
            yield words, made.environment, made
    else:
        with kubernetes(folder / "engine") as made:
            yield made.words(), {}, made


def one(args: argparse.Namespace, name: str, size: str, kill: bool = False) -> dict:
    """`kill`: a node with a worker goes down in the middle of the fast phase."""
    phases = (args.phase, args.phase, 2 * args.phase)
    steps = (args.slow, args.fast, args.slow)
    schedule = ",".join(f"{each}:{step}" for each, step in zip(phases, steps, strict=True))
    seen: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        with engine(name, folder) as (words, variables, made):
            words = [*words, "--workers", *SIZES[size]]
            with Pool(words, variables, folder / "log") as pool:
                pool.until(int(SIZES[size][0]))
                trainer = clusters.Trainer(pool, args.data, schedule)
                ended, begin = threading.Event(), time.perf_counter()

                def watch() -> None:
                    while not ended.wait(0.25):
                        seen.append((time.perf_counter() - begin, pool.ready()))

                trainer.go()
                watcher = threading.Thread(target=watch)
                watcher.start()
                if kill:
                    time.sleep(1.5 * args.phase)
                    made.kill_node(made.jobs("RUNNING")[0][2])
                result = trainer.result()
                ended.set()
                watcher.join()
    # Of thousands of steps, what the table has.
    cells = figures(size, result, seen, args.phase)
    return {"engine": name, "size": size, "killed": kill, "phase": args.phase, "cells": cells}


def figures(size: str, result: dict, seen: list[tuple[float, int]], phase: float) -> list[str]:
    """The cells of a row. `seen`: seconds, and how many workers were ready then."""
    ends = ((0.0, phase), (phase, 2 * phase), (2 * phase, 4 * phase))
    cells = [f"{clusters.steps_between(result, *each) / (each[1] - each[0]):.1f}" for each in ends]
    cells += [f"{100 * clusters.wait_share(result, *each):.0f}%" for each in ends]
    pairs = zip(seen, seen[1:], strict=False)
    cells.append(f"{sum(count * (after - at) for (at, count), (after, _) in pairs):.0f}")
    grown = [at - phase for at, count in seen if at > phase and count > 1]
    shrunk = [at - 2 * phase for at, count in seen if at > 2 * phase and count < 2]
    for times in (grown, shrunk):
        cells.append(f"{times[0]:.1f}" if size == ELASTIC and times else "")
    return cells


def text_of(runs: list[dict]) -> str:
    header = [
        "engine", "pool", "steps/s: slow", "fast", "slow again", "waiting: slow", "fast", "slow again",
        "worker-seconds", "s until two work", "s until one is gone",
    ]  # fmt: skip
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for run in runs:
        name = run["size"] + (", a node killed" if run["killed"] else "")
        lines.append(f"| {run['engine']} | " + " | ".join([name, *run["cells"]]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument(
        "--phase", type=float, default=45, help="seconds; the last one has twice that"
    )
    parser.add_argument(
        "--slow", type=float, default=0.1, help="seconds of a step at first and at last"
    )
    parser.add_argument("--fast", type=float, default=0.022, help="seconds of a step between")
    parser.add_argument("--engines", default="slurm,kubernetes")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    runs = []
    for name in args.engines.split(","):
        for size in args.sizes:
            print(name, size, file=sys.stderr, flush=True)
            runs.append(one(args, name, size))
        if name == "slurm":
            runs.append(one(args, name, ELASTIC, kill=True))
    table = text_of(runs)
    print(table)
    about = (
        f"Steps of {args.slow:g} s for {args.phase:g} s, of {args.fast:g} s for as long, and of {args.slow:g} s "
        f"for {2 * args.phase:g} s; batches of 32. One run each."
    )
    harness.write_report(
        "engines", "A pool on an engine against fixed allocations", [], {"photos": photos, "runs": runs},
        f"{about}\n\n{table}",
    )  # fmt: skip


if __name__ == "__main__":
    main()
