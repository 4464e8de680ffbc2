"""Peers that send without end, slowly, or not at all: a coordinator and a worker go on."""

import contextlib
import json
import os
import select
import socket
import struct
import threading
import time

import pytest
from support.headrace_program import (
    free_port,
    headrace,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.zmtp import GREETING, shake

MIB = 1 << 20
# A frame after which more follow.
ENDLESS = b"\x03" + struct.pack(">Q", 8 * MIB) + bytes(8 * MIB)
EMPTY_FRAMES = b"\x01\0" * 65536
# What servers may grow by: one connection's bound is 192 MiB.
ROOM = 300 * MIB


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A coordinator and a worker, both on TCP: the address and process of each, and their logs."""
    folder = tmp_path_factory.mktemp("hostile")
    address = f"tcp://127.0.0.1:{free_port()}"
    logs = folder / "coordinator", folder / "worker"
    words = "coordinator", "--listen", address, "--heartbeat-ms", "200"
    with running(*words, log=logs[0]) as coordinator:
        wait_for_answer(address)
        listen = f"tcp://127.0.0.1:{free_port()}"
        with running("worker", "--coordinator", address, "--listen", listen, log=logs[1]) as worker:
            wait_for(lambda: ready_workers(address), "worker")
            yield address, [(address, coordinator, logs[0]), (listen, worker, logs[1])]


def resident(process) -> int:
    """The most that it ever had in memory."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def open_descriptors(process) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def connect(address: str) -> socket.socket:
    host, port = address.removeprefix("tcp://").split(":")
    return socket.create_connection((host, int(port)), 20)


def served(address: str) -> bool:
    answer = headrace("workers", "--json", "--coordinator", address)
    return answer.returncode == 0 and len(json.loads(answer.stdout)["workers"]) == 1


def send_until_cut(address: str, data: bytes, most: int) -> int:
    with connect(address) as peer:
        shake(peer)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < most:
                sent += peer.send(data)
        return sent


def test_messages_without_end(service):
    address, servers = service
    for listen, process, log in servers:
        before = resident(process)
        assert send_until_cut(listen, ENDLESS, 3000 * MIB) < 400 * MIB
        assert send_until_cut(listen, EMPTY_FRAMES, 64 * MIB) < 32 * MIB
        assert resident(process) < before + ROOM
        text = log.read_text()
        assert "a connection was cut" in text and "peer=127.0.0.1:" in text
        assert text.count("a connection was cut") <= 3  # one line a second
    assert served(address)


def test_many_endless_messages_together(service):
    address, servers = service
    for listen, process, _ in servers:
        before = resident(process)
        peers = [
            threading.Thread(target=send_until_cut, args=(listen, ENDLESS, 300 * MIB))
            for _ in range(8)
        ]
        for peer in peers:
            peer.start()
        assert served(address)
        for peer in peers:
            peer.join()
        assert resident(process) < before + 1300 * MIB  # 1 GiB is the bound of all
    assert served(address)


def test_slow_and_silent_peers_leave_again(service):
    """Half-open handshakes end; what they cost ends with them. Others are served meanwhile."""
    address, servers = service
    with contextlib.ExitStack() as stack:
        half_open = []
        before = [open_descriptors(process) for _, process, _ in servers]
        for listen, _, _ in servers:
            for i in range(300):
                peer = stack.enter_context(connect(listen))
                if i % 3:
                    peer.sendall(GREETING[: i % 60])
                half_open.append(peer)
        assert served(address)
        deadline = time.monotonic() + 20
        drip = iter(range(10_000))
        while half_open and time.monotonic() < deadline:
            ended, _, _ = select.select(half_open, [], [], 0.5)
            for peer in ended:
                try:
                    alive = bool(peer.recv(4096))
                except OSError:
                    alive = False
                if not alive:
                    half_open.remove(peer)
            for peer in half_open[next(drip) % 7 :: 7]:  # a byte a second, about
                with contextlib.suppress(OSError):
                    peer.send(b"\0")
        assert not half_open
        for (_, process, _), count in zip(servers, before, strict=True):
            wait_for(lambda p=process, c=count: open_descriptors(p) < c + 20, "descriptors freed")
    assert served(address)


def test_peers_that_never_read(service):
    """Each asks for the status without end, and reads no answer."""
    address, servers = service
    question = _status_query(address)
    _, process, _ = servers[0]
    before = resident(process)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            peer = stack.enter_context(connect(address))
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            shake(peer)
            peer.settimeout(0.5)
            with contextlib.suppress(OSError):
                for _ in range(50):
                    peer.sendall(question * 100)
        assert served(address)
        assert resident(process) < before + ROOM


def _status_query(address: str) -> bytes:
    """The bytes of what `headrace workers` asks, heard at a listener of our own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        asking = threading.Thread(
            target=headrace, args=("workers", "--coordinator", f"tcp://127.0.0.1:{port}")
        )
        asking.start()
        with listener.accept()[0] as peer, connect(address) as server:
            heard = b""
            for end in (peer, server):
                end.settimeout(10)
            answered = False
            while not answered:
                ready, _, _ = select.select([peer, server], [], [], 10)
                if peer in ready:
                    data = peer.recv(65536)
                    heard += data
                    server.sendall(data)
                if server in ready:
                    data = server.recv(65536)
                    peer.sendall(data)
                    answered = b"HRW" in heard and b"HRW" in data
        asking.join()
    return heard[heard.index(b"HRW") - 2 :]


def test_peers_that_come_and_go(service):
    address, servers = service
    for listen, process, _ in servers:
        count = open_descriptors(process)
        for _ in range(1000):
            with connect(listen) as peer:
                shake(peer)
        wait_for(lambda p=process, c=count: open_descriptors(p) < c + 20, "descriptors freed")
    assert served(address)
