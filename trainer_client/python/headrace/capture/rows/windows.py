"""From a data set of the program's own to Windows, or to the reason why not."""

from typing import Any

from ...native.plan import NotNative
from ...native.structure import Structure
from ...records import dataclass
from ..items.columns import LIKE_INT
from ..items.items import entries_of
from ..views.grounds import Grounds
from ..views.values import Held, Stop, name
from .follower import RowsFollower, is_plain
from .places import FileMemory
from .window import Window

REMEDY = (
    "a __getitem__ that takes rows or windows of constant length by the index, and returns tensors made by "
    "torch.from_numpy: docs/reference/arrays.md"
)


@dataclass(frozen=True)
class RowField:
    """What the index i takes is the file's bytes from first + step * i on."""

    place: FileMemory
    first: int
    step: int
    shape: tuple[int, ...]
    elements: str  # in the file, as the source's argument
    dtype: str  # of the field


@dataclass(frozen=True)
class Windows:
    """What each entry of a data set is. result: with the numbers of the fields."""

    count: int
    fields: tuple[RowField, ...]
    result: Structure
    seen: Grounds
    places: tuple[tuple[Any, FileMemory], ...]
    index_types: tuple[type, ...] = LIKE_INT

    def same(self) -> bool:
        """What the code is, and the arrays with their files, is as it was."""
        return self.seen.same() and all(place.same(thing) for thing, place in self.places)


def windows_of(dataset: Any) -> Windows | None:
    """None: its code does not come as far as to an array in a file. Raises NotNative with the name of the
    data set, and the place in its code. Runs none of it."""
    f = RowsFollower()
    try:
        count, found = entries_of(f, dataset, f.begin)
        fields: list[RowField] = []
        result = _structure(f, found, fields)
    except Stop as stop:
        if not f.met:
            return None
        why = f"{stop.place} {stop.text}" if stop.place else f"it {stop.text}"
        text = f"{name(Held(dataset))} is not a dataset with a native form: {why}"
        raise NotNative(text, stop.remedy or REMEDY) from None
    except (NotNative, AssertionError):
        raise
    except Exception as error:  # objects may do anything when they are looked at
        if not f.met:
            return None
        text = f"it is not understood ({type(error).__name__}: {error})"
        raise NotNative(f"{name(Held(dataset))}: {text}") from None
    if not fields:
        return None
    f.seen.close()
    return Windows(count, tuple(fields), result, f.seen, tuple(f.places.values()))


def _structure(f: RowsFollower, found: Any, fields: list[RowField]) -> Structure:
    f.spend()
    if type(found) is Window:
        fields.append(_field(f, found))
        return len(fields) - 1
    if type(found) is dict:
        if any(type(key) not in (str, int) for key in found):
            raise Stop("returns a dict whose keys are neither texts nor integers")
        return {key: _structure(f, part, fields) for key, part in found.items()}
    if type(found) in (list, tuple):
        parts = [_structure(f, part, fields) for part in found]
        return tuple(parts) if type(found) is tuple else parts
    raise Stop(f"returns {name(found)}")


def _field(f: RowsFollower, window: Window) -> RowField:
    thing, place = window.thing, f.at_file(window.thing)
    if not is_plain(thing):
        raise Stop("returns a part of a tensor that is more than its elements")
    if place is None:
        raise Stop(
            "returns a part of an array that is in memory", "an array that is in a file, too"
        )
    elements, dtype = window.elements()
    row_bytes = thing.stride(0) * thing.element_size() if window.of_tensor else thing.strides[0]
    first = place.first + window.at.offset * row_bytes
    step = window.at.scale * row_bytes
    return RowField(place, first, step, window.shape, elements, dtype)
