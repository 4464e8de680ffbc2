"""Lists the samples of shards."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..errors import HeadraceError
from ..native import binding
from .formats import Format
from .index import Index, KeptIndex, Part
from .places import Place, Reader

# Of a store each question takes a round trip, in which some MiB come.
_AT_A_TIME = 16
_NEAR, _FAR = 4096, 65536  # bytes of a first read
_NEAR_MOST, _FAR_MOST = 1 << 20, 8 << 20
_FAR_JUMP = 1 << 20


def window(near: bool, wanted: int, jump: int, last: int) -> int:
    """How many bytes to read at once where `wanted` are needed `jump` bytes after the end of the last
    read, which was of `last` bytes; 0: there was none. Pure."""
    first, most = (_NEAR, _NEAR_MOST) if near else (_FAR, _FAR_MOST)
    # What is skipped costs a store less than another question, and a file nothing.
    goes_on = last > 0 and jump <= (0 if near else _FAR_JUMP)
    return max(wanted, min(2 * last, most) if goes_on else first)


def scanned(reader: Reader, near: bool, scan: Any) -> dict[str, bytes]:
    """What a TarScan or ZipScan of the shard finds. Raises HeadraceError, which names the shard."""
    end = last = 0
    while (want := scan.wants()) is not None:
        first, wanted = want
        size = min(window(near, wanted, first - end, last), reader.size - first)
        data = reader.read(first, max(size, 1))
        if len(data) < wanted:
            raise HeadraceError(f"{reader.name} changed while its samples were listed")
        try:
            scan.take(data)
        except binding.HeadraceError as error:
            raise HeadraceError(f"{reader.name}: {error}") from None
        end, last = first + len(data), len(data)
    found: dict[str, bytes] = scan.samples()
    return found


def index_of(
    place: Place, shards: Sequence[str], form: Format, folder: str | os.PathLike[str] | None
) -> tuple[Index, list[str] | None]:
    """The samples, and the names of their classes, if these have names. Raises HeadraceError, OSError and
    ValueError; they name the shard."""
    kept = None if folder is None else KeptIndex(folder, place.root, form.text)
    known = {} if kept is None else kept.load()

    def listed(name: str) -> tuple[str, Part]:
        if known:
            version = place.version(name)
            if (part := known.get((name, version))) is not None:
                return version, part
        with place.open(name) as reader:
            part = form.part(reader, place.near)
        return reader.version, part

    with ThreadPoolExecutor(2 if place.near else _AT_A_TIME) as pool:
        found = list(pool.map(listed, shards))
    versions, parts = [one[0] for one in found], [one[1] for one in found]
    if kept is not None:
        if any(
            (name, version) not in known for name, version in zip(shards, versions, strict=True)
        ):
            kept.save(shards, versions, parts)
    parts, classes = form.labelled(shards, parts)
    return Index(shards, versions, parts), classes
