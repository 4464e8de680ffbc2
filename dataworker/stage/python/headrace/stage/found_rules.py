"""What is decided of found functions: which are looked at, named and watched, and when they are given up. Nothing here
has a side effect outside of its own object."""

from pathlib import PosixPath
from typing import Any

from .item_times import LEAST_SECONDS as LEAST_SECONDS

TRIALS = 4
# Of a function's time, what it may take to watch a call: where nobody knows whether it comes again; where its calls come
# again, once for all later iterations.
_UNKNOWN_SHARE, _LATER_SHARE = 1 / 40, 3 / 2
_NAMING_SHARE = 1 / 3  # what it may take to name a call, each time
_ALL_THE_SAME = 32  # one call in so many is named, whatever it costs
_PART_OF_SHARE = 1 / 2  # that names of a few calls take, where all would take more than their share
_FIRST_WATCHED = 3  # calls of each lane that say what it costs to watch
# The same of a function whose hits have saved time: a busy machine makes a few calls long, and to give up is for good.
_LOOKS_OF_PROVEN = 32
_TRACED, _TRACED_THEN = 16, 8  # the first are traced, then one in so many
_UNFIT = 8  # in a row
MOST_CHANGES = 4
_KEYS = frozenset((int, str, PosixPath))
# Values that are looked at before lanes are forked, of a function that nobody knows to be worth it: 6 ms.
MOST_UNTRIED = 2_000
_CHECKPOINT_SECONDS = 0.02  # of CPU, in each iteration


def is_too_short(seconds: float) -> str:
    """Why a function is not worth it; empty: it may be."""
    if seconds >= LEAST_SECONDS:
        return ""
    return f"it takes {seconds * 1e6:.0f} µs, and to find a result takes about {LEAST_SECONDS / 3 * 1e6:.0f} µs"


def searches(iterations: int) -> bool:
    """Whether the code of a data set is searched for functions at an iteration, after so many."""
    return iterations < 3 or iterations & (iterations - 1) == 0


def is_presumed(known: list[int]) -> bool:
    """Whether calls by a key (is_by_key) are taken to come again: until there are names that could have. `known`: as
    is_late's."""
    return known[-1:] == [0]


def is_by_key(function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the arguments of a call, beside the object that a method is of, are texts and one number at most. A loader
    asks for the same keys again, and code for the same files. What is drawn is several numbers, or arrays, as a rule."""
    space = function.__qualname__.rpartition(".")[0]
    is_method = bool(space) and not space.endswith("<locals>")
    keys = [type(one) for one in (*args[is_method:], *named.values())]
    return bool(keys) and _KEYS.issuperset(keys) and keys.count(int) <= 1


def is_late(known: list[int]) -> bool:
    """Whether calls that did not come again until now never will. `known`: names that were known when each iteration
    began, the one that begins now last. They had two iterations to come again in."""
    return len(known) > 2 and known[-3] > 0


def pays_to_begin_again(seconds: float, lanes: int) -> bool:
    """Whether lanes keep a checkpoint each, without which none gives results. `seconds`: that calls took of which results
    are kept."""
    return seconds > lanes * _CHECKPOINT_SECONDS


class Trial:
    """Times of a function's first calls in a lane."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self.seconds = 0.0  # the median, without the first call, which may prepare something

    @property
    def is_over(self) -> bool:
        return len(self._times) >= TRIALS

    @property
    def is_long(self) -> bool:
        """Whether it is worth a look at the random generators."""
        return bool(self._times) and max(self._times) >= LEAST_SECONDS

    def note(self, seconds: float) -> None:
        self._times.append(seconds)
        later = sorted(self._times[1:]) or [seconds]
        self.seconds = later[len(later) // 2]

    def know(self, seconds: float) -> None:
        """From other lanes."""
        self._times, self.seconds = [seconds] * TRIALS, seconds


class Watched:
    """What it costs to name calls of a function in a lane, and to watch them; and how often that was for nothing."""

    def __init__(self) -> None:
        self.looking = 0.0  # seconds, of the cheapest
        self._cost = 0.0
        self._allowed = 0.0  # seconds that the next name may take, where not all calls are named
        self._calls = self._looks = self._times = self._traced = self._poor = 0
        self.is_proven = False  # hits of the function have saved time, in whatever lane

    @property
    def _first_looks(self) -> int:
        return _LOOKS_OF_PROVEN if self.is_proven else _FIRST_WATCHED

    def looks(self, seconds: float, first: bool) -> bool:
        """Whether a call of a function that takes `seconds` is named, and looked for. `first`: in the first iteration."""
        self._calls += 1
        share = _UNKNOWN_SHARE if first else _NAMING_SHARE
        if self._looks < self._first_looks or self.looking <= share * seconds:
            return True
        self._allowed += _PART_OF_SHARE * share * seconds
        if self._calls % _ALL_THE_SAME and self._allowed < self.looking:
            return False
        self._allowed = 0.0
        return True

    def is_dear(self, seconds: float) -> bool:
        """Whether to name a call of a function that takes `seconds` takes too much of it."""
        return self._looks >= self._first_looks and self.looking > _NAMING_SHARE * seconds

    def costs_too_much(self, seconds: float) -> bool:
        """Whether calls of a function that takes `seconds` can't be watched, whatever comes again. A function whose hits
        save time is served all the same."""
        if self.is_proven:
            return False
        return self._times >= _FIRST_WATCHED and self._cost > _LATER_SHARE * seconds

    def looked(self, seconds: float) -> None:
        self._looks += 1
        self.looking = seconds if self._looks == 1 else min(self.looking, seconds)

    def watches(self, seconds: float, comes_again: bool) -> bool:
        """Whether a call is watched, to keep its result. `comes_again`: others have."""
        if self._times < _FIRST_WATCHED:
            return True
        return self._cost <= (_LATER_SHARE if comes_again else _UNKNOWN_SHARE) * seconds

    def watched(self, seconds: float) -> None:
        """Beyond what the call takes by itself."""
        self._times += 1
        self._cost = seconds if self._times == 1 else min(self._cost, seconds)

    def traces(self) -> bool:
        self._traced += 1
        return self._traced <= _TRACED or self._traced % _TRACED_THEN == 0

    def was_kept(self) -> None:
        self._poor = 0

    def is_unfit(self) -> bool:
        """A call could not be kept. Whether that is the rule."""
        self._poor += 1
        return self._poor >= _UNFIT


class Parts:
    """Whether hits of a function pay beside leaves, decided before there are any."""

    _SURE = 2  # calls in a row

    def __init__(self) -> None:
        self._poor = 0

    def is_poor(self, seconds: float, parts: float, hit: float) -> bool:
        """A call was made, in `seconds`; `parts` of it are worth a leaf each, and a hit would take `hit`."""
        poor = parts > 0 and hit > Gain.POOR * (seconds - parts)
        self._poor = self._poor + 1 if poor else 0
        return self._poor >= self._SURE


class Gain:
    """What hits take in a lane, and what it takes to make the same: with leaves, as it would be without."""

    _FOUND, _MADE = 4, 3  # so many say it
    POOR, _SURE = 0.7, 0.5  # hits take this part of the time

    def __init__(self) -> None:
        self._found: list[float] = []
        self._made: list[float] = []

    def found(self, seconds: float) -> None:
        self._found = sorted([*self._found, seconds])[: 2 * self._FOUND]

    def made(self, seconds: float) -> None:
        self._made = sorted([*self._made, seconds])[: 2 * self._MADE]

    @property
    def _part(self) -> float | None:
        if len(self._found) < self._FOUND or len(self._made) < self._MADE:
            return None
        return self._found[0] / max(self._made[0], 1e-9)

    @property
    def is_poor(self) -> bool:
        part = self._part
        return part is not None and part > self.POOR

    @property
    def is_sure(self) -> bool:
        """Whether parts of the results need not be kept."""
        part = self._part
        return part is not None and part < self._SURE
