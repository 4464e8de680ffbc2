"""What lanes write down for the trainer."""

import mmap
import struct
import zlib

_BYTES = 32 << 10  # of a lane's page
_HEAD = struct.Struct("<II")  # length and checksum of what is written there


class Notes:
    """A page for each lane, in memory that the trainer shares with its forks. A lane writes its page
    whole; who reads it meanwhile sees that it is torn, and nothing is waited for. Pages that nobody has
    written take no memory."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._memory = mmap.mmap(-1, max(lanes, 1) * _BYTES)

    def write(self, lane: int, content: bytes) -> None:
        """Leaves the page as it is where the content is too long for it."""
        if not 0 <= lane < self._lanes or len(content) > _BYTES - _HEAD.size:
            return
        at = lane * _BYTES
        _HEAD.pack_into(self._memory, at, 0, 0)
        self._memory[at + _HEAD.size : at + _HEAD.size + len(content)] = content
        _HEAD.pack_into(self._memory, at, len(content), zlib.crc32(content))

    def read(self) -> list[bytes]:
        """The pages that are whole."""
        pages = []
        for at in range(0, self._lanes * _BYTES, _BYTES):
            length, checksum = _HEAD.unpack_from(self._memory, at)
            if 0 < length <= _BYTES - _HEAD.size:
                content = self._memory[at + _HEAD.size : at + _HEAD.size + length]
                if zlib.crc32(content) == checksum:
                    pages.append(content)
        return pages
