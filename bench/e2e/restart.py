"""How long a coordinator takes to be there again after a crash: 1,000 jobs, 10,000 workers.

The journal is written here, as a coordinator leaves it: each job has a loader and leases on ten workers.
From the start of the process to the line that says where it listens, and to its first answer.
"""

import argparse
import ctypes
import json
import os
import pathlib
import socket
import sqlite3
import subprocess
import tempfile
import time

import harness

JOBS = 1_000
WORKERS = 10_000
LEASES = 10


def hasher():
    """XXH3 with a seed, as base/hash.cc has it."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    function.restype = ctypes.c_uint64
    function.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    return lambda data, seed: function(data, len(data), seed)


def records():
    def host(number: int) -> dict:
        return {"hostname": f"host{number}", "boot_id": f"boot{number}", "uid": 1000, "pid": 4000}

    for worker in range(1, WORKERS + 1):
        yield {
            "type": "add_worker",
            "worker": worker,
            "token": f"token-of-worker-{worker:026}",
            "endpoints": [f"tcp://10.{worker >> 16}.{worker >> 8 & 255}.{worker & 255}:7071"],
            "arena_path": f"/run/user/1000/headrace/w{worker}.arena",
            "host": host(worker),
            "cores": 16,
            "cache_bytes": 64 << 30,
            "tiers": [["memory", 64 << 30]],
            "local": False,
            "version": "0.1.0",
        }
    for job in range(1, JOBS + 1):
        yield {
            "type": "add_job",
            "job": job,
            "consumer": job,
            "token": f"token-of-job-{job:026}",
            "name": f"train_{job}.py",
            "host": host(job),
            "version": "0.1.0",
            "wanted_workers": 0,
            "cache_bytes": 1 << 40,
            "opened_ms": 1_790_000_000_000 + job,
            "tenant": f"tenant{job % 20}",
            "priority": 0,
            "group": "",
            "rank": -1,
        }
        yield {
            "type": "add_session",
            "job": job,
            "session": job << 20,
            "plan_name": "ImageFolder(/data/imagenet/train)",
            "plan_hash": job * 7919,
            "worker_nodes": 4,
            "cache_node": 1,
            "tail_node": 3,
            "dataset": job % 100 + 1,
            "rows": 1_281_167,
            "lanes_stay": False,
        }
        first = job * LEASES % (WORKERS - LEASES) + 1
        yield {
            "type": "set_leases",
            "job": job,
            "generation": 1,
            "workers": list(range(first, first + LEASES)),
        }


def write_journal(directory: pathlib.Path) -> int:
    """Returns the number of records."""
    digest, chain, rows = hasher(), 0, []
    for number, record in enumerate(records(), 1):
        body = json.dumps(record, separators=(",", ":")).encode()
        chain = digest(body, chain)
        rows.append((number, body.decode(), chain - (1 << 64) if chain >> 63 else chain))
    database = sqlite3.connect(directory / "journal.db")
    database.executescript(
        "PRAGMA journal_mode=WAL;"
        "CREATE TABLE updates(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash INTEGER NOT NULL);"
        "PRAGMA user_version=1"
    )
    with database:
        database.executemany("INSERT INTO updates VALUES(?, ?, ?)", rows)
    database.close()
    return len(rows)


def restart(headrace: str) -> dict:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as place:
        count = write_journal(pathlib.Path(place))
        quiet = {**os.environ, "HEADRACE_LOG": "info"}
        begin = time.perf_counter()
        command = [headrace, "coordinator", "--listen", address, "--state-dir", place]
        with subprocess.Popen(command, env=quiet, stderr=subprocess.PIPE, text=True) as process:
            replayed = False
            for line in process.stderr:
                replayed |= f"jobs={JOBS} workers={WORKERS}" in line
                if "listens at" in line:
                    break
            listens = time.perf_counter() - begin
            status = subprocess.run(
                [headrace, "jobs", "--json", "--coordinator", address],
                capture_output=True,
                check=True,
            )
            answers = time.perf_counter() - begin
            process.terminate()
            process.stderr.close()
            process.wait()
        if not replayed or len(json.loads(status.stdout)["jobs"]) != JOBS:
            raise SystemExit("it has not all jobs and workers back")
        return {"listens": listens, "answers": answers, "records": count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=".venv/bin/headrace")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    runs = [restart(args.program) for _ in range(args.runs)]
    rows = [
        ("records in the journal", str(runs[0]["records"])),
        (
            "**seconds until it listens**",
            harness.show(harness.spread([r["listens"] for r in runs])),
        ),
        (
            "seconds until `headrace jobs` has its answer",
            harness.show(harness.spread([r["answers"] for r in runs])),
        ),
    ]
    harness.write_report(
        "restart", f"A restart with {JOBS} jobs and {WORKERS} workers", rows, {"runs": runs}
    )


if __name__ == "__main__":
    main()
