"""The part of a call's name that does not depend on its arguments, but for the first one where that is an object with
attributes, such as a data set: code, globals, attributes, libraries. It is walked once (proven_content.py), and is
taken as it was while its guards hold (name_guards.py).

A name is always made of both parts, whether the first was walked now or before. So it is the same name.
"""

import types
from typing import Any

from .code_reads import ATTRIBUTE, PARAMETER, Read
from .name_guards import UNGUARDED, Guards
from .served_code import function_now

_MOST = 256
_ITEMS = 8  # of one list, tuple or dict, for each value that is looked at: numbers and texts take less time
_LASTED, _FIRST_WAIT, _MOST_WAIT = 2, 4, 1024  # calls


def varies(read: Read, first: str) -> bool:
    """Whether a read of the function that is called depends on its arguments. `first`: the name of the one whose
    attributes do not count as such; empty: none."""
    if any(kind != ATTRIBUTE for kind, _ in read.steps):
        return True
    return read.root == PARAMETER and (read.name != first or not read.steps)


class FixedPart:
    """Of calls of one function with one owner."""

    def __init__(self, content: Any, function: types.FunctionType, owner: Any, guards: Any) -> None:
        """`content`: a ProvenContent that has walked it."""
        self.digest, self.varying, self.folder = content.digest(), content.varying, content.folder
        self.seen, self.methods, self.atoms = content.marks(), content.methods, content.atoms
        self.codes, self.unclean = content.codes, content.unclean
        self.paths, self.memory, self.maps = content.paths, content.memory, content.maps
        self._guards = guards
        self._content = None if guards.active else content  # which holds what it has met
        self._owner = None if owner is None else guards.weak(owner)
        self._code, self._space = function.__code__, function.__globals__
        self._function = function_now(function)
        self.uses = 0  # since it was recorded

    def holds(self, function: types.FunctionType, owner: Any, folder: str) -> bool:
        """Whether it is the part of a call of this function, as all is now."""
        fits = (
            (self._owner is None) == (owner is None)
            and (self._owner is None or self._owner() is owner)
            and self.folder == folder
            and function.__globals__ is self._space
            and function_now(function) == self._function
        )
        return fits and bool(self._guards.hold())

    def drop(self) -> None:
        """It is of no use any more."""
        self._guards.drop()


class Parts:
    """What is known in this process. One thread at a time: another one may walk once more."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int, int], FixedPart] = {}
        self._latest: dict[int, int] = {}  # of each code: its owner's id()
        # Calls until it is recorded again, where records did not last; and how many calls that was last.
        self._waits: dict[int, tuple[int, int]] = {}

    def of(
        self,
        kind: Any,
        memo: Any,
        function: types.FunctionType,
        owner: Any,
        folder: str,
        at_once: bool,
        most: int | None,
    ) -> FixedPart:
        """`kind`: of ProvenContent. `at_once`: it is recorded though the owner has not come twice: who is there
        for one call is not held. `most`: values that are looked at; one list,
        tuple or dict may have eight times as many items. None: as many as for a call. Raises NotHashed."""
        number = id(function.__code__)
        key = number, id(function.__closure__), id(owner)
        part = self._parts.get(key)
        if part is not None:
            if part.holds(function, owner, folder):
                part.uses += 1
                return part
            del self._parts[key]
            part.drop()
            if part.uses < _LASTED:
                self._wait(number)
        records = at_once or owner is None or self._latest.get(number) == id(owner)
        self._latest[number] = id(owner)
        left, wait = self._waits.get(number, (0, 0))
        if left > 0:
            self._waits[number] = left - 1, wait
            records = False
        guards: Any = (
            Guards(lambda value: leaf_of(kind, memo, value), owner) if records else UNGUARDED
        )
        content = kind(memo)
        content.guards, content.folder = guards, folder
        if most is not None:
            content.most, content.most_items = most, _ITEMS * most
        content.fixed(function, owner)
        part = FixedPart(content, function, owner, guards)
        if records:
            guards.seal()
            if guards.problem:
                part = FixedPart(content, function, owner, UNGUARDED)
                guards.drop()
                self._wait(number)
            else:
                if len(self._parts) >= _MOST:
                    for old in self._parts.values():
                        old.drop()
                    self._parts.clear()
                self._parts[key] = part
                if at_once:
                    part.uses = (
                        _LASTED  # a lane puts functions of its own in the place of libraries'
                    )
        return part

    def _wait(self, number: int) -> None:
        _, wait = self._waits.get(number, (0, 0))
        wait = min(max(2 * wait, _FIRST_WAIT), _MOST_WAIT)
        self._waits[number] = wait, wait


def leaf_of(kind: Any, memo: Any, value: Any) -> Any:
    """What an array, a picture or the like is made of."""
    content = kind(memo)
    content.leaf(value)
    return content.digest(), content.memory


_parts = Parts()


def part_of(
    kind: Any,
    memo: Any,
    function: types.FunctionType,
    owner: Any,
    folder: str,
    at_once: bool = False,
    most: int | None = None,
) -> FixedPart:
    return _parts.of(kind, memo, function, owner, folder, at_once, most)


def forget() -> None:
    """All that is known in this process."""
    global _parts
    _parts = Parts()
