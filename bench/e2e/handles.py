"""Tokens from a memory map: stock, in lanes of this host, and with a worker elsewhere that maps its own file.

The program's code runs: what workers read by themselves is in `array_files`. The other host is a worker on this machine that seems to be on another one: another name and boot, no shared
memory, so batches cross TCP. It needs unshare. All three ways have the whole machine, one after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import harness
import numpy as np

PROGRAM = harness.ROOT / "bench" / "e2e" / "handles_program.py"
HEADRACE = pathlib.Path(sys.executable).with_name("headrace")
ADDRESS = "tcp://127.0.0.1:27973"


@contextlib.contextmanager
def pool(folder: pathlib.Path) -> Iterator[None]:
    """A coordinator, and a worker that seems to be on another host."""
    boot = folder / "boot_id"
    boot.write_text("8a1b2c3d-0000-4000-8000-000000000002\n")
    quiet = {**os.environ, "HEADRACE_LOG": "error", "XDG_RUNTIME_DIR": str(folder)}
    worker = (
        f"hostname elsewhere && mount --bind {boot} /proc/sys/kernel/random/boot_id && exec {HEADRACE} "
        f"worker --coordinator {ADDRESS} --listen tcp://127.0.0.1:0 --advertise 127.1 --threads 1"
    )
    with contextlib.ExitStack() as stack:
        for command in (
            [str(HEADRACE), "coordinator", "--listen", ADDRESS],
            ["unshare", "--mount", "--uts", "sh", "-c", worker],
        ):
            process = subprocess.Popen(command, env=quiet)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        for _ in range(100):
            asked = [str(HEADRACE), "workers", "--json", "--coordinator", ADDRESS]
            seen = subprocess.run(asked, capture_output=True, text=True, check=False)
            if seen.returncode == 0 and json.loads(seen.stdout)["workers"]:
                break
            time.sleep(0.1)
        yield


def rate(result: dict) -> float:
    """Million tokens a second, in epochs after the first."""
    later = result["epochs_s"][1:]
    return result["tokens"] * len(later) / sum(later) / 1e6


def cpu(result: dict) -> float:
    """CPU milliseconds a million tokens, of the program and its lanes, start included. Not of data workers,
    which hand on requests and batches."""
    tokens = result["tokens"] * len(result["epochs_s"])
    return (result["own_cpu_s"] + result["children_cpu_s"]) * 1e9 / tokens


def measured_once(way: harness.Variant, words: list[str]) -> dict:
    """With the samples that each data worker made, in place of the whole report."""
    result = harness.run(way, words, PROGRAM)
    report = result.pop("report", {"loaders": []})
    made = [each for one in report["loaders"] for each in one["samples_by_worker"].values()]
    return {**result, "made": made}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--shuffles", type=int, nargs="+", default=[0, 20])
    args = parser.parse_args()
    ways = (
        harness.Variant("stock", None),
        harness.Variant("lanes", ["--workers", "1"]),
        harness.Variant("elsewhere", ["--coordinator", ADDRESS]),
    )
    rows, measured = [], {}
    with tempfile.TemporaryDirectory() as name, pool(pathlib.Path(name)):
        path = pathlib.Path(name) / "tokens.bin"
        np.random.default_rng(0).integers(0, 50_000, args.tokens, np.uint16).tofile(path)
        for shuffles in args.shuffles:
            what = f"{shuffles} sorts a sample"
            words = [str(path), "--as-code", "--shuffles", str(shuffles)]
            runs = []
            for pair in range(args.pairs):
                print(f"  {what}: {pair + 1} of {args.pairs}", flush=True)
                runs.append([measured_once(way, words) for way in ways])
            said = {harness.run(w, [*words, "--digest"], PROGRAM)["digest"] for w in ways}
            measured[what] = {"runs": runs, "equal": len(said) == 1}
            stock = harness.spread([rate(run[0]) for run in runs])
            spent = harness.spread([cpu(run[0]) for run in runs])
            rows += [
                (f"{what}: stock, million tokens a second", harness.show(stock)),
                (f"{what}: stock, CPU ms a million tokens", harness.show(spent, 1)),
            ]
            for i, way in enumerate(ways[1:], 1):
                fast = harness.spread([rate(run[i]) / rate(run[0]) for run in runs])
                dear = harness.spread([cpu(run[i]) / cpu(run[0]) for run in runs])
                rows += [
                    (f"{what}: {way.name}, times as fast", harness.show(fast)),
                    (f"{what}: {way.name}, times stock's CPU", harness.show(dear)),
                ]
            shares = []
            for run in runs:
                shares.append(1 - max(run[2]["made"]) / sum(run[2]["made"]))
            rows += [
                (f"{what}: elsewhere, share that the other host made", harness.show(harness.spread(shares))),
                (f"{what}: batches equal in all three", "yes" if len(said) == 1 else "NO"),
            ]  # fmt: skip
    harness.write_report("handles", "Tokens from a memory map", rows, {"measured": measured})


if __name__ == "__main__":
    main()
