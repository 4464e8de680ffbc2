"""Which file memory of this process was mapped from: a library's own arrays tell where a file has them."""

import os
from pathlib import Path

from ..records import dataclass


@dataclass
class Mapping:
    """Of a file into this process."""

    begin: int
    end: int
    offset: int  # in the file
    path: str
    inode: int

    def holds(self, address: int, size: int) -> bool:
        return self.begin <= address and address + size <= self.end


def mappings() -> list[Mapping]:
    found = []
    for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            begin, _, end = fields[0].partition("-")
            offset, inode = int(fields[2], 16), int(fields[4])
            found.append(Mapping(int(begin, 16), int(end, 16), offset, fields[5], inode))
    return found


def place_of(found: list[Mapping], address: int, size: int) -> tuple[str, int] | None:
    """The file and the offset in it where memory lies; None: in none. Raises ValueError."""
    for one in found:
        if one.holds(address, size):
            if not os.path.exists(one.path) or os.stat(one.path).st_ino != one.inode:
                raise ValueError(
                    f"{one.path} was replaced since the data set was loaded: load it again"
                )
            return one.path, one.offset + address - one.begin
    return None
