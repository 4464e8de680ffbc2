"""What an open file raises whose object has become another one."""


class ObjectChanged(OSError):
    """The object is not the one that was opened: open it again. No byte of the new one was given."""
