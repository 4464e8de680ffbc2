"""LMDB environments whose values are encoded images."""

import array
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..errors import HeadraceError
from ..objects.names import PackedNames
from ..records import dataclass
from .index import Part
from .mapped import mappings, place_of
from .named import by_folder, called
from .places import Reader

# What JPEG, PNG, BMP, GIF, TIFF, WebP and PNM begin with.
_SIGNS = (b"\xff\xd8\xff", b"\x89PNG", b"BM", b"GIF8", b"II*\0", b"MM\0*", b"RIFF") + tuple(
    b"P%d" % kind for kind in range(1, 7)
)


def data_file(name: str) -> str:
    """The file that has the values of an environment: in a folder, or by itself."""
    path = os.path.abspath(name)
    return os.path.join(path, "data.mdb") if os.path.isdir(path) else path


@dataclass(frozen=True)
class Lmdbs:
    """See Format. A value lies in one piece in the file, in a page of its own kind or in several that follow
    each other, so that LMDB's own pointer to it says where: no page is read here."""

    pattern: str  # of the keys that have images
    folder: str | None  # that keys begin with, with a "/" at its end
    has_classes: bool
    label: Callable[[str], int] | None
    what = "LMDB environment"

    @property
    def text(self) -> str:
        return f"lmdb\n{self.pattern}\n{self.folder or ''}"

    def part(self, reader: Reader, near: bool) -> Part:
        import lmdb

        try:
            # Without its lock: nobody may write it anyway, and its folder may not be ours to write.
            environment = lmdb.open(
                reader.name, subdir=False, readonly=True, lock=False, readahead=False
            )
        except lmdb.Error as error:
            raise HeadraceError(
                f"{reader.name} is no LMDB environment, or open here: {error}"
            ) from None
        try:
            # Whoever looks at a page of the map that the file has not is ended by the kernel.
            pages = environment.info()["last_pgno"] + 1
            if pages * environment.stat()["psize"] > reader.size:
                raise HeadraceError(f"{reader.name} ends before its last page: it is torn")
            with environment, environment.begin(buffers=True) as transaction:
                return self._part(reader, transaction.cursor())
        except lmdb.Error as error:
            raise HeadraceError(f"{reader.name}: {error}") from None

    def _part(self, reader: Reader, cursor: Any) -> Part:
        folder = (self.folder or "").encode()
        every = self.pattern == "*"
        pool, ends = bytearray(), array.array("q")
        addresses, sizes = array.array("Q"), array.array("I")
        for key, value in cursor.iternext():
            name = bytes(key)
            if not name.startswith(folder):
                continue
            if not every and not fnmatchcase(name.decode(errors="surrogateescape"), self.pattern):
                continue
            if not bytes(value[:4]).startswith(_SIGNS):
                raise HeadraceError(
                    f"{reader.name}: the value of the key {name!r} is no encoded image: image= says "
                    "which keys have images, as image='image-*' does"
                )
            pool += name
            ends.append(len(pool))
            addresses.append(np.frombuffer(value, np.uint8).__array_interface__["data"][0])
            sizes.append(len(value))
        firsts = _offsets(
            reader, np.frombuffer(addresses, np.uint64), np.frombuffer(sizes, np.uint32)
        )
        none = np.empty(0, np.uint64)
        return Part(
            np.frombuffer(bytes(pool), np.uint8),
            np.array(ends, np.int64),
            firsts,
            np.array(sizes, np.uint32),
            np.empty(0, np.int64),
            none,
            none.astype(np.uint32),
            "",
        )

    def labelled(
        self, shards: Sequence[str], parts: Sequence[Part]
    ) -> tuple[list[Part], list[str] | None]:
        names = [PackedNames(part.keys, part.key_ends) for part in parts]
        if self.label is not None:
            of = [called(*one, self.label) for one in zip(shards, names, strict=True)]
            return [replace(part, labels=its) for part, its in zip(parts, of, strict=True)], None
        if not self.has_classes:
            return [replace(part, labels=np.zeros(len(part), np.int64)) for part in parts], None
        begin = len(self.folder or "")
        for shard, of_shard in zip(shards, names, strict=True):
            for name in of_shard:
                if "/" not in name[begin:]:
                    raise ValueError(
                        f"{shard}: the key '{name}' names no folder that would be its class: label= "
                        "makes labels of keys, and with target=None there are none"
                    )
        return by_folder(parts, self.folder or "")


def _offsets(reader: Reader, addresses: Any, sizes: Any) -> Any:
    """Where memory of the map lies in the file. Raises HeadraceError."""
    if not len(addresses):
        return np.empty(0, np.uint64)
    begin = int(addresses.min())
    size = int((addresses + sizes).max()) - begin
    place = place_of(mappings(), begin, size)
    if place is None or not os.path.samefile(place[0], reader.name):
        raise HeadraceError(f"{reader.name}: its values are not where LMDB maps them")
    firsts = addresses - np.uint64(begin) + np.uint64(place[1])
    if int(firsts.max()) + int(sizes[int(firsts.argmax())]) > reader.size:
        raise HeadraceError(f"{reader.name} ends before its values do: it is torn")
    return firsts
