"""From a data set of the program's own to Items, or to the reason why not."""

import sys
import types
from collections.abc import Callable
from typing import Any

from ...native.collate import name_of
from ...native.genuine import is_genuine
from ...native.nodes import nodes_of_leaf
from ...native.opencv import Call
from ...native.plan import Node, NotNative
from ...native.targets import Targets
from ...records import dataclass
from ..views.attributes import class_of, in_class, own
from ..views.calls import call
from ..views.follower import Follower
from ..views.grounds import Grounds
from ..views.recognise import shaped
from ..views.values import MISSING, Held, Image, Method, Stop, name, replaced_builtin
from ..views.views import Applied, Known, Structure, Together
from .columns import LIKE_INT, PATHS, Column, HeldLists
from .follower import ItemFollower, Picture
from .pictures import PIL, TORCHVISION

REMEDY = (
    "a __getitem__ that opens pictures and masks by paths of a list, applies torchvision's transforms and "
    "returns tensors and integers: docs/reference/own-transforms.md says what of it is followed"
)
_MODES = ("RGB", "L", "")  # of PIL's pictures; empty: as the file has it
_WRAPPERS = "torchvision.tv_tensors._dataset_wrapper"  # wrap_dataset_for_transforms_v2
_LOADERS = (
    "leave `loader` to torchvision, which opens pictures with PIL as RGB, or let it be "
    "torchvision.io.decode_image"
)


@dataclass(frozen=True)
class Items:
    """What each entry of a data set is.

    count: of the entries. paths: of each picture that an entry opens, by index, and `modes`, what
    they are converted to (empty: they are as in the file), and `libraries`, whose they are.
    sources: what reads each picture of cv2's. calls: of cv2's functions, to be tried.
    labels: columns of integers.
    values: as Views.values; an `of` below 0 is picture -1 - of.
    result: what __getitem__ returns; an int below 0 is label -1 - it.
    index_types: of the indices from 0 on that the code takes as it takes Python's int of that value;
    empty: all that a list takes. Of no negative index anything is known.
    """

    count: int
    paths: tuple[list[str], ...]
    modes: tuple[str, ...]
    libraries: tuple[str, ...]
    sources: tuple[Node | None, ...]
    labels: tuple[list[int], ...]
    values: tuple[Applied, ...]
    result: Structure
    seen: Grounds
    lists: HeldLists
    index_types: tuple[type, ...] = (int,)
    calls: tuple[Call, ...] = ()
    targets: Targets | None = None  # what the trainer makes beside the pictures


def items_of(dataset: Any) -> Items:
    """Raises NotNative with the name of the data set, and the place in its code. Runs none of it."""
    f = ItemFollower()
    try:
        count, found = entries_of(f, dataset, f.begin)
        values, result = shaped(f, found)
        _check_native(dataset, f, values)
        paths = tuple(map(_texts, f.pictures))
        f.check()
        labels = tuple(_labels(column.every()) for column in f.columns)
    except Stop as stop:
        why = f"{stop.place} {stop.text}" if stop.place else f"it {stop.text}"
        raise NotNative(f"{_refused(dataset)}: {why}", stop.remedy or REMEDY) from None
    except (NotNative, AssertionError):
        raise
    except Exception as error:  # objects may do anything when they are looked at
        text = f"it is not understood ({type(error).__name__}: {error})"
        raise NotNative(f"{_refused(dataset)}: {text}") from None
    targets = f.beside.close(f)
    f.seen.close()
    modes = tuple(picture.mode for picture in f.pictures)
    return Items(
        count,
        paths,
        modes,
        tuple(picture.library for picture in f.pictures),
        tuple(picture.source for picture in f.pictures),
        labels,
        values,
        result,
        f.seen,
        f.lists,
        _index_types(f),
        tuple(f.calls),
        targets,
    )


def reader_of(loader: Any, paths: list[str]) -> tuple[Picture, Grounds]:
    """What a folder's `loader` makes of each of its paths. Raises NotNative with its name."""
    f = ItemFollower()
    try:
        if replaced := replaced_builtin():
            raise Stop(f"may use builtins.{replaced}, which the program has replaced")
        column = Column(paths[0], lambda: paths)
        found = call(f, Held(loader), [column], {}, "")
        if type(found) is not Image or f.steps or len(f.pictures) != 1:
            raise Stop("does more than read the picture")
        (picture,) = f.pictures
        if picture.paths is not column:
            raise Stop("reads another file")
        if picture.library != TORCHVISION and picture.mode != "RGB":
            raise Stop("opens pictures in another mode than RGB")
        f.check()
    except Stop as stop:
        why = f"{stop.place} {stop.text}" if stop.place else f"it {stop.text}"
    except Exception as error:  # objects may do anything when they are looked at
        why = f"it is not understood ({type(error).__name__}: {error})"
    else:
        f.seen.close()
        return picture, f.seen
    raise NotNative(f"loader={name(Held(loader))} is Python code: {why}", _LOADERS)


def _index_types(f: ItemFollower) -> tuple[type, ...]:
    if f.beside.fields:
        return (int,)  # what is made beside the picture may hold the index itself
    if f.index_types:
        return f.index_types
    returned = any(column.is_index for column in f.columns)
    return LIKE_INT if returned else ()  # both are collated to the same tensor


def _refused(dataset: Any) -> str:
    return f"{name(Held(dataset))} is not a dataset with a native form"


def _check_native(dataset: Any, f: ItemFollower, values: tuple[Applied, ...]) -> None:
    """Before anything is computed for every index, which takes long."""
    modes = {picture.mode for picture in f.pictures if picture.library == PIL}
    if not f.pictures or not modes <= set(_MODES):
        raise NotNative(
            f"{name_of(dataset)} opens other than pictures in RGB, in L or as their files are",
            'Image.open(path).convert("RGB"), .convert("L") or Image.open(path) in __getitem__',
        )
    if len(f.pictures) > 1 and any(picture.source is not None for picture in f.pictures):
        raise NotNative(
            f"{name_of(dataset)} opens several pictures for each sample, and one of them with cv2",
            "PIL, for pictures and masks",
        )
    used = {value.of for value in values if value.of < 0}
    if len(used) < len(f.pictures):
        raise NotNative(f"{name_of(dataset)} opens a picture that it does not use")
    if len(f.columns) > 1:
        raise NotNative(
            f"{name_of(dataset)} returns several integers for each sample",
            "one integer beside the picture",
        )
    for value in values:
        for transform in value.transforms:
            if type(transform) not in (Known, Together):
                nodes_of_leaf(transform)


def entries_of(f: Follower, dataset: Any, begin: Callable[[int], Any]) -> tuple[int, Any]:
    """How many entries there are, and what __getitem__ makes of the index, which is begin(their number).
    Raises Stop; NotNative where there are none."""
    if replaced := replaced_builtin():
        raise Stop(f"may use builtins.{replaced}, which the program has replaced")
    count = call(f, method_of(f, dataset, "__len__"), [], {}, "")
    if type(count) is not int or count < 0:
        raise Stop("has a __len__ that is not known")
    if count == 0:
        raise NotNative("the dataset is empty", "nothing: it has no batch")
    return count, call(f, method_of(f, dataset, "__getitem__"), [begin(count)], {}, "")


def method_of(f: Follower, dataset: Any, of: str) -> Method:
    """As torch's loader finds it: in the class."""
    cls = class_of(f, dataset)
    _check_no_batches(f, dataset)
    function = in_class(f, cls, of)
    if type(function) is not types.FunctionType:
        raise Stop(f"has no {of} of Python")
    return Method(function, Held(dataset))


def _check_no_batches(f: Follower, dataset: Any) -> None:
    """Raises Stop where torch's loader may find __getitems__."""
    cls = class_of(f, dataset)
    if in_class(f, cls, "__getitems__") is not MISSING:
        raise Stop("has __getitems__, which makes a batch at once")
    if own(f, dataset, "__getitems__") is not MISSING:
        raise Stop("may have __getitems__, which makes a batch at once")
    if in_class(f, cls, "__getattribute__") is not object.__getattribute__:
        raise Stop("has a __getattribute__ of its own")
    by_code = in_class(f, cls, "__getattr__")
    if by_code is MISSING:
        return
    wrapper = vars(sys.modules.get(_WRAPPERS, object)).get("VisionDatasetTVTensorWrapper")
    inner = own(f, dataset, "_dataset")
    if wrapper is None or by_code is not vars(wrapper).get("__getattr__") or inner is MISSING:
        raise Stop("may have __getitems__, which makes a batch at once")
    if not is_genuine(by_code, "torchvision"):
        raise Stop("has a __getattr__ that was replaced")
    _check_no_batches(f, inner)  # it asks the data set that it wraps


def _texts(picture: Picture) -> list[str]:
    if type(picture.paths.first) is not str and type(picture.paths.first) not in PATHS:
        raise Stop("opens a file by what is no path")
    paths = list(map(str, picture.paths.every()))
    try:
        "".join(paths).encode()
    except UnicodeEncodeError:
        raise Stop("opens files whose names are not text") from None
    if any("\0" in path or not path for path in paths):
        raise Stop("opens files whose names are no paths")
    return paths


def _labels(labels: list[int]) -> list[int]:
    if not (-(2**63) <= min(labels) and max(labels) < 2**63):
        raise Stop("returns an integer beyond 64 bits")
    return labels
