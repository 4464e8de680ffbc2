"""What the trainer makes of a sample beside the pictures: boxes, labels, whatever else its code returns.

Targets are small. Workers make the pictures, and the trainer runs for each sample what the program's
code does to the rest of it: the same functions, in the same order, with what was drawn for the picture.
So a target has torchvision's bits because torchvision makes it.

    boxes = BoundingBoxes(self.boxes[i], format="XYXY", canvas_size=F.get_size(image))
    image, boxes = RandomHorizontalFlip()(image, boxes)

is a step BoundingBoxes, and a step that flips the boxes where the picture was flipped.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from ..records import dataclass

# The values that are there before the first step.
ROW, HEIGHT, WIDTH = 0, 1, 2
FIRST = 3


@dataclass(frozen=True)
class Ref:
    """In the place of an argument: a value of before."""

    number: int


@dataclass(frozen=True)
class Drawn:
    """In the place of an argument: a word that this call drew for the picture."""

    call: int
    word: int = 0


@dataclass(frozen=True)
class Step:
    """Value `number` is function(*args, **named). Lists, tuples and dicts among these may hold Refs."""

    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """Value `number` is [made for entry in over if tests]. tests: the steps of each, and what it
    decides by. steps: for each entry that is left."""

    number: int
    over: Ref
    entry: int  # the value that is the entry
    tests: "tuple[tuple[tuple[Step | Loop, ...], Any], ...]"
    steps: "tuple[Step | Loop, ...]"
    made: Any


class Unknown(Exception):
    """A sample whose targets the steps do not make: its own code does."""


@dataclass(frozen=True)
class Targets:
    """steps: in the program's order. count: of the values. fields: the values that a sample has, in
    the order of its fields after those that workers make. places: of a call, where its words begin.
    rows: of the data set, by index; None: the same. text: tells one program's steps from another's.
    returns: what `returned_type` said. shared: of the fields, those that may have the memory of a
    tensor that the program keeps."""

    steps: tuple[Step | Loop, ...]
    count: int
    fields: tuple[int, ...]
    text: str
    places: dict[int, int] = field(default_factory=dict)
    rows: Any = None
    returns: bool = False
    shared: frozenset[int] = frozenset()

    def placed(self, places: dict[int, int], rows: Any) -> "Targets":
        return replace(self, places=places, rows=rows)

    def of(self, key: int, size: Sequence[int], words: Sequence[int]) -> list[Any]:
        """The fields of one sample. `size`: height and width of its picture. Raises what the
        program's code would raise."""
        values: list[Any] = [None] * self.count
        values[ROW] = key if self.rows is None else int(self.rows[key])
        values[HEIGHT], values[WIDTH] = size
        self._run(self.steps, values, words)
        return [values[number] for number in self.fields]

    def columns(self, batch: Any) -> list[list[Any]]:
        """The fields of a delivered batch, a list each, with None for samples that no worker made.
        Raises Unknown where the program's code may do something else."""
        drawn = batch.drawn
        words, sizes = drawn.words, drawn.sizes
        of_each = len(words) // len(batch.keys)
        missing = {sample.position for sample in batch.missing}
        made: list[list[Any]] = []
        if returned_type() != self.returns:
            raise Unknown("tv_tensors.set_return_type was called since")
        with as_a_worker():
            for i, key in enumerate(batch.keys):
                if i in missing:
                    made.append([None] * len(self.fields))
                    continue
                if not sizes[i][0]:
                    raise Unknown("the size of a picture is not known")
                try:
                    made.append(self.of(key, sizes[i], words[i * of_each : (i + 1) * of_each]))
                except Exception as error:  # the program's code raises it, at its place
                    raise Unknown(str(error)) from error
        return [list(column) for column in zip(*made, strict=True)]

    def _run(self, steps: "Sequence[Step | Loop]", values: list[Any], words: Sequence[int]) -> None:
        for step in steps:
            if type(step) is Loop:
                values[step.number] = self._loop(step, values, words)
                continue
            assert type(step) is Step
            args = [self._filled(one, values, words) for one in step.args]
            named = {of: self._filled(one, values, words) for of, one in step.named.items()}
            values[step.number] = step.function(*args, **named)

    def _loop(self, loop: Loop, values: list[Any], words: Sequence[int]) -> list[Any]:
        made = []
        for entry in values[loop.over.number]:
            values[loop.entry] = entry
            for steps, test in loop.tests:
                self._run(steps, values, words)
                if not self._filled(test, values, words):
                    break
            else:
                self._run(loop.steps, values, words)
                made.append(self._filled(loop.made, values, words))
        return made

    def _filled(self, of: Any, values: list[Any], words: Sequence[int]) -> Any:
        kind = type(of)
        if kind is Ref:
            return values[of.number]
        if kind is Drawn:
            return words[self.places[of.call] + of.word]
        if kind is list or kind is tuple:
            return kind([self._filled(one, values, words) for one in of])
        if kind is dict:
            return {key: self._filled(one, values, words) for key, one in of.items()}
        return of


@contextlib.contextmanager
def as_a_worker() -> Iterator[None]:
    """Tensors are made as in a worker of the stock loader, whatever the program has set since its
    iter(). Raises Unknown."""
    if torch.get_default_dtype() != torch.float32:
        raise Unknown(f"torch's default dtype is {torch.get_default_dtype()}")
    if torch.get_default_device().type == "cpu":
        yield
        return
    with torch.device("cpu"):
        yield


def returned_type() -> bool:
    """Whether operators on torchvision's tensors return their type: tv_tensors.set_return_type."""
    helpers = sys.modules.get("torchvision.tv_tensors._torch_function_helpers")
    return bool(helpers and helpers._must_return_subclass())


def fresh(value: Any) -> Any:
    """A copy that the program may change."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind(map(fresh, value))
    if kind is dict:
        return {key: fresh(one) for key, one in value.items()}
    if kind is torch.Tensor:
        return value.clone()
    if kind is np.ndarray:
        return copy_of_array(value)
    return value


def copy_of_array(array: np.ndarray) -> np.ndarray:
    """With the same strides, where no bytes lie between its elements."""
    copied = array.copy(order="K")
    if copied.size == 0 and copied.strides != array.strides:
        return np.lib.stride_tricks.as_strided(copied, array.shape, array.strides)
    return copied


def stacked(column: list[Any]) -> Any:
    """What default_collate makes of this field of all samples. Raises what it raises."""
    kinds = set(map(type, column))
    if kinds == {torch.Tensor}:  # without its shared memory
        return torch.stack(column, 0)
    if kinds == {int}:
        return torch.tensor(column)
    return default_collate(column)


def same_value(mine: Any, other: Any) -> bool:
    """Whether two targets are the same to a program: classes, and bits, and what else they hold."""
    if type(mine) is not type(other):
        return False
    if isinstance(mine, torch.Tensor):
        held = vars(mine), vars(other)
        if mine.dtype != other.dtype or mine.shape != other.shape or held[0] != held[1]:
            return False
        return bytes_of(mine) == bytes_of(other)
    if isinstance(mine, np.ndarray):
        alike = mine.dtype == other.dtype and mine.shape == other.shape
        return bool(alike and mine.tobytes() == other.tobytes())
    if isinstance(mine, dict):
        return list(mine) == list(other) and all(same_value(mine[key], other[key]) for key in mine)
    if isinstance(mine, list | tuple):
        return len(mine) == len(other) and all(map(same_value, mine, other))
    return repr(mine) == repr(other)


def bytes_of(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().as_subclass(torch.Tensor).contiguous()
    if not plain.numel():  # whose strides may be anything
        return b""
    return bytes(plain.reshape(-1).view(torch.uint8).numpy())
