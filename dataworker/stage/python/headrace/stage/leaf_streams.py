"""Which leaf is wanted of what PIL reads from: a file, which is named by its state, or a stream of bytes, which is
named by them (leaf_bytes.py): `io.BytesIO`, and a member of a zip or tar file.
"""

import io
import os
import sys
import time
from typing import Any, NamedTuple

import PIL

from .leaf_bytes import key_of_bytes
from .leaf_keys import Content, Key, build_of, content_of, form_of, key_of, now_ns

_BUILD = r"/pil/|pillow|jpeg|png|libz[.-]|zlib|headrace/_images"
# Streams of bytes of the standard library that cost a look at all of them: where they are defined, and their names.
_MEMBERS = (("zipfile", "ZipExtFile"), ("tarfile", "ExFileObject"))
# Libraries read a picture up to its end. What reads all of a file takes memory for what comes after it, too.
LARGEST_READ_WHOLE = 64 << 20


class Wanted(NamedTuple):
    key: Key
    content: (
        Content | None
    )  # of a file that was opened: its state before it is read; None: named by its bytes
    began_ns: int  # when that was
    seconds: float = 0.0  # that it took to name it

    @property
    def is_named_at_a_cost(self) -> bool:
        """Somebody has asked before whether it is likely to be worth it."""
        return self.content is None

    @property
    def ctime_ns(self) -> int:
        return 0 if self.content is None else self.content.ctime_ns


def prepare() -> None:
    """In a process that forks lanes: what they need not look for."""
    build_of(_BUILD)


def is_file(stream: Any) -> bool:
    """Whether it is a file that can be named by its state, if it is a regular one."""
    return type(stream) is io.BufferedReader and type(stream.raw) is io.FileIO


def is_read_whole(stream: Any) -> bool:
    """Whether all that it holds may be read at once. Raises OSError and ValueError where its file is closed."""
    return not is_file(stream) or os.fstat(stream.fileno()).st_size <= LARGEST_READ_WHOLE


def wanted(stream: Any, text: str) -> Wanted | None:
    """`text`: what is made of it. None: it is no file that can be named."""
    if not is_file(stream):
        return None
    began = now_ns()
    try:
        content = content_of(os.fstat(stream.fileno()))
    except (OSError, ValueError):
        return None
    if content is None:
        return None
    return Wanted(key_of(content, form_of(_whole(text))), content, began)


def wanted_of(data: bytes, text: str) -> Wanted:
    """The same, of bytes."""
    began, before = now_ns(), time.thread_time()
    key = key_of_bytes(data, _whole(text))
    return Wanted(key, None, began, time.thread_time() - before)


def bytes_of(stream: Any) -> bytes | None:
    """All that a stream of bytes holds; it stays where it is. None: it is another one. Raises what it raises."""
    if type(stream) is io.BytesIO:
        return stream.getvalue()  # mostly no copy
    for module, name in _MEMBERS:
        if type(stream) is getattr(sys.modules.get(module), name, None):
            break
    else:
        return None
    at = stream.tell()
    try:
        stream.seek(0)
        data = stream.read()
    finally:
        stream.seek(at)
    return data if type(data) is bytes else None


def holds(stream: Any, found: Wanted) -> bool:
    """Whether what was named is as it was."""
    try:
        return found.content is None or content_of(os.fstat(stream.fileno())) == found.content
    except (OSError, ValueError):
        return False


def _whole(text: str) -> str:
    return f"PIL {PIL.__version__}\n{text}\n{build_of(_BUILD)}"
