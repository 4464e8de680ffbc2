"""Objects of buckets."""

from collections.abc import Iterator
from typing import Any

from ..objects.listing import Page, pages
from .objects import ObjectFileSystem


class S3FileSystem(ObjectFileSystem):
    """Paths are "bucket/key". Folders are what keys have in common up to a "/"."""

    protocol = "headrace+s3"
    scheme = "s3"

    def info(self, path: str, **more: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path.partition("/")[2]:
            try:
                return super().info(path)
            except FileNotFoundError:
                pass
        first = next(self._pages(f"{path}/"))
        if not first.names and not first.folders:
            raise FileNotFoundError(path)
        return _folder(path)

    def ls(self, path: str, detail: bool = True, **more: Any) -> list[Any]:
        """Asks the bucket each time. Raises FileNotFoundError."""
        path = self._strip_protocol(path)
        found = [entry for page in self._pages(f"{path}/") for entry in self._entries(path, page)]
        if not found:
            found = [super().info(path)]
        found.sort(key=lambda entry: entry["name"])
        return found if detail else [entry["name"] for entry in found]

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **more: Any,
    ) -> Any:
        """All objects below a path: one list where neither folders nor a depth are asked for."""
        if maxdepth is not None or withdirs:
            return super().find(path, maxdepth, withdirs, detail=detail, **more)
        path = self._strip_protocol(path)
        found = [
            entry for page in self._pages(f"{path}/", "") for entry in self._entries(path, page)
        ]
        if not found and self.isfile(path):
            found = [super().info(path)]
        found.sort(key=lambda entry: entry["name"])
        names = [entry["name"] for entry in found]
        return dict(zip(names, found, strict=True)) if detail else names

    def _pages(self, folder: str, delimiter: str = "/") -> Iterator[Page]:
        store = self.store_of(folder)
        return pages(store, folder.partition("/")[2], delimiter)

    def _entries(self, path: str, page: Page) -> Iterator[dict[str, Any]]:
        bucket = path.partition("/")[0]
        for name, size in zip(page.names, page.sizes, strict=True):
            if not name.endswith("/"):  # an object that stands for a folder
                yield {"name": f"{bucket}/{name}", "size": size, "type": "file"}
        for folder in page.folders:
            yield _folder(f"{bucket}/{folder.rstrip('/')}")


def _folder(path: str) -> dict[str, Any]:
    return {"name": path, "size": 0, "type": "directory"}
