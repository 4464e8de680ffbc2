"""One lane of a session in a stage host: its batches, one after the other. host.py tells the messages."""

import socket
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from types import SimpleNamespace
from typing import Any

from ..process.output import Output
from . import functions, wire
from .pickling import Arena, Slot, collating, keeps_nothing, pickle_batch, pickle_error
from .randomness import get_state, seed_lane, seed_sample, set_state
from .redo import Redo
from .watch import Watch
from .wire import Request, numbers, receive, send

# A batch as pickle_batch returns it.
Made = tuple[bytes, list[int], list[int]]
NOTHING: Made = (b"", [], [])
UNTOLD = b"", b"", numbers(0)


class Host:
    """Makes the batches of one lane."""

    def __init__(self, bundle: SimpleNamespace) -> None:
        self.bundle = bundle
        self.arena: Arena | None = None
        self.fetcher: Any = None  # None: the lane has not begun
        self.begin_error: bytes = b""
        self.into_slot = bundle.auto_collation and keeps_nothing(bundle.collate_fn)
        self.watch: Watch | None = None  # of a lane that is not replayed
        # What may own random generators.
        self.roots = {"dataset": bundle.dataset, "collate_fn": bundle.collate_fn}
        self.images: Any = sys.modules.get(f"{__package__}.images")  # where there is PIL

    def begin(self, lane: int, base_seed: int) -> None:
        """What a worker process does before its first batch."""
        import torch
        from torch._utils import ExceptionWrapper
        from torch.utils.data._utils import fetch, worker

        torch.set_num_threads(1)
        bundle = self.bundle
        if bundle.num_workers > 0:
            seed_lane(base_seed, lane)
            worker._worker_info = worker.WorkerInfo(
                id=lane,
                num_workers=bundle.num_workers,
                seed=base_seed + lane,
                dataset=bundle.dataset,
            )
        try:
            if bundle.worker_init_fn is not None and bundle.num_workers > 0:
                bundle.worker_init_fn(lane)
        except Exception:
            self.begin_error = pickle_error(ExceptionWrapper(where=_where(lane)))
        self.watch = Watch(self.roots, bundle.fills)
        self.fetcher = fetch._MapDatasetFetcher(
            bundle.dataset, bundle.auto_collation, bundle.collate_fn, bundle.drop_last
        )

    def make(self, request: Request) -> tuple[bytes, ...]:
        """The parts of wire.DONE, without the request's number, the output and the images."""
        slot = self.slot(request)
        outcome, made, samples = wire.RAISED, NOTHING, 0
        if self.fetcher is None:
            self.begin(request.lane, request.base_seed)
        error = self.begin_error
        if self.watch is not None:
            self.watch.before()
        try:
            if not error:
                outcome, made, slot = self.deliver_keys(request)
                samples = len(request.keys)
        except Exception:
            from torch._utils import ExceptionWrapper

            where = _where(request.lane) if self.bundle.num_workers > 0 else ""
            error = pickle_error(ExceptionWrapper(where=where))
        body, offsets, sizes = made
        return (
            numbers(outcome),
            numbers(slot.needed),
            body,
            numbers(*offsets),
            numbers(*sizes),
            get_state(self.roots),
            error,
            numbers(samples),
        )

    def deferring(self) -> AbstractContextManager[None]:
        return nullcontext() if self.images is None else self.images.deferring()

    def deliver_keys(self, request: Request) -> tuple[int, Made, Slot]:
        if request.state:
            set_state(request.state, self.roots)
        if self.images is not None:
            before = request.state or get_state(self.roots)
            with suppress(Redo), self.deferring():
                return self.deliver_batch(request)
            set_state(before, self.roots)  # Redo
        return self.deliver_batch(request)

    def deliver_batch(self, request: Request) -> tuple[int, Made, Slot]:
        slot = self.slot(request)
        with collating(slot if self.into_slot else None):
            return *self.place(self.fetch(request), slot), slot

    def slot(self, request: Request) -> Slot:
        return Slot(self.arena, request.slot_offset, request.slot_bytes)

    def place(self, value: Any, slot: Slot) -> tuple[int, Made]:
        try:
            return wire.MADE, pickle_batch(value, slot)
        except MemoryError:
            return wire.TOO_SMALL, NOTHING

    def fetch(self, request: Request) -> Any:
        bundle = self.bundle
        keys: Any = request.keys if bundle.auto_collation else request.keys[0]
        if not request.seeds:
            return self.fetcher.fetch(keys)
        if not bundle.auto_collation or getattr(bundle.dataset, "__getitems__", None):
            seed_sample(
                request.seeds[0], self.roots
            )  # made in one call, so there is one seed for all
            return self.fetcher.fetch(keys)
        data = []
        for key, seed in zip(keys, request.seeds, strict=True):
            seed_sample(seed, self.roots)
            data.append(bundle.dataset[key])
        return bundle.collate_fn(data)

    def told(self, output: Output) -> tuple[bytes, ...]:
        """What the batches since the last call printed, and how many images were made natively."""
        images = functions.take_count() + (self.images.take_count() if self.images else 0)
        return *output.take(), numbers(images)

    def serve(self, sock: socket.socket, output: Output) -> None:
        wire.greet(sock)
        while True:
            kind, parts, fds = receive(sock)
            if kind not in (wire.ARENA, wire.BATCH):
                raise wire.unexpected(kind)
            if kind == wire.ARENA:
                self.arena = Arena(*fds)
            elif kind == wire.BATCH:
                cpu = time.process_time_ns()
                *before, samples = self.make(Request.of(parts, fds))
                told: tuple[bytes, ...] = UNTOLD
                if before[0] != numbers(wire.TOO_SMALL):
                    told = self.told(output)
                else:
                    self.told(output)  # because the batch is made again, and prints all again
                cpu = time.process_time_ns() - cpu
                change = self.watch.after() if self.watch is not None else ""
                told = *told, samples, numbers(cpu), change.encode()
                send(sock, wire.DONE, parts[0], *before, *told)


def _where(lane: int) -> str:
    return f"in DataLoader worker process {lane}"
