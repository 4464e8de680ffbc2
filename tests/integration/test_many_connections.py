"""A coordinator and thousands of peers: more than the usual limit of descriptors, and more than any."""

import contextlib
import resource
import select
import socket
import subprocess
from pathlib import Path

import pytest
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_port,
    headrace,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.zmtp import HANDSHAKE

PEERS = 5000


@contextlib.contextmanager
def limited(port: int, soft: int, hard: int, log: Path):
    """A coordinator under these limits."""
    command = [HEADRACE, "coordinator", "--listen", f"tcp://127.0.0.1:{port}"]
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            command,
            env=clean_environment(),
            stderr=stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        ) as process,
    ):
        try:
            wait_for_answer(f"tcp://127.0.0.1:{port}")
            yield process
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture
def many():
    """Room for the peers in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < PEERS + 1000:
        pytest.skip(f"this process may have {hard} descriptors open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(port: int, stack: contextlib.ExitStack) -> socket.socket:
    peer = stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
    peer.sendall(HANDSHAKE)
    return peer


def greeted(peer: socket.socket) -> bool:
    """Whether the server has shaken hands, and holds the connection."""
    poll = select.poll()
    poll.register(peer, select.POLLIN)
    data = b""
    while len(data) < 64 + 2 and poll.poll(20_000):
        part = peer.recv(4096)
        if not part:
            return False
        data += part
    while poll.poll(0):
        if not peer.recv(4096):
            return False
    return data.startswith(b"\xff")


def test_five_thousand_peers_are_served_where_the_shell_allows_1024(tmp_path, many):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with limited(port, 1024, many, tmp_path / "log"), contextlib.ExitStack() as stack:
        peers = [connect(port, stack) for _ in range(PEERS)]
        with running("worker", "--coordinator", address):
            wait_for(lambda: ready_workers(address), "worker")
        assert all(map(greeted, peers))
        assert "descriptors" not in (tmp_path / "log").read_text()


def test_the_hard_limit_is_named_before_it_is_reached(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    with limited(port, 100, 200, log):
        with contextlib.ExitStack() as stack:
            for _ in range(170):
                assert greeted(connect(port, stack))
            wait_for(lambda: "of 200 descriptors are open" in log.read_text(), "warning", 30)
            assert "LimitNOFILE" in log.read_text()
        wait_for(
            lambda: headrace("workers", "--coordinator", f"tcp://127.0.0.1:{port}").returncode == 0,
            "answer",
        )
