"""What names of a running function lead to, found without running any code of the program's."""

import enum
import sys
import types
from typing import Any

from ..records import dataclass

_MISSING = object()
# What refers to a frame's variables while a Scope asks: the frame, the Scope, the call that counts.
_OWN_REFERENCES = 3


class Unknown(Exception):
    pass


class _Mark:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


PICTURE = _Mark("the picture")
TAKEN = _Mark("the picture after a transform took it, which may have written into it")
READER = _Mark("the function that reads it")
OTHER = _Mark("anything else")
SAFE = _Mark("of a type of Python's own")
TRUSTED = _Mark("a library's, which runs its own code")
NULL = _Mark("no object")  # what CALL finds before a callee that is no method


@dataclass(frozen=True)
class Known:
    """Where a value came from: a name, then attributes and items."""

    path: tuple[tuple[str, Any], ...]
    is_stable: bool = False  # no code but the function's own can make it another one

    @property
    def is_constant(self) -> bool:
        return self.path[0][0] == "const" and len(self.path) == 1

    def __eq__(self, other: object) -> bool:
        """1 is not True here, as it is among constants."""
        return isinstance(other, Known) and repr(self.path) == repr(other.path)

    def __hash__(self) -> int:
        return hash(repr(self.path))


Looks = dict[Known, tuple[bool, Any]]  # whether it is about the type, and what was found


class Scope:
    """The names of one frame. Used inside of one call, and left."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frame = frame
        self._locals: dict[str, Any] | None = None
        self._looks: Looks = {}

    def leave(self) -> None:
        """The frame must not keep its variables' values for this look's sake. The dict is the frame's
        one: if others hold it, it stays as it is, and what else they wrote into it stays anyway."""
        if self._locals is None or sys.getrefcount(self._locals) > _OWN_REFERENCES:
            return
        code = self._frame.f_code
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            self._locals.pop(name, None)

    def value(self, value: Any) -> Any:
        """Raises Unknown."""
        if not isinstance(value, Known):
            raise Unknown
        found: Any = _MISSING
        for kind, name in value.path:
            found = self._one(found, kind, name)
        return found

    def _one(self, found: Any, kind: str, name: Any) -> Any:
        if kind == "attribute":
            return _attribute(found, name)
        if kind == "item":
            place = self.value(name)
            if type(found) not in (list, tuple) or type(place) is not int:
                raise Unknown
            if not -len(found) <= place < len(found):
                raise Unknown
            return found[place]
        if kind == "const":
            return name
        if kind == "local":
            if self._locals is None:
                self._locals = self._frame.f_locals
            spaces = [self._locals]
        else:
            spaces = [self._frame.f_globals, self._frame.f_builtins]
        for space in spaces:
            if type(space) is dict and name in space:
                return space[name]
        raise Unknown

    def attribute(self, owner: Any, name: str) -> Any:
        """A Known, or OTHER: to get it may run code."""
        return self._further(owner, ("attribute", name))

    def item(self, owner: Any, place: Known) -> Any:
        return self._further(owner, ("item", place))

    def _further(self, owner: Any, step: tuple[str, Any]) -> Any:
        if not isinstance(owner, Known):
            return OTHER
        further = Known((*owner.path, step))
        try:
            self.value(further)
        except Unknown:
            return OTHER
        return further

    def note(self, value: Known) -> None:
        """What is shown rests on it: it is this object."""
        self._looks[value] = False, self.value(value)

    def note_type(self, value: Known) -> None:
        """What is shown rests on it: it is of this type."""
        self._looks.setdefault(value, (True, type(self.value(value))))

    def looks(self) -> Looks:
        return self._looks

    def same(self, looks: Looks) -> bool:
        try:
            for value, (of_type, then) in looks.items():
                now = self.value(value)
                if (type(now) if of_type else now) is not then:
                    return False
        except Unknown:
            return False
        return True


def _attribute(owner: Any, name: str) -> Any:
    """From the object's own dict, where its class has no say. Raises Unknown."""
    kind = type(owner)
    if isinstance(owner, enum.EnumMeta):
        members = vars(owner).get("_member_map_", {})
        if owner.__module__.startswith("torchvision.") and name in members:
            return members[name]
        raise Unknown
    if kind is not types.ModuleType:
        if isinstance(owner, type):
            raise Unknown
        for cls in type.__dict__["__mro__"].__get__(kind):
            space = type.__dict__["__dict__"].__get__(cls)
            if name in space or (cls is not object and "__getattribute__" in space):
                raise Unknown
            if cls is not object and not isinstance(
                space.get("__dict__", None), types.GetSetDescriptorType | types.NoneType
            ):
                raise Unknown
    try:
        space = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        raise Unknown from None
    if type(space) is not dict or name not in space:
        raise Unknown
    return space[name]
