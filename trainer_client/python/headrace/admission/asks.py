"""What a reference is asked, and what it answers: reference.py says what it is for."""

from typing import Any

from ..records import dataclass


@dataclass(frozen=True)
class Start:
    """Where the generators stand before a sample. Of the fields the first one that is set counts;
    none: where they stood after the sample before."""

    state: bytes = b""  # as lane_state's
    seed: int | None = None  # of torch, random and numpy, as rng="sample" seeds them
    lane_seed: int | None = None  # of torch's alone ...
    position: int = 0  # ... which has come so far since, as Session.lane_draws tells
    python: tuple[int, int] | None = None  # the same two of Python's, where that is drawn from
    # And of NumPy's: its seed is what np.random.seed takes, a number or a tuple of them.
    numpy: tuple[int | tuple[int, ...], int] | None = None


GO_ON = Start()


@dataclass(frozen=True)
class Ask:
    key: Any
    start: Start = GO_ON
    where: str = ""  # as stock workers say it: "in DataLoader worker process 3"
    # The output of a chain of this many nodes, the source included; None: the whole sample; 0:
    # nothing, the state alone is wanted.
    length: int | None = None
    measure: bool = False  # how much memory it takes


@dataclass
class Made:
    """A sample, or what was raised instead, and the generators after it: Python's and NumPy's, too,
    where the start said where these stand."""

    value: Any
    error: Any  # an ExceptionWrapper, or None
    state_after: bytes
    peak_bytes: int = 0  # that it took, where that was asked for
