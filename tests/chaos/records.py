"""What is tried, for how long, and what came of it."""

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from chaos.oracle import Verdict


@dataclass(frozen=True)
class Scenario:
    """A program and what serves it. `transport`: "private" (plain `headrace run`), "shared" memory,
    "tcp", "relay" (TCP through relays) or "elsewhere" (TCP, workers that seem to be other hosts)."""

    name: str
    plan: str
    transport: str
    kinds: tuple[str, ...]
    resume: bool = False
    workers: int = 3


@dataclass
class Trial:
    kind: str
    what: str
    kills: int
    began: float
    settled: float = 0
    pause: float = 0  # the longest between two batches from `began` to `settled`, s


@dataclass
class Outcome:
    scenario: str
    seed: int
    settings: dict[str, Any]
    trials: list[Trial] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)
    epochs: int = 0
    problems: list[str] = field(default_factory=list)
    story: str = ""  # of a run with problems: its faults, and the last lines of all logs

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Budget:
    """Faults for so many seconds from the first look, and so many at least."""

    def __init__(self, seconds: float, fewest: int = 0) -> None:
        self._seconds, self._fewest = seconds, fewest
        self._end: float | None = None

    def __call__(self, trials: list[Trial]) -> bool:
        now = time.monotonic()
        self._end = self._end or now + self._seconds
        return now < self._end or len(trials) < self._fewest
