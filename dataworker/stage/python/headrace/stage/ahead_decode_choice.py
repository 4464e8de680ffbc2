"""Whether a lane has pictures decoded ahead: decided from what it spends on them, and from what becomes of those
that came. Nothing here has a side effect."""

_SHARE = 0.2  # of a batch's CPU time that goes into decoding whole pictures
# Seconds that a picture takes: a question for six of them, and their copies, take 0.2 ms.
_LEAST = 0.001
_PICTURES = 4  # that were decoded, until they are judged
_PARTS = 1 / 8  # of all, of which the code wants a part: that one decodes no more than it shows
_CAME = 32  # pictures that came, until they are judged
_USED = 3 / 4  # of these, that the code must have opened
_NO_CORE = 8  # answers in a row that no core idles
_COST = 0.02  # of the time that may go into questions
_GRACE = 0.005  # seconds, at the beginning
_FIRST_REST, _LONGEST_REST = 8, 4096  # batches


class DecodeChoice:
    """One lane's."""

    def __init__(self, now: float) -> None:
        """`now`: seconds, of any steady clock."""
        self.on = self.ended = False
        self._began, self._spent = now, 0.0
        self._pictures = self._parts = 0
        self._seconds = self._took = 0.0
        self._used = self._lost = self._no_core = 0
        self._left, self._rest = 0, _FIRST_REST

    def begin_batch(self) -> None:
        self._left = max(0, self._left - 1)
        self._pictures = self._parts = 0
        self._seconds = self._took = 0.0

    def saw(self, pictures: int, seconds: float, parts: int, took: float) -> None:
        """In `took` seconds of CPU the code had so many whole pictures decoded, in `seconds`, and so many of
        which it wanted a part."""
        self._pictures += pictures
        self._seconds += seconds
        self._parts += parts
        self._took += took
        if self.on or self.ended or self._left > 0 or self._pictures < _PICTURES:
            return
        costs = self._seconds >= _LEAST * self._pictures and self._seconds >= _SHARE * self._took
        self.on = costs and self._parts <= _PARTS * self._pictures

    def may_spend(self, now: float) -> bool:
        """Whether the next question is within what all of them may cost."""
        return self.on and self._spent <= _COST * (now - self._began) + _GRACE

    def spent(self, seconds: float) -> None:
        self._spent += seconds

    def told(self, cores: int) -> None:
        """So many cores idle."""
        self._no_core = 0 if cores else self._no_core + 1
        if self._no_core >= _NO_CORE:
            self.rest()

    def passed(self, used: int, lost: int) -> None:
        """Of the pictures that came for samples that are over, so many were opened, and not."""
        self._used += used
        self._lost += lost
        came = self._used + self._lost
        if came < _CAME:
            return
        if self._used >= _USED * came:
            self._rest = _FIRST_REST
        else:
            self.rest()
        self._used = self._lost = 0

    def rest(self) -> None:
        """It was no use."""
        self.on, self._left = False, self._rest
        self._no_core = self._used = self._lost = 0
        self._rest = min(4 * self._rest, _LONGEST_REST)

    def end(self) -> None:
        """For good."""
        self.on, self.ended = False, True
