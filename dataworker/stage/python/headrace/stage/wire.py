"""Messages between a data worker and its Python subprocesses (see host.py)."""

import _socket
import functools
import os
import pickle
import socket
import struct
from typing import Any

# As kStageProtocol: what this side speaks.
PROTOCOL = 7
_HEAD = struct.Struct("<3sBII")
_MAGIC = b"HRS"
_PEEKED = 32 << 10

SESSION, FORK, READY, FORKED, ENDED, ARENA, BATCH, DONE, PREPARE, END, BECAME, UNFIT = range(1, 13)
HELLO = 13
OBJECT, ANSWER, TAKEN, DOOR = range(14, 18)
# Outcomes of a batch. PASSED: the lane has gone on to later ones, and its code runs once. EARLY: it was not asked for
# the batch before.
MADE, RAISED, TOO_SMALL, LANE_ENDED, PASSED, EARLY = range(6)


class OtherRelease(Exception):
    """The data worker speaks another protocol. Says which, and both releases."""


def encode(kind: int, *parts: bytes) -> bytes:
    head = _HEAD.pack(_MAGIC, PROTOCOL, kind, len(parts))
    return head + struct.pack(f"<{len(parts)}Q", *map(len, parts)) + b"".join(parts)


def send(sock: _socket.socket, kind: int, *parts: bytes) -> None:
    sock.sendall(encode(kind, *parts))


def greet(sock: _socket.socket) -> None:
    """Once on each connection, first: so that the other side can name this release."""
    send(sock, HELLO, release().encode())


def receive(sock: _socket.socket) -> tuple[int, list[bytes], list[int]]:
    """Returns kind, parts and descriptors of the first frame that is no HELLO. For a caller that
    waits for nothing else. EOFError when the other side is gone; OtherRelease."""
    while True:
        kind, parts, fds = receive_any(sock)
        if kind != HELLO:
            return kind, parts, fds


def unexpected(kind: int) -> OtherRelease:
    """The error for a frame that nobody sends here."""
    return OtherRelease(f"an unexpected frame of kind {kind}: this process is release {release()}")


def receive_any(sock: _socket.socket) -> tuple[int, list[bytes], list[int]]:
    """Does what receive() does, for the next frame of any kind."""
    if (size := _come(sock)) > 0:  # as nearly always: in one call
        frame, fds = _receive_exactly(sock, size)
        head, rest = frame[: _HEAD.size], memoryview(frame)[_HEAD.size :]
    else:
        head, fds = _receive_exactly(sock, _HEAD.size)
        rest = None
    magic, protocol, kind, count = _HEAD.unpack(head)
    if magic != _MAGIC:
        raise OtherRelease(
            f"a frame without its mark: use the data worker of release {release()}, as this process"
        )
    parts = []
    if rest is not None:
        at = 8 * count
        for size in struct.unpack_from(f"<{count}Q", rest):
            parts.append(bytes(rest[at : at + size]))
            at += size
    else:
        sizes, more = _receive_exactly(sock, 8 * count)
        fds += more
        for size in struct.unpack(f"<{count}Q", sizes):
            part, more = _receive_exactly(sock, size)
            parts.append(part)
            fds += more
    if protocol != PROTOCOL:
        theirs = parts[0].decode(errors="replace") if kind == HELLO and parts else "unknown"
        raise OtherRelease(
            f"the data worker (release {theirs}) speaks stage protocol {protocol}, this process "
            f"(release {release()}) {PROTOCOL}: use one release on both sides"
        )
    return kind, parts, fds


def _come(sock: _socket.socket) -> int:
    """The size of the next frame, if all of it has come and it is a small one; else 0. Takes nothing: what
    follows it may be for another process, which goes on in the place of this one."""
    seen = sock.recv(_PEEKED, socket.MSG_PEEK)
    if len(seen) < _HEAD.size:
        return 0
    magic, _, _, count = _HEAD.unpack_from(seen)
    at = _HEAD.size + 8 * count
    if magic != _MAGIC or len(seen) < at:
        return 0
    size = at + sum(struct.unpack_from(f"<{count}Q", seen, _HEAD.size))
    return size if size <= len(seen) else 0


@functools.cache
def release() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("headrace")
    except PackageNotFoundError:
        return "unknown"  # run from its source


def receive_fds(sock: _socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Some bytes, empty at the end, and the descriptors that ride on them."""
    flags = socket.MSG_CMSG_CLOEXEC
    data, fds, _, _ = socket.recv_fds(sock, size, most, flags)  # type: ignore[arg-type]  # any socket
    return data, fds


def send_fds(sock: _socket.socket, data: bytes, fds: list[int]) -> None:
    socket.send_fds(sock, [data], fds)  # type: ignore[arg-type]  # any socket will do


def _receive_exactly(sock: _socket.socket, size: int) -> tuple[bytes, list[int]]:
    data, fds = bytearray(), []
    while len(data) < size:
        piece, new_fds = receive_fds(sock, size - len(data), 4)
        fds += new_fds
        if not piece:
            raise EOFError
        data += piece
    return bytes(data), fds


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


class Request:
    """One batch, as the worker wrote it: into the frame's second part, or into a memory file.

    u64: lane, base_seed, slot_offset, slot_bytes, number of keys, of seeds, bytes of state, bytes of
    index, iteration, batch, and 1 + the batch of the iteration that the lane makes before this one (0:
    none is out); then the keys (i64), the seeds (u64: RngMode sample, one a key), the state
    (pickled; empty: the lane begins) and the index (pickled: what the sampler gave, where that is no
    list of int; else empty).
    """

    HEAD = struct.Struct("<11Q")

    def __init__(self, data: bytes) -> None:
        head = self.HEAD.unpack_from(data)
        self.lane, self.base_seed, self.slot_offset, self.slot_bytes = head[:4]
        keys, seeds, state, index, *self.name, self.after = head[4:]
        at = self.HEAD.size
        self.keys = list(struct.unpack_from(f"<{keys}q", data, at))
        at += 8 * keys
        self.seeds = list(struct.unpack_from(f"<{seeds}Q", data, at))
        at += 8 * seeds
        self.state = data[at : at + state]
        self.index = data[at + state : at + state + index]

    def packed(self, with_state: bool) -> bytes:
        """The request as it came, with or without its state."""
        state = self.state if with_state else b""
        head = self.HEAD.pack(
            *(self.lane, self.base_seed, self.slot_offset, self.slot_bytes),
            *(len(self.keys), len(self.seeds), len(state), len(self.index), *self.name, self.after),
        )
        keys = struct.pack(f"<{len(self.keys)}q", *self.keys)
        return head + keys + numbers(*self.seeds) + state + self.index

    def asked(self, auto_collation: bool) -> Any:
        """What a fetcher of torch's is asked for."""
        if self.index:
            return pickle.loads(self.index)
        return self.keys if auto_collation else self.keys[0]

    @classmethod
    def of(cls, parts: list[bytes], fds: list[int]) -> "Request":
        """Of a frame of kind BATCH."""
        return cls.read(fds[0]) if fds else cls(parts[1])

    @classmethod
    def read(cls, fd: int) -> "Request":
        with os.fdopen(fd, "rb") as file:
            file.seek(0)
            return cls(file.read())
