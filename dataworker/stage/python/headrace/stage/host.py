"""The subprocess of a data worker that runs pipelines which have no native form.

Length: what a host hears and says is told beside what does it.

    python -m headrace.stage.host FD

FD is one end of a socket pair; the worker holds the other. Nothing but the standard library, torch
and cloudpickle is needed here.

One *base* a program imports what takes long, torch above all, and stays (base.py). One *zygote* a
session is forked from it and unpickles the bundle. It forks a *host* for each lane (virtual DataLoader
worker), as the stock loader forks its workers: each begins with a copy of the dataset as it was in the
trainer. A host makes the batches of its lane one after the other; the state of its random generators
comes with each request and goes back with the answer, so any worker can go on with the lane. What the code
keeps beside it can't travel: such code is not sent here (docs/adr/0028-elsewhere.md).

The bundle is a cloudpickle (protocol 5) of a dict:

    process          first: unpickling it makes this process as the trainer's (process_state.py)
    dataset          map-style
    fills            bool: filling in what is missing is proved to be no state (watch.py)
    collate_fn       of the loader
    worker_init_fn   of the loader, or None
    auto_collation   bool: False for batch_size=None, where a batch is one key
    drop_last        bool
    num_workers      int: of the loader; 0 means that get_worker_info() is None
    by_pil           steps of pictures that stay PIL's (images.py); if there are any, what
                     torchvision's transforms do is torchvision's (transforms.py)
    environ, group   the trainer's ranks (ranks.py)
    process_at_end   last: as process, with what is known when all else is pickled

and behind it are the names of the installed modules that it refers to (modules.py).

Messages, in both directions: u32 kind, u32 number of parts, u64 size of each part, the parts; little
endian. Descriptors ride on a message's first byte.

    worker -> base     PREPARE  [json]               once, first
                       SESSION  [u64 id, json]       a zygote that serves on that socket
                                + socket + bundle
                       END      [u64 id]             kills it
    base -> worker     FORKED   [u64 id, u64 pid]
                       BECAME   [u64 id]             this process is the zygote; it reads no more here
                       UNFIT    [u64 id]             not begun; for a fresh interpreter
                       ENDED    [u64 id, text]       a zygote has ended, and how
    worker -> zygote   FORK   [u64 id]   + socket       a host that serves on that socket
    zygote -> worker   READY  [text]                    why it can't serve; empty: it can
                       FORKED [u64 id, u64 pid]
                       ENDED  [u64 id, text]            a host has ended, and how
    worker -> host     ARENA             + memory       where the buffers of the next batches go
                                         + channel      held open: while it is, the trainer does
                                                        not use the memory for anything else
                       BATCH  [u64 request]  + request  a memory file: see Request
    host -> worker     DONE   [u64 request, u64 outcome, u64 needed, pickle, u64 offsets, u64 sizes,
                               state, error, output, error output, u64 images made natively,
                               u64 samples, u64 CPU time of this process, ns,
                               what the code was seen to keep, text: watch.py]
"""

import gc
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from types import SimpleNamespace
from typing import Any

from ..process.output import Output
from . import functions, memory, wire
from .forks import Forks, die_with_parent
from .pickling import Arena, Slot, collating, keeps_nothing, pickle_batch, pickle_error
from .randomness import get_state, seed_lane, seed_sample, set_state
from .ranks import take_place
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
        """Of the batches made since the last call: what they printed, and images made natively."""
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
                *before, samples = self.make(Request.read(fds[0]))
                told = UNTOLD
                if before[0] != numbers(wire.TOO_SMALL):
                    told = self.told(output)
                else:
                    self.told(output)  # for it is made, and says all, once more
                cpu = time.process_time_ns() - cpu
                change = self.watch.after() if self.watch is not None else ""
                told = *told, samples, numbers(cpu), change.encode()
                send(sock, wire.DONE, parts[0], *before, *told)


def _where(lane: int) -> str:
    return f"in DataLoader worker process {lane}"


class OtherPython(Exception):
    """This worker's Python is not the trainer's."""


def remedy(error: Exception) -> str:
    """What its user can do on this worker."""
    this = f"HEADRACE_PYTHON (now {sys.executable})"
    if isinstance(error, OtherPython):
        return (
            f"install the trainer's version here, or set {this} for this worker to one that has it"
        )
    if isinstance(error, ImportError):
        name = (error.name or "the package").partition(".")[0]
        return f"install {name} here, or set {this} for this worker to a Python that has it"
    return f"is the program's code the same here? {this} is the interpreter of this worker"


def prepare(settings: dict[str, Any]) -> None:
    """What all sessions of a program need. Raises what keeps this interpreter from running its code."""
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if settings["version"] != mine:
        raise OtherPython(f"the trainer runs Python {settings['version']}, this worker {mine}")
    sys.path[:] = settings["sys_path"] + [p for p in sys.path if p not in settings["sys_path"]]
    if os.path.isdir(settings["working_directory"]):
        os.chdir(settings["working_directory"])
    # Before the fork, so that hosts share it; one thread, because a fork keeps only one.
    import torch
    import torch.utils.data

    torch.set_num_threads(1)


def load(settings: dict[str, Any], bundle_fd: int) -> SimpleNamespace:
    """Raises what keeps this interpreter from running the trainer's code."""
    prepare(settings)
    with os.fdopen(bundle_fd, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            bundle = SimpleNamespace(**pickle.loads(data))
    take_place(bundle)
    if "PIL" in settings["packages"]:
        enable_images(bundle.by_pil)
    functions.enable()
    for name, version in settings["packages"].items():
        found = getattr(sys.modules.get(name), "__version__", version)
        if str(found) != version:
            raise OtherPython(f"the trainer has {name} {version}, this worker {found}")
    gc.freeze()  # a collection in a host must not copy the pages that it shares
    return bundle


def enable_images(by_pil: list[str]) -> None:
    try:
        from .images import enable
    except ImportError:
        return  # no PIL here, which the program's code need not miss
    enable(by_pil)


class Zygote(Forks):
    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self.bundle: SimpleNamespace | None = None
        self.outputs: dict[int, Output] = {}  # by pid

    def serve(self, settings: dict[str, Any], bundle_fd: int) -> None:
        problem = ""
        try:
            self.bundle = load(settings, bundle_fd)
        except Exception as error:
            kind = "" if isinstance(error, OtherPython) else f"{type(error).__name__}: "
            problem = f"{kind}{error}; {remedy(error)}"
        send(self.control, wire.READY, problem.encode())
        self.run()

    def handle(self, kind: int, parts: list[bytes], fds: list[int]) -> None:
        if kind == wire.FORK:
            (host,) = struct.unpack("<Q", parts[0])
            output = Output()
            pid = self.fork(
                host, lambda: self.become_host(socket.socket(fileno=fds[0]), output), fds
            )
            self.outputs[pid] = output

    def become_host(self, sock: socket.socket, output: Output) -> None:
        memory.keep(memory.ALL)
        output.catch()
        assert self.bundle is not None
        Host(self.bundle).serve(sock, output)

    def how(self, pid: int, status: int) -> str:
        worker = f"DataLoader worker (pid {pid})"
        how = f"exited unexpectedly with exit code {os.WEXITSTATUS(status)}."
        if os.WIFSIGNALED(status):
            how = f"is killed by signal: {signal.strsignal(os.WTERMSIG(status))}."
        last = self.outputs.pop(pid).close().decode(errors="replace")
        return f"{worker} {how}" + (f" Its last output:\n{last}" if last else "")


def main() -> None:
    from .base import Base

    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's matter
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        Base(control).run()
    except (EOFError, ConnectionError):
        os._exit(0)  # nobody needs it any more; forks see it at their own sockets


if __name__ == "__main__":
    # By its name, so that what it pickles refers to headrace.stage.host, not to __main__.
    from . import host

    host.main()
