"""What is seen of a lane that makes batches again: nothing that was seen before."""

from contextlib import ExitStack

from ..process.output import muted
from .checkpoint import Received


class Voice:
    """Of one process. One thread."""

    def __init__(self, handed: Received | None) -> None:
        """`handed`: from the process that this one replaces; it is not heard, for the program's code prints from its
        first line on."""
        # It answers nobody, until it is where the other process was.
        self.silent = handed is not None and not handed.anew
        self.heard: list[int] = [] if handed is None else handed.heard
        self._muted = ExitStack()
        self.is_heard = handed is None
        if handed is not None:
            self._muted.enter_context(muted())

    def answers(self) -> None:
        self.silent = False

    def begins(self, name: list[int]) -> None:
        """The batch of this name."""
        if not self.is_heard and not self.silent and name > self.heard:
            self.end()

    def end(self) -> None:
        self.is_heard = True
        self._muted.close()
