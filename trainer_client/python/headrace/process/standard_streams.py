"""The numbers of standard streams that the program has closed."""

import os

# Opened for what nobody does with them: who reads or writes is refused, as where they are closed.
_STREAMS = ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY))


def keep_numbers() -> None:
    """Before descriptors of ours are made: none is to take such a number. Text for the stream would be
    written to our socket or event, and a forked process closes 0. A program that is started by this
    one finds them closed."""
    for number, mode in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            descriptor = os.open(os.devnull, mode)
            if descriptor != number:  # another thread was faster
                os.close(descriptor)
