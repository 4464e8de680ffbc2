"""Objects of web servers."""

import errno
from typing import Any

from .objects import ObjectFileSystem


class HttpsFileSystem(ObjectFileSystem):
    """Nobody lists what a web server has."""

    protocol = "headrace+https"
    scheme = "https"

    def ls(self, path: str, detail: bool = True, **more: Any) -> list[Any]:
        """The object itself. Raises FileNotFoundError, and OSError for a folder."""
        path = self._strip_protocol(path)
        try:
            found = self.info(path)
        except FileNotFoundError:
            raise OSError(errno.ENOTSUP, "a web server lists no folders", path) from None
        return [found] if detail else [path]

    def isdir(self, path: str) -> bool:
        return False


class HttpFileSystem(HttpsFileSystem):
    """Without TLS: for stores that the program itself names."""

    protocol = "headrace+http"
    scheme = "http"
