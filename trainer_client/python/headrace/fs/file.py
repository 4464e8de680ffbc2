"""An object that is open as a file."""

from typing import Any

from fsspec.spec import AbstractBufferedFile


class ObjectFile(AbstractBufferedFile):  # type: ignore[misc]  # it has no types
    """Reads ahead of what is asked for, `block_size` bytes at a time (5 MiB; fsspec's `cache_type` says
    how). All bytes are of the object as it was when it was opened: ObjectChanged says that it is another
    one now. Where a store tells no version, only its size is compared. One thread."""

    def __init__(self, fs: Any, path: str, mode: str, block_size: Any, **more: Any) -> None:
        size, self.version = fs.look(path)
        more["size"] = size
        self.details = {"name": path, "size": size, "type": "file", "ETag": self.version}
        super().__init__(fs, path, mode, block_size, **more)

    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end, self.size, self.version)
        return content
