"""Which file's bytes some memory is: of a memory map that nobody here writes to."""

import os
from typing import Any

import numpy as np
import torch

from ...process.file_version import settled, version_of
from ...records import dataclass
from ..handles import Refused
from ..handles.maps import bounds, file_area


@dataclass(frozen=True)
class FileMemory:
    """path: of the file. version: as schemas/wire/range_table.h has it. first: the byte of the file that
    lies at the array's address. layout: shape, steps and type of the array, which programs may change in
    place."""

    path: str
    version: str
    first: int
    layout: str

    def same(self, array: Any) -> bool:
        """Whether it still is the array's."""
        try:
            return memory_of_file(array) == self
        except Refused:
            return False


def memory_of_file(array: Any) -> FileMemory | None:
    """Of an array of NumPy's or a tensor of torch's. None: it lies in memory of no file. Raises Refused,
    with what is in the way. Waits some milliseconds for a file that was just written: what is written
    later has another version then."""
    low, high = _bounds(array)
    if low == high:
        return None
    area = file_area(low, high - low)
    if area is None:
        return None
    version = version_of(settled(lambda: os.stat(area.path)))
    if file_area(low, high - low) != area:  # it may have been replaced meanwhile
        raise Refused("is a memory map of a file that is not there any more")
    try:
        area.path.encode()
    except UnicodeEncodeError:
        raise Refused("is a memory map of a file whose name is no text") from None
    first = area.offset + _address(array) - area.begin
    return FileMemory(area.path, version, first, _layout(array))


def _layout(array: Any) -> str:
    tensor = isinstance(array, torch.Tensor)
    steps = array.stride() if tensor else array.strides
    return repr((tuple(array.shape), steps, array.dtype))


def _address(array: Any) -> int:
    if isinstance(array, torch.Tensor):
        return array.data_ptr()
    address: int = array.__array_interface__["data"][0]
    return address


def _bounds(array: Any) -> tuple[int, int]:
    if isinstance(array, np.ndarray):
        return bounds(array)
    if array.numel() == 0:
        return 0, 0
    low = array.data_ptr()
    steps = zip(array.shape, array.stride(), strict=True)
    last = sum((count - 1) * stride for count, stride in steps)
    return low, low + (last + 1) * array.element_size()
