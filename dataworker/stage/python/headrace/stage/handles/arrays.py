"""Memory maps of files, and the arrays that lie in them."""

import mmap
import os
from typing import Any

import numpy as np

from .files import Seen, open_same


def mapping(seen: Seen, copies: bool, start: int, length: int, position: int) -> mmap.mmap:
    """The file's bytes from `start` on. `copies`: what is written there stays in this process. Raises
    OtherFile."""
    fd = open_same(seen)
    try:
        access = mmap.ACCESS_COPY if copies else mmap.ACCESS_READ
        made = mmap.mmap(fd, length, access=access, offset=start)
    finally:
        os.close(fd)
    made.seek(position)
    return made


def array(
    kind: type[Any],
    base: Any,
    shape: tuple[int, ...],
    dtype: "np.dtype[Any]",
    offset: int,
    strides: tuple[int, ...],
    writeable: bool,
    attributes: dict[str, Any],
) -> Any:
    """A view of `base`, a mapping or an array in one, `offset` bytes after its begin."""
    made = np.ndarray.__new__(kind, shape, dtype, base, offset, strides)
    if not writeable:
        made.flags.writeable = False
    vars(made).update(attributes) if attributes else None
    return made


def memory(mapped: mmap.mmap, offset: int, size: int, readonly: bool) -> memoryview:
    view = memoryview(mapped)[offset : offset + size]
    return view.toreadonly() if readonly else view
