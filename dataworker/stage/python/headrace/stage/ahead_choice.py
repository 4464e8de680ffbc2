"""Whether a lane says which files it reads next: decided from what it waits for. Nothing here has a side effect."""

_WAITS = 0.05  # of a batch's time that is spent waiting, for files perhaps
_LOOKED_AT = 32  # files that the worker has read ahead, until they are judged
_WAITED_FOR = 1 / 8  # of these, that had to be waited for
_COST = 0.01  # of the time that may go into saying it
_GRACE = 0.002  # seconds, at the beginning
_LEAST = 0.001  # seconds that are judged
_FIRST_REST, _LONGEST_REST = 8, 4096  # batches


class Choice:
    """One lane's. It is on while files have to be waited for.

    A lane that waits may wait for something else: a lock, a network, a timer. So what counts once it is on is
    what the worker says of the files that it has read: whether these were in memory. Where they were, the next
    batches are passed, more of them each time.
    """

    def __init__(self, now: float) -> None:
        """`now`: seconds, of any steady clock."""
        self.on = False
        self._began, self._spent = now, 0.0
        self._waited = self._took = 0.0
        self._looked_at = self._waited_for = 0
        self._left, self._rest = 0, _FIRST_REST

    @property
    def rests(self) -> bool:
        return self._left > 0

    def begin_batch(self) -> None:
        self._left = max(0, self._left - 1)
        self._waited = self._took = 0.0

    def saw(self, waited: float, took: float) -> None:
        """Of `took` seconds of samples `waited` went by in waiting."""
        self._waited += waited
        self._took += took
        if not self.rests and self._took >= _LEAST and self._waited >= _WAITS * self._took:
            self.on = True

    def may_spend(self, now: float) -> bool:
        """Whether the next question is within what all of them may cost."""
        return self.on and self._spent <= _COST * (now - self._began) + _GRACE

    def spent(self, seconds: float) -> None:
        self._spent += seconds

    def told(self, looked_at: int, waited_for: int) -> None:
        """What the worker says of files that it has read ahead."""
        self._looked_at += looked_at
        self._waited_for += waited_for
        if self._looked_at < _LOOKED_AT:
            return
        if self._waited_for >= _WAITED_FOR * self._looked_at:
            self._rest = _FIRST_REST
        else:
            self.end()
        self._looked_at = self._waited_for = 0

    def end(self) -> None:
        """It was no use."""
        self.on, self._left = False, self._rest
        self._rest = min(4 * self._rest, _LONGEST_REST)
