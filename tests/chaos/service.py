"""The processes of a pool, started and started again as an operator's engine would."""

import os
import pathlib
import signal
import subprocess
import time
from contextlib import suppress

from support.headrace_program import HEADRACE, clean_environment

MARK = "HEADRACE_CHAOS_RUN"  # in the environment of every process of a run: the run's folder


class Child:
    """A process that can be killed, stopped and started again. Its output goes to one file."""

    def __init__(
        self,
        name: str,
        command: list[str],
        run: pathlib.Path,
        environment: dict[str, str],
        ends: bool = False,
    ) -> None:
        self.name = name
        self.log = run / f"{name}.log"
        self._command = command
        self._environment = clean_environment(**{MARK: str(run), **environment})
        self._ends = ends  # by itself
        self.process: subprocess.Popen | None = None
        self.starts = 0

    def start(self, *more: str) -> None:
        with open(self.log, "a") as log:
            print(f"--- start {self.starts} at {time.monotonic():.3f}", file=log, flush=True)
            self.process = subprocess.Popen(
                [*self._command, *more],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.starts += 1

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        assert self.process is not None
        return self.process.poll()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """In order, as an operator ends it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} does not end within 30 s of SIGTERM") from None


def cpu_ticks(pid: int) -> int:
    """Of the process itself; 0 if it is gone."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])
    except OSError:
        return 0


def marked(run: pathlib.Path) -> dict[int, str]:
    """Processes of the run that are alive, wherever they hang: pid -> command line."""
    found = {}
    word = f"{MARK}={run}\0".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            if word in (entry / "environ").read_bytes() + b"\0":
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if line:  # none: it has ended
                    found[int(entry.name)] = line
    return found


class Pool:
    """A coordinator with a journal and workers that somebody else keeps alive, or the private ones
    below a trainer, which keeps them alive itself."""

    def __init__(self, coordinator: Child | None, workers: list[Child], run: pathlib.Path) -> None:
        self.coordinator = coordinator
        self.workers = workers
        self._run = run

    def start(self) -> None:
        for child in self.children():
            child.start()

    def children(self) -> list[Child]:
        return [*([self.coordinator] if self.coordinator else []), *self.workers]

    def coordinators(self) -> list[int]:
        if self.coordinator:
            return [self.coordinator.pid]
        return self._private("coordinator")

    def worker_pids(self) -> list[int]:
        if self.coordinator:
            pids = [worker.pid for worker in self.workers if worker.ended() is None]
            return pids + [pid for pid in self._private("worker --local") if pid not in pids]
        return self._private("worker")

    def _private(self, kind: str) -> list[int]:
        """They are no children of ours, and outlive the private coordinator that started them."""
        return [pid for pid, line in marked(self._run).items() if f"{HEADRACE} {kind} " in line]

    def stages(self) -> dict[str, list[int]]:
        """The Python processes of stages below the workers, by kind."""
        found: dict[str, list[int]] = {"base": [], "zygote": [], "host": []}
        for worker in self.worker_pids():
            for base, line in _children(worker):
                if "headrace.stage.host" in line:
                    found["base"].append(base)
                    for zygote, _ in _children(base):
                        found["zygote"].append(zygote)
                        found["host"] += [host for host, _ in _children(zygote)]
        return found

    def dead(self) -> list[Child]:
        return [child for child in self.children() if child.ended() is not None]


def _children(pid: int) -> list[tuple[int, str]]:
    found = []
    with suppress(OSError):
        for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, file.read_text().split()):
                with suppress(OSError):
                    line = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
                    found.append((child, line.replace(b"\0", b" ").decode()))
    return found


def send(pids: list[int], number: int) -> list[int]:
    """Sends a signal; those that were there to get it."""
    reached = []
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            reached.append(pid)
    return reached
