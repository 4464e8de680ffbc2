"""What it costs that a worker reads objects for the code of a stage.

Ranges of an object, read by a lane's own client, by its worker, and from the worker's cache, in turn and in one
process (stage_objects_program.py). The store is a process on this machine that answers at once: the least time
against which the way to the worker can be seen.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "stage_objects_program.py"
SERVER = harness.ROOT / "bench" / "e2e" / "objects_server.py"
SIZE = 256 << 20
RANGES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20, "8 MiB": 8 << 20}


@contextlib.contextmanager
def store() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        part = os.urandom(1 << 20)
        (pathlib.Path(folder) / "object").write_bytes(part * (SIZE >> 20))
        command = [sys.executable, str(SERVER), folder, "0", "0"]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.stdin.close()
            process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=200)
    args = parser.parse_args()
    rows, measured = [], {}
    for name, count in RANGES.items():
        print(f"  {name}", file=sys.stderr, flush=True)
        reads = max(20, min(args.reads, (160 << 20) // count))
        with store() as url:
            way = harness.Variant(
                "lane", ["--workers", "1", "--cache", "3G"],
                environment={"HEADRACE_ALLOW_ENDPOINTS": url},
            )  # fmt: skip
            taken = harness.run(way, [f"{url}/object", str(count), str(reads)], PROGRAM)["reads"]
        measured[name] = taken
        ms = [[row[i] * 1e3 for row in taken] for i in range(3)]
        more = [(row[1] - row[0]) * 1e3 for row in taken]
        figures = dict(zip(("by itself", "by its worker", "from the cache"), ms, strict=True))
        rows += [
            (f"{name}: {how}, ms", harness.show(harness.spread(figure), 3))
            for how, figure in figures.items()
        ]
        rows.append(
            (f"{name}: the worker more than itself, ms", harness.show(harness.spread(more), 3))
        )
    harness.write_report(
        "stage_objects", "Objects that a worker reads for a stage", rows, {"reads_s": measured}
    )


if __name__ == "__main__":
    main()
