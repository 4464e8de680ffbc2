"""Peers that speak ZeroMQ's protocol by hand."""

import socket

# What a DEALER of ZeroMQ says first (ZMTP 3.1, mechanism NULL).
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
METADATA = (
    b"\x0bSocket-Type"
    + (6).to_bytes(4, "big")
    + b"DEALER"
    + b"\x08Identity"
    + (0).to_bytes(4, "big")
)
READY = b"\x05READY" + METADATA
HANDSHAKE = GREETING + b"\x04" + bytes([len(READY)]) + READY


def shake(peer: socket.socket) -> None:
    """Shakes hands with a server. Only then may messages follow."""
    peer.sendall(HANDSHAKE)
    _take(peer, len(GREETING))
    _take(peer, _take(peer, 2)[1])


def _take(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        assert part, "hung up"
        data += part
    return data


def frame(body: bytes, more: bool = False) -> bytes:
    if len(body) < 256:
        return bytes([1 if more else 0, len(body)]) + body
    return bytes([3 if more else 2]) + len(body).to_bytes(8, "big") + body


def message(*frames: bytes) -> bytes:
    return b"".join(frame(body, more=True) for body in frames[:-1]) + frame(frames[-1])
