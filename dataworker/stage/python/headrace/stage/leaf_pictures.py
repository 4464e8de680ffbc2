"""Pictures as leaves: what PIL's decoders and the native ones make of a whole file, or of encoded bytes.

PIL's load() runs as it is, with all that it does beside the decoding: chunks after the pixels, palettes, the end
of the file. Only the decoder's place is taken, by one that copies the kept pixels. So an image has what it
would have. Formats with several pictures, other modes, and streams of the program's own making are PIL's.
"""

import functools
import os
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin

from ..native.genuine import is_genuine
from . import leaves
from .leaf_cost import Worth
from .leaf_keys import content_of
from .leaf_streams import Wanted, bytes_of, is_file, wanted, wanted_of

# Before the pixels: where load() leaves a stream that is not PIL's own.
_PLACE = struct.Struct("<Q")
_DECODERS = {PngImagePlugin.PngImageFile: "zip", JpegImagePlugin.JpegImageFile: "jpeg"}
# Modes whose raw form has all of their bits.
_MODES = frozenset(("L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"))
_TO_BYTES: Callable[..., bytes] = Image.Image.tobytes


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
        or not image._close_exclusive_fp_after_loading
        or ImageFile.LOAD_TRUNCATED_IMAGES
    ):
        return None
    decoder, extents, offset, args = tile[0]
    what = type(image).__name__, image.mode, image.size, decoder, tuple(extents), offset, args
    return repr((*what, image.decoderconfig, image.decodermaxblock, _is_pils(image)))


def _is_pils(image: Any) -> bool:
    """Whether the file is PIL's own, and closed by load(). Else a program sees where it is left."""
    return bool(image._exclusive_fp) and is_file(image.fp)


# Of pictures that are named by their bytes: to name those costs something.
worth_naming = Worth()
_worth = Worth()  # of all


def _wanted(image: Any, kept: leaves.Leaves) -> Wanted | None:
    is_named = is_file(image.fp)
    if not is_named and not (kept.looks_for_pictures and worth_naming.is_likely(kept.is_first)):
        kept.missed()
        return None
    text = _picture(image)
    if text is None or is_named:
        return None if text is None else wanted(image.fp, text)
    before = time.thread_time()
    data = bytes_of(image.fp)
    took = time.thread_time() - before
    if data is None:
        return None
    found = wanted_of(data, text)
    return found._replace(seconds=found.seconds + took)


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
            found = _wanted(self, kept)
        except Exception:  # of a PIL whose images are others, or of the stream
            found = None
        if found is None:
            return real(self)
        place = 0 if _is_pils(self) else _PLACE.size
        entry = kept.find(found.key)
        if entry is not None and len(entry) == place + _bytes_of(self):
            return _load_kept(self, real, entry, place)
        return _load_new(self, real, found, kept)

    return load


def _load_kept(image: Any, real: Callable[..., Any], entry: memoryview, place: int) -> Any:
    stream = image.fp if place else None
    _next.copies = _Copies(image.mode, entry[place:])
    try:
        pixel = real(image)
    finally:
        _next.copies = None
    if stream is not None:
        worth_naming.note(True)
        if not stream.closed:
            stream.seek(*_PLACE.unpack_from(entry))
    return pixel


def _load_new(image: Any, real: Callable[..., Any], found: Wanted, kept: leaves.Leaves) -> Any:
    stream, mode, size, lent = image.fp, image.mode, image.size, not _is_pils(image)
    watch = -1 if found.content is None else os.dup(stream.fileno())  # load() may close it
    try:
        before = time.thread_time()
        pixel = real(image)
        seconds = time.thread_time() - before
        same = watch < 0 or content_of(os.fstat(watch)) == found.content
    finally:
        if watch >= 0:
            os.close(watch)
    if (image.mode, image.size) != (mode, size):
        return pixel
    takes = _worth.undisturbed(seconds, _bytes_of(image), found.seconds)
    is_worth = kept.keeps(takes, _bytes_of(image))
    if found.content is None:
        kept.first_iteration.spend(found.seconds)
        worth_naming.judge(is_worth, takes, _bytes_of(image), kept.is_first)
    if same and is_worth:
        before = time.thread_time()
        pixels = _TO_BYTES(image)
        kept.first_iteration.spend(time.thread_time() - before)
        place = 0 if not lent or stream.closed else stream.tell()
        parts = (_PLACE.pack(place), pixels) if lent else (pixels,)
        kept.offer(found.key, found.ctime_ns, found.began_ns, parts, seconds)
    return pixel


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
