"""What an entry of a data set makes beside its pictures, while its code is followed: see native/targets.py.

    boxes = torch.as_tensor(self.boxes[index], dtype=torch.float32)
    boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=image.size[::-1])

Each value is a step that the trainer takes for each sample: a function of a library's that draws nothing
and keeps nothing, of what the steps before it made. So what is noted is what the code does.
"""

import ast
import enum
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...native.targets import (
    FIRST,
    HEIGHT,
    ROW,
    WIDTH,
    Loop,
    Ref,
    Step,
    Targets,
    fresh,
    returned_type,
)
from ..proof.lookup import lookup
from ..views import sizes
from ..views.expressions import assign, value
from ..views.values import Held, Special, Stop, is_constant, is_dict, is_sequence, name
from .columns import Column, of_several
from .kept import Data, taken

_METHODS = frozenset((
    "abs", "add", "amax", "amin", "any", "all", "astype", "bool", "ceil", "clamp", "clip",
    "clone", "contiguous", "copy", "cumsum", "div", "double", "eq", "expand", "flatten",
    "flip", "float", "floor", "ge", "get", "gt", "half", "int", "item", "le", "long", "lt", "mean", "mul", "ne",
    "new_tensor", "nonzero", "numel", "numpy", "permute", "prod", "repeat", "reshape", "round", "short", "size",
    "squeeze", "sub", "sum", "t", "to", "tolist", "transpose", "type", "unsqueeze", "view",
))  # fmt: skip
_PLAIN = (bool, float, int, str)
# Of these, what may hand on the memory that it is called of. The others make some of their own.
_ALIASING = frozenset((
    "astype", "bool", "contiguous", "copy", "double", "expand", "flatten", "float", "get", "half", "int", "long",
    "numpy", "permute", "reshape", "round", "short", "squeeze", "t", "to", "transpose", "type", "unsqueeze", "view",
))  # fmt: skip
_ATTRIBUTES = ("T", "ndim", "shape")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Pow: operator.pow,
}
_IN_PLACE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


class Beside(Special):
    """A value that the trainer makes. `boxes`: it is a tv_tensors.BoundingBoxes; otherwise it is
    none of torchvision's tensors, and holds none. `fits`: these boxes are known to have the size of
    their picture. `tensor`: it is certainly a tensor or an array. `own`: and nothing
    that the program keeps has its memory. `listed`: a list that the code has just made.
    `shares`: it may have the memory of a tensor that the program keeps, which workers of the stock
    loader then share with the trainer."""

    called = "what is made beside the picture"
    has_rows = True

    def __init__(self, number: int, boxes: bool = False) -> None:
        self.number, self.boxes = number, boxes
        self.fits = self.tensor = self.own = self.listed = self.shares = False
        self.data: Data | None = None

    def like(self, other: "Beside") -> "Beside":
        """It may have the memory of the other one."""
        self.tensor, self.own, self.shares = other.tensor, other.own, other.shares
        return self

    def attribute(self, f: Any, of: str) -> Any:
        if self.boxes:
            raise Stop(f"uses .{of} of bounding boxes")
        if of in _ATTRIBUTES:
            return f.beside.step(getattr, [self, of]).like(self)
        if of not in _METHODS:
            raise Stop(f"uses .{of} of {self.called}")
        f.seen.read(("torch.Tensor", of), lambda: lookup(torch.Tensor, of))
        return _Method(self, of)

    def entry(self, f: Any, key: Any) -> Any:
        if self.boxes:
            raise Stop("takes a part of bounding boxes")
        if self.data is not None and type(key) in (int, str):
            return self._of_data(f, functools.partial(taken, key), key)
        return f.beside.step(operator.getitem, [self, f.beside.filled(f, key)]).like(self)

    def _of_data(self, f: Any, take: Callable[[Any], Any], key: Any) -> Any:
        """take(self), which is self[key]. What is plain is a column: a path, say."""
        assert self.data is not None
        data = self.data.taken(take)
        if type(data.first) in _PLAIN:
            return f.note(Column(data.first, data.every))
        made = f.beside.step(operator.getitem, [self, key])
        made.data, made.called = data, self.called
        made.shares = self.shares and set(map(type, data.every())) != {np.ndarray}
        return made

    def set_entry(self, f: Any, key: Any, value: Any) -> None:
        if not self.changes_in_place(f):
            raise Stop(f"changes {self.called} in place, which the program may keep")
        given = f.beside.filled(f, value)
        f.beside.step(operator.setitem, [self, f.beside.filled(f, key), given])

    def changes_in_place(self, f: Any) -> bool:
        return self.own and not self.boxes

    def over(self, f: Any, frame: Any, node: Any, make: Any) -> Any:
        if not isinstance(node, ast.ListComp):
            raise Stop("goes through what is made beside the picture, otherwise than for a list")
        return f.beside.loop(f, self, frame, node, make)

    def unpacked(self, f: Any, count: int) -> list[Any]:
        if self.boxes:
            raise Stop("unpacks bounding boxes")
        if self.data is not None and type(self.data.first) in (list, tuple):
            parts_of = [functools.partial(of_several, count, at) for at in range(count)]
            return [self._of_data(f, part, at) for at, part in enumerate(parts_of)]
        parts = f.beside.step(_unpacked, [self, count])
        parts.shares = self.shares
        return [f.beside.step(operator.getitem, [parts, at]).like(parts) for at in range(count)]

    def is_none(self) -> bool:
        raise Stop(f"asks whether {self.called} is None")

    def grows(self) -> bool:
        return True


class _Method(Special):
    called = "a method of what is made beside the picture"

    def __init__(self, owner: Beside, of: str) -> None:
        self._owner, self._of = owner, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        given = [f.beside.filled(f, one) for one in args]
        by_name = {key: f.beside.filled(f, one) for key, one in named.items()}
        made = f.beside.step(_call_method, [self._owner, self._of, given, by_name])
        made.like(self._owner).shares = self._owner.shares and self._of in _ALIASING
        return made


class Steps:
    """The steps of one following. One thread."""

    def __init__(self) -> None:
        self._steps: list[list[Step | Loop]] = [[]]  # of the loops that are followed, too
        self._count = FIRST
        self._entries: dict[int, tuple[Column, Beside]] = {}
        self._texts: list[str] = []
        self.fields: list[int] = []
        self.shared: list[int] = []  # of these, what may have the memory of the program's tensors

    def __len__(self) -> int:
        return self._count - FIRST

    def step(
        self, function: Callable[..., Any], args: list[Any], named: Any = None, boxes: bool = False
    ) -> Beside:
        """function(*args, **named), of what `filled` made."""
        made = Beside(self._count, boxes)
        self._count += 1
        given = tuple(map(_ref, args))
        by_name = {key: _ref(one) for key, one in (named or {}).items()}
        self._steps[-1].append(Step(made.number, function, given, by_name))
        called = getattr(function, "__qualname__", type(function).__name__)
        self._texts.append(f"{called}{given}{by_name}")
        return made

    def entry(self, f: Any, column: Column) -> Beside:
        """What the column has for the index."""
        known = self._entries.get(id(column))
        if known is None or len(self._steps) > 1:
            made = self.step(_Entries(f.note(column)), [Ref(ROW)])
            if len(self._steps) > 1:
                return made
            known = self._entries[id(column)] = (column, made)
        return known[1]

    def filled(self, f: Any, value: Any) -> Any:
        """An argument of a step. Raises Stop."""
        if type(value) is Beside or is_constant(value) or type(value) is Ref:
            return value
        if value is Ellipsis:
            return value
        if isinstance(value, Column):
            return self.entry(f, value)
        if type(value) is sizes.Sides and len(value.axes) == 1:
            f.check_is_source(value.step)
            return Ref(WIDTH if value.axes[0] == sizes.WIDTH else HEIGHT)
        if is_sequence(value):
            parts = f.items(value)
            return type(parts)([self.filled(f, one) for one in parts])
        if is_dict(value):
            return {key: self.filled(f, one) for key, one in f.mapping(value).items()}
        if type(value) is slice:
            bounds = (value.start, value.stop, value.step)
            if all(type(one) in (int, type(None)) for one in bounds):
                return value
        if type(value) is Held and (
            type(value.thing) is torch.dtype or issubclass(type(value.thing), enum.Enum)
        ):
            return value.thing
        raise Stop(f"makes something beside the picture of {name(value)}")

    def loop(self, f: Any, over: Beside, frame: Any, node: Any, make: Any) -> Beside:
        """[make(entry) for entry in over if tests]"""
        if over.boxes or len(node.generators) > 1 or node.generators[0].is_async:
            raise Stop("goes through what is made beside the picture, with more than one for")
        (generator,) = node.generators
        entry, made = Beside(self._count), Beside(self._count + 1)
        made.listed, made.shares, entry.shares = True, over.shares, over.shares
        self._count += 2
        pictures = len(f.steps)
        inner = frame.inside(node)
        self._steps.append([])
        assign(f, inner, generator.target, entry)
        tests = []
        for test in generator.ifs:
            decides = self._plain(f, value(f, inner, test))
            tests.append((tuple(self._steps.pop()), decides))
            self._steps.append([])
        result = self._plain(f, make(inner))
        steps = tuple(self._steps.pop())
        if len(f.steps) != pictures:
            raise Stop("changes a picture in a loop over what is made beside it")
        loop = Loop(made.number, Ref(over.number), entry.number, tuple(tests), steps, result)
        self._steps[-1].append(loop)
        self._texts.append(f"loop over {over.number}: {[test for _, test in tests]} {result}")
        return made

    def _plain(self, f: Any, value: Any) -> Any:
        if type(value) is Beside and value.boxes:
            raise Stop("makes bounding boxes in a loop")
        return _ref(self.filled(f, value))

    def field(self, f: Any, value: Any) -> int:
        """Its number among what is returned and not made by workers."""
        given = self.filled(f, value)
        if type(given) is Beside:
            number = given.number
            if given.shares:
                self.shared.append(len(self.fields))
        elif type(given) is Ref:
            number = given.number
        else:
            number = self.step(fresh, [given]).number
        self.fields.append(number)
        return len(self.fields) - 1

    def close(self, f: Any) -> Targets | None:
        """None: there is nothing beside the pictures."""
        if not self.fields:
            return None
        text = "; ".join([*self._texts, repr(self.fields)])
        returns = f.seen.read(("return type",), returned_type)
        steps = tuple(self._steps[0])
        fields, shared = tuple(self.fields), frozenset(self.shared)
        return Targets(steps, self._count, fields, text, returns=returns, shared=shared)


class _Entries:
    """A column's entry of a row, which the program may change."""

    def __init__(self, column: Column) -> None:
        self._column = column

    def __call__(self, row: int) -> Any:
        return fresh(self._column.values()[row])


def operated(f: Any, kind: type, left: Any, right: Any) -> Any:
    """left `kind` right; None: neither is made beside the picture."""
    return _binary(f, _OPERATORS.get(kind), left, right)


def operated_in_place(f: Any, kind: type, left: Any, right: Any) -> Any:
    """left `kind`= right"""
    function = _IN_PLACE.get(kind)
    if function is None or type(left) is not Beside or not left.changes_in_place(f):
        raise Stop("changes what is made beside the picture in place, which the program may keep")
    return f.beside.step(function, [left, f.beside.filled(f, right)]).like(left)


def compared(f: Any, op: ast.cmpop, left: Any, right: Any) -> Any:
    return _binary(f, _COMPARED.get(type(op)), left, right)


def changed_by(f: Any, op: ast.unaryop, operand: Any) -> Any:
    if type(operand) is not Beside:
        return None
    function = _UNARY.get(type(op))
    if operand.boxes or function is None:
        raise Stop("computes with what is made beside the picture in a way that is not followed")
    return f.beside.step(function, [operand])


def _binary(f: Any, function: Callable[..., Any] | None, left: Any, right: Any) -> Any:
    if not any(type(one) is Beside for one in (left, right)):
        return None
    if function is None:
        raise Stop("computes with what is made beside the picture in a way that is not followed")
    if any(type(one) is Beside and one.boxes for one in (left, right)):
        raise Stop("computes with bounding boxes")
    made = f.beside.step(function, [f.beside.filled(f, left), f.beside.filled(f, right)])
    made.tensor = any(type(one) is Beside and one.tensor for one in (left, right))
    made.own = made.tensor  # of lists it would hold what they hold
    return made


def is_beside(f: Any, value: Any) -> bool:
    """Whether the trainer must make what is computed of this: it, or a part of it, is no picture and
    no constant."""
    if type(value) is Beside or isinstance(value, Column):
        return True
    if type(value) is sizes.Sides:
        return True
    if type(value) in (list, tuple):
        return any(is_beside(f, one) for one in value)
    if type(value) is dict:
        return any(is_beside(f, one) for one in value.values())
    return False


def _call_method(owner: Any, of: str, args: list[Any], named: dict[str, Any]) -> Any:
    return getattr(owner, of)(*args, **named)


def _unpacked(several: Any, count: int) -> list[Any]:
    parts = list(several)
    if len(parts) != count:
        raise ValueError(f"expected {count} values")
    return parts


def _ref(value: Any) -> Any:
    if type(value) is Beside:
        return Ref(value.number)
    if type(value) in (list, tuple):
        return type(value)(map(_ref, value))
    if type(value) is dict:
        return {key: _ref(one) for key, one in value.items()}
    return value
