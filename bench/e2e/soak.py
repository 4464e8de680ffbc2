"""Whether a program that runs for long holds more and more: memory, descriptors, threads, processes."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import harness

sys.path[:0] = [str(harness.ROOT / "tests")]

from support.photos import write_jpegs  # noqa: E402

PROGRAM = harness.ROOT / "bench" / "e2e" / "soak_program.py"
PROGRAMS = {
    "native": [],
    "native, persistent_workers": ["--persistent"],
    "code with state": ["--code"],
    "code with state, persistent_workers": ["--code", "--persistent"],
}
HELD = (
    "memory_kb",
    "descriptors",
    "threads",
    "their_memory_kb",
    "their_descriptors",
    "their_threads",
)


def soak(
    options: list[str], photos: pathlib.Path, mark: str, args: argparse.Namespace
) -> list[dict]:
    headrace = pathlib.Path(sys.executable).with_name("headrace")
    command = [str(headrace), "run", "--workers", "2", "--", sys.executable, str(PROGRAM)]
    command += [str(photos), "--times", str(args.times), "--every", str(args.every), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SOAK": mark}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def left_of(mark: str) -> list[str]:
    """Command lines of what the program has left."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if f"SOAK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def rows(name: str, points: list[dict]) -> list[str]:
    lines = []
    for kind in dict.fromkeys(point["kind"] for point in points):
        mine = [point for point in points if point["kind"] == kind]
        first, last = mine[0], mine[-1]
        cells = []
        for key in HELD:
            a, b = first[key], last[key]
            cells.append(
                f"{a / 1000:.0f} to {b / 1000:.0f}" if key.endswith("_kb") else f"{a} to {b}"
            )
        lines.append(
            f"| {name} | {kind} | {first['number']} to {last['number']} | {' | '.join(cells)} "
            f"| {first['processes']} to {last['processes']} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--report", type=pathlib.Path, default=harness.REPORTS / "soak")
    args = parser.parse_args()
    about = harness.machine()
    table, data = [], {"machine": about, "times": args.times, "programs": {}}
    with tempfile.TemporaryDirectory() as folder:
        photos = write_jpegs(pathlib.Path(folder), 4, 12)
        for name, options in PROGRAMS.items():
            if args.only not in name:
                continue
            began = time.monotonic()
            mark = f"{os.getpid()}-{name}"
            points = soak(options, photos, mark, args)
            time.sleep(5)
            left = left_of(mark)
            data["programs"][name] = {"points": points, "left": left}
            table += rows(name, points)
            print(f"{name}: {time.monotonic() - began:.0f} s, left {left}", file=sys.stderr)
    lines = [
        "# Soak",
        "",
        f"Command: `.venv/bin/python bench/e2e/soak.py --times {args.times} --every {args.every}`",
        "",
        f"Machine: {about['cpu']}, {about['cpus']} CPUs; Python {about['python']}, torch {about['torch']}.",
        "",
        "One program does each thing many times: 6 batches an epoch, two workers. A cell holds what the "
        "first checkpoint shows and what the last one does. Memory is the processes' share (PSS), MB. "
        "*Its processes*: data workers, coordinator, and the loader's own.",
        "",
        "| program | what it repeats | times | its memory | descriptors | threads "
        "| memory of its processes | their descriptors | their threads | processes |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *table,
        "",
        "Processes left 5 s after the programs' ends: "
        + str(sum(len(entry["left"]) for entry in data["programs"].values())),
    ]
    args.report.with_suffix(".md").write_text("\n".join(lines) + "\n")
    args.report.with_suffix(".json").write_text(json.dumps(data) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
