"""How a lane's process hears from data workers, and answers them (lane.py; host.py has the messages)."""

import os
import select
import struct
import time
from contextlib import suppress

from ..process import object_reads, sockets
from ..process.output import tell
from . import wire
from .object_reads import Door
from .pickling import Arena, Slot
from .wire import Request

_LIFE = struct.Struct("<Q")
# How often a lane reads its CPU clock. Each read makes the kernel look whether the process's slice is over. So on a
# busy machine a batch that was made waits for the core, 10 ms and more, before it is sent.
_READ_EVERY_NS = 50_000_000


class Worker:
    """A connection to a data worker."""

    def __init__(
        self, sock: sockets.Socket, arena: Arena | None = None, door: Door | None = None
    ) -> None:
        self.sock, self.arena, self.door = sock, arena, door


class CpuClock:
    """CPU time of this process, read now and then. One thread."""

    def __init__(self) -> None:
        self._told = time.process_time_ns()
        self._read_at = -_READ_EVERY_NS

    def news(self, is_last: bool = False) -> int:
        """What was used since the last news, ns; 0 if that was told lately. `is_last`: none may follow."""
        now = time.monotonic_ns()
        if now - self._read_at < _READ_EVERY_NS and not is_last:
            return 0
        told, self._told, self._read_at = self._told, time.process_time_ns(), now
        return self._told - told


class Asked:
    """A request for a batch. Without a worker: one that another process has answered."""

    def __init__(
        self, worker: Worker | None, number: bytes, request: Request, clock: CpuClock | None = None
    ) -> None:
        self.worker, self.number, self.request = worker, number, request
        arena = None if worker is None else worker.arena
        self.slot = Slot(arena, request.slot_offset, request.slot_bytes)
        self._clock = clock

    def cpu_used(self, is_last: bool = False) -> int:
        """CPU time of this process since it was last told, ns: of several batches, once for all of them. `is_last`:
        the lane has no more batches."""
        return 0 if self._clock is None else self._clock.news(is_last)


class Again(BaseException):
    """The lane begins again, as it was before its first batch, and serves on these connections.

    Not an Exception: it passes through torch's worker loop."""

    def __init__(self, workers: list[Worker]) -> None:
        super().__init__()
        self.workers = workers


class Requests:
    """Requests of all data workers that the trainer has given this lane. One thread.

    The trainer holds the other end of `control`: it sends sockets to serve on, each with the number of
    the lane's life, and shuts it down when the lane is to end. A later life begins as the lane did
    before its first batch: next() raises Again, and what is left of the life before is served no
    more. A worker that hangs up is dropped with its memory, which the trainer waits for.
    """

    def __init__(self, control: sockets.Socket, trainer: int, life: int = 0) -> None:
        self.ended = False
        self.life = life
        self.control = control
        self._workers: dict[int, Worker] = {}
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._trainer = -1
        self._clock = CpuClock()
        with suppress(OSError):  # it has ended, and the control socket says so
            self._trainer = os.pidfd_open(trainer)
            self._poll.register(self._trainer, select.POLLIN)

    @property
    def workers(self) -> list[Worker]:
        return list(self._workers.values())

    def next(self, timeout: float | None) -> Asked | None:
        """None: nothing came in `timeout` seconds, or the lane is to end."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            ready = self._poll.poll(left)
            if not ready:
                return None
            for fd, _ in ready:  # the control socket first, and after the end nothing is begun
                if self.ended:
                    break
                if fd == self.control.fileno():
                    self._on_control()
                elif fd == self._trainer:
                    self.ended = True
                elif (worker := self._workers.get(fd)) is not None:
                    if (asked := self._on_worker(worker)) is not None:
                        return asked
        return None

    def answer(self, asked: Asked, *parts: bytes) -> None:
        assert asked.worker is not None
        try:
            wire.send(asked.worker.sock, wire.DONE, asked.number, *parts)
        except OSError:
            self._drop(asked.worker)  # whoever takes its place asks again

    def serve(self, worker: Worker) -> None:
        self._workers[worker.sock.fileno()] = worker
        self._poll.register(worker.sock, select.POLLIN)
        self._read_by(worker)
        with suppress(OSError):  # it has gone, as the next look will say
            wire.greet(worker.sock)

    def _on_control(self) -> None:
        try:
            data, fds = wire.receive_fds(self.control, _LIFE.size, 1)
        except OSError:
            data, fds = b"", []
        self.ended = not data
        workers = [Worker(sockets.taken(fd)) for fd in fds]
        if not self.ended:
            (life,) = _LIFE.unpack(data)
            if life > self.life:
                for worker in self.workers:
                    self._drop(worker)
                self.life = life
                raise Again(workers)
        for worker in workers:
            self.serve(worker)

    def _on_worker(self, worker: Worker) -> Asked | None:
        try:
            kind, parts, fds = wire.receive_any(worker.sock)
            if kind == wire.HELLO:
                return None
            if kind not in (wire.ARENA, wire.BATCH, wire.DOOR):
                raise wire.unexpected(kind)
        except (EOFError, OSError, wire.OtherRelease) as error:
            if isinstance(error, wire.OtherRelease):
                tell(f"headrace: {error}")
            self._drop(worker)
            return None
        if kind == wire.ARENA:
            worker.arena = Arena(*fds)
            return None
        if kind == wire.DOOR:
            worker.door = Door(fds[0], may_read=True)
        self._read_by(worker)
        if kind == wire.DOOR:
            return None
        return Asked(worker, parts[0], Request.of(parts, fds), self._clock)

    def _drop(self, worker: Worker) -> None:
        if self._workers.pop(worker.sock.fileno(), None) is None:
            return
        self._poll.unregister(worker.sock)
        worker.sock.close()
        worker.arena = None
        if worker.door is not None:
            if object_reads.by is worker.door:
                object_reads.by = None  # this process reads, until another worker asks
            worker.door.close()

    def _read_by(self, worker: Worker) -> None:
        """Has the worker read what the code asks for next."""
        object_reads.by = worker.door


def turn_of(request: Request, newest: list[int]) -> int:
    """MADE: the batch is the lane's next one, or may be. PASSED: it is none of those that the trainer may still need
    (KeptBatches), but a repeat of one that it has, from a data worker that was slow to hand it on. EARLY: the one
    before it was lost on its way, or refused. `newest`: the name of the latest batch that the lane was asked for."""
    if request.name < newest:
        return wire.PASSED
    before = [request.name[0], request.after - 1]
    return wire.EARLY if request.after and before > newest else wire.MADE


def unmade(asked: Asked, outcome: int) -> tuple[bytes, ...]:
    """The parts of wire.DONE for a batch that the lane does not make."""
    none = wire.numbers(0)
    empty = wire.numbers()
    made = b"", empty, empty, b"", b"", b"", b""
    return wire.numbers(outcome), none, *made, none, none, wire.numbers(asked.cpu_used()), b""
