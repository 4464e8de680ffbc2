"""Library functions in Python stages that have a native form with the same contract.

A stage host puts a Replaced in the place of each such function. It calls the native form first; what
that one does not take (unusual arguments, other files, damage) goes to the library's own function,
with its results, errors and warnings. The first results of every kind are made both ways and compared:
a difference is the end of the native form in this host, and one line says so.

The next function is one more entry in a module that doors.py names. Why so: docs/adr/0016-native-functions.md.
"""

import copy
import functools
import sys
import threading
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from types import MethodType
from typing import Any

from ..process import own_imports
from ..process.output import tell
from . import ahead_seen, leaves
from .call_as import call_as
from .doors import KEPT, NATIVE, Entry, Made, is_librarys, standing
from .finding import Finding, FoundOut
from .held_names import HeldNames, Place, referrers
from .leaf_arrays import is_reading, reading

CHECKS = 2  # results of each kind that are made both ways
_TRIALS = "trials"  # among what was found out
_WORTH = "worth"  # the same: how many were not worth keeping
_PARTS = "parts"  # the same: whether parts come again
_MOST_REFUSED = 64  # in a row, of a form that rests
_REST, _LONGEST_REST = 255, 1 << 14  # calls that it then does not look at; twice as many each time
_MOST_PASSED = 4096  # in a row, of which none may be the native form's
_LEAF = "leaf"  # among the kinds of results: what was kept of a file


class Replaced:
    """Stands where the library's function stood. It is not a function, which would become a method
    if a class holds it. Its counts are not thread-safe."""

    def __init__(self, entry: Entry) -> None:
        self.real = getattr(entry.owner, entry.name)
        self._entry, self._takes = entry, entry.takes
        self._on = self._leaf_on = True
        self._tried = self._left = False  # left: none of the program's calls may be ours
        self._parts = 0  # what was known of them when this last looked
        self._refused = self._resting = self._passed = 0
        self._rest = _REST
        self._checked: Counter[Hashable] = Counter()
        functools.update_wrapper(self, self.real, updated=())
        self.__name__ = entry.name
        self.__module__ = getattr(entry.owner, "__name__", "")
        self.standing = standing(entry, self.real, self)  # wherever its name is

    def __call__(self, *args: Any, **named: Any) -> Any:
        if self._left:
            return self.real(*args, **named)
        if (takes := self._takes) is not None:
            try:
                mine = takes(*args, **named)
            except TypeError:  # of arguments that the function does not have, as the library tells
                mine = False
            if mine is None:
                self._passed += 1
                self._left = self._passed == _MOST_PASSED
                return self.real(*args, **named)
            if not mine:
                return call_as(sys._getframe(1), self.real, args, named)
            self._passed = 0
        if self._resting:
            self._resting -= 1
            return self.real(*args, **named)
        leaf = self._entry.leaf
        if ahead_seen.files is not None and args:
            ahead_seen.see(args[0])
        is_one = leaf is not None and self._leaf_on and not is_reading()
        kept = leaves.active() if is_one else None
        if kept is not None and leaf.rests(kept):
            kept.missed()
            kept = None
        wanted = leaf.wanted(args, named) if kept is not None else None
        if kept is None or wanted is None:
            return self._make(*args, **named)
        found = kept.find(wanted.key)
        if found is None:
            value = leaf.make(kept, wanted, self._make, args, named)
            _count.news += leaf.worth.poor == leaf.worth.LAST
            self._note_parts(leaf)
            return value
        return self._checked_leaf(leaf.found(found, wanted), wanted, args, named)

    def _checked_leaf(self, value: Any, wanted: Any, args: Any, named: Any) -> Any:
        """What was found; the first ones are compared."""
        if self._checked[_LEAF] < CHECKS:
            with reading():
                own = self._make(*args, **named)
            if not self._same(value, own):
                self._leaf_on = False
                _count.news += 1
                tell(
                    f"headrace: {self._entry.name} gives other bits than were kept of the same file"
                )
                return own
            self._checked[_LEAF] += 1
            _count.news += 1
        else:
            self._entry.leaf.served(wanted, value)
        self._note_parts(self._entry.leaf)
        _count.made += self._entry.pictures
        return value

    def _note_parts(self, leaf: Any) -> None:
        known = leaf.parts.known
        _count.news += known != self._parts
        self._parts = known

    def _make(self, *args: Any, **named: Any) -> Any:
        if self._entry.alike is not None and not self._tried:
            self._try()
        made = self._native(args, named) if self._on else None
        if self._entry.rests:
            if made is not None:
                self._refused, self._rest = -1, _REST
            self._refused += 1
            if self._refused >= _MOST_REFUSED:
                self._refused, self._resting = 0, self._rest
                self._rest = min(2 * self._rest, _LONGEST_REST)
        if made is None or not self._tried and not self._try():
            return self.real(*args, **named)
        if self._entry.alike is not None:
            return made.value
        if self._checked[made.kind] < CHECKS:
            value = self.real(*args, **named)
            if not self._same(self._entry.settle(made.value), value):
                self._blame()
                return value
            self._checked[made.kind] += 1
            _count.news += 1
        _count.made += self._entry.pictures
        return made.value

    def is_in_place(self) -> bool:
        """Whether the function's name stands for what it did when this was made."""
        return getattr(self._entry.owner, self._entry.name, None) is self.real

    def prepare(self) -> None:
        """In a process that forks lanes."""
        if self._entry.leaf is not None:
            with suppress(Exception):  # as the calls will tell
                self._entry.leaf.prepare()

    def put(self) -> None:
        """Puts this in the library function's place."""
        setattr(self._entry.owner, self._entry.name, self.standing)
        if self._entry.leaf is not None:
            self._entry.leaf.put()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["real"], name)

    def __eq__(self, other: object) -> bool:
        """As the function: libraries compare what they hold with what has this name (tifffile's sequences)."""
        return other is self or self.real == (other.real if isinstance(other, Replaced) else other)

    def __hash__(self) -> int:
        return hash(self.real)

    def __repr__(self) -> str:
        return repr(self.real)

    def __reduce__(self) -> Any:  # by its name, as the function; a method with what it belongs to
        return self.real.__reduce__() if isinstance(self.real, MethodType) else self.__name__

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self.real, memo) if isinstance(self.real, MethodType) else self

    def _native(self, args: tuple[Any, ...], named: dict[str, Any]) -> Made | None:
        if self._entry.draws:
            return self._entry.native(*args, **named)  # nobody may draw again
        try:
            return self._entry.native(*args, **named)
        except Exception:
            return None  # the library meets it too, in its own way

    def _try(self) -> bool:
        """Whether all trials give what the library gives."""
        self._tried = True
        _count.news += 1
        try:
            own = self._entry.alike
            alike = all(map(self._is_alike, self._entry.trials())) if own is None else own()
        except Exception:  # of the library, on pictures that no program has given it
            alike = False
        if not alike:
            self._blame()
        return alike

    def _is_alike(self, args: tuple[Any, ...]) -> bool:
        made = self._native(args, {})
        return made is None or self._same(self._entry.settle(made.value), self.real(*args))

    def _same(self, mine: Any, theirs: Any) -> bool:
        if type(mine) is not type(theirs):
            return False
        a, b = self._entry.view(mine), self._entry.view(theirs)
        alike = (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
        return alike and a.tobytes() == b.tobytes()

    def _know(self, known: dict[Any, Finding]) -> None:
        """Takes what other processes have found out."""
        for (module, name, what), finding in known.items():
            if (module, name) != (self.__module__, self.__name__):
                continue
            if what == (_LEAF,) and not finding.same:
                self._leaf_on = False
                continue
            leaf = self._entry.leaf
            if what in ((_WORTH,), (_PARTS,)):
                if leaf is not None and what == (_WORTH,):
                    leaf.worth.poor = finding.checked
                elif leaf is not None and leaf.parts.know(finding.checked):
                    self._parts = leaf.parts.known
                continue
            self._on = self._on and finding.same
            if what == _TRIALS:
                self._tried = True
            else:
                self._checked[what[0]] = max(self._checked[what[0]], finding.checked)

    def _findings(self) -> dict[Any, Finding]:
        """What this process knows."""
        me = self.__module__, self.__name__
        found: dict[Any, Finding] = {
            (*me, (kind,)): Finding(True, count) for kind, count in self._checked.items()
        }
        leaf = self._entry.leaf
        worth = leaf.worth if leaf is not None else None
        if worth is not None and worth.poor >= worth.LAST and not worth.waits:
            found[(*me, (_WORTH,))] = Finding(True, worth.LAST)
        if leaf is not None and leaf.parts.known:
            found[(*me, (_PARTS,))] = Finding(True, leaf.parts.known)
        if not self._leaf_on:
            found[(*me, (_LEAF,))] = Finding(False)
        if self._tried or not self._on:
            found[(*me, _TRIALS)] = Finding(self._on)
        return found

    def _blame(self) -> None:
        self._on = False
        _count.news += 1
        entry = self._entry
        tell(
            f"headrace: {entry.name} gives other bits natively than {entry.library} does:"
            f" {entry.library} does it"
        )


class _Count:
    made = 0  # by native forms, since somebody asked
    news = 0  # grows with what is found out


_count = _Count()


def enable(by_value: bool = True, as_prepared: bool = False) -> None:
    """Once in a process, after the imports of user code. `by_value`: there may be functions that came
    with globals of their own, which only a look at every object finds. `as_prepared`: no code of the program has run
    since prepare(), in the process that this one was forked from."""
    _count.made = 0  # a lane is a fork: what its parent has made is not its own
    entries = _entries_prepared() if as_prepared else _entries()
    if not entries:
        return
    places = referrers(entries) if by_value else _prepared
    for space, name, real in HeldNames().look(_names(entries)) if places is None else places:
        # Another process may have prepared it, before the program changed things here.
        if space.get(name) is real and id(real) in entries:
            space[name] = entries[id(real)].standing
    for replaced in entries.values():
        replaced.put()
    _put.extend(entries.values())


_put: list[Replaced] = []
_looked = 0  # modules that there were when somebody last looked
_known: dict[Any, Finding] = {}


def look_again() -> None:
    """Before each batch: libraries that the program has imported since, as those that import their parts when one
    is first used. Of these only what is kept has a place here."""
    global _looked
    if len(sys.modules) == _looked:
        return
    _looked = len(sys.modules)
    # By name: to go through all modules would write into each, which a lane shares with its parent until then.
    new = {
        library: module
        for library, module in KEPT.items()
        if library not in _met and library in sys.modules
    }
    entries = _entries(new) if leaves.possible and new else {}
    if not entries:
        return
    for space, name, real in HeldNames().look(_names(entries)):
        space[name] = entries[id(real)].standing
    for replaced in entries.values():
        replaced.prepare()
        replaced.put()
        replaced._know(_known)
    _put.extend(entries.values())


def know(found_out: FoundOut) -> None:
    """Takes what other processes have found out. After enable()."""
    if known := found_out.get("functions"):
        _known.update(known)
        for replaced in _put:
            replaced._know(known)


def tell_into(found_out: FoundOut) -> None:
    """Adds what this process knows."""
    found = found_out.setdefault("functions", {})
    for replaced in _put:
        found.update(replaced._findings())


def news() -> int:
    """Grows with what is found out."""
    return _count.news


def prepare() -> None:
    """Called in a process that forks lanes, to look for what they need. A look writes a count into
    every object that it visits, and so would give each lane memory of its own."""
    global _prepared, _made
    if not _preparing.acquire(blocking=False):
        return  # another thread begins a loader, or did in the process that this was forked from
    try:
        entries = _entries()
        _made = (*_libraries(), entries)
        _prepared = _held.look(_names(entries)) if entries else []
        for replaced in entries.values() if leaves.possible else ():
            replaced.prepare()
    finally:
        _preparing.release()


_preparing = threading.Lock()
_held = HeldNames()
_prepared: list[Place] | None = None
_made: tuple[list[str], bool, dict[int, Replaced]] | None = None


def _libraries() -> tuple[list[str], bool]:
    """What the entries depend on, beside the functions themselves."""
    return [one for one in (*NATIVE, *KEPT) if one in sys.modules], leaves.possible


def _entries_prepared() -> dict[int, Replaced]:
    """Those that the process that forked this one has made: they need not be made in each lane."""
    if _made is None or _made[:2] != _libraries():
        return _entries()
    return {key: one for key, one in _made[2].items() if one.is_in_place()}


def _names(entries: dict[int, Replaced]) -> dict[int, str]:
    return {key: replaced.__name__ for key, replaced in entries.items()}


_met: set[str] = set()  # libraries whose entries somebody has asked for


def _entries(of: dict[str, str] | None = None) -> dict[int, Replaced]:
    """The entries by id() of the library's function. `of`: doors, None for all. A library may be in both lists."""
    found: dict[int, Replaced] = {}
    all_doors = (*NATIVE.items(), *(KEPT.items() if leaves.possible else ()))
    for library, module in all_doors if of is None else of.items():
        if library not in sys.modules:
            continue
        _met.add(library)
        try:
            entries = list(own_imports.module(module, __package__).entries())
        except Exception:
            continue  # without the native part, or with another cv2, everything still runs
        for entry in entries:
            if is_librarys(entry):
                replaced = Replaced(entry)
                found[id(replaced.real)] = replaced
    return found


def take_count() -> int:
    """Results that native forms have made since the last call."""
    count, _count.made = _count.made, 0
    return count
