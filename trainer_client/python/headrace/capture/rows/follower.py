"""One following of a data set's entry, whose samples are parts of arrays."""

import ast
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..handles import Refused
from ..proof.lookup import lookup
from ..views.attributes import class_of, in_class
from ..views.calls import builtin, call, is_librarys
from ..views.follower import Follower
from ..views.values import Held, Method, Special, Stop, builtin_name, name
from .affine import Affine, combined, compared, extreme
from .places import FileMemory, memory_of_file
from .window import ARRAYS, Window, check_entries, dtype_of, function_rule

_KNOWN = (*ARRAYS, torch.Tensor)
_SIZES = ("ndim", "shape", "size")


class RowsFollower(Follower):
    def __init__(self) -> None:
        super().__init__(call)
        self.count = 0
        self.places: dict[int, tuple[Any, FileMemory]] = {}  # by the array's id
        self.met = False  # an array of a file was used

    def begin(self, count: int) -> Affine:
        """The index of an entry."""
        self.count = count
        return Affine(1, 0, count)

    # What views/ asks.

    def known(self, callee: Any) -> Callable[..., Any] | None:
        if (rule := function_rule(callee)) is not None:
            return rule
        of = builtin_name(callee)
        if of == "int":
            return _int
        return _extreme(of) if of in ("min", "max") else None

    def known_attribute(self, thing: Any, of: str) -> Any:
        """A size of an array, which belongs to it: no code of anybody's runs."""
        if type(thing) not in ARRAYS or of not in _SIZES:
            return None
        self.at_file(thing)
        if of != "shape":
            return self.seen.read(("array", id(thing), of), lambda: getattr(thing, of))
        key = ("array", id(thing), of)
        return tuple(
            self.seen.read((*key, at), functools.partial(_size, thing, at))
            for at in range(thing.ndim)
        )

    def combine(self, kind: type, left: Any, right: Any) -> Any:
        return combined(kind, left, right)

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        return compared(op, left, right)

    def unary(self, op: ast.unaryop, operand: Any) -> Any:
        if isinstance(op, ast.USub) and type(operand) is Affine:
            return combined(ast.Mult, operand, -1)
        return None

    def own_length(self, container: Any) -> int | None:
        if type(container) not in _KNOWN or container.ndim == 0:
            return self._length_by_class(container)
        self.at_file(container)
        length: int = self.seen.read(("array", id(container), "len"), lambda: container.shape[0])
        return length

    def _length_by_class(self, container: Any) -> int | None:
        if type(container) in (list, tuple):
            found: int = self.seen.read(("len", id(container)), lambda: len(container))
            return found
        function = lookup(type(container), "__len__")
        if type(function) is not types.FunctionType or is_librarys(self, function):
            return None
        owner = Held(container)
        method = in_class(self, class_of(self, container), "__len__")
        made = self.call(self, Method(method, owner), [], {}, "")
        return made if type(made) is int else None

    def entry_at(self, owner: Any, key: Any) -> Any:
        thing: Any = owner.thing if type(owner) is Held else None
        if type(thing) not in _KNOWN or thing.ndim == 0:
            raise Stop(f"takes an entry of {name(owner)} by the index")
        check_entries(self, type(thing))
        self.at_file(thing)
        if type(key) is Affine:
            return self._window(thing, key, None)
        if type(key) is not slice:
            raise Stop("takes an entry by what is no index")
        return self._slice(thing, key)

    def _slice(self, thing: Any, key: slice) -> Window:
        start = 0 if key.start is None else key.start
        gap = None if key.stop is None else combined(ast.Sub, key.stop, start)
        if key.step not in (None, 1) or type(gap) is not Affine or gap.scale:
            raise Stop("takes a window whose length is not the same for every index")
        if gap.offset < 1:
            raise Stop("takes a window without rows")
        if type(start) is not Affine:
            start = Affine(0, start, self.count)
        return self._window(thing, start, gap.offset)

    def _window(self, thing: Any, at: Affine, rows: int | None) -> Window:
        length = thing.shape[0]
        if at.least < 0 or at.most + (rows or 1) > length:
            # Python counts a negative index from the end, and cuts a window that is too long.
            raise Stop(
                f"takes rows of an array of {length:,} that it does not have, or from its end"
            )
        if not _in_one_piece(thing, rows):
            raise Stop("takes rows of an array whose elements do not lie one after the other")
        return Window(thing, at, rows, dtype_of(thing), type(thing) is torch.Tensor)

    def at_file(self, thing: Any) -> FileMemory | None:
        """None: it is in memory. Raises Stop."""
        if id(thing) not in self.places:
            try:
                found = memory_of_file(thing)
            except Refused as refused:
                self.met = True
                raise Stop(f"uses an array that {refused}") from None
            if found is None:
                return None
            self.met = True
            self.places[id(thing)] = (thing, found)
        return self.places[id(thing)][1]


def _size(thing: Any, at: int) -> int:
    return int(thing.shape[at])


def _in_one_piece(thing: Any, rows: int | None) -> bool:
    """Whether these rows are one range of bytes."""
    tensor = type(thing) is torch.Tensor
    item = thing.element_size() if tensor else thing.itemsize
    steps = [step * item for step in thing.stride()] if tensor else list(thing.strides)
    for count, step in list(zip(thing.shape, steps, strict=True))[:0:-1]:
        if count != 1 and step != item:
            return False
        item *= count
    return rows is None or rows == 1 or steps[0] == item


def _int(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) == 1 and not named and type(args[0]) in (Affine, int):
        return args[0]
    raise Stop("calls int of other than whole numbers")


def _extreme(of: str) -> Callable[..., Any]:
    def rule(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
        if len(args) > 1 and not named and all(type(one) in (Affine, int) for one in args):
            return extreme(of, args)
        if any(isinstance(one, Special) for one in args):
            raise Stop(f"calls {of} of {', '.join(map(name, args))}")
        return builtin(f, of, args, named)

    return rule


def is_plain(thing: Any) -> bool:
    """A tensor that is no more than its elements."""
    if type(thing) is not torch.Tensor:
        return isinstance(thing, np.ndarray)
    return (
        thing.layout == torch.strided
        and thing.device.type == "cpu"
        and not thing.requires_grad
        and not thing.is_conj()
        and not thing.is_neg()
        and not vars(thing)
    )
