"""An object that is open as a file."""

import errno
from typing import Any

from fsspec.spec import AbstractBufferedFile

from .changed import ObjectChanged


class ObjectFile(AbstractBufferedFile):  # type: ignore[misc]  # it has no types
    """Reads ahead of what is asked for, `block_size` bytes at a time (5 MiB; fsspec's `cache_type` says
    how). All bytes are of the object as it was when it was opened: ObjectChanged says that it is another
    one now. Where a store tells no version, only its size is compared. One thread."""

    def __init__(self, fs: Any, path: str, mode: str, block_size: Any, **more: Any) -> None:
        size, self.version = fs.look(path)
        more["size"] = size
        self.details = {"name": path, "size": size, "type": "file", "ETag": self.version}
        super().__init__(fs, path, mode, block_size, **more)

    def __reduce__(self) -> Any:
        kept = self.path, self.mode, self.blocksize, self.loc, self.cache.name
        return _reopened, (self.fs, *kept, self.size, self.version)

    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end, self.size, self.version)
        return content


def _reopened(
    fs: Any, path: str, mode: str, block_size: int, place: int, cache: str, size: int, version: str
) -> ObjectFile:
    """Raises ObjectChanged."""
    made = ObjectFile(fs, path, mode, block_size, cache_type=cache)
    if (made.size, made.version) != (size, version):
        raise ObjectChanged(errno.ESTALE, "the object has changed since it was opened", path)
    made.seek(place)
    return made
