"""A second host on this machine: a network namespace that TCP alone joins to ours, with mounts of its own."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.headrace_program import HEADRACE, clean_environment, running, wait_for, workers

# Belongs to this test process alone: several run at the same time.
_NET = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
HERE, THERE = f"{_NET}.1", f"{_NET}.2"
PORT = 27962


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def other_host() -> Iterator[str]:
    """Name of a network namespace that is joined to this one by a pair of virtual interfaces. Skips the
    test where none can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2 to make a network namespace")
    name, ours = f"headraces{os.getpid() % 10000}", f"hrs{os.getpid() % 10000}"
    try:
        _ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this kernel gives us no network namespace: {error.stderr.strip()}")
    try:
        try:
            _ip("link", "add", ours, "type", "veth", "peer", "name", "hrb", "netns", name)
            _ip("addr", "add", f"{HERE}/30", "dev", ours)
            _ip("link", "set", ours, "up")
            _ip("-n", name, "addr", "add", f"{THERE}/30", "dev", "hrb")
            _ip("-n", name, "link", "set", "hrb", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"two network namespaces cannot be joined here: {error.stderr.strip()}")
        yield name
    finally:
        # The pair goes with the namespace too, but some time later, when the next test wants the name.
        subprocess.run(["ip", "link", "del", ours], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def narrow(host: str, rate: str) -> None:
    """From now on no more than `rate` ("8mbit") leaves the other host: a token bucket of the kernel's."""
    words = ["tbf", "rate", rate, "burst", "32kb", "latency", "400ms"]
    command = ["tc", "-n", host, "qdisc", "add", "dev", "hrb", "root", *words]
    subprocess.run(command, check=True, capture_output=True, text=True)


@contextlib.contextmanager
def pool(
    host: str,
    private: Path,
    mounts: dict[Path, Path] | None = None,
    options: str = "",
    hostname: str = "",
) -> Iterator[str]:
    """A coordinator here and a worker on the other host: the coordinator's address. The worker has
    `private`, where its socket lies, and `mounts` (what it sees there -> from where) to itself,
    more `options`, and a `hostname` of its own, so that it counts as another host."""
    address = f"tcp://{HERE}:{PORT}"
    private.mkdir(mode=0o700)
    steps = [f"mount -t tmpfs none {private}"]
    steps += [f"mount --bind {source} {target}" for target, source in (mounts or {}).items()]
    if hostname:
        steps.append(f"hostname {hostname}")
    steps.append(
        f"XDG_RUNTIME_DIR={private} exec {HEADRACE} worker --coordinator {address} "
        f"--listen tcp://{THERE}:0 --insecure --threads 1 {options}"
    )
    command = [
        "ip",
        "netns",
        "exec",
        host,
        "unshare",
        "--mount",
        "--uts",
        "sh",
        "-c",
        " && ".join(steps),
    ]
    with running("coordinator", "--insecure", "--listen", address, HEADRACE_LOG="error"):
        worker = subprocess.Popen(command, env=clean_environment(HEADRACE_LOG="error"))
        try:
            wait_for(lambda: _ready(address), "worker on the other host")
            yield address
        finally:
            worker.terminate()
            worker.wait(20)


def _ready(address: str) -> bool:
    try:
        return bool(workers(address))
    except AssertionError:  # the coordinator does not answer yet
        return False
