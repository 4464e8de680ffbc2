"""Pure deciders: whether a batch is made before the program asks for it, and which side makes it.

Every way gives the same bits (docs/adr/0027-num-workers-0.md); these choose the one that takes the
least of the program's time. One loader each; one thread.
"""

_MISSES = 3  # predictions in a row that did not hold, until no more are made
_FIRST_PAUSE, _LONGEST_PAUSE = 32, 1024  # batches


class Foresight:
    """Is it worth while to make the next batch ahead, from what it is predicted to be?"""

    def __init__(self) -> None:
        self._misses = 0
        self._pause = _FIRST_PAUSE
        self._left = 0  # batches of this pause

    def wanted(self) -> bool:
        return self._left == 0

    def held(self) -> None:
        """A prediction was right."""
        self._misses, self._pause = 0, _FIRST_PAUSE

    def failed(self) -> None:
        """One was not. The pause that follows the first after a pause is twice as long."""
        self._misses += 1
        if self._misses >= _MISSES:
            self._misses = _MISSES - 1
            self._left, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)

    def made_without(self) -> None:
        """A batch was made with no prediction to look at."""
        self._left = max(0, self._left - 1)


_TRY_AFTER = 24  # batches by the service before the stock way is timed
_TRIES = 8  # batches of a trial at most: the first one often takes longer
_TRIAL_SECONDS = 0.02  # after so long it ends: such batches are none that the stock way is made for
_TRY_AGAIN = 8  # times as many batches before the next trial
_REFUSALS = 3  # batches in a row that the service could not make
# Batches the stock way, before the service is tried again: four times as many each time.
_STAY, _LONGEST_STAY = 256, 1 << 16


class Pace:
    """Is the program's own process faster at making a batch than the service? So for batches of
    few small samples, whose way there and back takes longer than they do."""

    def __init__(self) -> None:
        self._served: list[float] = []  # seconds of the program in the last batches by the service
        self._count = 0
        self._next_try = _TRY_AFTER
        self._trial: list[float] = []
        self._stay = _STAY
        self._stock_left = 0
        self._refused = 0  # in a row

    def stays(self) -> bool:
        """True: the next many batches are made in the stock way."""
        return self._stock_left > 0

    def stock_is_next(self) -> bool:
        return self._stock_left > 0 or self._count >= self._next_try

    def served(self, seconds: float) -> None:
        """Notes that the service made a batch, which took `seconds` of the program's time."""
        self._count += 1
        self._refused = 0
        self._served = [*self._served[1 - _TRY_AFTER :], seconds]

    def refused(self) -> None:
        """The service could not make a batch, so that it was made twice."""
        self._refused += 1
        if self._refused == _REFUSALS:
            self._refused, self._stock_left = 0, _STAY

    def made_here(self, seconds: float) -> None:
        """The program's process made one because stock_is_next() said so."""
        if self._stock_left > 0:
            self._stock_left -= 1
            return
        self._trial.append(seconds)
        if len(self._trial) < _TRIES and sum(self._trial) < _TRIAL_SECONDS:
            return
        trial, self._trial = median(self._trial), []
        if trial < median(self._served):
            self._stock_left, self._count, self._next_try = self._stay, 0, _TRY_AFTER
            self._stay = min(4 * self._stay, _LONGEST_STAY)
        else:
            self._stay = _STAY
            self._next_try = self._count * _TRY_AGAIN


def median(values: list[float]) -> float:
    """As statistics.median, whose module takes as long to load as three of ours. REQUIRES: some values."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


_FIRST_REST, _LONGEST_REST = 2, 512  # batches


class Recapture:
    """Decides when to capture a data set again that was changed in the middle of an epoch."""

    def __init__(self) -> None:
        self._rest = _FIRST_REST
        self._left = 0

    def changed(self) -> None:
        self._left, self._rest = self._rest, min(4 * self._rest, _LONGEST_REST)

    def due(self) -> bool:
        """Asked once a batch that is made without the service."""
        self._left -= 1
        return self._left < 0
