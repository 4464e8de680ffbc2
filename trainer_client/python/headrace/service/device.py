"""How long the device had nothing to do while the program waited for a batch.

CUDA only, and only where the program has begun to use it. Nothing here initialises a device or waits
for one.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import torch

# Waits whose events the device has not reached yet. A device that lags further is never idle.
_MOST_PENDING = 64


class Event(Protocol):
    """A torch.cuda.Event with its time."""

    def record(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_time(self, end: "Event") -> float: ...


class Device(Protocol):
    def in_use(self) -> bool:
        """Whether an event may be recorded now, on the current stream."""

    def event(self) -> Event: ...


class Cuda:
    """The device that is current for the program's thread."""

    def in_use(self) -> bool:
        return torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing()

    def event(self) -> Any:
        return torch.cuda.Event(enable_timing=True)


class IdleMeter:
    """The meter of one session. One thread.

    The device reaches an event when it has done all that the stream was given before. One event is
    recorded when the program asks for a batch, after its last step, and one when it gets it. In
    between the stream is given nothing, so the device's own time from the first to the second is
    how long it stood still for this wait: none if it was at work all along, all of it if it had
    finished before.
    """

    def __init__(self, device: Device, told: Callable[[int], None]) -> None:
        """`told`: gets the idle time of each wait, in nanoseconds, some time later."""
        self._device = device
        self._told = told
        self._failed = False
        self._begun: Event | None = None
        self._pending: deque[tuple[Event, Event]] = deque()
        self._spare: list[Event] = []

    def enter(self) -> None:
        self._try(self._enter)

    def leave(self) -> None:
        if self._begun is not None:
            self._try(self._leave)

    def settle(self) -> None:
        """Tells what the device has reached meanwhile."""
        self._try(self._settle)

    def _try(self, part: Callable[[], None]) -> None:
        """An error of the device is the program's to meet, at its own next call."""
        if self._failed:
            return
        try:
            part()
        except RuntimeError:
            self._failed = True
            self._begun = None
            self._pending.clear()

    def _enter(self) -> None:
        self._settle()
        self._begun = None
        if len(self._pending) < _MOST_PENDING and self._device.in_use():
            self._begun = self._record()

    def _leave(self) -> None:
        assert self._begun is not None
        begun, self._begun = self._begun, None
        if self._device.in_use():
            self._pending.append((begun, self._record()))

    def _record(self) -> Event:
        event = self._spare.pop() if self._spare else self._device.event()
        event.record()
        return event

    def _settle(self) -> None:
        while self._pending and self._pending[0][1].query():
            begun, ended = self._pending.popleft()
            self._told(round(begun.elapsed_time(ended) * 1e6))
            self._spare += begun, ended


def idle_meter(told: Callable[[int], None]) -> IdleMeter | None:
    """None: this torch knows no CUDA."""
    return IdleMeter(Cuda(), told) if torch.backends.cuda.is_built() else None
