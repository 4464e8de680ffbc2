"""Lanes of Python stages: the workers of the stock loader, which hand their batches to data workers.

torch's own code makes the worker processes, at the place and in the way in which it always does (forked,
spawned or by a fork server), and keeps them: signals, their end, persistent workers. It is given a
context whose queues lead to a session (stage/lane.py is the other half). The mixin Lanes is what a
loader's iterator needs for it. Why so: docs/adr/0025-lanes.md.
"""

import inspect
import linecache
import os
import socket
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data.dataloader import _DatasetKind

from ..native import binding
from ..native.intact import OF_CHAIN, first_change
from ..process import own_imports, sockets
from ..service import options
from ..stage import declared_here, functions, leaf_keys, leaves, memory, wire
from ..stage.bad_samples import GuardingInit
from ..stage.item_times import may_be_long
from ..stage.kept_batches import Made
from ..stage.lane import LanePort, LaneSettings, lane_main
from ..stage.lessons import Lessons
from . import loops
from .made_again import Doubted
from .read_before import ReadBefore

if TYPE_CHECKING:  # spawned processes import this file, and need no more than it does
    from ..capture import StagePlan
    from .bad_samples import BadSamples
    from .loader_state import LoaderState


# A lane keeps all but one of them (stage/kept_batches.py).
_MOST_AT_ONCE = 4
# A worker seeds torch. For devices that are not in use, torch then keeps the text of the stack, with the lines of the
# source files. A file that nobody has read in the process that forks is read in each lane, 0.8 ms for all of them.
_ON_THE_STACK = (
    "headrace.stage.lane", "multiprocessing.context", "multiprocessing.popen_fork", "multiprocessing.process",
    "torch._compile", "torch._dynamo.eval_frame", "torch.cuda", "torch.cuda.random", "torch.mtia", "torch.random",
    "torch.utils.data._utils.worker", "torch.xpu", "torch.xpu.random",
)  # fmt: skip


class LaneContext:
    """Replaces multiprocessing for an iterator that is a Lanes."""

    def __init__(self, iterator: "Lanes", context: Any) -> None:
        """`context`: the loader's own, or torch's."""
        self._iterator = weakref.ref(iterator)
        self._context = context
        iterator.begin_iteration()
        # Only then are names of libraries looked for that readers of files have.
        leaves.possible = _has_cache()
        if leaves.possible:
            leaf_keys.libraries()
            iterator.look_ahead()
            loader = iterator._loader()
            # Lanes that stay have no other time to get a checkpoint; a pool's cache has results of earlier programs.
            at_once = loader.persistent_workers or bool(options.from_environment().coordinator)
            finds = options.from_environment().found_functions and _forks(context)
            finds = finds and (at_once or iterator.may_find())
            declared_here.prepare([loader.dataset, loader.collate_fn], finds)
            gives = declared_here.may_give(loader.dataset, loader.num_workers, at_once)
            iterator.doubted = Doubted(gives, shares=_forks(context))
        if iterator._watched() is not None:
            with own_imports.as_they_were():
                from ..stage import watch  # noqa: F401 - lanes find it loaded
        self._lessons = iterator.lessons(intact=preload_natives())
        if _forks(context):
            prepare_forks()
            iterator._state.give_back(iterator._loader())

    def Event(self) -> "_Ended":
        return _Ended()

    def Queue(self) -> "_Queue":
        return _Queue(self._iterator)

    def Process(self, target: Any, args: tuple[Any, ...]) -> Any:
        iterator: Any = self._iterator()
        given = inspect.signature(target).bind(*args).arguments
        control, theirs = sockets.pair()
        queue = given["index_queue"]
        queue.lane, queue.control = given["worker_id"], control
        port = LanePort(theirs, iterator.lane_settings(), self._lessons)
        loop, arguments = iterator.lane_loop(target, given)
        process = self._context.Process(target=lane_main, args=(loop, arguments, port))
        iterator.lane_started(_Lane(control, theirs, process))
        return process


# Of lanes that nobody has told to end. The garbage collector closes what an iterator holds in any order, and a
# process that has inherited our side would keep the lane waiting.
_controls: set[sockets.Socket] = set()


class _Lane:
    def __init__(self, control: sockets.Socket, theirs: sockets.Socket, process: Any) -> None:
        self.control, self.theirs, self.process = control, theirs, process
        _controls.add(control)

    def descriptor(self) -> tuple[int, int]:
        """What a session is given of it. The process has started."""
        self.theirs.close()
        return self.control.fileno(), self.process.pid

    def end(self) -> None:
        """Its process sees the end, even if others have inherited our side of the socket."""
        try:
            self.control.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended
        self.control.close()
        _controls.discard(self.control)


class _Ended:
    """Replaces the event that tells workers to end. torch's code asks for it; the workers learn it
    from their control sockets."""

    _is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set


class _Queue:
    """Replaces the queue to a worker, or the queue for all answers."""

    lane = -1
    control: sockets.Socket | None = None

    def __init__(self, iterator: Callable[[], Any]) -> None:
        self._iterator = iterator

    def put(self, message: Any) -> None:
        iterator = self._iterator()
        if iterator is not None:
            iterator.lane_asked(self.lane, message)

    def cancel_join_thread(self) -> None:
        pass

    def close(self) -> None:
        pass


_READ_BEFORE = ReadBefore()


class Lanes:
    """Mixed in front of an iterator of torch's with worker processes. One thread."""

    doubted = Doubted(gives=False, shares=True)
    _lanes: list[_Lane]
    _code: "StagePlan"
    _state: "LoaderState"
    _bad: "BadSamples"
    _loader: Any  # a weak reference
    # Attributes of torch's iterator.
    _dataset_kind: int
    _auto_collation: bool
    _persistent_workers: bool
    _prefetch_factor: int

    def lane_settings(self) -> LaneSettings:
        loader: Any = self._loader()
        return LaneSettings(
            auto_collation=self._auto_collation,
            iterable=self._dataset_kind == _DatasetKind.Iterable,
            batch_size=(loader.batch_size or 1) if loader is not None else 1,
            persistent=self._persistent_workers,
            by_pil=self._code.by_pil,
            tells_state=self._tells_state(),
            trainer=os.getpid(),
            watched=self._watched(),
            leaves=leaves.possible,
            first=self._state.is_first,
            keeps=options.from_environment().epochs != 1,
            again=self._state.is_likely_again,
            gives=self.doubted.gives,
            ahead=self._lane_window() - 1,
            ahead_bytes=binding.most_ahead_bytes,
        )

    def _lane_window(self) -> int:
        """The most batches of a lane that are asked for at once."""
        return 1 if self._tells_state() else min(self._prefetch_factor, _MOST_AT_ONCE)

    def begin_iteration(self) -> None:
        """Before anything is prepared for its lanes."""
        loader: Any = self._loader()
        if self._state.iterations == 0:
            self._state.is_read_before = _READ_BEFORE.note(loader.dataset)
        self._state.iterations += 1

    def look_ahead(self) -> None:
        """Notes in the first iteration whether another one is likely."""
        if self._state.is_first:
            self._state.is_likely_again = options.from_environment().epochs > 1
            with suppress(Exception):  # of instructions that another Python has
                self._state.is_likely_again |= loops.surround(sys._getframe(1))

    def may_find(self) -> bool:
        """Whether functions whose results may be kept are looked for. In the first iteration nobody knows whether there
        will be another, and how long items take; it pays for nothing."""
        if self._state.is_first:
            return False
        loader: Any = self._loader()
        items = self._state.lessons_of(loader.num_workers).items
        by_batch = hasattr(type(loader.dataset), "__getitems__")
        return may_be_long(items.seconds(by_batch))

    def lessons(self, intact: bool) -> Lessons:
        """What lanes that are forked now need not find out again. `intact`: as Lessons.take's."""
        loader: Any = self._loader()
        lessons = self._state.lessons_of(loader.num_workers)
        lessons.take([loader.dataset, loader.collate_fn], self._code.by_pil, intact)
        return lessons

    def _tells_state(self) -> bool:
        """Whether somebody needs the states of the lanes' generators: lanes may move where there is
        code for other hosts."""
        return self._code.stage.bundle is not None

    def _watched(self) -> bool | None:
        stage = self._code.stage
        return None if stage.bundle is None else stage.fills

    def lane_loop(self, target: Any, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What the process runs, with which arguments."""
        given = dict(arguments)
        for ours in ("index_queue", "data_queue", "done_event"):
            given.pop(ours)
        if self._bad.guard is not None:
            given["init_fn"] = GuardingInit(self._bad.guard, given["init_fn"])
        return target, given

    def lane_started(self, lane: _Lane) -> None:
        self._lanes.append(lane)

    def lane_asked(self, lane: int, message: Any) -> None:
        """What torch's code put into the queue of this lane."""
        raise NotImplementedError

    def _give_lanes(self, session: Any) -> None:
        session.set_lanes([lane.descriptor() for lane in self._lanes])

    def _end_lane(self, lane: int) -> None:
        self._lanes[lane].end()


def _has_cache() -> bool:
    """Whether workers may have a cache: the program's own has the size that it was given."""
    given = options.from_environment()
    return given.cache_bytes != 0 or bool(given.coordinator)


def _forks(context: Any) -> bool:
    """Whether worker processes are forks of this one."""
    return bool(context.get_start_method() == "fork")


def preload_natives() -> bool:
    """So that lanes find it loaded. What PIL loads at the first open() it loads now. Returns whether
    native chains may stand for the libraries as they are."""
    functions.prepare()
    wire.release()
    image = sys.modules.get("PIL.Image")
    if image is None:
        return True
    try:
        image.preinit()
        from .. import _images  # noqa: F401
        from ..stage import images, leaf_streams, pil  # noqa: F401

        if leaves.possible:
            leaf_streams.prepare()
        if "torchvision.transforms.functional" in sys.modules:
            from ..stage import transforms  # noqa: F401
        return not first_change(OF_CHAIN)  # which remembers what it has looked at
    except ImportError:
        return False  # without the native part, or with a PIL that is not known: PIL does it


def prepare_forks() -> None:
    """Does once what each lane would do, which is a new fork at each iteration."""
    Made([], b"")  # a class whose methods are made at the first instance
    memory.libc()
    for file in _files_on_the_stack():
        # Python looks whether a file has changed when it takes lines of it.
        if file not in linecache.cache and not file.startswith("<"):
            linecache.getlines(file)


def _files_on_the_stack() -> Iterator[str]:
    """Of a lane that seeds torch."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back
    for name in _ON_THE_STACK:
        if file := getattr(sys.modules.get(name), "__file__", None):
            yield file


def died(processes: list[Any]) -> RuntimeError:
    """The error that torch's own iterator would raise."""
    pids = ", ".join(str(process.pid) for process in processes)
    return RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")


def own_context(loader: Any) -> Any:
    context = loader.multiprocessing_context
    return torch.multiprocessing if context is None else context
