"""How long a program waits when one of its two workers is killed, over TCP.

Two builds run in alternation: `--before` names the Python of another checkout's .venv. The worker is
killed with SIGKILL after some batches. The figure is the longest pause between two batches after
that, beside the median pause. The batches of all runs are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import harness

PROGRAM = pathlib.Path(__file__).with_name("lost_worker_program.py")
KILLED_AFTER = 24  # batches
EPOCHS = 3


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def run(python: str, photos: pathlib.Path, kills: bool) -> dict:
    """One program with two workers of one thread; the pauses in seconds."""
    headrace = str(pathlib.Path(python).with_name("headrace"))
    address = free_address()
    quiet = {**os.environ, "HEADRACE_LOG": "error", "OMP_NUM_THREADS": "1"}
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory())

        def start(*words: str) -> subprocess.Popen:
            process = subprocess.Popen([headrace, *words], env=quiet)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        start("coordinator", "--listen", address)
        workers = []
        for number in range(2):
            directory = pathlib.Path(place, str(number))
            directory.mkdir(mode=0o700)
            workers.append(
                start(
                    *("worker", "--coordinator", address, "--threads", "1", "--cache", "0"),
                    *("--directory", str(directory), "--listen", "tcp://127.0.0.1:*"),
                )
            )
        while subprocess.run(
            [headrace, "workers", "--json", "--coordinator", address],
            capture_output=True,
            check=False,
        ).stdout.count(b'"ready"') < len(workers):
            time.sleep(0.1)
        program = subprocess.Popen(
            [headrace, "run", python, str(PROGRAM), str(photos), str(EPOCHS)],
            env={
                **quiet,
                "HEADRACE_COORDINATOR": address,
                "HEADRACE_LOCAL_WORKER": "off",
                "HEADRACE_TRANSPORT": "tcp",
                "HEADRACE_COMPARE": "0",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        killed = None
        for line in program.stderr or ():
            if line.strip() == str(KILLED_AFTER) and kills:
                workers[0].kill()
                killed = time.monotonic()
        output = program.stdout.read() if program.stdout else ""
        if program.wait() != 0:
            raise SystemExit("the program ended with an error")
    if kills and killed is None:
        raise SystemExit("the program ended before a worker was killed")
    result = json.loads(output)
    times = result["times"]
    pauses = [b - a for a, b in zip(times, times[1:], strict=False)]
    after = [p for p, end in zip(pauses, times[1:], strict=True) if killed and end > killed]
    return {
        "longest": max(after or pauses),
        "median": statistics.median(pauses),
        "checksum": result["checksum"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="the Python of the other build's .venv")
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    undisturbed = run(sys.executable, args.data, kills=False)
    runs: dict[str, list[dict]] = {"before": [], "now": []}
    for pair in range(args.pairs):
        print(f"  pair {pair + 1} of {args.pairs}", file=sys.stderr, flush=True)
        runs["before"].append(run(args.before, args.data, kills=True))
        runs["now"].append(run(sys.executable, args.data, kills=True))
    rows = []
    for name, made in runs.items():
        longest = harness.spread([1e3 * one["longest"] for one in made])
        rows.append((f"{name}: longest pause after the kill, ms", harness.show(longest, 0)))
    rows.append(("median pause, ms", f"{1e3 * undisturbed['median']:.0f}"))
    rows.append(("longest pause of an undisturbed run, ms", f"{1e3 * undisturbed['longest']:.0f}"))
    sums = {one["checksum"] for made in runs.values() for one in made} | {undisturbed["checksum"]}
    rows.append(("runs whose batches differ", "none" if len(sums) == 1 else "some"))
    harness.write_report(
        "lost_worker",
        "A worker killed over TCP",
        rows,
        {"photos": photos, "undisturbed": undisturbed, "runs": runs},
    )
    if len(sums) != 1:
        raise SystemExit("batches differ")


if __name__ == "__main__":
    main()
