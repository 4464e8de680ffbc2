"""What the lanes of a loader have found out, for the lanes of its next iteration.

A lane is a new fork of the program in each epoch. That libraries make what native forms make of the same
steps, it need not find out again: neither the libraries nor their settings have changed, which the trainer
looks at before the fork. Nothing here is of the program's own: what its code keeps begins anew.

  - Sequences of steps, chains and functions that were compared with the library's own, or differ.
  - Whether the code opens pictures at all, and whether many are deferred that nobody has decoded. If not, those that
    are kept are deferred alone. None of these can turn out to be damaged, and there is no fork for it.
  - Which transforms were compiled. The trainer compiles them, and its forks have them.

Lanes that are no forks (spawned, or of a fork server) learn it all by themselves.
Why so: docs/adr/0069-what-lanes-learn.md.
"""

import pickle
import sys
import types
from contextlib import suppress
from typing import Any

from . import functions
from .finding import FoundOut, merge
from .fresh_pictures import FreshPictures
from .item_times import ItemTimes
from .notes import Notes
from .settings import SETTINGS

_MOST_OBJECTS = 1000  # of a pipeline, which are looked at for its transforms
_LARGEST_CONTAINER = 100
_LEAVES = (str, bytes, int, float, type(None), type, types.ModuleType, types.FunctionType)


class Lessons:
    """One loader's. Made in the trainer; its forks have a copy, and write down what is new. One thread."""

    def __init__(self, lanes: int) -> None:
        self._notes = Notes(lanes)
        self.items = ItemTimes()  # of lanes in which no functions are found
        self.fresh = FreshPictures()
        self._age = 0
        self._holds_for: Any = None
        self.intact = False  # the trainer found the libraries whole just before the fork
        self._forget()

    def __reduce__(self) -> tuple[Any, ...]:
        return _nothing, ()

    def _forget(self) -> None:
        self._age += 1  # notes from before are passed over
        self.opens_pictures = self.defers_pictures = True  # or may: nobody has looked
        self._found_out: FoundOut = {}
        self.kit: Any = None  # images.Kit, of each lane; None: there is none

    # In the trainer.

    def take(self, roots: list[Any], by_pil: tuple[str, ...], intact: bool) -> None:
        """Called before lanes are forked. Runs no code of the program's. `roots`: the parts of the
        pipeline; `intact`: native forms may stand for the libraries as they are now."""
        self.intact = intact
        now = by_pil, _settings()
        if not intact or now != self._holds_for:
            self._forget()
            self._holds_for = now
            return
        try:
            self._read(roots, by_pil)
        except Exception:  # of objects that are not like others
            self._forget()

    def _read(self, roots: list[Any], by_pil: tuple[str, ...]) -> None:
        pages = [page for page in map(_unpickled, self._notes.read()) if page[:1] == (self._age,)]
        if not pages:
            return
        many = self.fresh.are_many()
        self.opens_pictures = any(opened for _, opened, _, _, _ in pages)
        self.defers_pictures = any(defers for _, _, defers, _, _ in pages) and many
        for *_, found_out in pages:
            merge(self._found_out, found_out)
        made = self._found_out.get("runs") or self._found_out.get("steps")
        if (self.opens_pictures or made) and "PIL.Image" in sys.modules:
            self._prepare(roots, by_pil, set().union(*(compiled for *_, compiled, _ in pages)))

    def _prepare(
        self, roots: list[Any], by_pil: tuple[str, ...], compiled: set[tuple[int, bool]]
    ) -> None:
        from . import images

        if self.kit is None:
            self.kit = images.kit(list(by_pil))
        if self.kit is None:
            return
        if (performer := self.kit.performer) is not None:
            wanted = compiled | performer.compiled
            there = {id(one): one for one in _objects(roots, {number for number, _ in wanted})}
            performer.keep([(there[n], of_tensor) for n, of_tensor in wanted if n in there])
        self.kit.know(self._found_out)

    # In a lane.

    def know_functions(self) -> None:
        functions.know(self._found_out)

    def note(self, lane: int, opened: bool, defers: bool, kit: Any) -> None:
        """`opened`: a picture; `defers`: one was deferred, or would be in a lane that may; `kit`: what made this
        lane's; None: nothing did."""
        found_out: FoundOut = {}
        functions.tell_into(found_out)
        compiled: set[tuple[int, bool]] = set()
        if kit is not None:
            kit.tell_into(found_out)
            compiled = kit.performer.compiled if kit.performer is not None else compiled
        with suppress(Exception):  # of a class that does not pickle
            page = pickle.dumps((self._age, opened, defers, compiled, found_out), protocol=5)
            self._notes.write(lane, page)


def _nothing() -> None:
    """What pickles instead, for a process that is no fork."""


def _settings() -> dict[str, Any]:
    """Settings of libraries, on which their results may depend."""
    return {one.name: one.read() for one in SETTINGS if one.module and one.module in sys.modules}


def _unpickled(page: bytes) -> Any:
    try:
        return pickle.loads(page)
    except Exception:  # of a class that is not here
        return ()


def _objects(roots: list[Any], ids: set[int]) -> list[Any]:
    """Those with these ids, of what the pipeline holds."""
    found, queue = [], list(roots)
    seen: set[int] = set()
    while queue and len(seen) < _MOST_OBJECTS:
        value = queue.pop(0)
        if id(value) in seen or issubclass(type(value), _LEAVES):
            continue
        seen.add(id(value))
        if id(value) in ids:
            found.append(value)
        if type(value) in (list, tuple, dict):
            if len(value) <= _LARGEST_CONTAINER:
                queue += value.values() if type(value) is dict else value
        elif type(held := getattr(value, "__dict__", None)) is dict:
            queue += held.values()
    return found
