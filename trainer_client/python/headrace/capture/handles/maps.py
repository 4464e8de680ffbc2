"""Memory maps of files, and arrays that lie in them: np.memmap, its views, np.load(mmap_mode=...).

The kernel says what is mapped where (/proc/self/maps). Attributes of np.memmap say it too, but views keep
those of the whole, and a program may change them.
"""

import mmap
import os
from typing import Any

import numpy as np

from ...records import dataclass
from ...stage.handles import arrays
from ...stage.handles.files import Seen
from .files import Refused, seen_at

_ARRAYS = (np.ndarray, np.memmap)
_NO_FILE = "is an array in memory shared with the trainer"


@dataclass(frozen=True)
class Area:
    """A line of /proc/self/maps."""

    begin: int
    end: int
    rights: str  # "r--s"
    offset: int  # bytes, of its begin in the file
    device: str
    inode: int
    path: str  # empty: of no file


def classes() -> tuple[type, ...]:
    return mmap.mmap, np.ndarray, memoryview


def reduced(obj: Any) -> tuple[Any, ...] | None:
    """None: an array or a view of memory elsewhere. Raises Refused."""
    if isinstance(obj, mmap.mmap):
        return _mapping(obj)
    if isinstance(obj, memoryview):
        return _memory(obj)
    mapped = mapping_under(obj)
    return None if mapped is None else _array(obj, mapped)


def mapping_under(array: Any) -> mmap.mmap | None:
    """The mapping in whose memory an array lies. None: in none that Python has made."""
    base: Any = array
    while base is not None:
        if isinstance(base, mmap.mmap):
            return base
        if isinstance(base, memoryview):
            base = base.obj
        elif isinstance(base, np.ndarray) or type(base).__name__ == "DummyArray":
            base = base.base  # the latter: of numpy.lib.stride_tricks
        else:
            return None
    return None


def _array(array: Any, mapped: mmap.mmap) -> tuple[Any, ...]:
    if type(array) not in _ARRAYS:
        raise Refused(f"is an array of class {type(array).__qualname__} in a memory map")
    begin, end = bounds(array)
    low, length = _memory_of(mapped)
    if not (low <= begin and end <= low + length):
        raise Refused("is an array that reaches beyond its memory map")
    base: Any = mapped
    over = array.base
    # A view keeps its array where that one's memory can be handed on as a buffer.
    if type(over) in _ARRAYS and over.flags.c_contiguous:
        first, last = bounds(over)
        if first <= begin and end <= last and over.flags.writeable >= array.flags.writeable:
            base, low = over, first
    attributes = dict(vars(array)) if type(array) is np.memmap else {}
    address = array.__array_interface__["data"][0]
    return arrays.array, (
        type(array),
        base,
        array.shape,
        array.dtype,
        address - low,
        array.strides,
        array.flags.writeable,
        attributes,
    )


def _memory(view: memoryview) -> tuple[Any, ...] | None:
    try:
        mapped = mapping_under(view.obj)
    except ValueError:
        raise Refused("is a view of memory that is released") from None
    if mapped is None:
        return None
    if view.format != "B" or view.ndim != 1 or not view.c_contiguous:
        raise Refused("is a view of a memory map that is no plain range of bytes")
    begin, _ = _memory_of(mapped)
    offset = np.frombuffer(view, np.uint8).__array_interface__["data"][0] - begin if view else 0
    return arrays.memory, (mapped, offset, view.nbytes, view.readonly)


def bounds(array: Any) -> tuple[int, int]:
    """The addresses of the first byte and after the last one."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for count, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (count - 1) * stride
        else:
            high += (count - 1) * stride
    return low, high + array.itemsize


def _memory_of(mapped: mmap.mmap) -> tuple[int, int]:
    try:
        memory = np.frombuffer(mapped, np.uint8)
    except ValueError:
        raise Refused("is a memory map that is closed") from None
    return memory.__array_interface__["data"][0], len(memory)


def _mapping(mapped: mmap.mmap) -> tuple[Any, ...]:
    """Raises Refused unless it is the file's own content, which nobody here may change."""
    if type(mapped) is not mmap.mmap:
        raise Refused(f"is a memory map of class {type(mapped).__qualname__}")
    address, length = _memory_of(mapped)
    first, copies = _area_of(areas_at(address, length), address, length)
    start = first.offset + address - first.begin
    seen = seen_mapped(first)
    if seen.size < start + length:
        raise Refused("is a memory map of a file that has become shorter")
    return arrays.mapping, (seen, copies, start, length, mapped.tell())


def file_area(address: int, length: int) -> Area | None:
    """The area that this memory is a part of; None: it is of no file. Raises Refused unless it is the
    file's own content, which nobody here may change."""
    areas = areas_at(address, length)
    if all(area.path[:1] in ("", "[") for area in areas):
        return None
    first, _ = _area_of(areas, address, length)
    if seen_mapped(first).size < first.offset + address - first.begin + length:
        raise Refused("is a memory map of a file that has become shorter")
    return first


def _area_of(areas: list[Area], address: int, length: int) -> tuple[Area, bool]:
    """Of which file, and whether writes to it are the process's own. Raises Refused."""
    first = areas[0]
    of_nobody = first.rights == "rw-s" and not os.path.exists(first.path)  # memory has such a file
    if of_nobody or not first.path.startswith("/"):
        raise Refused(_NO_FILE)
    if any(
        (a.device, a.inode, a.rights) != (first.device, first.inode, first.rights) for a in areas
    ):
        raise Refused("is a memory map of several parts")
    if first.rights == "rw-s":
        raise Refused("is a memory map that may write to its file")
    if first.rights not in ("r--s", "rw-p"):
        raise Refused(f"is a memory map with the rights {first.rights}")
    copies = first.rights == "rw-p"
    if copies and _was_written(address, length):
        raise Refused("is a memory map that was written to, in this process alone")
    return first, copies


def seen_mapped(area: Area) -> Seen:
    """The file of an area. Raises Refused where another one lies at its path now, or somebody here may
    write to it."""
    gone = Refused("is a memory map of a file that is not there any more")
    try:
        fd = os.open(area.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        raise gone from None
    try:
        # What the kernel calls a file here and what stat() calls it differ on some file systems. So the
        # one at the path is mapped, too.
        with mmap.mmap(fd, 1, access=mmap.ACCESS_READ) as again:
            address, _ = _memory_of(again)
            (now,) = areas_at(address, 1)
    except (OSError, ValueError):
        raise gone from None
    finally:
        os.close(fd)
    if (now.device, now.inode) != (area.device, area.inode):
        raise gone
    for one in areas_with(f" {area.device} {area.inode} "):
        if one.rights[1] == "w" and one.rights[3] == "s":
            raise Refused(f"is a memory map of {area.path}, to which the program may still write")
    return seen_at(area.path)


def areas_at(address: int, length: int) -> list[Area]:
    """What is mapped there, in order, without a gap. Raises Refused."""
    found = []
    at = address
    for line in _lines():
        begin, end = _place(line)
        if begin <= at < end and at < address + length:
            found.append(_area(line))
            at = end
    if at < address + length:
        raise Refused(_NO_FILE)
    return found


def areas_with(text: str) -> list[Area]:
    """Those whose line has this text."""
    return [_area(line) for line in _lines() if text in line]


def _lines() -> list[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.readlines()


def _place(line: str) -> tuple[int, int]:
    begin, _, end = line[: line.index(" ")].partition("-")
    return int(begin, 16), int(end, 16)


def _area(line: str) -> Area:
    _, rights, offset, device, inode, *path = line.rstrip("\n").split(None, 5)
    name = path[0].replace("\\012", "\n") if path else ""
    return Area(*_place(line), rights, int(offset, 16), device, int(inode), name)


def _was_written(address: int, length: int) -> bool:
    """Whether pages of a private mapping are this process's own."""
    inside = False
    with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        for line in file:
            name, _, value = line.partition(":")
            if "-" in name and " " in name:
                begin, end = _place(line)
                inside = begin < address + length and address < end
            elif inside and name in ("Anonymous", "Swap") and int(value.split()[0]):
                return True
    return False
