"""Members of zips, as dataworker/source/ranges/zip_member.h has them."""

import struct
import zlib

from ..errors import HeadraceError

_HEADER = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED = 0, 8


def unpacked(range_of: bytes, packed_size: int, size: int, crc: int) -> bytes:
    """The sample in the bytes of a range that begins with the member's local header. `packed_size`, `size`,
    `crc`: of the zip's directory. Takes no more memory than they say. Raises HeadraceError."""
    if len(range_of) < _HEADER.size or not range_of.startswith(b"PK\x03\x04"):
        raise HeadraceError("no member of a zip where its directory has one")
    header = _HEADER.unpack_from(range_of)
    flags, method, begin = header[2], header[3], _HEADER.size + header[9] + header[10]
    packed = memoryview(range_of)[begin : begin + packed_size]
    if flags & 1:
        raise HeadraceError("an encrypted member of a zip")
    if len(packed) != packed_size:
        raise HeadraceError("a member of a zip that goes on in the next one")
    if method == _STORED:
        data = bytes(packed)
    elif method == _DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = inflater.decompress(packed, size + 1)
        except zlib.error as error:
            raise HeadraceError(f"a damaged member of a zip: {error}") from None
        if not inflater.eof:
            raise HeadraceError("a damaged member of a zip")
    else:
        raise HeadraceError(f"a member of a zip that is packed by method {method}")
    if len(data) != size or zlib.crc32(data) != crc:
        raise HeadraceError("a damaged member of a zip: its checksum is another one")
    return data
