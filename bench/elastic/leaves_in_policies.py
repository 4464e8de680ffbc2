"""Leaves of a Python stage in the policies: a native job and a stage on one worker whose cache holds one of their
data sets; and what the estimator says of the stage at other shares of its cache.

`--before` is a `headrace` whose coordinator knows no leaves. Costs are CPU seconds a sample of the whole job, from
the totals of `headrace jobs`: on a busy machine, rates say little.
"""

import argparse
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cluster as clusters
import harness
import numpy as np


class Program:
    """A program under `headrace run`; ready when it is made, begins with `go`."""

    def __init__(self, cluster: clusters.Cluster, *command: str, cache: str = "8G") -> None:
        run = [str(clusters.HEADRACE), "run", "--remote-only", "--coordinator", cluster.address]
        self.process = subprocess.Popen(
            [*run, "--cache", cache, sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout.readline().strip() == "ready"

    def go(self) -> None:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=30)
        self.process.kill()


def stage(args: argparse.Namespace, cluster: clusters.Cluster, data: pathlib.Path) -> Program:
    program = str(clusters.HERE / "stage_trainer.py")
    seconds = args.warm + args.seconds + 10
    return Program(cluster, program, str(data), f"--seconds={seconds}", f"--step={args.step}")


def native(args: argparse.Namespace, cluster: clusters.Cluster, data: pathlib.Path) -> Program:
    program = str(clusters.HERE / "trainer.py")
    schedule = f"--schedule={2 * args.warm + args.seconds + 10}:{args.step}"  # it begins earlier
    options = ("--batch-size=16", "--num-workers=2", "--passes")
    return Program(cluster, program, str(data), schedule, *options)


def jobs(cluster: clusters.Cluster) -> list[dict]:
    return sorted(cluster.show("jobs")["jobs"], key=lambda job: job["job"])


def window(args: argparse.Namespace, cluster: clusters.Cluster) -> list[dict]:
    """What each job did after the warm time."""
    time.sleep(args.warm)
    before, began = jobs(cluster), time.monotonic()
    time.sleep(args.seconds)
    after, passed = jobs(cluster), time.monotonic() - began
    found = []
    for old, new in zip(before, after, strict=True):
        samples = new["totals"]["samples"] - old["totals"]["samples"]
        cpu = new["totals"]["cpu_seconds"] - old["totals"]["cpu_seconds"]
        found.append(
            {
                "rate": samples / passed,
                "cost": cpu / max(samples, 1),
                "need": new["need"],
                "granted": new["cache_bytes_granted"],
            }
        )
    return found


def pair(args: argparse.Namespace, folders: list[pathlib.Path], program: pathlib.Path) -> dict:
    clusters.HEADRACE, own = program, clusters.HEADRACE
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(clusters.Cluster("--policy", "utilization"))
        clusters.HEADRACE = own
        cluster.worker("--threads", "2", "--cache", str(int(args.cache)))
        one = native(args, cluster, folders[0])
        one.go()
        time.sleep(args.warm / 2)  # the native job has the cache when the stage comes
        other = stage(args, cluster, folders[1])
        other.go()
        first, second = window(args, cluster)
        for each in (one, other):
            each.process.terminate()
            each.end()
    return {"native": first, "stage": second}


def alone(args: argparse.Namespace, folder: pathlib.Path, cache: int) -> dict:
    with clusters.Cluster("--policy", "utilization") as cluster:
        cluster.worker("--threads", "2", "--cache", str(cache))
        one = stage(args, cluster, folder)
        one.go()
        [found] = window(args, cluster)
        one.process.terminate()
        one.end()
    return found


def cost_at(need: dict, hit: float) -> float:
    """coordinator/estimate/estimator.h, CostPerSample."""
    return hit * need["core_seconds_per_hit"] + (1 - hit) * need["core_seconds_per_miss"]


def report(args: argparse.Namespace, photos: dict, cells: dict, pairs: dict) -> None:
    rows = []
    basis = cells.get(0.5, {}).get("need")
    for share, cell in cells.items():
        said = ""
        if basis and cell["need"]:
            error = 100 * (cost_at(basis, cell["need"]["hit_share"]) / cell["cost"] - 1)
            said = f", by the terms of the middle row {error:+.0f}%"
        hit = cell["need"]["hit_share"] if cell["need"] else 0
        label = f"stage alone, cache of {share:g} of {args.cache / 1e6:.0f} MB"
        rows.append((label, f"{1e3 * cell['cost']:.2f} ms a sample, hits {hit:.2f}{said}"))
    for name in ("before", "after"):
        for job, cell in pairs.get(name, {}).items():
            hit = cell["need"]["hit_share"] if cell["need"] else 0
            value = f"{1e3 * cell['cost']:.2f} ms a sample, {cell['rate']:.0f} samples/s"
            cache = f"{cell['granted'] / 1e6:.0f} MB of cache granted, hits {hit:.2f}"
            rows.append((f"both jobs, {name}: {job}", f"{value}, {cache}"))
    harness.write_report(
        "leaves_in_policies",
        "Leaves of Python stages in the policies",
        rows,
        {"photos": photos, "cells": {str(k): v for k, v in cells.items()}, "pairs": pairs},
        "One run of each row, on a machine that other work kept busy.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--photos", type=int, default=320, help="of each job")
    parser.add_argument("--texts", type=int, default=0, help="files of 24,000 numbers instead")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm", type=float, default=60)
    parser.add_argument("--step", type=float, default=0.3)
    parser.add_argument("--cache", type=float, default=200e6)
    parser.add_argument("--shares", type=float, nargs="*", default=[0, 0.25, 0.5, 0.75, 1])
    parser.add_argument("--before", type=pathlib.Path)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    with tempfile.TemporaryDirectory() as place:
        paths = sorted(args.data.rglob("*.jpg"))
        folders = [pathlib.Path(place, name) for name in ("native", "stage")]
        for at, folder in enumerate(folders):
            (folder / "class").mkdir(parents=True)
            for path in paths[at * args.photos : (at + 1) * args.photos]:
                shutil.copy(path, folder / "class" / f"{path.parent.name}-{path.name}")
        if args.texts:  # in place of the stage's photographs
            shutil.rmtree(folders[1])
            folders[1].mkdir()
            for number in range(args.texts):
                points = np.random.default_rng(number).normal(size=(6000, 4))
                np.savetxt(folders[1] / f"{number}.txt", points)
        cells = {}
        for share in args.shares:
            cells[share] = alone(args, folders[1], int(share * args.cache))
            print(share, cells[share], flush=True)
        pairs = {"after": pair(args, folders, clusters.HEADRACE)}
        print(pairs, flush=True)
        if args.before:
            pairs["before"] = pair(args, folders, args.before)
            print(pairs["before"], flush=True)
    report(args, photos, cells, pairs)


if __name__ == "__main__":
    main()
