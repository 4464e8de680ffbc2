"""The program `headrace`: started, asked and watched from outside."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

HEADRACE = os.environ.get("HEADRACE_BINARY") or str(
    pathlib.Path(sys.executable).with_name("headrace")
)

# A heartbeat of no use: what jobs need is not learned within a test, and each is given all workers.
UNMEASURED_MS = 60_000


def clean_environment(**more: str) -> dict[str, str]:
    """Without settings of whoever runs the tests. Programs start no worker beside them: tests of
    a coordinator count its workers."""
    theirs = ("HEADRACE", "PYTHONUNBUFFERED")  # without the second, what can't be written stays
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return kept | {"HEADRACE_LOCAL_WORKER": "off"} | more


def headrace(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [HEADRACE, *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(**environment),
    )


def inspected(
    *words: str, program: str, arguments: tuple = (), **environment: str
) -> subprocess.CompletedProcess:
    """`headrace explain` or `headrace verify` of a Python program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "program.py")
        file.write_text(program)
        return subprocess.run(
            [HEADRACE, *words, "--", sys.executable, str(file), *map(str, arguments)],
            env=clean_environment(XDG_CACHE_HOME=folder, **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 20) -> Any:
    """The first true value of `condition`. What is waited for needs the CPU too: a condition that starts a
    process is asked for half of the time at most."""
    deadline = time.monotonic() + seconds
    while (asked := time.monotonic()) < deadline:
        if value := condition():
            return value
        time.sleep(max(0.002, time.monotonic() - asked))
    raise AssertionError(f"no {what} within {seconds} s")


def refused(answer: subprocess.CompletedProcess, *fragments: str) -> None:
    """Checks that it ended with an error of one line that holds the fragments."""
    assert answer.returncode != 0
    assert answer.stderr.count("\n") == 1, answer.stderr
    for fragment in fragments:
        assert fragment in answer.stderr


@contextlib.contextmanager
def running(
    *words: str, log: pathlib.Path | None = None, **environment: str
) -> Iterator[subprocess.Popen]:
    """A running `headrace`, its standard error in the file `log`; asked to end at the end."""
    with contextlib.ExitStack() as stack:
        stderr = None if log is None else stack.enter_context(open(log, "w"))
        process = subprocess.Popen(
            [HEADRACE, *words], env=clean_environment(**environment), stderr=stderr
        )
        stack.callback(process.wait, 20)
        stack.callback(process.terminate)
        yield process


def coordinator(*words: str) -> contextlib.AbstractContextManager[subprocess.Popen]:
    return running("coordinator", *words, HEADRACE_LOG="error")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def free_address() -> str:
    return f"tcp://127.0.0.1:{free_port()}"


def wait_for_answer(address: str) -> None:
    """Until the coordinator there has begun."""
    wait_for(lambda: headrace("workers", "--coordinator", address).returncode == 0, "answer")


def workers(address: str) -> list[dict]:
    answer = headrace("workers", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["workers"]


def ready_workers(address: str) -> list[dict]:
    return [worker for worker in workers(address) if worker["state"] == "ready"]


def children(pid: int) -> list[int]:
    return [int(x) for x in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ended(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
