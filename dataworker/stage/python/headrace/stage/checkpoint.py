"""A lane's process as it was before any of the program's code ran in it, kept as a sleeping fork.

A deferred picture may turn out to be damaged when its pixels are wanted, where PIL would have raised
when it was opened (images.py). Code may have seen and kept what it should not, so nothing in that
process can go back. The fork makes the lane's batches again from the first one, unseen, with pictures by
PIL alone, and goes on in the lane's place; the process that was the lane waits for it, and ends as it
ends. It knows the damaged picture, and defers the others. So it has a sleeping fork of its own, for the
next one, as long as what was made again is little beside what the lane has made.

The lane's code may be seen to keep state when other hosts had made some of the lane's batches
(docs/adr/0029-state-seen.md). Results that were given in place of calls may turn out to be wrong
(docs/adr/0106-made-again.md). In both cases the fork begins another life of the lane and is asked for all
batches again. What was printed before is not printed again. A lane that may move has a sleeping fork again.
"""

import os
import pickle
import signal
import struct
from collections.abc import Iterator

from ..process import sockets
from . import wire
from .forks import die_with_parent
from .lane_requests import Asked, Requests, Worker
from .object_reads import Door
from .pickling import Arena
from .wire import Request

_SIZE = struct.Struct("<Q")
# A worker, whose last descriptor may be its door.
_PLAIN, _WITH_DOOR = b"W", b"D"


class Handed:
    """What a process needs to go on in the place of another one of its lane."""

    def __init__(
        self,
        past: list[bytes],
        now: Asked,
        requests: Requests,
        damaged: tuple[int, int],
        heard: list[int],
    ) -> None:
        """`past`: all requests since the process began, packed; the last of them is `now`. `damaged`:
        the mark of the picture that could not be made. `heard`: the name of the latest batch of which
        all that it printed was seen."""
        assert now.worker is not None
        self._workers = requests.workers
        of = self._workers.index(now.worker)
        self._rest = past, now.number, of, requests.life, damaged, heard

    @classmethod
    def anew(cls, workers: list[Worker], life: int, heard: list[int]) -> "Handed":
        """Makes one for another life of the lane, which has no past."""
        handed = cls.__new__(cls)
        handed._workers, handed._rest = workers, ([], b"", -1, life, (0, 0), heard)
        return handed

    def send(self, sock: sockets.Socket) -> None:
        body = pickle.dumps((*self._rest, len(self._workers)))
        sock.sendall(_SIZE.pack(len(body)) + body)
        for worker in self._workers:
            arena = worker.arena
            fds = [worker.sock.fileno(), *(arena.descriptors() if arena is not None else ())]
            if worker.door is not None:
                fds.append(worker.door.fileno())
            wire.send_fds(sock, _PLAIN if worker.door is None else _WITH_DOOR, fds)

    @classmethod
    def receive(cls, sock: sockets.Socket) -> "Received | None":
        """None: the lane has ended, and nobody goes on."""
        head = _exactly(sock, _SIZE.size)
        if not head:
            return None
        past, number, of, life, damaged, heard, count = pickle.loads(
            _exactly(sock, _SIZE.unpack(head)[0])
        )
        workers = []
        for _ in range(count):
            kind, fds = wire.receive_fds(sock, 1, 4)
            door = Door(fds.pop(), may_read=True) if kind == _WITH_DOOR else None
            arena = Arena(*fds[1:]) if len(fds) > 1 else None
            workers.append(Worker(sockets.taken(fds[0]), arena, door))
        return Received(past, number, of, life, damaged, heard, workers)


class Received:
    def __init__(
        self,
        past: list[bytes],
        number: bytes,
        of: int,
        life: int,
        damaged: tuple[int, int],
        heard: list[int],
        workers: list[Worker],
    ) -> None:
        self._past, self._number, self._of, self._workers = past, number, of, workers
        self.life, self.damaged, self.heard = life, damaged, heard
        self.anew = of < 0  # another life: nothing is made again unasked

    @property
    def batches(self) -> int:
        """Made again before anything is new."""
        return len(self._past)

    def resume(self, requests: Requests) -> Iterator[Asked]:
        """Serves on the connections of the process before. What it made, and, with a worker, what it
        could not."""
        for worker in self._workers:
            requests.serve(worker)
        return self._requests()

    def _requests(self) -> Iterator[Asked]:
        if self.anew:
            return
        for packed in self._past[:-1]:
            yield Asked(None, b"", Request(packed))
        yield Asked(self._workers[self._of], self._number, Request(self._past[-1]))


class Checkpoint:
    """The lane's side of it, and in the fork what it was handed."""

    handed: Received | None = None

    @classmethod
    def make(cls) -> "Checkpoint":
        """Returns at once in the process that calls it; in the fork when it is to go on."""
        ours, theirs = sockets.pair()
        point = cls()
        point._pid = os.fork()
        if point._pid:
            theirs.close()
            point._sock = ours
            return point
        ours.close()
        die_with_parent()
        point.handed = Handed.receive(theirs)
        if point.handed is None:
            os._exit(0)
        return point

    _pid: int
    _sock: sockets.Socket

    def hand_over(self, handed: Handed) -> None:
        """Does not return: ends as the fork ends."""
        handed.send(self._sock)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the fork by itself
        _, status = os.waitpid(self._pid, 0)
        if os.WIFSIGNALED(status):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _exactly(sock: sockets.Socket, size: int) -> bytes:
    """Empty: the other side has ended."""
    data = bytearray()
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)
