"""The file systems' common part: reading, by the client of objects that workers have, too."""

import errno
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar

from fsspec import AbstractFileSystem

from ..objects.store import Store, store_at
from .changed import ObjectChanged
from .file import ObjectFile

# The client itself has 128 requests to a host on the way at the same time.
_AT_A_TIME = 32
# Of one read; a larger one is several.
_MOST_BYTES = 64 << 20


class ObjectFileSystem(AbstractFileSystem):  # type: ignore[misc]  # it has no types
    """Read-only. Credentials are those of the process, as headrace.open_dataset's. Thread-safe; may be
    forked and pickled."""

    scheme: ClassVar[str]  # "s3"
    cachable = True
    root_marker = ""

    def __init__(
        self,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        addressing: str | None = None,
        anonymous: bool = False,
        **more: Any,
    ) -> None:
        """`endpoint`, `region`, `addressing`, `anonymous`: as headrace.open_dataset's. `more`: of
        fsspec."""
        super().__init__(**more)
        self._place = endpoint, region, addressing, anonymous

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = str(path)
        for start in (f"headrace+{cls.scheme}://", f"{cls.scheme}://"):
            text = text.removeprefix(start)
        return text.rstrip("/")

    def store_of(self, path: str) -> Store:
        """Of the bucket or host that a path begins with."""
        root = path.partition("/")[0]
        if not root:
            raise FileNotFoundError(errno.ENOENT, "no bucket and no host", path)
        return store_at(f"{self.scheme}://{root}", *self._place, 0)

    def look(self, path: str) -> tuple[int, str]:
        """Size and version of an object. Raises FileNotFoundError, and the client's errors."""
        size, version = self.store_of(path).reader.look(self._name(path))
        return size, version

    def read_range(
        self, path: str, begin: int, end: int, size: int | None = None, version: str = ""
    ) -> bytes:
        """Bytes of the object, fewer where it ends before. `size`, `version`: of the one that is meant.
        Raises ObjectChanged."""
        reader = self.store_of(path).reader
        read = []
        while begin < end:
            count = min(end - begin, _MOST_BYTES)
            content, whole, now = reader.read_range(
                self._name(path), begin, count, version, size or 0
            )
            if size is None:
                size, version = whole, now
            if (whole, now) != (size, version):
                raise ObjectChanged(
                    errno.ESTALE, "the object has changed since it was opened", path
                )
            read.append(content)
            begin += count
            end = min(end, size)
        return b"".join(read)

    def _name(self, path: str) -> str:
        return f"{self.scheme}://{path}"

    def info(self, path: str, **more: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        size, version = self.look(path)
        return {"name": path, "size": size, "type": "file", "ETag": version}

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **more: Any
    ) -> bytes:
        path = self._strip_protocol(path)
        size: int | None = None
        version = ""
        if end is None and not start:
            with suppress(NotImplementedError):  # it is too large for one answer
                content: bytes = self.store_of(path).reader.read(self._name(path))
                return content
        if end is None or start is not None and start < 0 or end < 0:
            size, version = self.look(path)
            end = size if end is None else end + size if end < 0 else end
            start = max(0, start + size) if start is not None and start < 0 else start
        return self.read_range(path, start or 0, end, size, version)

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **more: Any,
    ) -> list[Any]:
        """Side by side."""
        each = [
            values if isinstance(values, list | tuple) else [values] * len(paths)
            for values in (starts, ends)
        ]
        if not len(paths) == len(each[0]) == len(each[1]):
            raise ValueError("there are other numbers of paths, starts and ends")

        def one(path: str, start: int | None, end: int | None) -> Any:
            try:
                return self.cat_file(path, start, end)
            except Exception as error:
                if on_error == "return":
                    return error
                raise

        with ThreadPoolExecutor(min(_AT_A_TIME, max(1, len(paths)))) as pool:
            return list(pool.map(one, paths, *each))

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **more: Any,
    ) -> ObjectFile:
        if mode != "rb":
            raise OSError(errno.EROFS, "objects are only read here", path)
        return ObjectFile(
            self, path, mode, block_size or "default", cache_options=cache_options, **more
        )

    def _read_only(self, path: Any, *_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "objects are only read here", str(path))

    _rm = rm_file = cp_file = mkdir = makedirs = rmdir = touch = _read_only
