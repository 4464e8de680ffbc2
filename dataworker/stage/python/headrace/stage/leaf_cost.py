"""What is worth keeping of a lane's reads: decided from what they cost. Nothing here has a side effect."""

from collections import deque

# To write an entry into memory that is handed over: seconds, and seconds a byte (bench/report/leaves.md).
_ENTRY, _BYTE = 10e-6, 0.5e-9
# In the first iteration nobody knows whether there will be another: what is kept may cost this part.
_FIRST_SHARE = 1 / 40
# Where another one is likely it may cost as much as later, until all that is kept has cost this part of the
# lane's seconds.
_LIKELY_OF_LANE = 1 / 8
# Later it is found once at least if the program goes on, for a fraction of what it takes to make.
_LATER_SHARE = 1 / 2
# What takes less than that is made again: to find an entry, and to make a result of it, takes 10 to 60 µs, and
# whatever finds something looks for all that comes next.
_LEAST = 200e-6

# What took less may owe that to something that came between: a page that was touched first, another process.
_UNSURE = 2 * _LEAST

_LEAST_SEGMENT, _MOST_SEGMENT = 1 << 20, 128 << 20


def is_worth(seconds: float, size: int, first: bool) -> bool:
    """Whether what took `seconds` of CPU to make, and has `size` bytes, is kept. `first`: in the loader's
    first iteration."""
    share = _FIRST_SHARE if first else _LATER_SHARE
    return seconds >= _LEAST and _ENTRY + _BYTE * size <= share * seconds


class FirstIteration:
    """What is kept in a loader's first iteration. Not thread-safe."""

    def __init__(self, again: bool) -> None:
        """`again`: another one is likely."""
        self._again = again
        self._spent = 0.0

    def invests(self, of_lane: float) -> bool:
        """Whether as much is kept as in a later iteration. `of_lane`: the seconds of CPU that the lane has taken."""
        return self._again and self._spent < _LIKELY_OF_LANE * of_lane

    def spend(self, seconds: float) -> None:
        """What was done for later iterations alone took so much CPU."""
        self._spent += seconds


def pays_in_files(seconds: float, size: int, read: float, read_byte: float) -> bool:
    """Whether to read it from the worker's disk takes less than to make it again. `read`: seconds, and seconds a
    byte, of a read that the kernel has not in memory."""
    return seconds > read + read_byte * size


class Pace:
    """How long to wait for a leaf that is on a disk. Learns from what reads took. Not thread-safe."""

    _KEPT = 7 / 8  # of what was known, at each read
    _TRIES = 16  # one in so many is tried where they come too late, so that a change is seen
    _MOST = 1.0  # seconds

    def __init__(self) -> None:
        self._read, self._byte = 0.0, 0.0
        self._late = 0

    def start(self, read: float, read_byte: float) -> None:
        """As the worker knows it from all lanes: seconds of a read, and seconds a byte beside."""
        self._read, self._byte = read, read_byte

    def wait(self, seconds: float, size: int) -> float:
        """Seconds to wait for `size` bytes at most, which took `seconds` to make. 0: it is made at once."""
        if pays_in_files(seconds, size, self._read, self._byte):
            return min(seconds, self._MOST)
        self._late += 1
        return 0.0 if self._late % self._TRIES else min(seconds, self._MOST)

    def note(self, size: int, took: float) -> None:
        byte = max(0.0, took - self._read) / max(size, 1)
        self._byte = self._KEPT * self._byte + (1 - self._KEPT) * byte


def segment_bytes(room: int, least: int) -> int:
    """Of a new segment, where the worker takes `room` bytes more, for an entry of `least`; 0: none. Each is a
    descriptor of the worker's, so a large room has large ones; a small room is not one segment's."""
    wanted = max(_LEAST_SEGMENT, min(room // 64, _MOST_SEGMENT), least)
    return wanted if wanted <= room else 0


def looks_again(batch: int) -> bool:
    """Whether the lane asks what there is before its batch of this number, the first of which is 1. What the
    lanes before it have made last comes a moment later."""
    return batch == 1 or (batch & (batch - 1) == 0 and batch.bit_length() % 2 == 0)


class Worth:
    """Whether what was made lately was worth keeping. Not thread-safe."""

    LAST = 8
    _TRIES = 16  # one in so many is looked at all the same
    _FEW = 4

    def __init__(self) -> None:
        self.poor = self._calls = 0  # poor: how many in a row were not worth it
        self.waits = False  # the last one would be worth it in the next iteration
        self._rates: deque[float] = deque(maxlen=self.LAST)  # seconds a byte
        self._names: deque[float] = deque(maxlen=self.LAST)  # of naming, the same

    def undisturbed(self, seconds: float, size: int, naming: float = 0.0) -> float:
        """What a hit saves of something of `size` bytes that took `seconds` now to make and `naming` to name. Both as
        the quickest of the last few, by their sizes: else some small ones would be kept in each epoch, because they
        happened to take long, and none that are named for the first time in their process. 0 or less: nothing, or
        nobody knows."""
        self._rates.append(seconds / max(size, 1))
        self._names.append(naming / max(size, 1))
        named = 2 * min(self._names) * size  # once at a hit, and once more when it is kept
        if seconds - named >= _UNSURE:
            return seconds - named
        return min(self._rates) * size - named if len(self._rates) >= self._FEW else 0.0

    def note(self, is_worth: bool, later: bool = False) -> bool:
        """`later`: it would be worth it in another iteration than the first."""
        self.poor = 0 if is_worth else self.poor + 1
        self.waits = later and not is_worth
        return is_worth

    def judge(self, is_kept: bool, seconds: float, size: int, first: bool) -> bool:
        """As note(), of what took `seconds`. What is not kept in the first iteration alone says nothing of later ones."""
        return self.note(is_kept, first and is_worth(seconds, size, first=False))

    def begin_anew(self) -> None:
        """The first iteration is over: what was poor in it is looked at again."""
        self.poor, self.waits = 0, False

    def is_likely(self, first: bool = True) -> bool:
        """Of what comes next. True now and then where it is not, so that a change is seen. `first`: in the loader's
        first iteration."""
        if self.waits and not first:
            self.begin_anew()
        if self.poor < self.LAST:
            return True
        self._calls += 1
        return self._calls % self._TRIES == 0


class Parts:
    """Whether parts of files that a program chooses come again. Until one has been found, one in eight is kept; where
    none of these is found later, none is looked for any more. Not thread-safe."""

    ONE_IN = 8
    TRIES = 64
    UNKNOWN, KEPT, NEVER, AGAIN = range(4)  # the later one of two processes' is what is known

    def __init__(self) -> None:
        self.known = self.UNKNOWN
        self._kept_in: int | None = None  # iteration of this process in which one was kept first
        self._missed = 0

    def know(self, known: int) -> bool:
        """Takes what another process has found out, before this one's first iteration. False: it is nothing new."""
        if known <= self.known:
            return False
        self.known = known
        if known == self.KEPT:
            self._kept_in = -1
        return True

    def found(self) -> None:
        self.known = self.AGAIN

    def are_looked_for(self, tag: int) -> bool:
        """`tag`: of the part's key."""
        if self.known == self.AGAIN:
            return True
        return self.known != self.NEVER and tag % self.ONE_IN == 0

    def missed(self, tag: int, iteration: int) -> bool:
        """One was looked for and not found. Returns whether it may be kept."""
        was_kept_before = self._kept_in is not None and iteration > self._kept_in
        if self.known == self.KEPT and was_kept_before:
            self._missed += 1
            if self._missed >= self.TRIES:
                self.known = self.NEVER
        return self.are_looked_for(tag)

    def kept(self, iteration: int) -> None:
        """One is there for the iterations after this one."""
        if self._kept_in is None:
            self._kept_in = iteration
            self.known = max(self.known, self.KEPT)
