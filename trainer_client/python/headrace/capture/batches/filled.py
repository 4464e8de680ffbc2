"""A tensor of the batch that the code makes, and fills row by row with its samples."""

from dataclasses import replace
from types import GetSetDescriptorType, MethodDescriptorType
from typing import Any

import torch

from ...native.padding import Blank, Padded, Write
from ..proof.lookup import lookup
from ..views.follower import Frame
from ..views.values import Special, Stop, name
from .numbers import Number, extent_of
from .values import Each, OfSample, Part, Position, Scope

_MOST_WRITES = 16


def check_torchs(f: Any, of: str) -> None:
    """That a tensor's attribute is torch's own. Raises Stop."""
    found = f.seen.read(("torch.Tensor", of), lambda: lookup(torch.Tensor, of))
    if type(found) not in (MethodDescriptorType, GetSetDescriptorType) or (
        found.__objclass__ is torch.Tensor
    ):
        raise Stop(f"uses .{of} of a tensor, which the program has replaced")


class Made(Special):
    """A tensor of the batch that the code makes, and fills row by row."""

    called = "a tensor that it makes"
    has_rows = True

    def __init__(self, f: Any, blank: Blank) -> None:
        self.blank = blank
        self.writes: list[Write] = []
        self.filled = blank.by != "new"

    @property
    def form(self) -> Padded:
        """Raises Stop where no sample is in it."""
        if not self.writes or not self.filled:
            raise Stop("returns a tensor that it did not fill with samples")
        return Padded(self.blank, tuple(self.writes))

    def attribute(self, f: Any, of: str) -> Any:
        if of == "shape":
            return tuple(one if type(one) is int else Number(one) for one in self.blank.shape)
        return _Filling(self, of) if of in ("fill_", "zero_") else super().attribute(f, of)

    def fill(self, f: Any, value: Any) -> None:
        if self.writes or f.turns or f.functions or type(value) not in (int, float, bool):
            raise Stop("fills a tensor again, or with other than a number")
        self.blank, self.filled = replace(self.blank, fill=value), True

    def rows(self, f: Any) -> Each:
        """For each sample its row."""
        scope = Scope()
        return Each(object, Row(self, scope), scope)

    def over(self, f: Any, frame: Frame, node: Any, make: Any) -> Any:
        return self.rows(f).over(f, frame, node, make)

    def loop(self, f: Any, frame: Frame, node: Any) -> bool:
        return self.rows(f).loop(f, frame, node)

    def entry(self, f: Any, key: Any) -> Any:
        first, *rest = key if type(key) is tuple else (key,)
        if type(first) is not Position:
            raise Stop(f"takes an entry of {self.called}")
        row = Row(self, first.scope)
        return row.entry(f, tuple(rest)) if rest else row

    def set_entry(self, f: Any, key: Any, value: Any) -> None:
        entry = self.entry(f, key)
        entry.write(f, "=", value)

    def write(self, f: Any, scope: Scope, index: Any, by: str, value: Any) -> None:
        if f.turns != [scope] or type(scope) is not Scope or f.functions:
            raise Stop("writes to a row otherwise than in a loop over the samples")
        if not self.filled or len(self.writes) >= _MOST_WRITES:
            raise Stop("writes to a tensor that it has not filled")
        if isinstance(value, Part) and f.is_tensor_of_sample(value) and value.scope is scope:
            if by == "fill_" or value.field not in f.ranks:
                raise Stop("fills a row with a tensor")
            self.writes.append(Write(index, by, value.field))
        elif type(value) in (int, float, bool) and by != "copy_":
            self.writes.append(Write(index, by, None, value))
        else:
            raise Stop(f"writes {name(value)} to a row")


class _Filling(Special):
    called = "a method of a tensor that it makes"

    def __init__(self, made: Made, of: str) -> None:
        self._made, self._of = made, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        check_torchs(f, self._of)
        if named or len(args) != (self._of == "fill_"):
            raise Stop(f"calls {self._of} with arguments that are not followed")
        self._made.fill(f, args[0] if args else 0)
        return self._made


class Row(OfSample):
    """A sample's row of it, or a part of that."""

    called = "a row of a tensor that it makes"

    def __init__(self, made: Made, scope: Scope, index: tuple[Any, ...] = ()) -> None:
        self._made, self.scope, self._index = made, scope, index
        self.has_rows = not index

    def moved(self, after: Scope) -> "Row":
        if self._index:
            raise Stop("keeps a part of a row for each sample")
        return Row(self._made, after)

    def entry(self, f: Any, key: Any) -> "Row":
        if self._index:
            raise Stop("takes a part of a part of a row")
        parts = key if type(key) is tuple else (key,)
        return Row(self._made, self.scope, tuple(_index_part(f, one, self.scope) for one in parts))

    def set_entry(self, f: Any, key: Any, value: Any) -> None:
        self.entry(f, key).write(f, "=", value)

    def attribute(self, f: Any, of: str) -> Any:
        if of in ("copy_", "fill_", "zero_"):
            return _Writing(self, of)
        return super().attribute(f, of)

    def write(self, f: Any, by: str, value: Any) -> None:
        self._made.write(f, self.scope, self._index or (Ellipsis,), by, value)


class _Writing(Special):
    called = "a method of a row"

    def __init__(self, row: Row, of: str) -> None:
        self._row, self._of = row, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        check_torchs(f, self._of)
        if self._of == "zero_":
            args = [*args, 0]
        if len(args) != 1 or named:
            raise Stop(f"calls {self._of} with arguments that are not followed")
        self._row.write(f, "fill_" if self._of == "zero_" else self._of, args[0])
        return self._row


def _index_part(f: Any, part: Any, turn: Scope) -> Any:
    if part is Ellipsis or part is None or type(part) is int:
        return part
    if type(part) is slice:
        bounds = (part.start, part.stop, part.step)
        return slice(*[one if one is None else extent_of(f, one, turn) for one in bounds])
    raise Stop(f"takes the part {name(part)} of a row")
