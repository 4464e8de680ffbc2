"""What a proof says."""

import enum

from ...records import dataclass


class Code(enum.Enum):
    """Why code is, or is not, proved free of state. Decide by this, never by the text."""

    CLEAN = "clean"
    DECLARED = "declared"  # proved where what the program declares as pure is pure
    WRITES_STATE = "writes state"
    UNKNOWN_CALL = "unknown call"
    UNKNOWN_CONSTRUCT = "unknown construct"
    OUTSIDE_EFFECT = "outside effect"  # files, sockets, data bases, processes
    READS_OUTSIDE = "reads the outside"  # the clock, the system's random numbers


REMEDIES = {
    Code.WRITES_STATE: "derive it from the index and the epoch, or change it between epochs in "
    "the training loop",
    Code.UNKNOWN_CALL: "decorate what is called with headrace.pure if it keeps nothing, or run "
    "with --trust-code",
    Code.UNKNOWN_CONSTRUCT: "write it more plainly, decorate the function with headrace.pure if it "
    "keeps nothing, or run with --trust-code",
    Code.OUTSIDE_EFFECT: "do it before training, or in the training loop",
    Code.READS_OUTSIDE: "derive it from the index, or draw it from random, numpy or torch",
}


@dataclass(frozen=True)
class Proof:
    """reason: one line, with file and line, empty where proved. remedy: what would change it.
    declared: what the proof believes the program, by name. draws: where the code first draws random
    numbers; empty: it draws none. Known only where proved."""

    proved: bool
    code: Code
    reason: str = ""
    remedy: str = ""
    declared: tuple[str, ...] = ()
    draws: str = ""


class Doubt(Exception):
    """The code keeps state, or it is not understood. Ends the proof."""

    def __init__(self, code: Code, text: str, remedy: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.remedy = remedy or REMEDIES[code]
        self.where = ""  # filled in where the code is read
