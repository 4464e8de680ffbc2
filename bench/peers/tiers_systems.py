"""How each system of tiers.py is started: whole programs that read an epoch for each line they are told."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("e2e", "elastic"):
    sys.path.insert(0, str(HERE.parent / folder))

import cluster  # noqa: E402
import harness  # noqa: E402

SERVER = HERE.parent / "e2e" / "objects_server.py"
BUCKET = "photographs"
# Any will do: the server checks no signature.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class CpuAccount:
    """CPU seconds of all processes that are started inside `with account.entered()`; needs root."""

    def __init__(self) -> None:
        first = pathlib.Path("/sys/fs/cgroup/cpuacct")
        self.old = first.is_dir()
        base = first if self.old else first.parent
        self.path = base / "headrace-bench-tiers"
        self.path.mkdir(exist_ok=True)
        name = next(
            line.rstrip("\n").split(":", 2)[2]
            for line in pathlib.Path("/proc/self/cgroup").open()
            if ("cpuacct" in line.split(":", 2)[1].split(",")) == self.old
        )
        self.outside = base / name.lstrip("/")

    @contextlib.contextmanager
    def entered(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (self.outside / "cgroup.procs").write_text(str(os.getpid()))

    def seconds(self) -> float:
        if self.old:
            return int((self.path / "cpuacct.usage").read_text()) / 1e9
        stat = dict(line.split() for line in (self.path / "cpu.stat").read_text().splitlines())
        return int(stat["usage_usec"]) / 1e6


def drop_pages(*folders: pathlib.Path) -> None:
    """What is below them is read from the disk next time."""
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            if path.is_file():
                with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                    os.fdatasync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def store(folder: pathlib.Path, milliseconds: float, rate: float):
    """The endpoint of a server like S3 whose buckets are the folders in `folder`."""
    command = [sys.executable, str(SERVER), str(folder), str(milliseconds), str(rate)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()
        process.stdout.read()


class Program:
    """One that serves epochs (tiers_epochs.py); measures each."""

    def __init__(self, account: CpuAccount, command: list, environment: dict, log) -> None:
        self.account = account
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=HERE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE), **environment},
        )

    def said(self, wanted: str) -> str:
        """The next line that begins so; a library may print others."""
        for line in self.process.stdout:
            if line.startswith(wanted):
                return line
        raise RuntimeError("the program has ended")

    def epoch(self) -> dict:
        before = self.account.seconds()
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        made = json.loads(self.said("{"))
        return {**made, "cpu_s": self.account.seconds() - before}

    def close(self) -> None:
        """Idempotent."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclasses.dataclass(frozen=True)
class System:
    """`command` and `environment`: of its program, with {work} and {endpoint} to be filled in.
    `workers`: options of each of Headrace's; None: it has none. `own`: folders that it writes, emptied
    before each run. `cold`: what must come from the disk before each epoch."""

    name: str
    tier: str
    command: list
    source: str = "disk"  # "disk", "20 MB/s" or "50 ms"
    workers: list | None = None
    environment: dict = dataclasses.field(default_factory=dict)
    own: tuple = ()
    cold: tuple = ()
    later: int = 3  # epochs that are measured after the first one
    warm: bool = False  # what is cold comes from the disk in the first epoch alone
    settle: int = 0  # epochs before these that are not: until quotas are granted and full


def filled(word, places: dict) -> str:
    return str(word).format(**places)


@contextlib.contextmanager
def running(system: System, account: CpuAccount, places: dict, log):
    """The program, with its coordinator and workers if it has any, and where its report will be."""
    for folder in system.own:
        shutil.rmtree(filled(folder, places), ignore_errors=True)
        pathlib.Path(filled(folder, places)).mkdir(parents=True, mode=0o700)
    command = [filled(word, places) for word in system.command]
    environment = {**CREDENTIALS, **{k: filled(v, places) for k, v in system.environment.items()}}
    report = places["work"] / "report.json"
    report.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        os.environ["HEADRACE_ALLOW_ENDPOINTS"] = places["endpoint"].removeprefix("http://")
        os.environ.update(CREDENTIALS)
        with account.entered():
            if system.workers is not None:
                pool = stack.enter_context(cluster.Cluster())
                for options in system.workers:
                    pool.worker(*(filled(word, places) for word in options))
                run = [cluster.HEADRACE, "run", "--coordinator", pool.address, "--remote-only"]
                command = [*run, "--report", report, *command]
            program = Program(account, command, environment, log)
            stack.callback(program.close)
        program.said("ready")
        yield program, report
        program.close()  # which writes the report


def measure(system: System, account: CpuAccount, places: dict, log) -> dict:
    """Rates and CPU seconds a 1,000 samples of the first epoch and of later ones, and where later ones'
    samples came from."""
    cold = [pathlib.Path(filled(folder, places)) for folder in system.cold]
    drop_pages(places["data"], *cold)
    with running(system, account, places, log) as (program, report):
        first = program.epoch()
        for _ in range(system.settle):
            time.sleep(1.2)  # a heartbeat
            program.epoch()
        later = []
        for _ in range(system.later):
            if not system.warm:
                drop_pages(*cold)
            later.append(program.epoch())
    made = {"first": rates([first]), "later": rates(later)}
    if system.workers is not None:
        said = json.loads(report.read_text())
        paths = {loader["path"] for loader in said["loaders"]}
        if paths != {"native"}:
            raise RuntimeError(f"made by {paths}")
        made["hits"] = {
            tier: sum(kinds.values())
            for loader in said["loaders"]
            for tier, kinds in loader["cache_hits_by_tier"].items()
        }
        made["misses"] = sum(loader["cache_hits"]["misses"] for loader in said["loaders"])
    return made


def rates(epochs: list[dict]) -> dict:
    samples = sum(one["samples"] for one in epochs)
    return {
        "rate": samples / sum(one["seconds"] for one in epochs),
        "cpu_s_per_1000": 1000 * sum(one["cpu_s"] for one in epochs) / samples,
        "samples": samples,
    }


def machine() -> dict:
    return harness.machine()
