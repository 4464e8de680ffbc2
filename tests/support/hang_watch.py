"""A test that hangs ends by its name, with the stacks of its threads and the processes below it in the log.

pytest-timeout ends a test that runs Python: its limit is a signal, which the interpreter handles. It can't end
one that stands in a library's code. With xdist there is a process that runs no tests: it looks after the others.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.processes import descendants

# Seconds before the limit at which the processes below a test are listed, as they are gone afterwards; and
# after it, at which pytest-timeout has not ended the test.
BEFORE, AFTER = 10.0, 30.0


def due(age: float, limit: float, told: int) -> int:
    """What is to be told of a test that has run for `age` seconds, after `told` steps: 1, its processes; 2, its
    end. The same number as `told`: nothing."""
    reached = 2 if age >= limit + AFTER else 1 if age >= limit - BEFORE else 0
    return max(told, reached)


def seen(pid: int) -> Iterator[str]:
    """A line for each process below, with its state and the function of the kernel that it waits in."""
    for child, line in descendants(pid).items():
        with suppress(OSError):
            status = Path(f"/proc/{child}/status").read_text().partition("State:\t")[2]
            place = Path(f"/proc/{child}/wchan").read_text()
            yield f"{child} {status.splitlines()[0]}, in {place or '?'}: {line[:200]}"


class Note:
    """In a process that runs tests: which one it runs, for the watcher."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(f"{folder}/{os.getpid()}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(f"{time.monotonic()} {nodeid}\n")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text.encode(), 0)


class Watcher:
    """In the process of xdist that runs no tests."""

    def __init__(self, config: pytest.Config, limit: float) -> None:
        self._config, self._limit = config, limit
        self._folder = tempfile.TemporaryDirectory()
        self._told: dict[tuple[str, str], int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="hang watch", daemon=True)
        self._thread.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node) -> None:
        node.workerinput["notes"] = self._folder.name

    def pytest_unconfigure(self) -> None:
        self._ended.set()
        self._thread.join()
        self._folder.cleanup()

    def _watch(self) -> None:
        while not self._ended.wait(1):
            for file in Path(self._folder.name).iterdir():
                begun, _, name = file.read_text().strip().partition(" ")
                if name:
                    self._look(int(file.name), (begun, name), time.monotonic() - float(begun))

    def _look(self, pid: int, test: tuple[str, str], age: float) -> None:
        told = self._told.get(test, 0)
        now = self._told[test] = due(age, self._limit, told)
        if now == told:
            return
        self._say(f"{test[1]} has run for {age:.0f} s in process {pid}. Processes below it:")
        for line in seen(pid):
            self._say(f"  {line}")
        if now == 2:
            self._say("It does not end by itself. Its stacks:")
            with suppress(ProcessLookupError):
                os.kill(
                    pid, signal.SIGABRT
                )  # Python's fault handler writes them; xdist goes on without it

    def _say(self, text: str) -> None:
        self._config.pluginmanager.get_plugin("terminalreporter").write_line(text)


def start(config: pytest.Config) -> None:
    """Called once in each process, when pytest is configured."""
    notes = getattr(config, "workerinput", {}).get("notes")
    limit = config.getoption("timeout", None) or float(config.getini("timeout") or 0)
    if notes:
        config.pluginmanager.register(Note(notes))
    elif limit and config.getoption("numprocesses", None):
        config.pluginmanager.register(Watcher(config, limit))
