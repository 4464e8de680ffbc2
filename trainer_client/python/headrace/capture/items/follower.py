"""One following of a data set's entry: pictures opened so far, and what is known beside views/."""

import ast
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...native.joint import INDEX, PURE, Sort
from ...native.joint import PIL as PIL_IMAGE
from ...native.opencv import Call
from ...native.plan import Node
from ...native.targets import ROW, Ref
from ...process.own_imports import Late
from ...records import dataclass
from ..proof.lookup import lookup
from ..views.attributes import class_of, in_class
from ..views.calls import call, is_librarys
from ..views.follower import Follower
from ..views.sizes import Sides
from ..views.values import Held, Image, Method, Stop, is_constant, is_dict
from ..views.views import SOURCE, Known, Target, Together
from . import beside_functions
from .beside import Beside, Steps, changed_by, compared, operated, operated_in_place
from .columns import PATHS, Column, HeldLists, each, is_plain
from .deep import holds_deep
from .kept import Kept
from .library import rule_of
from .pictures import PIL, TORCHVISION, Opened, OpenFile
from .pixels import Pixels
from .readers import mode_of_class
from .tensors import Tensors

if TYPE_CHECKING:
    from . import boxes
else:
    boxes = Late("headrace.capture.items.boxes")

_MOST_PICTURES = 16  # that one entry opens
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
_SEQUENCES = (list, tuple)
_TAKEN_FROM = (*_SEQUENCES, dict)
_HELD_ANY = (*_TAKEN_FROM, torch.Tensor, np.ndarray)
_SAME_SIZE = ("identity", "pil_to_tensor", "to_image")
_FOLLOWED = ("torchvision.datasets.", "torchvision.tv_tensors._dataset_wrapper")


def _bare(value: Any) -> Any:
    return value.thing if type(value) is Held else value


@dataclass(frozen=True)
class Picture:
    """`mode`: what convert is given; empty: the picture is as the file has it. `library`: whose
    picture it is; torchvision.io's is a tensor, and `mode` the name of its ImageReadMode.
    `source`: what reads it, where that is cv2."""

    paths: Column
    mode: str
    library: str
    source: Node | None = None


def _kind(picture: Picture) -> tuple[str, str, Node | None]:
    return picture.mode, picture.library, picture.source


class ItemFollower(Follower):
    enters = True

    def __init__(self) -> None:
        super().__init__(call)
        self.lists = HeldLists()
        self.pictures: list[Picture] = []
        self.columns: list[Column] = []
        self.made: list[Column] = []
        self.files: list[OpenFile] = []
        self.calls: list[Call] = []  # of cv2's, which are tried before they are used
        self.tensors = Tensors()
        self.beside = Steps()
        # As Items.index_types; the index is used in no other way so far.
        self.index_types: tuple[type, ...] = ()

    def begin(self, count: int) -> Column:
        """The index of an entry."""
        return Column(0, lambda: list(range(count)), is_index=True)

    def note(self, column: Column) -> Column:
        self.made.append(column)
        return column

    def check(self) -> None:
        """Raises Stop where an entry may raise beside what is found in it."""
        if any(not file.is_read for file in self.files):
            raise Stop("opens a file that it does not use")
        for column in self.made:
            column.compute()

    def opens(self, paths: Column) -> OpenFile:
        self.files.append(OpenFile(paths))
        return self.files[-1]

    def open(
        self, paths: Column, mode: str, library: str = PIL, source: Node | None = None
    ) -> Image:
        opened = Picture(paths, mode, library, source)
        for number, known in enumerate(self.pictures):
            if known.paths is paths and _kind(known) == _kind(opened):
                return Image(-1 - number)
        if len(self.pictures) >= _MOST_PICTURES:
            raise Stop(f"opens over {_MOST_PICTURES} pictures")
        self.pictures.append(opened)
        return Image(-len(self.pictures))

    # What views/ asks.

    def known(self, callee: Any) -> Callable[..., Any] | None:
        return beside_functions.rule_of(callee, rule_of(callee))

    def known_attribute(self, thing: Any, of: str) -> Any:
        """Of a path that the program holds, and of torchvision's ImageReadMode."""
        if type(thing) in PATHS and of in ("name", "parent", "stem", "suffix"):
            return each(self, operator.attrgetter(of), [Held(thing)])
        return mode_of_class(self, thing, of)

    def is_followed(self, function: types.FunctionType) -> bool:
        return (function.__module__ or "").startswith(_FOLLOWED)

    def combine(self, kind: type, left: Any, right: Any) -> Any:
        if (made := operated(self, kind, left, right)) is not None:
            return made
        if kind is ast.Div and type(left) is Pixels:
            return left.divide(self, right)
        of_paths = kind is ast.Div and any(
            type(one) is Held and type(one.thing) in PATHS for one in (left, right)
        )
        if not of_paths and not isinstance(left, Column) and not isinstance(right, Column):
            return None
        rule = _OPERATORS.get(kind)
        if rule is None or not all(
            isinstance(one, Column) or is_plain(one) for one in (left, right)
        ):
            return None
        return each(self, rule, [left, right])

    def combine_in_place(self, kind: type, left: Any, right: Any) -> Any:
        return operated_in_place(self, kind, left, right)

    def unary(self, op: ast.unaryop, operand: Any) -> Any:
        return changed_by(self, op, operand)

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        return compared(self, op, left, right)

    def text(self, value: Any, spec: Any) -> Any:
        if spec is not None and type(spec) is not str:
            raise Stop("makes a text that is not followed")
        return each(self, lambda one: format(one, spec or ""), [value])

    def joined(self, parts: list[Any]) -> Any:
        return each(self, lambda *texts: "".join(texts), parts)

    def entry_at(self, owner: Any, key: Any) -> Any:
        if not isinstance(key, Column):
            return super().entry_at(owner, key)
        if (method := self._own_method(owner, "__getitem__")) is not None:
            return self.call(self, method, [key], {}, "")
        thing = owner.thing if type(owner) is Held else owner
        if type(owner) is Held and type(thing) in _HELD_ANY:
            if (kept := self._kept(thing, key)) is not None:
                return kept
        if type(owner) is Held and type(thing) in _TAKEN_FROM:
            if type(thing) is dict and key.is_index:  # finds equal ones, and not all integers are
                self.index_types = (int,)
            return self.note(self.lists.column(thing, key))
        if is_dict(owner):
            entries = self.mapping(owner).items()
            found = {at: _bare(one) for at, one in entries if is_plain(one)}
            return each(self, found.__getitem__, [key])
        return super().entry_at(owner, key)

    def _kept(self, container: Any, key: Column) -> Any:
        """container[key], where its entries are annotations; None: they are plain."""
        entries = container.values() if type(container) is dict else container
        if type(container) in _TAKEN_FROM and not holds_deep(entries):
            return None
        deep = self.lists.deep(container)
        kept = Kept(deep.copied, self.note(key))
        made = self.beside.step(kept, [Ref(ROW)])
        made.data, made.shares = kept.data(), deep.has_tensors
        made.called = "an entry by the index that may change"
        return made

    def _own_method(self, owner: Any, of: str) -> Method | None:
        """A method of Python's that an object of the program has by its class: of a data set inside of
        this one."""
        if type(owner) is not Held or isinstance(owner.thing, type):
            return None
        found = lookup(type(owner.thing), of)
        if type(found) is not types.FunctionType or is_librarys(self, found):
            return None
        return Method(in_class(self, class_of(self, owner.thing), of), owner)

    def own_length(self, container: Any) -> int | None:
        if (method := self._own_method(Held(container), "__len__")) is not None:
            made = self.call(self, method, [], {}, "")
            return made if type(made) is int else None
        if type(container) not in _SEQUENCES:
            return None
        length: int = self.seen.read(("len", id(container)), lambda: len(container))
        return length

    def picture(self, value: Any) -> Any:
        if type(value) is Pixels:
            return self.tensors.image_of(self, value)
        return value.read(self, "") if type(value) is Opened else value

    def apply(self, transform: Any, image: Image, where: str) -> Image:
        made = self.tensors.applied(self, transform, image, where)
        return made or self.apply_any(transform, image, where)

    def add(self, done: Any, image: Image, where: str) -> Image:
        made = super().add(done, image, where)
        self.tensors.handed_on(done.transform if type(done) is Together else None, image, made)
        return made

    def apply_any(self, transform: Any, image: Image, where: str) -> Image:
        return super().apply(transform, image, where)

    def as_pil(self, pixels: Pixels) -> Image:
        return self.tensors.as_pil(self, pixels)

    def plane(self, value: Any) -> Image | None:
        return self.tensors.plane(self, value) if type(value) is Pixels else None

    def returned(self, value: Any) -> Any:
        if type(value) is Pixels:
            return self.tensors.returned(self, value)
        return self.tensors.without_channel(self, value) if type(value) is Image else value

    def is_tensor(self, picture: int) -> bool:
        return self.pictures[-1 - picture].library == TORCHVISION

    def sort_of_picture(self, picture: int) -> Sort:
        opened = self.pictures[-1 - picture]
        if opened.library == PIL:
            return Sort(PIL_IMAGE, opened.mode or INDEX)
        return Sort(PURE, opened.mode) if opened.library == TORCHVISION else Sort("")

    def is_no_picture(self, value: Any) -> bool:
        return isinstance(value, Column) or type(value) in (Beside, Sides)

    def picture_in(self, value: Any) -> bool:
        """Whether it is a picture, or a list that holds one."""
        if type(value) in (list, tuple):
            return any(map(self.picture_in, value))
        return type(self.picture(value)) is Image

    def with_beside(
        self, transform: Any, leaves: list[Any], rebuild: Callable[[Any], Any], at: str
    ) -> list[Any] | None:
        if not any(type(leaf) is Beside for leaf in leaves):
            return None
        return boxes.applied(self, transform, leaves, rebuild, at)

    def count_beside(self) -> int:
        return len(self.beside)

    def check_is_source(self, step: int) -> None:
        """Raises Stop where the picture has another size than its file."""
        while step > SOURCE:
            done = self.steps[step].transform
            if type(done) is not Known or done.node.op not in _SAME_SIZE:
                raise Stop("uses the size of what was made of the picture")
            step = self.steps[step].of

    def is_leaf(self, found: Any) -> bool:
        if len(self.beside):
            return type(found) in (Beside, Sides) or isinstance(found, Column) or is_constant(found)
        return self.leaf(found) is not None

    def leaf(self, found: Any) -> "int | Target | None":
        if len(self.beside) and self.is_leaf(found):
            return Target(self.beside.field(self, found))
        if not isinstance(found, Column):
            return None
        if type(found.first) is not int:
            raise Stop(f"returns a {type(found.first).__name__} beside the picture")
        for number, known in enumerate(self.columns):
            if known is found:
                return -1 - number
        self.columns.append(found)
        return -len(self.columns)
