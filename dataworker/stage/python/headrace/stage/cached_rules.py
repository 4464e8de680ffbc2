"""What is decided of calls of declared functions. Nothing here has a side effect."""

# Results of each function that are made again and compared before any is believed.
FIRST = 32
# Of the CPU time of a lane, what is spent on making results again after these.
SHARE = 0.01
# Entries of one call, of other states of the files that it reads, that are looked at.
MOST_STATES = 8


class Budget:
    """What evidence may cost. One thread."""

    def __init__(self) -> None:
        self._spent = 0.0

    def takes(self, compared: int, seconds: float, cpu: float) -> bool:
        """Whether a result that takes `seconds` is made again. `compared`: results of its function that were;
        `cpu`: seconds that this process has used since it began to serve."""
        return compared < FIRST or self._spent + seconds <= SHARE * cpu

    def spend(self, compared: int, seconds: float) -> None:
        """It was, and took so long."""
        if compared >= FIRST:
            self._spent += seconds
