"""Pictures of files as leaves: what PIL's decoders and the native ones make of a whole file.

PIL's load() runs as it is, with all that it does beside the decoding: chunks after the pixels, palettes, the end
of the file. Only the decoder's place is taken, by one that copies the kept pixels. So an image has what it
would have. Formats with several pictures, other modes, and files that the program has opened itself are PIL's.
"""

import functools
import io
import os
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import PIL
from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin

from ..native.genuine import is_genuine
from . import leaves
from .leaf_keys import Content, Key, build_of, content_of, form_of, key_of, now_ns

_BUILD = r"/pil/|pillow|jpeg|png|libz[.-]|zlib|headrace/_images"
_DECODERS = {PngImagePlugin.PngImageFile: "zip", JpegImagePlugin.JpegImageFile: "jpeg"}
# Modes whose raw form has all of their bits.
_MODES = frozenset(("L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"))
_TO_BYTES: Callable[..., bytes] = Image.Image.tobytes


class Wanted(NamedTuple):
    """Of a file that was opened: its state before it is read, and when that was."""

    key: Key
    content: Content
    began_ns: int


def wanted(stream: Any, text: str) -> Wanted | None:
    """`text`: what is made of it. None: it is no file of its own that can be named."""
    if type(stream) is not io.BufferedReader or type(stream.raw) is not io.FileIO:
        return None
    began = now_ns()
    try:
        content = content_of(os.fstat(stream.fileno()))
    except (OSError, ValueError):
        return None
    if content is None:
        return None
    form = form_of(f"PIL {PIL.__version__}\n{text}\n{build_of(_BUILD)}")
    return Wanted(key_of(content, form), content, began)


def holds(stream: Any, found: Wanted) -> bool:
    """Whether the file is as it was."""
    try:
        return content_of(os.fstat(stream.fileno())) == found.content
    except (OSError, ValueError):
        return False


class _Copies:
    """In a decoder's place."""

    pulls_fd = True  # it reads nothing by load()

    def __init__(self, mode: str, pixels: memoryview) -> None:
        core: Any = Image.core  # type: ignore[attr-defined]
        self._raw = core.raw_decoder(mode, mode, 0, 1)
        self._pixels = pixels

    def setimage(self, core: Any, extents: Any) -> None:
        self._raw.setimage(core, extents)

    def setfd(self, file: Any) -> None:
        pass

    def decode(self, _: Any) -> tuple[int, int]:
        used, error = self._raw.decode(self._pixels)
        if used >= 0 or error:
            raise OSError("kept pixels are not those of this picture")
        return used, error

    def cleanup(self) -> None:
        self._raw.cleanup()


class _Next(threading.local):
    copies: _Copies | None = None


_next = _Next()


def _bytes_of(image: Any) -> int:
    width, height = image.size
    return int(width * height * (2 if image.mode == "I;16" else len(image.getbands())))


def _picture(image: Any) -> str | None:
    """What load() would decode, as text; None: PIL does it by itself."""
    tile = image.tile
    if (
        len(tile) != 1
        or tile[0][0] != _DECODERS.get(type(image))
        or tuple(tile[0][1]) != (0, 0, *image.size)
        or image.mode not in _MODES
        or image._im is not None
        or not image._exclusive_fp
        or not image._close_exclusive_fp_after_loading
        or ImageFile.LOAD_TRUNCATED_IMAGES
    ):
        return None
    decoder, extents, offset, args = tile[0]
    what = type(image).__name__, image.mode, image.size, decoder, tuple(extents), offset, args
    return repr((*what, image.decoderconfig))


def loading(real: Callable[..., Any]) -> Callable[..., Any]:
    """`real`: ImageFile.load."""

    @functools.wraps(real)
    def load(self: Any) -> Any:
        kept = leaves.active() if self.tile else None
        if kept is None or kept.is_idle:
            if kept is not None:
                kept.missed()
            return real(self)
        try:
            text = _picture(self)
            found = None if text is None else wanted(self.fp, text)
        except Exception:  # of a PIL whose images are others
            found = None
        if found is None:
            return real(self)
        pixels = kept.find(found.key)
        if pixels is not None and len(pixels) == _bytes_of(self):
            _next.copies = _Copies(self.mode, pixels)
            try:
                return real(self)
            finally:
                _next.copies = None
        stream, mode, size = self.fp, self.mode, self.size
        watch = os.dup(stream.fileno())  # load() closes it
        try:
            before = time.thread_time()
            pixel = real(self)
            seconds = time.thread_time() - before
            same = content_of(os.fstat(watch)) == found.content
        finally:
            os.close(watch)
        if same and (self.mode, self.size) == (mode, size) and kept.keeps(seconds, _bytes_of(self)):
            parts = (_TO_BYTES(self),)
            kept.offer(found.key, found.content.ctime_ns, found.began_ns, parts, seconds)
        return pixel

    return load


def _getting(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def _getdecoder(mode: str, decoder_name: str, args: Any, extra: Any = ()) -> Any:
        copies, _next.copies = _next.copies, None
        return real(mode, decoder_name, args, extra) if copies is None else copies

    return _getdecoder


LOAD: Callable[..., Any] = loading(ImageFile.ImageFile.load)


def enable() -> None:
    """Once in a process, after the imports of user code. Does nothing where the program has put something of
    its own in PIL's place."""
    replaced = ImageFile.ImageFile.load, Image._getdecoder, *(kind.load_end for kind in _DECODERS)
    if not all(is_genuine(function, "PIL") for function in replaced):
        return
    Image._getdecoder = _getting(Image._getdecoder)
    for kind in _DECODERS:
        if "load" not in vars(
            kind
        ):  # where pictures are deferred there is one (pil.py), which calls LOAD
            setattr(kind, "load", LOAD)  # noqa: B010 - a method
