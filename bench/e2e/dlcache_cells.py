"""DLCache's experiments 1 and 2 on images, cell by cell: how long a program that trains by sleeping waits for
100 batches of 512 to 2048 images with steps of 0.5 to 3 s, with 4 and 8 workers, from files that are in no
cache. Batches and steps are divided by the same number, so that the demand in samples a second is theirs.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "dlcache_program.py"
BATCHES = (512, 1024, 2048)
STEPS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
COPIES = 4  # files, so that none is read twice in a cell


def run(variant: harness.Variant, data: pathlib.Path, workers: int, number: int, options) -> list:
    cells = [[b // options.scale, t / options.scale] for b, t in itertools.product(BATCHES, STEPS)]
    program = [str(data), "--cells", json.dumps(cells), "--batches", str(options.batches),
               "--workers", str(workers), "--seed", str(number)]  # fmt: skip
    command = [variant.python, str(PROGRAM), *program]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HEADRACE_CACHE": "0"}
    if variant.headrace is None:
        environment["HEADRACE"] = "off"
    else:
        command = [str(pathlib.Path(variant.python).with_name("headrace")), "run",
                   *variant.headrace, *command]  # fmt: skip
    done = harness.subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def published(traces: pathlib.Path | None, workers: int) -> dict:
    """(step, batch) -> DLCache's gain in percent, as its authors computed it."""
    if traces is None:
        return {}
    name = f"exp{1 if workers == 4 else 2}_imagenet_throughput_imp.csv"
    rows = csv.DictReader((traces / name).open())
    return {
        (float(row["compute_time"]), batch): float(row[str(batch)])
        for row in rows
        for batch in BATCHES
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="*", default=[4, 8])
    parser.add_argument("--scale", type=int, default=32, help="divides batches and steps")
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--traces", type=pathlib.Path, help="DLCache's published tables")
    options = parser.parse_args()
    photos = harness.describe_photos(options.data)
    stock = harness.Variant("stock", None)
    ours = harness.Variant("headrace", [])
    runs = []
    with tempfile.TemporaryDirectory(dir=harness.ROOT / "build") as folder:
        data = pathlib.Path(folder)
        for copy, one in itertools.product(range(COPIES), sorted(options.data.iterdir())):
            shutil.copytree(one, data / f"{one.name}{copy}")
        os.sync()
        for number, workers in itertools.product(range(options.rounds), options.workers):
            print(f"  round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            pair = [run(variant, data, workers, number, options) for variant in (stock, ours)]
            for cell, (one, two) in zip(
                itertools.product(BATCHES, STEPS), zip(*pair, strict=True), strict=True
            ):
                runs.append({"workers": workers, "batch": cell[0], "step": cell[1], "round": number,
                             "load": os.getloadavg()[0], "stock": one, "headrace": two})  # fmt: skip
    report(options, photos, runs)


def report(options, photos: dict, runs: list[dict]) -> None:
    lines, gains = [], {"blocked_s": [], "s": []}
    for workers in options.workers:
        theirs = published(options.traces, workers)
        lines += [
            f"\n{workers} workers, gain in percent over the stock loader, median [least, greatest] of the "
            "pairs. *Stall only*: samples over the seconds in `next()`, DLCache's own figure. *End to end*: "
            "samples over all seconds, steps included.\n",
            "| step, s | batch | stall only | end to end | the most that is possible end to end | DLCache's own, stall only |",
            "|---|---|---|---|---|---|",
        ]
        for step, batch in itertools.product(STEPS, BATCHES):
            cell = [
                one
                for one in runs
                if (one["workers"], one["step"], one["batch"]) == (workers, step, batch)
            ]
            shown = []
            for figure in ("blocked_s", "s"):
                ratios = [
                    100 * (one["stock"][figure] / one["headrace"][figure] - 1) for one in cell
                ]
                gains[figure].append(statistics.median(ratios))
                shown.append(harness.show(harness.spread(ratios), 0))
            # Where the program never waits it takes its steps alone.
            most = statistics.median(
                100 * (one["stock"]["s"] / (options.batches * step / options.scale) - 1)
                for one in cell
            )
            own = f"{theirs[step, batch]:+.1f}" if theirs else ""
            lines.append(f"| {step} | {batch} | {shown[0]} | {shown[1]} | {most:.0f} | {own} |")
    load = statistics.median(one["load"] for one in runs)
    count = len(options.workers) * len(STEPS) * len(BATCHES)
    worse = {name: sum(gain <= 0 for gain in all_) for name, all_ in gains.items()}
    rows = [
        ("cells, and runs of each", f"{count}, {options.rounds}"),
        ("batches and steps divided by", str(options.scale)),
        ("batches of a cell", f"{options.batches} (DLCache: 100)"),
        ("stall only: least and greatest median gain of a cell, percent",
         f"{min(gains['blocked_s']):.0f}, {max(gains['blocked_s']):.0f}"),
        ("end to end: the same", f"{min(gains['s']):.1f}, {max(gains['s']):.1f}"),
        ("cells without a gain: stall only, end to end", f"{worse['blocked_s']}, {worse['s']}"),
        ("load of the machine, most of it by others", f"{load:.1f}"),
    ]  # fmt: skip
    harness.write_report("dlcache_cells", "DLCache's experiments on images, cell by cell", rows,
                         {"photos": photos, "runs": runs})  # fmt: skip
    path = harness.REPORTS / "dlcache_cells.md"
    path.write_text(path.read_text() + "\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
