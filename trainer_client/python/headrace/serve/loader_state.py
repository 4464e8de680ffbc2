"""What is kept of a DataLoader from iter() to iter()."""

import math
import time
from collections.abc import Callable
from typing import Any

from ..admission.reference import Reference
from ..capture import Captured, NativePlan, Served, StagePlan
from ..native.attributes import GiveBack
from ..service import options
from ..service.report import REPORT, LoaderReport
from ..service.session import SessionHandle
from ..stage.lessons import Lessons
from .learned import Learned


class LoaderState:
    """The state of one loader. Made by the seam."""

    def __init__(self, name: str, num_workers: int) -> None:
        self.report: LoaderReport = REPORT.add(name, num_workers)
        self.captured: Captured | None = None
        self.verdict: Captured | None = None  # after admission
        self.idle: tuple[Any, SessionHandle] | None = None  # (key, session) to go on with
        self.learned = Learned()  # with num_workers=0
        self.reference: Reference | None = None  # of the iter() that is under way
        self.lessons: Lessons | None = None
        # For its session, once the loader has gone.
        self.leave_later: Callable[[LoaderState], None] | None = None
        self._taken = math.inf  # when its session was, on time.monotonic()
        self._lasted = math.inf  # s, the last iteration
        self.iterations = 0  # that had lanes
        self.give_back = GiveBack()
        self.is_read_before = False  # its data set, by lanes of another loader
        self.is_likely_again = False  # another iteration after the first one
        self.compares = True  # `headrace verify` compares all by itself
        # A plan, and workers whose samples were compared.
        self._met: tuple[str, set[int]] = ("", set())

    @property
    def is_first(self) -> bool:
        """Whether nobody knows that the data set will be read again: its first iteration is this one, or is to come."""
        return self.iterations <= 1 and not self.is_read_before

    def open_session(self, captured: Served, key: Any) -> SessionHandle:
        return SessionHandle(
            captured.plan,
            self.report,
            key[1],
            key[2],
            gives_lanes=isinstance(captured, StagePlan),
            no_workers=options.from_environment().no_workers,
            tell_draws=isinstance(captured, NativePlan) and captured.targets is not None,
        )

    def take_reference(self, loader: Any) -> Reference:
        taken, self.reference = self.reference, None
        return taken or Reference(loader.dataset, loader.num_workers)

    def lessons_of(self, lanes: int) -> Lessons:
        """What the lanes of the loader's iterations have found out."""
        if self.lessons is None:
            self.lessons = Lessons(lanes)
        return self.lessons

    def workers_met(self, signature: str) -> set[int]:
        """The workers whose samples of this plan were compared; the caller adds to it."""
        if self._met[0] != signature:
            self._met = (signature, set())
        return self._met[1]

    def take_session(self, key: Any) -> Any:
        """The session of an iteration that has ended, if its plan still holds."""
        idle, self.idle = self.idle, None
        self._taken = time.monotonic()
        if idle is None or not idle[1].is_mine():
            return None  # there is none, or this process was forked from the one that has it
        if idle[1].raw is None:
            return None  # the garbage collector closed it, beside the iterator that gave it back
        if idle[0] == key:
            return idle[1]
        idle[1].close()
        return None

    def give_session(self, key: Any, session: Any) -> None:
        if self.idle is not None:
            self.idle[1].close()
        self.idle = (key, session)
        self._lasted = time.monotonic() - self._taken
        if self.leave_later is not None:
            self.leave_later(self)

    # From loader to loader (heritage.py).

    def go_on_with(self, lessons: Lessons | None, idle: tuple[Any, SessionHandle] | None) -> None:
        self.lessons = lessons
        if idle is not None and idle[1].is_mine() and idle[1].raw is not None:
            idle[1].count_for(self.report)
            self.idle = idle

    def leave_session(self, long: float, most_bytes: int) -> tuple[Any, SessionHandle] | None:
        """The session that may go on without this loader; None: there is none, its last iteration took
        `long` seconds, or it holds more than `most_bytes`."""
        idle, self.idle = self.idle, None
        if idle is None or not idle[1].is_mine() or idle[1].raw is None:
            return None
        if self._lasted >= long or idle[1].arena_bytes() > most_bytes:
            idle[1].close()
            return None
        return idle
