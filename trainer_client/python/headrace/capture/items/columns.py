"""What an index makes of what a data set holds: a value for every index.

    path = os.path.join(self.root, self.names[index])

is a column of texts. While code is followed, only the values of the first index are computed. All
others are computed at the end, by the same functions of Python's, and a column whose entries differ in
type is refused. So code that is not followed to its end costs little.
"""

import functools
import operator
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..unchanged import is_same
from ..views.values import Held, Special, Stop, is_constant, name
from .deep import Deep

_OF_TEXTS = (
    "capitalize", "endswith", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix",
    "replace", "rpartition", "rsplit", "rstrip", "split", "startswith", "strip", "upper", "zfill",
)  # fmt: skip
_OF_PATHS = ("as_posix", "joinpath", "with_name", "with_stem", "with_suffix")
_PARTS_OF_PATHS = ("name", "parent", "stem", "suffix")
LIKE_INT = (int, np.int64)
PATHS = (pathlib.PosixPath, pathlib.PurePosixPath)
_ENTRIES = (int, bool, float, str, tuple, list, *PATHS)


class Column(Special):
    """`first`: the value of index 0. `every`: the values of all indices, in order."""

    called = "what belongs to the index"

    def __init__(self, first: Any, every: Callable[[], list[Any]], is_index: bool = False) -> None:
        self.is_index = is_index
        if type(first) not in _ENTRIES:
            raise Stop(f"takes a {type(first).__name__} by the index")
        self.first = first
        self._every = functools.cache(every)
        self._alike = False  # all are of one type

    def compute(self) -> None:
        """Raises Stop where the program's code would raise for an index."""
        self._every()

    def values(self) -> list[Any]:
        """The values of all indices, of whatever types."""
        return self._every()

    def every(self) -> list[Any]:
        """Raises Stop where they are of different types."""
        found = self._every()
        if not self._alike:
            self._alike = set(map(type, found)) == {type(self.first)}
            if not self._alike:
                raise Stop("takes entries of different types by the index")
        return found

    def attribute(self, f: Any, of: str) -> Any:
        kind = type(self.first)
        if kind in PATHS and of in _PARTS_OF_PATHS:
            return each(f, operator.attrgetter(of), [self])
        if kind is str and of in _OF_TEXTS or kind in PATHS and of in _OF_PATHS:
            return _Method(self, of)
        return super().attribute(f, of)

    def entry(self, f: Any, key: Any) -> Any:
        if type(self.first) not in (tuple, list, str) or not (
            type(key) in (int, slice) or isinstance(key, Column)
        ):
            return super().entry(f, key)
        return each(f, operator.getitem, [self, key])

    def entries(self, f: Any) -> Iterator[Any]:
        if type(self.first) not in (tuple, list):
            return super().entries(f)
        count = len(self.first)
        return iter(
            [each(f, functools.partial(of_several, count, at), [self]) for at in range(count)]
        )

    def is_none(self) -> bool:
        raise Stop(f"asks whether {self.called} is None")

    def is_of(self, classes: tuple[type, ...]) -> bool:
        if self.is_index and not set(classes) <= {tuple, list, dict, str}:
            return super().is_of(classes)
        return issubclass(type(self.first), classes)

    def grows(self) -> bool:
        return type(self.first) is list


class _Method(Special):
    called = "a method of what belongs to the index"

    def __init__(self, column: Column, of: str) -> None:
        self._column, self._of = column, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        if named:
            raise Stop(f"calls {self._of} with {next(iter(named))}=")
        return each(f, functools.partial(_call_method, self._of), [self._column, *args])


def _call_method(of: str, owner: Any, *args: Any) -> Any:
    return getattr(owner, of)(*args)


def of_several(count: int, at: int, several: Any) -> Any:
    if type(several) not in (tuple, list) or len(several) != count:
        raise Stop("unpacks entries of different lengths")
    return several[at]


def is_plain(value: Any) -> bool:
    """Whether a function of Python's may be given it at once."""
    return is_constant(value) or type(value) is Held and type(value.thing) in PATHS


def each(f: Any, function: Callable[..., Any], args: list[Any]) -> Any:
    """function(*args), which is pure, for every index; once, where none of them is a column."""
    for one in args:
        parts = (one.start, one.stop, one.step) if type(one) is slice else (one,)
        if not all(isinstance(part, Column) or is_plain(part) for part in parts):
            raise Stop(f"computes with {name(one)}")
        if type(one) is slice and any(isinstance(part, Column) for part in parts):
            raise Stop("takes a part by the index")
    plain = [one.thing if type(one) is Held else one for one in args]
    columns = [one for one in args if isinstance(one, Column)]
    try:
        first = function(*[one.first if isinstance(one, Column) else one for one in plain])
    except Stop:
        raise
    except Exception as error:
        raise Stop(f"raises {type(error).__name__}: {error}") from None
    if any(column.is_index for column in columns):
        same = type(first) is str and _with_numpys(function, plain) == first
        f.index_types = LIKE_INT if same and f.index_types != (int,) else (int,)
    if not columns:
        return Held(first) if type(first) in PATHS else first
    return f.note(Column(first, lambda: _for_all(function, plain)))


def _with_numpys(function: Callable[..., Any], args: list[Any]) -> Any:
    """What is made of NumPy's integer as index. Of texts one index tells it: "%r" shows the type, and
    nothing that makes a text of it can overflow."""
    try:
        return function(
            *[
                (np.int64(one.first) if one.is_index else one.first)
                if isinstance(one, Column)
                else one
                for one in args
            ]
        )
    except Exception:
        return None


def _for_all(function: Callable[..., Any], args: list[Any]) -> list[Any]:
    count = next(len(one.every()) for one in args if isinstance(one, Column))
    spread = [one.every() if isinstance(one, Column) else [one] * count for one in args]
    try:
        return list(map(function, *spread))
    except Stop:
        raise
    except Exception as error:
        raise Stop(f"raises {type(error).__name__} for an index: {error}") from None


class HeldLists:
    """The lists and dicts of the program's that an index takes entries of, as they were, and by which
    columns it takes them. One thread."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any, list[Column]]] = {}
        self._deep: dict[int, Deep] = {}

    def column(self, container: Any, by: Column) -> Column:
        """container[by], of a list, tuple or dict."""
        known = self._kept.get(id(container))
        if known is None:
            copied = _copied(container)
            known = self._kept[id(container)] = (container, copied, [])
        entries, columns = known[1:]
        if by not in columns:
            columns.append(by)
        called = f"a {type(container).__name__} of {len(entries):,}"
        if type(entries) is list and type(by.first) is not int:
            raise Stop("takes an entry by what is no integer")

        def every() -> list[Any]:
            try:
                return [entries[at] for at in by.every()]
            except LookupError:
                raise Stop(f"takes an entry of {called} that it does not have") from None

        try:
            first = entries[by.first]
        except LookupError:
            raise Stop(f"takes an entry of {called} that it does not have") from None
        return Column(_checked(first), lambda: list(map(_checked, every())))

    def deep(self, container: Any) -> Deep:
        """A container of anything plain, which is kept. Raises Stop."""
        known = self._deep.get(id(container))
        if known is None:
            known = self._deep[id(container)] = Deep(container)
        return known

    def same(self) -> bool:
        """All that they hold is as it was."""
        return all(one.same() for one in self._deep.values()) and all(
            _all_same(now, kept) for now, kept, _ in self._kept.values()
        )

    def same_at(self, keys: Any) -> bool:
        """The same, as far as it concerns these indices."""
        if not all(one.same() for one in self._deep.values()):
            return False
        for now, kept, columns in self._kept.values():
            if len(now) != len(kept):
                return False
            for column in columns:
                every = None if column.is_index else column.every()
                places = keys if every is None else [every[key] for key in keys]
                if not all(_same_entry(now, kept, place) for place in places):
                    return False
        return True


def _same_entry(now: Any, kept: Any, place: Any) -> bool:
    try:
        return _is_kept(now[place], kept[place])
    except LookupError:
        return False


def _all_same(now: Any, kept: Any) -> bool:
    if type(kept) is dict:
        return len(now) == len(kept) and all(_same_entry(now, kept, place) for place in kept)
    return len(now) == len(kept) and (
        all(map(operator.is_, now, kept)) or all(map(_is_kept, now, kept))
    )


class _List(NamedTuple):
    """A list that is an entry: the very one, and what it held."""

    list: Any
    held: tuple[Any, ...]

    def same(self, now: Any) -> bool:
        return now is self.list and len(now) == len(self.held) and all(map(is_same, now, self.held))


def _copied(container: Any) -> Any:
    if type(container) is dict:
        return {
            key: _List(one, tuple(one)) if type(one) is list else one
            for key, one in container.items()
        }
    return [_List(one, tuple(one)) if type(one) is list else one for one in container]


def _is_kept(now: Any, kept: Any) -> bool:
    return kept.same(now) if type(kept) is _List else is_same(now, kept)


def _checked(entry: Any) -> Any:
    """Entries are compared later with what they were: nobody may change them in place."""
    if type(entry) is _List:
        if any(not is_plain(_plain(part)) for part in entry.held):
            raise Stop("takes an entry by the index that may change")
        return list(entry.held)
    if type(entry) is tuple:
        if any(not is_plain(_plain(part)) for part in entry):
            raise Stop("takes an entry by the index that may change")
    elif not is_plain(_plain(entry)):
        raise Stop(f"takes a {type(entry).__name__} by the index")
    return entry


def _plain(part: Any) -> Any:
    return Held(part) if type(part) in PATHS else part
