"""A worker that seems to be on another host, to itself and to everybody else: it has another name
and another boot, shares no memory, and may have other content under the same paths."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from headrace.service import service

from .headrace_program import (
    HEADRACE,
    UNMEASURED_MS,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)

HOST = "elsewhere"
_UNSHARE = ["unshare", "--mount", "--uts"]


def _own_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


def needs_namespaces() -> None:
    """Skips where this user may make none."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare, of util-linux")
    tried = subprocess.run([*_UNSHARE, *_own_root(), "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"this user may make no namespaces: {tried.stderr.strip()}")


@contextmanager
def starting_hosts(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Callable[..., None]]:
    """Starts workers of a coordinator of its own, "here" or "elsewhere". A job is given all of
    them, however few would do."""
    needs_namespaces()
    address = free_address()
    service.close()
    monkeypatch.setenv("HEADRACE_COORDINATOR", address)
    with ExitStack() as stack:
        stack.enter_context(coordinator("--listen", address, "--heartbeat-ms", str(UNMEASURED_MS)))
        wait_for_answer(address)

        def start(where: str, content: dict[Path, Path] | None = None, **more: str) -> None:
            before = len(ready_workers(address))
            if where == "here":
                words = "worker", "--coordinator", address, "--threads", "1"
                stack.enter_context(running(*words, HEADRACE_LOG="error"))
            else:
                own = folder / "own"
                own.mkdir()
                stack.enter_context(worker_elsewhere(address, own, content, **more))
            wait_for(lambda: len(ready_workers(address)) > before, "worker", 60)

        yield start
        service.close()


@contextmanager
def worker_elsewhere(
    address: str,
    folder: Path,
    content: dict[Path, Path] | None = None,
    words: str = "",
    **environment: str,
) -> Iterator[subprocess.Popen]:
    """`content`: what it has in the place of these files. `folder`: empty, for its own use. `words`: for
    its command line."""
    boot = folder / "boot_id"
    boot.write_text("8a1b2c3d-0000-4000-8000-000000000001\n")
    mounts = {Path("/proc/sys/kernel/random/boot_id"): boot, **(content or {})}
    steps = [f"hostname {HOST}"]
    steps += [
        f"mount --bind {shlex.quote(str(b))} {shlex.quote(str(a))}" for a, b in mounts.items()
    ]
    # A worker on loopback serves its own host alone. 127.1 is no literal of loopback, and leads there.
    steps.append(
        f"exec {shlex.quote(HEADRACE)} worker --coordinator {address} "
        "--listen tcp://127.0.0.1:0 --advertise 127.1 --threads 1 "
        f"{words}"
    )
    process = subprocess.Popen(
        [*_UNSHARE, *_own_root(), "sh", "-c", " && ".join(steps)],
        env=clean_environment(HEADRACE_LOG="error", XDG_RUNTIME_DIR=str(folder), **environment),
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)
