"""What a DEALER of ZeroMQ says on a plain socket (ZMTP 3.1, mechanism NULL), for peers that misbehave."""

import socket

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
_METADATA = (
    b"\x0bSocket-Type"
    + (6).to_bytes(4, "big")
    + b"DEALER"
    + b"\x08Identity"
    + (0).to_bytes(4, "big")
)
_READY = b"\x05READY" + _METADATA
HANDSHAKE = GREETING + b"\x04" + bytes([len(_READY)]) + _READY


def frame(body: bytes, more: bool = False) -> bytes:
    if len(body) < 256:
        return bytes([1 if more else 0, len(body)]) + body
    return bytes([3 if more else 2]) + len(body).to_bytes(8, "big") + body


def message(*frames: bytes) -> bytes:
    return b"".join(frame(body, more=True) for body in frames[:-1]) + frame(frames[-1])


def connect(port: int) -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", port), 10)
    peer.sendall(HANDSHAKE)
    return peer
