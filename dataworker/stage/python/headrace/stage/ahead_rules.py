"""Which files a key of a data set reads: a rule, learned from the first samples and checked by those that follow.

The path that a sample opens is mostly an element of something that the data set holds, with the same text before
and after it: `self.samples[i][0]`, `root + self.names[i] + ".png"`, `self.rows[self.ids[i]]["file"]`; or it has
the key in it, as `f"{i:06}.jpg"`. Looking for it runs no code of the program's: only elements of Python's own
containers, of numpy's and of pandas' are looked at. A rule that is wrong costs useless reads, and is given up.
"""

import re
import sys
import types
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import PosixPath
from typing import Any, NamedTuple

from ..native import attributes

_MOST_OBJECTS, _DEEPEST = 256, 3  # of a data set that are looked at
_MOST_PARTS = 32  # of an element
_MOST_ROWS = 1 << 21  # of a table, whose columns of texts are copied
_MOST_RULES, _MOST_FILES = 256, 4  # rules that are tried at once; files of a key that are predicted
_PROVEN = 2  # samples after the first one that a rule foretells, until it is believed
_TRIALS = 8  # times that a data set is looked through
_LEAST_CHECKED, _LEAST_SHARE = 16, 0.5  # of what a rule foretells that must come true
_DIGITS = re.compile(r"\d+")
_NO_HOLDERS = (str, bytes, int, float, type(None), type, types.ModuleType, types.FunctionType)


class Rule(NamedTuple):
    """Gives a path of a key: `before`, the text, `after`."""

    text: Callable[[int], str]
    before: str
    after: str

    def path(self, key: int) -> str | None:
        try:
            return f"{self.before}{self.text(key)}{self.after}"
        except Exception:  # the data set has no such element, or not any more
            return None


class Learner:
    """Of one data set. One thread."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._tried: list[Rule] = []
        self._trials = self._confirmed = 0
        self._last: dict[int, str | None] = {}  # what the tried rules have given before, by place
        self._last_key: int | None = None
        self._rules: list[Rule] = []
        self._right = self._checked = 0

    @property
    def is_proven(self) -> bool:
        return bool(self._rules)

    @property
    def has_given_up(self) -> bool:
        return not self._rules and not self._tried and self._trials >= _TRIALS

    def predict(self, key: int) -> list[str]:
        """The files that this key is likely to read; none where no rule is proven."""
        return [path for rule in self._rules if (path := rule.path(key)) is not None]

    def learn(self, key: int, files: set[str]) -> None:
        """`files`: all that the sample of the key has opened."""
        if self._rules:
            self._check(key, files)
        elif self._tried:
            self._narrow(key, files)
        elif files and self._trials < _TRIALS:
            self._begin(key, files)

    def _begin(self, key: int, files: set[str]) -> None:
        self._trials += 1
        held = held_by(self._dataset)
        attributes.give_back(self._dataset)
        found = (rule for path in sorted(files) for rule in rules_for(held, key, path))
        self._tried = [rule for rule, _ in zip(found, range(_MOST_RULES), strict=False)]
        self._last_key, self._confirmed = key, 0

    def _narrow(self, key: int, files: set[str]) -> None:
        if key == self._last_key:
            return
        last = self._last_key
        assert last is not None
        # What gives the same file for all keys needs no reading ahead.
        self._tried = [
            rule
            for rule in self._tried
            if (path := rule.path(key)) in files and path != rule.path(last)
        ]
        self._last_key = key
        self._confirmed += 1
        if self._confirmed >= _PROVEN and self._tried:
            different = {rule.path(key): rule for rule in reversed(self._tried)}
            self._rules = list(different.values())[:_MOST_FILES]
            self._tried, self._right, self._checked = [], 0, 0

    def _check(self, key: int, files: set[str]) -> None:
        foretold = self.predict(key)
        self._checked += len(foretold) or 1
        self._right += sum(path in files for path in foretold)
        if self._checked >= _LEAST_CHECKED:
            if self._right < _LEAST_SHARE * self._checked:
                self._rules = []
            self._right, self._checked = self._right // 2, self._checked // 2


class Rules:
    """Of a loader's data set, which may be made of others. One thread."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._learners: dict[int, Learner] = {}

    def learn(self, key: int, files: set[str]) -> None:
        dataset, key = part_of(self._dataset, key)
        self._learner(dataset).learn(key, files)

    def predict(self, key: int) -> list[str]:
        dataset, key = part_of(self._dataset, key)
        learner = self._learners.get(id(dataset))
        return [] if learner is None else learner.predict(key)

    def is_proven(self, key: int) -> bool:
        """Whether there is a rule for keys as this one."""
        return self._learner(part_of(self._dataset, key)[0]).is_proven

    def has_given_up(self, key: int) -> bool:
        return self._learner(part_of(self._dataset, key)[0]).has_given_up

    def _learner(self, dataset: Any) -> Learner:
        learner = self._learners.get(id(dataset))
        if learner is None:
            learner = self._learners[id(dataset)] = Learner(dataset)
        return learner


def part_of(dataset: Any, key: int) -> tuple[Any, int]:
    """What torch's own data sets of data sets ask, for which key."""
    torchs = sys.modules.get("torch.utils.data.dataset")
    subset, concatenated = getattr(torchs, "Subset", None), getattr(torchs, "ConcatDataset", None)
    for _ in range(8):
        try:
            if type(dataset) is subset and _is_plain(dataset.indices):
                dataset, key = dataset.dataset, int(dataset.indices[key])
            elif type(dataset) is concatenated:
                ends = dataset.cumulative_sizes
                key = key if key >= 0 else ends[-1] + key
                at = bisect_right(ends, key)
                dataset, key = dataset.datasets[at], key - (ends[at - 1] if at else 0)
            else:
                break
        except Exception:  # a key that is none
            break
    return dataset, key


def _is_plain(indices: Any) -> bool:
    return type(indices) in (list, tuple, range) or type(indices).__module__ in ("numpy", "torch")


def rules_for(held: tuple[list[Any], list[Any]], key: int, path: str) -> Iterator[Rule]:
    """All that give this path for this key, the likeliest first. `held`: by the data set."""
    texts, numbers = held
    places: list[Callable[[int], Any]] = [lambda key: key]
    places += [_at(sequence) for sequence in numbers]
    for sequence in texts:
        for place in places:
            try:
                element = sequence[place(key)]
            except Exception:
                continue
            for steps, text in _texts_in(element, 2):
                if (at := path.rfind(text)) >= 0:
                    yield Rule(_text(sequence, place, steps), path[:at], path[at + len(text) :])
    for place in places:
        try:
            number = int(place(key))
        except Exception:
            continue
        for run in _DIGITS.finditer(path):
            width = len(run[0]) if run[0].startswith("0") else 0
            text_of = _number(place, int(run[0]) - number, width)
            yield Rule(text_of, path[: run.start()], path[run.end() :])


def _at(sequence: Any) -> Callable[[int], int]:
    return lambda key: int(sequence[key])


def _text(
    sequence: Any, place: Callable[[int], Any], steps: tuple[Any, ...]
) -> Callable[[int], str]:
    def text(key: int) -> str:
        value = sequence[place(key)]
        for step in steps:
            value = value[step]
        return _plain(value)

    return text


def _number(place: Callable[[int], Any], more: int, width: int) -> Callable[[int], str]:
    return lambda key: str(int(place(key)) + more).zfill(width)


def _plain(value: Any) -> str:
    """A text, or a path's; empty: it is none. Runs no code of a class of the program's."""
    if issubclass(type(value), str):
        return str.__str__(value)
    return str(value) if type(value) is PosixPath else ""


def _texts_in(element: Any, deep: int) -> Iterator[tuple[tuple[Any, ...], str]]:
    if text := _plain(element):
        yield (), text
        return
    if deep == 0 or type(element) not in (list, tuple, dict) or len(element) > _MOST_PARTS:
        return
    items: Iterable[Any] = element.items() if type(element) is dict else enumerate(element)
    for step, value in items:
        for steps, text in _texts_in(value, deep - 1):
            yield (step, *steps), text


def held_by(dataset: Any) -> tuple[list[Any], list[Any]]:
    """The sequences of texts, and of whole numbers, that a data set holds."""
    texts: list[Any] = []
    numbers: list[Any] = []
    seen: set[int] = set()
    queue = [(dataset, 0)]
    while queue and len(seen) < _MOST_OBJECTS:
        value, deep = queue.pop(0)
        if id(value) in seen or issubclass(type(value), _NO_HOLDERS):
            continue
        seen.add(id(value))
        columns = _columns(value)
        for sequence in columns:
            _sort(sequence, texts, numbers)
        if columns or deep == _DEEPEST:
            continue
        if type(value) in (list, tuple, dict):
            if len(value) <= _MOST_PARTS:
                inner = value.values() if type(value) is dict else value
                queue += [(one, deep + 1) for one in inner]
            _sort(value, texts, numbers)
        elif type(held := getattr(value, "__dict__", None)) is dict:
            queue += [(one, deep + 1) for one in held.values()]
    return texts, numbers


def _columns(value: Any) -> list[Any]:
    """Arrays of numpy's, of pandas', and whole numbers of torch's."""
    kind = type(value)
    try:
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            return (
                [value]
                if value.ndim == 1
                else list(value.T[:_MOST_PARTS])
                if value.ndim == 2
                else []
            )
        pandas = kind.__module__.partition(".")[0] == "pandas" and len(value) <= _MOST_ROWS
        if pandas and kind.__name__ == "DataFrame":
            places = range(min(value.shape[1], _MOST_PARTS))
            return [value.iloc[:, place].to_numpy() for place in places]
        if pandas and kind.__name__ == "Series":
            return [value.to_numpy()]
        if kind.__module__ == "torch" and kind.__name__ == "Tensor":
            return [value.numpy()] if value.ndim == 1 and value.device.type == "cpu" else []
    except Exception:  # of a release that is unlike others
        pass
    return []


def _sort(sequence: Any, texts: list[Any], numbers: list[Any]) -> None:
    if not len(sequence):
        return
    first = next(iter(sequence.values())) if type(sequence) is dict else sequence[0]
    if issubclass(type(first), (str, PosixPath, list, tuple, dict)):
        texts.append(sequence)
    elif type(first) is not bool and hasattr(type(first), "__index__"):
        numbers.append(sequence)
