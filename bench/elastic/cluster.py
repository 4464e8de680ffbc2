"""A coordinator, workers and trainers as processes, for the measurements beside this file."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
HEADRACE = pathlib.Path(sys.executable).with_name("headrace")
for folder in ("e2e", "simulate"):
    sys.path.insert(0, str(HERE.parent / folder))


def free_port() -> int:
    """A TCP port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class CpuLimit:
    """Bounds the CPU of the processes that are put there; needs root. `cores`: 0.25 and so on."""

    def __init__(self, name: str, cores: float) -> None:
        first = pathlib.Path("/sys/fs/cgroup/cpu")
        self.path = (first if first.is_dir() else first.parent) / f"headrace-bench-{name}"
        self.path.mkdir(exist_ok=True)
        quota = int(cores * 100_000)
        if first.is_dir():
            (self.path / "cpu.cfs_period_us").write_text("100000")
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
            (self.path / "cpu.shares").write_text("262144")  # others should not make it less
        else:
            (self.path / "cpu.max").write_text(f"{quota} 100000")
            (self.path / "cpu.weight").write_text("10000")

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def close(self) -> None:
        for _ in range(50):
            try:
                self.path.rmdir()
                return
            except OSError:
                time.sleep(0.1)  # its processes are still ending


class Cluster:
    """Ends all that it started when it is left."""

    def __init__(self, *options: str) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.processes: list[subprocess.Popen] = []
        self._start("coordinator", "--listen", self.address, *options)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()

    def _start(self, *command: str, limit: CpuLimit | None = None) -> None:
        def enter() -> None:  # before it looks how many cores it has
            if limit:
                limit.add(os.getpid())

        process = subprocess.Popen(
            [str(HEADRACE), *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=enter,
        )
        self.processes.append(process)

    def worker(self, *options: str, limit: CpuLimit | None = None) -> None:
        # Without a cache, unless one is said.
        cache = [] if any(option.startswith("--cache") for option in options) else ["--cache", "0"]
        self._start("worker", "--coordinator", self.address, *options, *cache, limit=limit)
        count = len([p for p in self.processes if p.args[1] == "worker"])
        while len(self.show("workers")["workers"]) < count:
            if self.processes[-1].poll() is not None:
                raise SystemExit(
                    f"a worker ended at its start: headrace worker {' '.join(options)}"
                )
            time.sleep(0.1)

    def show(self, what: str) -> dict:
        """`headrace jobs --json` or `workers`."""
        command = [str(HEADRACE), what, "--coordinator", self.address, "--json"]
        for _ in range(50):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return json.loads(done.stdout)
            time.sleep(0.1)
        raise SystemExit(f"no coordinator at {self.address}: {done.stderr}")


class Trainer:
    """trainer.py with Headrace; ready when it is made, begins with `go`."""

    def __init__(self, cluster: Cluster, data: pathlib.Path, schedule: str, *options: str) -> None:
        run = [arg for arg in options if arg.startswith("run:")]
        program = [arg for arg in options if not arg.startswith("run:")]
        command = [str(HEADRACE), "run", "--remote-only", "--coordinator", cluster.address]
        command += [arg.removeprefix("run:") for arg in run]
        command += [sys.executable, str(HERE / "trainer.py"), str(data), "--schedule", schedule]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*command, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit("the trainer did not start")

    def go(self) -> None:
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self) -> dict:
        out, _ = self.process.communicate(timeout=600)
        return json.loads(out.strip().splitlines()[-1])


def steps_between(result: dict, begin: float, end: float) -> int:
    return sum(1 for at, _ in result["steps"] if begin <= at < end)


def wait_share(result: dict, begin: float, end: float) -> float:
    """Share of the time between `begin` and `end` that the trainer waited."""
    waited = 0.0
    for at, wait in result["steps"]:
        waited += max(0.0, min(at, end) - max(at - wait, begin))
    return waited / (end - begin)
