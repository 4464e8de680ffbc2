"""Which file a descriptor's number stands for: a program may close it, and get the number for another one."""

import os


def file_of(fd: int) -> tuple[int, int]:
    """Its device and inode; (-1, -1): of none."""
    try:
        state = os.fstat(fd)
    except OSError:
        return -1, -1
    return state.st_dev, state.st_ino
