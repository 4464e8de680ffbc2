"""A request for a batch, as a worker writes it for a lane: the one place of the tests that knows its form."""

import os
import socket
import struct
from collections.abc import Sequence

from headrace.stage import wire


def packed_request(
    keys: Sequence[int],
    room: int,
    lane: int = 0,
    base_seed: int = 1,
    offset: int = 0,
    seeds: Sequence[int] = (),
    state: bytes = b"",
    iteration: int = 1,
    batch: int = 0,
    after: int = -1,
) -> bytes:
    """`room`: bytes of the slot, which begins at `offset`; `after`: the batch that is out before it."""
    head = wire.Request.HEAD.pack(
        *(lane, base_seed, offset, room, len(keys), len(seeds), len(state), 0),
        *(iteration, batch, after + 1),
    )
    return head + struct.pack(f"<{len(keys)}q", *keys) + wire.numbers(*seeds) + state


def send_request(sock: socket.socket, request: bytes, *parts: bytes) -> None:
    """In a memory file, as a worker sends one that is too long for its frame."""
    fd = os.memfd_create("request")
    os.write(fd, request)
    wire.send_fds(sock, wire.encode(wire.BATCH, *parts), [fd])
    os.close(fd)
