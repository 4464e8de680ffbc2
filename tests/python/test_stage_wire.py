"""The frames between a data worker and its Python processes, as Python makes and reads them.

The worker's half is frame_socket_test.cc: both are held to the same frozen bytes.
"""

import socket
from pathlib import Path

import pytest
from headrace.stage import wire

_GOLDEN = Path(__file__).parents[2] / "dataworker/stage/golden_frames.txt"


def golden_frames():
    for line in _GOLDEN.read_text().splitlines():
        if not line.startswith("#"):
            name, kind, frame, *parts = line.split()
            content = [b"" if part == "-" else bytes.fromhex(part) for part in parts]
            yield pytest.param(int(kind), content, bytes.fromhex(frame), id=name)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize(("kind", "parts", "frame"), list(golden_frames()))
def test_frames_are_those_that_were_frozen(kind, parts, frame, pair):
    assert wire.encode(kind, *parts) == frame
    ours, theirs = pair
    theirs.sendall(frame)
    assert wire.receive_any(ours) == (kind, parts, [])


def test_another_protocol_is_refused_and_both_releases_named(pair):
    ours, theirs = pair
    hello = bytearray(wire.encode(wire.HELLO, b"9.9.9"))
    hello[3] += 1
    theirs.sendall(hello)
    said, own = wire.PROTOCOL + 1, rf"release .*\) {wire.PROTOCOL}:"
    with pytest.raises(wire.OtherRelease, match=rf"9\.9\.9.*protocol {said}.*{own}"):
        wire.receive(ours)


def test_what_is_no_frame_is_refused(pair):
    ours, theirs = pair
    theirs.sendall(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(wire.OtherRelease, match="without its mark"):
        wire.receive(ours)


def test_a_greeting_is_passed_over(pair):
    ours, theirs = pair
    wire.greet(theirs)
    wire.send(theirs, wire.ARENA)
    assert wire.receive(ours)[0] == wire.ARENA


class Counting(socket.socket):
    """Counts what it asks the kernel."""

    calls = 0

    def recv(self, *args):
        self.calls += 1
        return super().recv(*args)

    def recvmsg(self, *args):
        self.calls += 1
        return super().recvmsg(*args)


def test_a_frame_is_taken_in_two_system_calls_and_what_follows_stays_in_the_socket(pair):
    """Another process of the lane may go on from here."""
    _, theirs = pair
    ours = Counting(fileno=pair[0].detach())
    first, second = [b"number", b"request"], [b"number", b"x" * 20_000]
    theirs.sendall(wire.encode(wire.BATCH, *first) + wire.encode(wire.BATCH, *second))
    assert wire.receive_any(ours) == (wire.BATCH, first, [])
    assert ours.calls == 2
    other = socket.socket(fileno=ours.detach())
    assert wire.receive_any(other) == (wire.BATCH, second, [])
    theirs.sendall(wire.encode(wire.DONE, b"y" * 100_000))
    assert wire.receive_any(other)[1] == [b"y" * 100_000], "a large one comes in parts"
    other.close()
