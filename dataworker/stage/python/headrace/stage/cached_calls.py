"""Functions that the program has declared with headrace.cached, in a lane: what a call returned is kept on the job's
leaf shelf (leaves.py), and given in place of the next call that depends on the same.

A declared function stays the object that it is. In a lane its code is another one, which calls a CachedCall with the
arguments; that has the function as it was. Nothing is believed that can be looked at:

  - A call's name is a hash of its arguments, its code, and all that its code reads (content.py), and the files that it
    read are part of the entry. Their states must be the same at each hit.
  - A call that draws, writes, or changes what it was given is not kept, and ends it for the function (witness.py).
  - The first hits of each function are made again and compared, then a share of them (cached_rules.py). What can't be
    seen is found so, and ends it for the function.

Why so: docs/adr/0091-declared-functions.md.
"""

import hashlib
import struct
import threading
import time
import types
from contextlib import suppress
from typing import Any, ClassVar

from .. import declared
from ..process.output import tell
from . import call_board, leaves, process_part, witness
from .cached_rules import FIRST, MOST_STATES, Budget
from .call_board import COMPARED, EVIDENCE_NS, HITS, KEPT, NAMES_NS, SAVED_NS
from .code_reads import LATER, returns_later
from .content import Content
from .content_memo import Memo
from .content_values import ORIGINAL, NotHashed, NotYet, Refused
from .kept_entry import Entry
from .kept_results import NotPacked, Packed, settle
from .leaf_cost import Worth
from .leaf_keys import Content as FileState
from .leaf_keys import Key, content_at
from .served_code import as_it_is, copy_of, name_of
from .served_code import put as put
from .witness import Witness

memo = Memo()
_budget = Budget()
gives = (
    True  # False: whatever is found, calls are made; a lane that could not take back what it gave
)
evidence = threading.local()  # .on: a result is made again, and nothing within it is found
_started = 0, 0.0  # the thread that began to serve, and its CPU time then


class CachedCall:
    """Serves the calls of one function in a lane. Called in any thread; its counts are not exact then."""

    def __init__(self, function: types.FunctionType, number: int, board: call_board.Board) -> None:
        self.raw = copy_of(function)
        self._number, self._board = number, board
        self.worth = Worth()
        self._looks: float | None = None  # seconds that a search takes; None: there was none yet
        self._compared = 0  # results, when that was last looked at
        self.name = name_of(function)

    _kind: ClassVar[type[Content]] = Content
    of: Any = staticmethod(lambda: None)  # gives the function that is served, if it still is

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        as_it_is(self.of(), self.raw)
        kept = leaves.active()
        if kept is None or getattr(evidence, "on", False) or self._board.is_over(self._number):
            return self.raw(*args, **named)
        if kept.is_idle:
            kept.missed()  # who looks is given room
            return self.raw(*args, **named)
        if not self.worth.is_likely(kept.is_first):
            return self.raw(*args, **named)
        began = time.thread_time()
        content = self._content(args, named)
        if content is None:
            return self.raw(*args, **named)
        entry = found_entry(kept, content)
        if entry is None:
            looked = time.thread_time() - began
            self._looked(looked)
            self._counts(NAMES_NS, looked)
            return self._make(kept, content, args, named)
        return self._found(entry, content, began, args, named)

    def _looked(self, seconds: float) -> None:
        """The first search of a process finds out what the others need not."""
        self._looks = 0.0 if self._looks is None else min(self._looks or seconds, seconds)

    # What was found.

    def _found(self, entry: Entry, content: Content, began: float, args: Any, named: Any) -> Any:
        if not gives:
            return self._alone(args, named)
        files, seconds = entry.about
        compared = self._compared
        if compared < FIRST:
            compared = self._compared = self._board.count(self._number, COMPARED)
        if _budget.takes(compared, seconds, _used()):
            return self._again(entry, compared, content, args, named)
        try:
            value = entry.value(content.atoms)
        except Exception:  # of another release's, or a torn one
            return self.raw(*args, **named)
        if not self._board.believe(self._number):
            return self.raw(*args, **named)
        took = time.thread_time() - began
        saved = seconds - took
        self.worth.note(saved > 0)
        self._was_found(took)
        self._board.add(self._number, HITS, 1)
        self._counts(SAVED_NS, saved)
        if witness.is_active():
            witness.read([path for path, _ in files])
        return value

    def _alone(self, args: Any, named: Any) -> Any:
        return self.raw(*args, **named)

    def _again(self, entry: Entry, compared: int, content: Content, args: Any, named: Any) -> Any:
        """Makes the result, and compares it with the one that was kept."""
        began = time.thread_time()
        try:
            return self._compare(entry, compared, content, args, named)
        finally:
            self._counts(EVIDENCE_NS, time.thread_time() - began)

    def _counts(self, what: int, seconds: float) -> None:
        self._board.add(self._number, what, int(seconds * 1e9))

    def _compare(self, entry: Entry, compared: int, content: Content, args: Any, named: Any) -> Any:
        seen = Witness()
        evidence.on = True
        try:
            with seen:
                value = self.raw(*args, **named)
                settle(value)
        except Exception as error:
            if _states_hold(entry.about[0]):
                self._end(f"raised {type(error).__name__} where it had returned a result")
            raise
        finally:
            evidence.on = False
        _budget.spend(compared, seen.seconds)
        self._was_made_again(seen.seconds)
        try:
            packed = Packed(value, content.atoms)
            same, why = packed.same(entry), ""
        except Exception as error:  # NotPacked, or of a result that is unlike all others
            same, why = False, f": {error}"
        # An import runs other code, and adds to what there is.
        deed = "" if seen.loads else seen.deed or self._changes(content, args, named)
        if deed:
            self._end(deed)
        elif same:
            self._board.add(self._number, HITS, 1)
            self._board.add(self._number, COMPARED, 1)
        elif _states_hold(entry.about[0]):
            self._end(f"returned something else for the same arguments{why}")
        return value

    def _was_found(self, seconds: float) -> None:
        """A hit that took so long."""

    def _was_made_again(self, seconds: float) -> None:
        """A result that took so long."""

    # What was not.

    def _make(self, kept: leaves.Leaves, content: Content, args: Any, named: Any) -> Any:
        """What the function returns or raises; keeps it, if that is worth it."""
        if not kept.may_keep:
            return self.raw(*args, **named)
        began = time.thread_time()
        seen = Witness(content.paths)
        with seen:
            value = self.raw(*args, **named)
            settle(value)
        if seen.loads:
            return value  # the next call says what it does without that
        deed = seen.deed or self._changes(content, args, named)
        self._counts(EVIDENCE_NS, time.thread_time() - began - seen.seconds)
        if deed:
            self._end(deed)
            return value
        why = seen.spoilt
        if content.maps and not any(seen.files.values()):
            why = (
                f"{content.maps} reads files that are not seen, and no argument is the path of one"
            )
        if not why:
            try:
                packed = Packed(value, content.atoms)
                if meet(packed.memory, content.memory):
                    raise NotPacked("it is a part of an argument, or of what the code reads")
                self._keep(kept, content, seen, packed)
            except NotPacked as error:
                why = f"its result is not kept: {error}"
            except Exception as error:  # of a result that is unlike all others
                why = f"its result is not kept: {type(error).__name__}: {error}"
        if why:
            self.worth.note(False)
            self._say(why)
        return value

    def _keep(self, kept: leaves.Leaves, content: Content, seen: Witness, packed: Packed) -> None:
        seconds = seen.seconds
        saves = seconds - (self._looks or 0.0)
        is_worth = kept.keeps(saves, packed.size)
        if not self.worth.judge(is_worth, saves, packed.size, kept.is_first) or not seen.holds():
            return
        files = [
            (path, None if state is None else tuple(state)) for path, state in seen.files.items()
        ]
        parts = packed.parts((files, seconds))
        kept.offer(key_of(content.digest(), files), 0, seen.began, parts, seconds)
        self._board.add(self._number, KEPT, 1)

    def _changes(self, content: Content, args: Any, named: Any) -> str:
        """Whether the call that was made has changed what it depends on; empty: no."""
        try:
            again = content_of_call(self.raw, args, named, content.libraries, self._kind)
        except Exception:  # NotHashed, or of an object that is unlike all others
            again = None
        same = again is not None and again.digest() == content.digest()
        return "" if same else "changes what it was given, or what its code reads"

    def _content(self, args: Any, named: Any) -> Content | None:
        try:
            return content_of_call(self.raw, args, named, None, self._kind)
        except NotYet:
            return None
        except Refused as error:
            self._refuse(str(error))
        except NotHashed as error:
            self._say(f"this call is not kept: {error}")
        except Exception as error:  # of an object that is unlike all others
            self._say(f"this call is not kept: {type(error).__name__}: {error}")
        self.worth.note(False)
        return None

    def _end(self, why: str) -> None:
        if self._board.end(self._number, why):
            tell(f"headrace: {self.name} {why}: its results are no longer kept")

    def _refuse(self, why: str) -> None:
        """Of its code: no call can be kept."""
        self._say(f"this call is not kept: {why}")

    def _say(self, why: str) -> None:
        if self._board.say(self._number, why):
            tell(f"headrace: {self.name}: {why}")


class NeverCall:
    """Stands for a function that is declared with headrace.never_cached, in a lane."""

    def __init__(self, function: types.FunctionType) -> None:
        self.raw = copy_of(function)
        self._why = f"it calls {name_of(function)}, which is never_cached"

    of: Any = staticmethod(lambda: None)

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        as_it_is(self.of(), self.raw)
        witness.spoil(self._why)
        return self.raw(*args, **named)


def prepare(roots: list[Any]) -> None:
    """In a process that forks lanes: makes what they share, and looks at what their first calls would. `roots`:
    of the pipeline. Runs no code of the program's."""
    call_board.prepare()
    for function in declared.cached_functions():
        owners = [one for one in roots if owns(type(one), function)]
        with suppress(Exception):  # as the calls will tell
            content_of_reads(function, owners[0] if owners else None)
    process_part.settings()


def content_of_reads(function: Any, owner: Any, kind: type[Content] = Content) -> None:
    """What all calls depend on, which is remembered. `owner`: of a method, or None. Raises NotHashed."""
    kind(memo).reads(function, owner)


def owns(cls: type, function: Any) -> bool:
    """Whether it is a method of the class."""
    return any(held is function for base in cls.__mro__ for held in vars(base).values())


def enable(lane: int) -> None:
    """Once in a lane, before its first sample: serves all that the program has declared by now."""
    board = begin(lane)
    functions = declared.cached_functions()
    for function in declared.never_cached_functions():
        put(function, NeverCall(function))
    for function in functions:
        number = vars(function)[declared.CACHED]
        if not board.has_place(number) or ORIGINAL in vars(function):
            continue
        if returns_later(function.__code__):
            if board.say(number, LATER):
                tell(f"headrace: {name_of(function)}: {LATER}")
        else:
            put(function, CachedCall(function, number, board))


def begin(lane: int) -> call_board.Board:
    """Once in a lane: what it counts is its own."""
    global _started, _budget
    board = call_board.prepare()
    board.lane = max(lane, 0)
    _budget = Budget(board.budget())
    _started = threading.get_ident(), time.thread_time()
    return board


def is_lanes_thread() -> bool:
    """Whether the calling thread is the one that began to serve."""
    return threading.get_ident() == _started[0]


def _used() -> float:
    """CPU seconds of this lane. Those of the process take long to ask for where there are many threads."""
    thread, before = _started
    if threading.get_ident() == thread:
        return time.thread_time() - before
    return time.process_time()


def content_of_call(
    function: types.FunctionType,
    args: Any,
    named: dict[str, Any],
    libraries: frozenset[str] | None = None,
    kind: type[Content] = Content,
) -> Content:
    """All that a call depends on. `libraries`: those whose settings count; None: all that are loaded. Raises
    NotHashed."""
    content = kind(memo)
    content.process(libraries)
    content.call(function, args, named)
    return content


_WORDS = struct.Struct("<4Q")


def key_of(digest: bytes, files: Any = ()) -> Key:
    """Of a call, and of one state of the files that it reads."""
    first, second, third, fourth = _WORDS.unpack(digest)
    states = _WORDS.unpack(hashlib.blake2b(repr(files).encode(), digest_size=32).digest())
    return Key(first, (first, second, *states[:3], third, fourth))


def found_entry(kept: leaves.Leaves, content: Content) -> Entry | None:
    """Of this call, with files as they are now."""
    held: list[Entry] = []
    kept.found_by(key_of(content.digest()), lambda memory: _holds(memory, held), MOST_STATES)
    return held[0] if held else None


def _holds(memory: memoryview, held: list[Entry]) -> bool:
    """Whether an entry's files are as they were. Appends it."""
    try:
        entry = Entry(memory)
        if not _states_hold(entry.about[0]):
            return False
    except (TypeError, ValueError):
        return False
    held.append(entry)
    return True


def _states_hold(files: list[tuple[str, Any]]) -> bool:
    return all(
        content_at(path) == (None if state is None else FileState(*state)) for path, state in files
    )


def meet(memory: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return any(begin < b and a < end for begin, end in memory for a, b in other)
