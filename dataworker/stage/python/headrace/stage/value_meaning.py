"""What the values of a function are, and what can be done with them unseen (only_use.py)."""

import enum
import os
import pathlib
import types
from collections.abc import Callable
from typing import Any

import torch

from .frame_readers import reads_frames
from .function_state import NotShown, State, is_picture
from .known_values import NULL, OTHER, READER, SAFE, Known, Scope, Unknown

# Operations on these types run no code of the program's.
_SAFE_TYPES = frozenset((bool, bytes, float, int, str, pathlib.PosixPath, types.NoneType))
_BY_VALUE = frozenset((float, int, str, bytes, tuple))  # another one at each sample


class Meaning:
    """What values are, by the names of one call, while a function's instructions are followed."""

    def __init__(self, scope: Scope, reader: Any, takes: Callable[[Any], bool]) -> None:
        self.scope, self._reader, self._takes = scope, reader, takes
        self.read = False  # the picture has been read
        self.takers: list[Known] = []

    def reads(self, state: State, count: int) -> bool:
        """Takes the call's values. Whether it calls the reader by a name that leads to it."""
        first, callee, *args = state.pop(count + 2)
        if not all(self.is_safe(arg) or self.type_of(arg) is torch.Tensor for arg in args):
            state.forget()  # the reader may run code of these
        return first is NULL and callee is READER

    def decided(self, value: Any, of_none: bool) -> bool | None:
        """Whether it is None, or is true; None: it may be either."""
        try:
            thing = self.scope.value(value)
        except Unknown:
            return None
        if of_none and thing is not None:
            self.scope.note_type(value)
            return False
        if type(thing) in _BY_VALUE and not value.is_constant:
            return None
        if of_none or thing is None or type(thing) is bool or value.is_constant:
            self.scope.note(value)
            return thing is None if of_none else bool(thing)
        if self._takes(thing):  # a transform is an object without __bool__ and __len__
            self.scope.note(value)
            return True
        return None

    def unseen(self, values: list[Any]) -> None:
        if any(map(is_picture, values)):
            raise NotShown

    def any_code(self, state: State, values: list[Any], leaves: int) -> None:
        self.unseen(values)
        if self.read:
            state.stale = True
        else:
            state.forget()
        state.stack += [OTHER] * leaves

    def is_same(self, value: Any, thing: Any) -> bool:
        try:
            same = self.scope.value(value) is thing
        except Unknown:
            return False
        if same:  # another object shows nothing, and is the program's
            self.scope.note(value)
        return same

    def is_safe(self, value: Any) -> bool:
        if value is SAFE:
            return True
        try:
            thing = self.scope.value(value)
        except Unknown:
            return False
        if type(thing) not in _SAFE_TYPES and not _is_libraries_enum(thing):
            return False
        self.scope.note_type(value)
        return True

    def type_of(self, value: Any) -> type | None:
        try:
            thing = self.scope.value(value)
        except Unknown:
            return None
        self.scope.note_type(value)
        return type(thing)

    def or_reader(self, found: Any) -> Any:
        """The reader's name does not become another one while the reader's argument is made."""
        return READER if self.is_same(found, self._reader) else found

    def attribute(self, owner: Any, name: str) -> Any:
        return self.or_reader(self.scope.attribute(owner, name))

    def reads_no_frames(self, value: Any) -> None:
        """What is called is no function that sees its caller's variables, whatever its name is here. The
        first walk asks for all calls, also those after the picture is read."""
        try:
            thing = self.scope.value(value)
        except Unknown:
            return
        if type(thing) is types.BuiltinFunctionType or reads_frames(thing):
            self.scope.note(value)
        else:
            self.scope.note_type(value)
        if reads_frames(thing):
            raise NotShown

    def take(self, callee: Any) -> None:
        try:
            taken = self._takes(self.scope.value(callee))
        except Unknown:
            raise NotShown from None
        self.scope.note(callee)
        if not taken:
            raise NotShown
        self.takers.append(callee)

    def is_quiet(self, callee: Any) -> bool:
        """Whether it is a function that runs no code of the program's on such arguments."""
        return any(self.is_same(callee, function) for function in (os.path.join, str, int, len))

    def named(self, state: State, kind: str, name: str) -> None:
        state.stack.append(OTHER if state.stale else self.or_reader(Known(((kind, name),))))

    def safe_or_any(self, state: State, values: list[Any]) -> None:
        if all(map(self.is_safe, values)):
            state.stack.append(SAFE)
        else:
            self.any_code(state, values, 1)


def _is_libraries_enum(thing: Any) -> bool:
    return isinstance(thing, enum.Enum) and type(thing).__module__.startswith("torchvision.")
