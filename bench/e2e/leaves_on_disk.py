"""What a disk tier gains for leaves that do not fit memory: the stock loader, a small memory, the same with a disk tier
(its files in the page cache, and dropped from it before each epoch), and a memory that is large enough, in alternation.

CPU is that of the program, its processes and the worker; batches are compared. Needs no root.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import harness
import numpy as np
from PIL import Image

PROGRAM = harness.ROOT / "bench" / "e2e" / "leaves_on_disk_program.py"
DATA = harness.ROOT / "build" / "leaves_on_disk"
BINARY = pathlib.Path(sys.executable).with_name("headrace")
WAYS = {
    "stock": None,
    "small memory": "24M",
    "with a disk tier": "24M",
    "the same, read from the device": "24M",
    "all in memory": "1G",
}
SHAPES = {"jpeg": (480, 640, 3), "png": (480, 640, 3)}


def make_data(count: int) -> None:
    rng = np.random.default_rng(7)
    for kind, (height, width, channels) in SHAPES.items():
        folder = DATA / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number in range(count):
            coarse = rng.integers(0, 256, (height // 16, width // 16, channels), np.uint8)
            image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
            noise = rng.integers(0, 12, (height, width, channels), np.uint8)
            Image.fromarray(np.asarray(image) // 2 + noise).save(folder / f"{number}.{kind}")


def worker_cpu(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def drop(folder: pathlib.Path) -> None:
    """Has the kernel forget what it holds of the files there."""
    for path in folder.glob("*.segment"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def epochs_of(process: subprocess.Popen, worker: int | None, tier: pathlib.Path | None) -> list:
    epochs, before = [], 0.0 if worker is None else worker_cpu(worker)
    for line in process.stdout:
        epoch = json.loads(line)
        if worker is not None:
            now = worker_cpu(worker)
            epoch["cpu_s"] += now - before
            before = now
        epochs.append(epoch)
        if tier is not None:
            drop(tier)
    if process.wait() != 0:
        raise SystemExit("the program failed")
    return epochs


def run(kind: str, way: str, count: int) -> tuple[list, dict]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HEADRACE_LOG": "error"}
    words = [sys.executable, str(PROGRAM), str(DATA / kind), str(count)]
    if way == "stock":
        environment["HEADRACE"] = "off"
        process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        return epochs_of(process, None, None), {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        cache = ["--cache", WAYS[way]]
        if "small" not in way and "all" not in way:
            cache += ["--cache-tier", f"disk:size=1G,directory={folder}"]
        coordinator = subprocess.Popen(
            [BINARY, "coordinator", "--listen", address, "--heartbeat-ms", "200"], env=environment
        )
        worker = subprocess.Popen(
            [BINARY, "worker", "--coordinator", address, "--threads", "2", *cache], env=environment
        )
        try:
            time.sleep(2)  # the worker registers
            served = [BINARY, "run", "--coordinator", address, "--", *words]
            process = subprocess.Popen(served, env=environment, stdout=subprocess.PIPE, text=True)
            tier = pathlib.Path(folder) if "device" in way else None
            epochs = epochs_of(process, worker.pid, tier)
            listed = [BINARY, "workers", "--json", "--coordinator", address]
            time.sleep(1)  # a heartbeat
            told = json.loads(subprocess.run(listed, capture_output=True, check=True).stdout)
            tiers = {one["tier"]: one for one in told["workers"][0]["cache_tiers"]}
        finally:
            for each in (worker, coordinator):
                each.terminate()
                each.wait()
    return epochs, tiers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--count", type=int, default=120, help="pictures of each kind")
    args = parser.parse_args()
    if any(len(list((DATA / kind).glob("*.*"))) != args.count for kind in SHAPES):
        make_data(args.count)
    found: dict[str, str] = {}
    for kind in SHAPES:
        rounds = []
        for number in range(args.rounds):
            print(f"  {kind}: round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
            rounds.append({way: run(kind, way, args.epochs) for way in WAYS})
        later = slice(args.epochs // 2, None)
        for way in WAYS:
            for key, text in (("cpu_s", "CPU"), ("wall_s", "wall")):
                means = [statistics.mean(e[key] for e in one[way][0][later]) for one in rounds]
                name = f"{kind}, {way}: {text} of a later epoch, s"
                found[name] = harness.show(harness.spread(means))
            tiers = rounds[-1][way][1]
            if tiers:
                said = (f"{name} {one['entries']}, {one['hits']}" for name, one in tiers.items())
                found[f"{kind}, {way}: entries and hits of its tiers"] = "; ".join(said)
        hashes = [[e["crc"] for e in one[way][0]] for one in rounds for way in WAYS]
        equal = all(each == hashes[0] for each in hashes)
        found[f"{kind}: batches equal in all runs"] = "yes" if equal else "no"
    harness.write_report(
        "leaves_on_disk",
        "Leaves on disk",
        list(found.items()),
        {"figures": found},
        "Median [least, greatest] over rounds of one run of each, in turn. Later epochs are the second half.",
    )


if __name__ == "__main__":
    main()
