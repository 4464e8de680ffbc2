"""What ends a batch that must be made again by PIL alone."""


class Redo(BaseException):
    """A picture was deferred that PIL refuses (images.py): all must be made again from what was before
    the batch, without deferred pictures.

    Not an Exception: user code that skips what it can't read must not see it.
    """
