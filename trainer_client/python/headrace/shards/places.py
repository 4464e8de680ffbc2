"""Where shards lie, and reading parts of them."""

import glob
import os
import stat
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Protocol

from ..errors import HeadraceError
from ..objects.listing import pages
from ..objects.store import Store, lists
from ..process.file_version import settled, version_of
from ..records import dataclass
from .naming import plain_start

# A FIFO in the place of a file is an error, not a wait.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Reader(Protocol):
    """One shard while it is listed. All of its bytes are of one version."""

    name: str
    size: int
    version: str  # empty: not known

    def read(self, first: int, size: int) -> bytes: ...


class Place(Protocol):
    """Of the shards of a data set. It can be pickled and holds no credential."""

    source: str  # of a plan
    near: bool  # a question costs microseconds, not milliseconds

    @property
    def root(self) -> str:
        """Of the shards' names; empty: they are paths."""
        ...

    def args(self) -> dict[str, Any]: ...
    def named(self, pattern: str) -> list[str]:
        """The shards that a pattern with * means, in order."""
        ...

    def open(self, name: str) -> AbstractContextManager[Reader]: ...
    def version(self, name: str) -> str: ...
    def read(self, name: str, version: str, first: int, size: int) -> bytes:
        """Raises HeadraceError where the shard has another version, or ends before."""
        ...


def changed(name: str) -> HeadraceError:
    """As dataworker/source/ranges has it."""
    return HeadraceError(
        f"{name} has changed since its samples were listed: open the data set again"
    )


def _read_at(fd: int, first: int, size: int) -> bytes:
    data = os.pread(fd, size, first)
    while 0 < len(data) < size:  # the kernel reads at most 2 GiB at a time
        more = os.pread(fd, size - len(data), first + len(data))
        if not more:
            break
        data += more
    return data


class _FileReader:
    """What is written after this began changes the file's time, so that its version tells."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> "_FileReader":
        self._fd = os.open(self.name, _READ)
        state = os.fstat(self._fd)
        if not stat.S_ISREG(state.st_mode):
            os.close(self._fd)
            raise HeadraceError(f"{self.name} is no regular file")
        state = settled(lambda: os.fstat(self._fd))
        self.size, self.version = state.st_size, version_of(state)
        return self

    def read(self, first: int, size: int) -> bytes:
        return _read_at(self._fd, first, size)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        state = os.fstat(self._fd)
        os.close(self._fd)
        if version_of(state) != self.version:
            raise HeadraceError(f"{self.name} changed while its samples were listed")


@dataclass(frozen=True)
class FilePlace:
    """Local files, by absolute paths."""

    source = "file_ranges"
    root = ""
    near = True

    def args(self) -> dict[str, Any]:
        return {}

    def named(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern, recursive=True))

    def open(self, name: str) -> _FileReader:
        return _FileReader(name)

    def version(self, name: str) -> str:
        return version_of(os.stat(name))

    def read(self, name: str, version: str, first: int, size: int) -> bytes:
        fd = os.open(name, _READ)
        try:
            if version_of(os.fstat(fd)) != version:
                raise changed(name)
            data = _read_at(fd, first, size)
            if len(data) != size or version_of(os.fstat(fd)) != version:
                raise changed(name)
            return data
        finally:
            os.close(fd)


class _ObjectReader:
    def __init__(self, store: Store, name: str) -> None:
        self._store, self.name = store, name

    def __enter__(self) -> "_ObjectReader":
        self.size, self.version = self._store.reader.look(self.name)
        return self

    def read(self, first: int, size: int) -> bytes:
        data, whole, version = self._store.reader.read_range(self.name, first, size)
        if (whole, version) != (self.size, self.version):
            raise HeadraceError(f"{self.name} changed while its samples were listed")
        return bytes(data)

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class StorePlace:
    """Objects in one store."""

    store: Store
    source = "object_ranges"
    near = False

    @property
    def root(self) -> str:
        return self.store.base

    def args(self) -> dict[str, Any]:
        return self.store.args()

    def named(self, pattern: str) -> list[str]:
        if not lists(pattern):
            raise ValueError(f"{pattern}: over https nobody lists the objects; name each shard")
        scheme_and_bucket = pattern[: pattern.index("/", pattern.index("://") + 3) + 1]
        wanted = pattern[len(scheme_and_bucket) :]
        found = pages(self.store, plain_start(wanted))
        names = [name for page in found for name in page.names]
        # A shell's * does not go on over a "/".
        return [
            scheme_and_bucket + name
            for name in sorted(names)
            if name.count("/") == wanted.count("/") and fnmatchcase(name, wanted)
        ]

    def open(self, name: str) -> _ObjectReader:
        return _ObjectReader(self.store, name)

    def version(self, name: str) -> str:
        return str(self.store.reader.look(name)[1])

    def read(self, name: str, version: str, first: int, size: int) -> bytes:
        if not size:
            return b""
        data, _, found = self.store.reader.read_range(name, first, size)
        if (version and found != version) or len(data) != size:
            raise changed(name)
        return bytes(data)
