"""A lane within the test's process: its port, without the loop of torch's worker, and the data worker that asks it."""

import os
import queue
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.stage import wire
from headrace.stage.lane import LanePort
from headrace.stage.wire import numbers

from .batch_request import packed_request, send_request
from .lane_settings import settings


class Answer(NamedTuple):
    outcome: bytes
    body: bytes
    offsets: list[int]
    sizes: list[int]
    state: bytes  # after it


class LaneDouble:
    """`make(number)` is what the loop makes of a batch; `made` counts these. `changed`: of the lane's settings.
    One thread."""

    def __init__(
        self, make: Callable[[int], Any], collate_fn: Callable[[list], Any] = list, **changed: Any
    ) -> None:
        self._control, theirs = socket.socketpair()
        self.port = LanePort(theirs, settings(**changed))
        opened = self.port.open({"dataset": None, "collate_fn": collate_fn}, None)
        self.port._natives = (
            True  # this process is no lane: libraries' functions stay in their places
        )
        self.collate = opened["collate_fn"]
        self.made, self._make = 0, make
        self._sockets = [self._control, theirs]
        self.connect()

    def connect(self, memory: int | None = None) -> None:
        """To another data worker. `memory`: a descriptor of its slots."""
        self.worker, served = socket.socketpair()
        self._sockets.append(self.worker)
        socket.send_fds(self._control, [numbers(0)], [served.fileno()])
        served.close()
        if memory is not None:
            socket.send_fds(self.worker, [wire.encode(wire.ARENA)], [memory])

    def close(self) -> None:
        for each in (*self._sockets, *(worker.sock for worker in self.port._requests.workers)):
            each.close()
        os.close(self.port._requests._trainer)

    def ask(self, number: int, room: int, **more: Any) -> Answer:
        """`room`: bytes of the slot; `more`: of the request (batch_request.py)."""
        send_request(
            self.worker,
            packed_request([number], room, batch=number, **more),
            numbers(9),
            numbers(0),
        )
        try:
            item = self.port.get(0)
        except queue.Empty:  # it was answered without the loop
            item = None
        if item is not None:
            self.made += 1
            self.port.put((item[0], self._make(number)))
        kind, answer, _ = wire.receive(self.worker)
        assert kind == wire.DONE
        offsets, sizes = (memoryview(part).cast("Q").tolist() for part in answer[4:6])
        return Answer(answer[1], answer[3], offsets, sizes, answer[6])
