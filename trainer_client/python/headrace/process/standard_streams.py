"""The numbers of standard streams that the program has closed."""

import os

# Opened for the direction that nobody uses: a read or write fails, as on closed ones.
_STREAMS = ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY))


def keep_numbers() -> None:
    """Called before our descriptors are made, so that none takes such a number. Otherwise text for
    the stream would be written to our socket or event, and a forked process closes 0. A program
    that this one starts finds them closed."""
    for number, mode in _STREAMS:
        try:
            os.fstat(number)
        except OSError:
            descriptor = os.open(os.devnull, mode)
            if descriptor != number:  # another thread was faster
                os.close(descriptor)
