"""What a loader leaves to the next one of the same data set: many programs make a new loader for each epoch.

A loader that runs as code leaves why it has no native form, how it was admitted, what its lanes have found out,
and its session. The one that comes after it looks at all of that as a loader looks at its own from iter() to
iter(): what has changed is found out again. Reports and counts are each loader's own.
"""

import functools
import types
import weakref
from typing import Any

from ..capture import StagePlan
from ..records import dataclass
from .loader_state import LoaderState

_MOST_LEFT = 4  # of one data set: for training, for evaluation
_MOST_ARENA_BYTES = 32 << 20  # what a session holds that nobody may ask for again
_LONG = 5.0  # s; in an iteration of that length the start of a session is nothing


@dataclass
class Left:
    kin: tuple[Any, ...]
    captured: StagePlan
    verdict: StagePlan
    lessons: Any
    idle: Any  # as LoaderState's
    waits: bool = True  # for the next loader


class Heritage:
    """Of the process. A loader's end may be anywhere, in the garbage collector too: then it only notes
    what is left."""

    def __init__(self) -> None:
        self._left: dict[int, tuple[weakref.ref[Any], list[Left]]] = {}

    def follow(self, loader: Any, state: LoaderState) -> None:
        """A new loader: takes what one like it has left, and will leave what it has at its end."""
        kin = _kin_of(loader)
        if kin is None:
            return
        if (left := self._take(loader.dataset, kin)) is not None:
            state.captured, state.verdict = left.captured, left.verdict
            state.go_on_with(left.lessons, left.idle)
        number = id(loader.dataset)
        try:
            of = weakref.ref(loader.dataset, lambda of: self._forget(number, of))
            weakref.finalize(loader, self._leave, number, of, kin, state).atexit = False
        except TypeError:  # a list
            pass

    def _forget(self, number: int, of: "weakref.ref[Any]") -> None:
        if (left := self._left.get(number)) is not None and left[0] is of:
            for one in left[1]:
                one.waits = False
            del self._left[number]

    def _take(self, data_set: Any, kin: tuple[Any, ...]) -> Left | None:
        of, left = self._left.get(id(data_set), (None, []))
        if of is None or of() is not data_set:
            return None
        found = next((one for one in reversed(left) if _same(one.kin, kin)), None)
        if found is not None:
            self._left[id(data_set)] = of, [one for one in left if one is not found]
            found.waits = False
        return found

    def _leave(
        self, number: int, of: "weakref.ref[Any]", kin: tuple[Any, ...], state: LoaderState
    ) -> None:
        captured, verdict = state.captured, state.verdict
        if of() is None or type(captured) is not StagePlan or type(verdict) is not StagePlan:
            return
        idle = state.leave_session(_LONG, _MOST_ARENA_BYTES)
        before = self._left.get(number)
        left = before[1] if before is not None and before[0]() is of() else []
        kept = [one for one in left if not _same(one.kin, kin)][1 - _MOST_LEFT :]
        for one in left:
            one.waits = any(one is other for other in kept)
        if state.lessons is not None:
            state.lessons.kit = None  # which holds transforms, and by them the data set, perhaps
        mine = Left(kin, captured, verdict, state.lessons, idle)
        self._left[number] = of, [*kept, mine]
        if idle is None:
            # The iterator outlives the loader in `for batch in DataLoader(...)`: it gives the session later.
            state.leave_later = functools.partial(_leave_session, weakref.ref(mine))


def _leave_session(left: "weakref.ref[Left]", state: LoaderState) -> None:
    one = left()
    if one is None or not one.waits:
        return  # it closes with the loader's state
    one.idle = state.leave_session(_LONG, _MOST_ARENA_BYTES)


def _kin_of(loader: Any) -> tuple[Any, ...] | None:
    """What two loaders have the same if their workers do the same; None: it can't be told."""
    if loader.num_workers == 0 or loader.multiprocessing_context is not None:
        return None
    try:
        functions = _held(loader.collate_fn), _held(loader.worker_init_fn)
    except TypeError:
        return None
    plain = loader.num_workers, loader.prefetch_factor, loader.persistent_workers, loader.batch_size
    return type(loader), plain, getattr(loader, "in_order", True), *functions


def _held(function: Any) -> tuple[Any, ...]:
    """Names it without keeping it alive. TypeError: it can't be."""
    if function is None:
        return (None, None)
    if type(function) is types.MethodType:  # which is another object each time
        return weakref.ref(function.__self__), function.__func__
    return weakref.ref(function), None


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one[:3] != other[:3]:
        return False
    return all(_same_function(a, b) for a, b in zip(one[3:], other[3:], strict=True))


def _same_function(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one[0] is None or other[0] is None:
        return one[0] is other[0]
    held = one[0]()
    return held is not None and held is other[0]() and one[1] is other[1]


HERITAGE = Heritage()
