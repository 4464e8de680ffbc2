"""One following of a transform: what it has applied so far, and what it may still do."""

import ast
import functools
import os
from collections.abc import Callable
from dataclasses import field
from types import FunctionType
from typing import Any

from ...native.joint import Sort
from ...native.several import Flipped, Part
from ...records import dataclass
from ..proof.frames import scope_of
from .grounds import Grounds
from .values import MISSING, Held, Image, Stop, is_private, wrap
from .views import Target, Together

MOST_STEPS = 20_000  # expressions, statements and calls that are followed
DEEPEST = 16  # calls of the program's functions in each other
MOST_APPLIED = 1_000  # transforms for one sample

_COMPREHENSIONS = ast.ListComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Step:
    transform: Any
    of: int  # SOURCE, or the number of an earlier step
    where: str


@dataclass
class Frame:
    """A function while it is followed. `outer`: the frame around, of a comprehension and of a
    function that the followed code makes; `function`: the live one that these are in."""

    function: FunctionType
    tree: Any
    names: dict[str, Any] = field(default_factory=dict)
    outer: "Frame | None" = None

    def binds(self, name: str) -> bool:
        """Whether the name is one of its own, set or not."""
        if isinstance(self.tree, _COMPREHENSIONS):
            return name in targets_of(self.tree)
        return name in scope_of(self.tree).local

    def passes_by(self, name: str) -> bool:
        """Whether it says that the name is the module's."""
        tree = self.tree
        return not isinstance(tree, _COMPREHENSIONS) and name in scope_of(tree).of_module

    def place(self, node: Any) -> str:
        file = os.path.basename(self.function.__code__.co_filename)
        return f"{self.function.__qualname__} ({file}:{node.lineno})"

    def inside(self, tree: Any) -> "Frame":
        return Frame(self.function, tree, {}, self)


class Follower:
    """`call`: calls.call, which this module can't know. `enters`: whether a `with` may be followed."""

    enters = False

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call
        self.seen = Grounds()
        self.steps: list[Step] = []
        self.sorts: dict[int, Sort] = {}  # of what steps made
        self.superseded: set[int] = set()  # steps that are nothing where nobody uses what they made
        self.drawings: dict[int, Any] = {}  # numbers that are drawn: Drawing of numbers.py
        self.stacks: list[Any] = []  # what torch.stack made, in order
        self.depth = 0
        self._calls = 0
        self._spent = 0

    def spend(self) -> None:
        self._spent += 1
        if self._spent > MOST_STEPS:
            raise Stop("goes on for too long to be followed")

    def apply(self, transform: Any, image: Image, where: str) -> Image:
        if len(self.steps) >= MOST_APPLIED:
            raise Stop(f"applies over {MOST_APPLIED:,} transforms to one picture")
        self.seen.hold(transform.of if type(transform) in (Part, Flipped) else transform)
        return self.add(transform, image, where)

    def add(self, done: Any, image: Image, where: str) -> Image:
        """What is done to the picture, which is no live transform."""
        if type(done) is Together:
            self.seen.hold(done.transform)
        self.steps.append(Step(done, image.step, where))
        return Image(len(self.steps) - 1)

    def next_call(self) -> int:
        """A number for what several pictures share."""
        self._calls += 1
        return self._calls

    # What following an entry of a data set knows beside this: see capture/items.

    def known(self, callee: Any) -> "Callable[..., Any] | None":
        """What a call of a library's own function does: rule(f, args, named)."""
        return None

    def known_attribute(self, thing: Any, of: str) -> Any:
        return None

    def is_followed(self, function: FunctionType) -> bool:
        """Whether a library's function is followed as if it were the program's."""
        return False

    def combine(self, kind: type, left: Any, right: Any) -> Any:
        return None

    def combine_in_place(self, kind: type, left: Any, right: Any) -> Any:
        """left `kind`= right, where that changes `left`."""
        raise Stop("changes something in place")

    def unary(self, op: ast.unaryop, operand: Any) -> Any:
        return None

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        return None

    def text(self, value: Any, spec: Any) -> Any:
        raise Stop("makes a text that is not followed")

    def joined(self, parts: list[Any]) -> Any:
        raise Stop("makes a text that is not followed")

    def entry_at(self, owner: Any, key: Any) -> Any:
        raise Stop("takes an entry that is not known")

    def picture(self, value: Any) -> Any:
        """The picture that a transform gets."""
        return value

    def plane(self, value: Any) -> Image | None:
        """The mask that tv_tensors.Mask makes of an array without channels; None: it is no such."""
        return None

    def returned(self, value: Any) -> Any:
        """What is returned, where that is a picture."""
        return value

    def is_tensor(self, picture: int) -> bool:
        """Whether this picture itself is a tensor. `picture`: below 0, an Image's `step`."""
        return False

    def is_leaf(self, found: Any) -> bool:
        """Whether `leaf` has a number for it."""
        return False

    def leaf(self, found: Any) -> "int | Target | None":
        """The number of something that is returned and no picture: below 0, or a Target."""
        return None

    def with_beside(
        self, transform: Any, leaves: list[Any], rebuild: Callable[[Any], Any], at: str
    ) -> list[Any] | None:
        """The leaves after the transform, where some of them are made beside the picture. `rebuild`:
        puts leaves together as the transform is given them."""
        return None

    def count_beside(self) -> int:
        """How much was made beside the picture so far."""
        return 0

    def check_is_source(self, step: int) -> None:
        """Raises Stop where what this step made has another size than the picture."""
        raise Stop("uses a picture's size")

    def sort_of_picture(self, picture: int) -> Sort:
        """What the picture itself is. `picture`: as is_tensor's."""
        return Sort("")

    def is_no_picture(self, value: Any) -> bool:
        """Whether it is certainly none, and no tensor or container."""
        return False

    # What following a collate_fn knows beside this: see capture/batches.

    # Whether `starred` is asked about callee(*value), in the place of the value's entries.
    stars = False

    def starred(self, callee: Any, value: Any, named: dict[str, Any]) -> Any:
        """callee(*value, **named)"""
        raise Stop("calls with a starred argument")

    def new_list(self) -> Any:
        return []

    def set_item(self, owner: list[Any], key: Any, value: Any) -> None:
        """owner[key] = value"""
        raise Stop("sets an entry of a list")

    def changes(self, owner: Any) -> None:
        """A container of the code's own is about to change."""

    def own_length(self, container: Any) -> int | None:
        """The length of a list that the program holds, where its entries are not noted."""
        return None

    # Names.

    def name(self, frame: Frame, name: str) -> Any:
        if is_private(name):
            raise Stop(f"uses {name}, whose name a class changes")
        here: Frame | None = frame
        while here is not None:
            if here.binds(name):
                return _bound(here.names, name)
            if here.passes_by(name):
                return self._of_module(here.function, name)
            here = here.outer
        function = frame.function
        if name in function.__code__.co_freevars:
            return self._of_cell(function, name)
        return self._of_module(function, name)

    def _of_cell(self, function: FunctionType, name: str) -> Any:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]

        def look() -> Any:
            try:
                return cell.cell_contents
            except ValueError:
                return MISSING

        found = self.seen.read(("cell", id(cell)), look)
        if found is MISSING:
            raise Stop(f"uses {name} before it is set")
        return wrap(found)

    def _of_module(self, function: FunctionType, name: str) -> Any:
        for space in (function.__globals__, function.__builtins__):  # type: ignore[attr-defined, unused-ignore]
            if type(space) is not dict:
                raise Stop(f"has its names in a {type(space).__name__}")
            look = functools.partial(space.get, name, MISSING)
            found = self.seen.read(("name", id(space), name), look)
            if found is not MISSING:
                return wrap(found)
        raise Stop(f"uses {name}, which is not defined")

    # Lists, tuples and dicts.

    def items(self, value: Any) -> Any:
        """A list or tuple of values: the code's own, or what the program's holds."""
        if type(value) is Held:
            return type(value.thing)(map(wrap, self.seen.entries(value.thing)))
        return value

    def mapping(self, value: Any) -> dict[Any, Any]:
        """The same of a dict; its keys are constants."""
        if type(value) is not Held:
            own: dict[Any, Any] = value
            return own
        entries = [wrap(entry) for entry in self.seen.entries(value.thing)]
        half = len(entries) // 2
        if any(type(key) is Held for key in entries[:half]):
            raise Stop("looks into a dict whose keys are objects")
        return dict(zip(entries[:half], entries[half:], strict=True))


def _bound(names: dict[str, Any], name: str) -> Any:
    found = names.get(name, MISSING)
    if found is MISSING:
        raise Stop(f"uses {name} before it is set")
    return found


def targets_of(comprehension: Any) -> set[str]:
    """The names that a comprehension binds, which are its own."""
    return {
        node.id
        for generator in comprehension.generators
        for node in ast.walk(generator.target)
        if isinstance(node, ast.Name)
    }
