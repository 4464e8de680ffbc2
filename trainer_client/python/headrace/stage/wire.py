"""Messages between a data worker and its Python subprocesses (see host.py)."""

import os
import socket
import struct

SESSION, FORK, READY, FORKED, ENDED, ARENA, BATCH, DONE, PREPARE, END, BECAME, UNFIT = range(1, 13)
REDO = 13
# Outcomes of a batch.
MADE, RAISED, TOO_SMALL, LANE_ENDED = range(4)


def send(sock: socket.socket, kind: int, *parts: bytes) -> None:
    head = struct.pack(f"<II{len(parts)}Q", kind, len(parts), *map(len, parts))
    sock.sendall(head + b"".join(parts))


def receive(sock: socket.socket) -> tuple[int, list[bytes], list[int]]:
    """Kind, parts, descriptors. EOFError when the other side is gone."""
    head, fds = _receive_exactly(sock, 8)
    kind, count = struct.unpack("<II", head)
    sizes, more = _receive_exactly(sock, 8 * count)
    fds += more
    parts = []
    for size in struct.unpack(f"<{count}Q", sizes):
        part, more = _receive_exactly(sock, size)
        parts.append(part)
        fds += more
    return kind, parts, fds


def _receive_exactly(sock: socket.socket, size: int) -> tuple[bytes, list[int]]:
    data, fds = bytearray(), []
    while len(data) < size:
        piece, new_fds, _, _ = socket.recv_fds(sock, size - len(data), 4, socket.MSG_CMSG_CLOEXEC)
        fds += new_fds
        if not piece:
            raise EOFError
        data += piece
    return bytes(data), fds


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


class Request:
    """One batch, as the worker wrote it into a memory file.

    u64: lane, base_seed, slot_offset, slot_bytes, number of keys, of seeds, bytes of state; then the
    keys (i64), the seeds (u64: RngMode sample, one a key) and the state (pickled; empty: the lane
    begins). Of lanes that are replayed the state is a place (replay.py); of an iterable data set the
    keys are the epoch (stream.py).
    """

    HEAD = struct.Struct("<7Q")

    def __init__(self, data: bytes) -> None:
        head = self.HEAD.unpack_from(data)
        self.lane, self.base_seed, self.slot_offset, self.slot_bytes = head[:4]
        keys, seeds, state = head[4:]
        at = self.HEAD.size
        self.keys = list(struct.unpack_from(f"<{keys}q", data, at))
        at += 8 * keys
        self.seeds = list(struct.unpack_from(f"<{seeds}Q", data, at))
        at += 8 * seeds
        self.state = data[at : at + state]

    @classmethod
    def read(cls, fd: int) -> "Request":
        with os.fdopen(fd, "rb") as file:
            file.seek(0)
            return cls(file.read())
