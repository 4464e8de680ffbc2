"""What an expression stands for while a transform is followed.

    Image        the picture, or what transforms made of it
    File, Array  a picture's path, and the picture as OpenCV opened it (arrays.py)
    Held         a live object: a transform, an object, a function or a container of the program's
    Method       a function of Python with the object that it is bound to
    Inner        a function that the followed code makes
    OfContainer  a method of a list or dict
    Lazy         an iterator, whose entries are made when somebody takes them
    Special      what capture/items follows beside these: its class says what is done with it

All else stands for itself: numbers, texts, None, ranges; lists, tuples and dicts that the followed
code makes, of such values. So what it does to its own containers happens as it does there, in order.
"""

import builtins
import types
from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from ...native.opencv import Call
from ...native.plan import Node
from ...records import dataclass
from .grounds import CONTAINERS

CONSTANTS = (int, bool, float, str, bytes, type(None))
MISSING = object()
_EMPTY: dict[Any, Any] = {}
VIEWS_OF_DICTS = (type(_EMPTY.items()), type(_EMPTY.keys()), type(_EMPTY.values()))
_METAS = (type, ABCMeta)
_BUILTIN_FUNCTION = types.BuiltinFunctionType
_OF_HEAP = 1 << 9  # CPython's flag of classes that are made by Python code
_RESTS_ON = (
    "all", "any", "bool", "dict", "enumerate", "filter", "getattr", "id", "int", "isinstance", "issubclass",
    "iter", "len", "list", "map", "max", "min", "object", "range", "str", "tuple", "type", "vars", "zip",
)  # fmt: skip
_NAMED = (types.FunctionType, _BUILTIN_FUNCTION, types.MethodDescriptorType)


class Stop(Exception):
    """What the code does is not followed. Its places are filled in on the way out.

    text: what it does, after its place. bare: said instead of it where nobody's code but
    torchvision's calls the transform; empty: there is nothing to say."""

    def __init__(self, text: str, remedy: str = "", bare: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.unknown: Any = None  # what is called and not followed
        self.remedy = remedy
        self.bare = bare
        self.place = ""  # "GaussianBlur.__call__ (main.py:33)"
        self.culprit = ""  # the transform that the code belongs to


@dataclass(frozen=True)
class Image:
    step: int  # that made it; SOURCE: the picture itself


@dataclass(frozen=True)
class File:
    """The path of a picture's file."""


@dataclass(frozen=True)
class Array:
    """A picture as an array of uint8 that OpenCV made: read by `source`, then through `calls`.
    turned: its channels are in the opposite order by a step below 0."""

    source: Node
    calls: tuple[Call, ...]
    channels: int
    turned: bool = False


class Held:
    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing


class Method:
    __slots__ = ("function", "owner")

    def __init__(self, function: types.FunctionType, owner: Held) -> None:
        self.function, self.owner = function, owner


class Inner:
    """`frame`: the one it is made in, whose names it uses. `defaults`: as they were then."""

    __slots__ = ("defaults", "frame", "tree")

    def __init__(self, tree: Any, frame: Any, defaults: dict[str, Any]) -> None:
        self.tree, self.frame, self.defaults = tree, frame, defaults


class OfContainer:
    __slots__ = ("container", "name")

    def __init__(self, container: Any, name: str) -> None:
        self.container, self.name = container, name


class Special:
    """A value whose own class says what is done with it: what an entry of a data set is made of
    (capture/items). Each method raises Stop for what is not followed."""

    called = "a value"

    def attribute(self, f: Any, of: str) -> Any:
        raise Stop(f"uses .{of} of {self.called}")

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        raise Stop(f"calls {self.called}")

    def entry(self, f: Any, key: Any) -> Any:
        raise Stop(f"takes an entry of {self.called}")

    has_rows = False  # `entry` takes whole keys: slices, `...` and tuples of them

    def set_entry(self, f: Any, key: Any, value: Any) -> None:
        raise Stop(f"sets an entry of {self.called}")

    def part(self, f: Any, text: str) -> Any:
        """The entry by several keys, of which the text is known."""
        raise Stop(f"takes [{text}] of {self.called}")

    def entries(self, f: Any) -> Iterator[Any]:
        raise Stop(f"goes through {self.called}")

    def unpacked(self, f: Any, count: int) -> list[Any] | None:
        """What `count` names get of it; None: its entries."""
        return None

    def over(self, f: Any, frame: Any, node: Any, make: Any) -> Any:
        """What a comprehension over it makes, as one value; None: it goes through the entries."""
        return None

    def lazy(self, f: Any) -> Any:
        """What `over` made, as an iterator."""
        return self

    def loop(self, f: Any, frame: Any, node: Any) -> bool:
        """Whether it has followed a loop over it; otherwise that goes through the entries."""
        return False

    def is_none(self) -> bool:
        return False

    def is_of(self, classes: tuple[type, ...]) -> bool:
        """isinstance(value, classes), which are Python's own."""
        raise Stop(f"asks for the type of {self.called}")

    def changes_in_place(self, f: Any) -> bool:
        """Whether that is followed."""
        return False

    def grows(self) -> bool:
        """Whether += changes the value itself, which other names may stand for, too."""
        return False

    def enter(self, f: Any) -> Any:
        """What `with` binds."""
        raise Stop("has a with statement")

    def leave(self, f: Any) -> None:
        """The end of that statement."""


class Lazy:
    __slots__ = ("entries",)

    def __init__(self, entries: Iterator[Any]) -> None:
        self.entries = entries


def wrap(thing: Any) -> Any:
    """The value of a live object."""
    return thing if type(thing) in CONSTANTS or type(thing) is range else Held(thing)


def is_constant(value: Any) -> bool:
    return type(value) in CONSTANTS


def is_private(name: str) -> bool:
    """Whether it is another name inside of a class."""
    return name.startswith("__") and not name.endswith("__")


def has_plain_meta(cls: type) -> bool:
    """Whether the class is looked up in as every class: nobody's code runs."""
    return type(cls) in _METAS


def builtin_name(thing: Any) -> str:
    """The name of a builtin function or class, of the very one; of anything else, none."""
    if type(thing) is type and not thing.__flags__ & _OF_HEAP:
        return thing.__name__ if thing.__module__ == "builtins" else ""
    if type(thing) is _BUILTIN_FUNCTION and type(thing.__self__) is types.ModuleType:
        return thing.__name__ if thing.__self__ is builtins else ""
    return ""


def replaced_builtin() -> str:
    """The first of the builtins that following rests on, here and in the program, that is not
    Python's own; empty: all are."""
    space = vars(builtins)
    return next((one for one in _RESTS_ON if builtin_name(space.get(one)) != one), "")


def name(value: Any) -> str:
    """What a value is called in reasons. Runs no code of the program's, as `name_of` might."""
    if type(value) is Image:
        return "the picture" if value.step < 0 else "what was made of the picture"
    if type(value) in (Array, File):
        return "the picture" if type(value) is Array else "the path"
    if isinstance(value, Special):
        return value.called
    if type(value) is Method:
        return str(value.function.__qualname__)
    if type(value) is OfContainer:
        return f"{type(value.container).__name__}.{value.name}"
    if type(value) is Lazy:
        return "an iterator"
    if type(value) is Inner:
        return str(getattr(value.tree, "name", "a lambda"))
    if type(value) is not Held:
        return repr(value) if is_constant(value) else f"a {type(value).__name__}"
    thing = value.thing
    if type(thing) is types.ModuleType:
        return thing.__name__
    if type(thing) in _NAMED:
        return _in_module(thing.__module__, thing.__qualname__)
    if type(thing) is types.MethodType:
        return name(Held(thing.__func__))
    if issubclass(type(thing), type):
        return _class_name(thing)
    if type(thing) in CONTAINERS:
        return f"a kept {_class_name(type(thing))}"
    return _class_name(type(thing))


def _class_name(cls: type) -> str:
    """A metaclass has no say in it."""
    module, own = (type.__dict__[of].__get__(cls) for of in ("__module__", "__qualname__"))
    return _in_module(module, own)


def _in_module(module: Any, own: str) -> str:
    known = type(module) is str and module not in ("__main__", "builtins", "")
    return f"{module}.{own}" if known else own


def is_sequence(value: Any) -> bool:
    """A list or tuple, of the code's own or held."""
    thing = value.thing if type(value) is Held else value
    return type(thing) in (list, tuple)


def is_dict(value: Any) -> bool:
    thing = value.thing if type(value) is Held else value
    return type(thing) in CONTAINERS[2:]
