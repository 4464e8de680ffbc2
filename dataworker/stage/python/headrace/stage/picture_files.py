"""Files of pictures that PIL has opened, and whether what they show may be deferred (deferred.py)."""

from typing import Any

from PIL import JpegImagePlugin

from . import ahead_pictures, leaf_streams, leaves, render
from .redo import is_damaged
from .render import ImageMaker, Source

END_OF_IMAGE = b"\xff\xd9"
_WHOLE = "all of a JPEG file, as RGB"

_current: ImageMaker | None = None


def made_by(maker: ImageMaker) -> None:
    """What makes the pixels of all deferred images. Once in a process."""
    global _current
    _current = maker


def is_on() -> bool:
    """Whether native forms stand for PIL's now."""
    return _current is not None and _current.on


def _is_met() -> bool:
    """Whether a file may be deferred. Notes that there is one."""
    if _current is None or not _current.on or "decode" in _current.kept:
        return False
    _current.met_file = True
    return True


def may_defer() -> bool:
    """Whether a file that can be deferred is, though nobody has decoded it: the batch at hand can be made again."""
    if not _is_met():
        return False
    maker().fresh += 1
    return maker().decodes


def maker() -> ImageMaker:
    assert _current is not None
    return _current


def _wanted(stream: Any) -> leaf_streams.Wanted | None:
    """Of a file, before it is read."""
    kept = leaves.active()
    if kept is None:
        return None
    if not kept.looks_for_pictures:
        if maker().decodes:
            kept.missed()  # else whoever decodes it says so
        return None
    return leaf_streams.wanted(stream, _WHOLE)


def _wanted_of(file: bytes) -> leaf_streams.Wanted | None:
    """Of bytes that no file of its own gave."""
    kept = leaves.active()
    if kept is None or not kept.looks_for_pictures or not render.worth.is_likely(kept.is_first):
        return None
    return leaf_streams.wanted_of(file, _WHOLE)


def _is_left(wanted: leaf_streams.Wanted | None) -> bool:
    """Whether PIL decodes it, since nobody has, and this process could not begin again."""
    kept = leaves.active() if wanted is not None else None
    if kept is not None and wanted is not None and kept.has(wanted.key):
        return False
    maker().fresh += 1
    return not maker().decodes


def source_of(opened: Any) -> Source | None:
    """Of the file of an image that PIL has opened and not yet decoded, if it can be deferred."""
    if type(opened) is not JpegImagePlugin.JpegImageFile or not _untouched(opened) or not _is_met():
        return None
    stream: Any = opened.fp
    try:
        if not leaf_streams.is_read_whole(stream):
            return None
        is_file = leaf_streams.is_file(stream)
        wanted = _wanted(stream)
        if is_file and _is_left(wanted):
            return None
        stream.seek(0)
        file = stream.read()
        if wanted is not None and not leaf_streams.holds(stream, wanted):
            wanted = None
    except Exception:
        return None  # PIL will meet it too, in its own way
    # Without its end it is truncated: PIL raises here and now, where the program expects it.
    if type(file) is not bytes or not file.endswith(END_OF_IMAGE) or is_damaged(file):
        return None
    if not is_file:
        wanted = _wanted_of(file) if wanted is None else wanted
        if _is_left(wanted):
            return None
    if wanted is None and not maker().decodes:
        return None  # the file has changed meanwhile
    return ahead_pictures.given(Source(file, wanted), stream, opened.size)


def _untouched(opened: Any) -> bool:
    """Whether it was not decoded, closed, or told by draft() to decode less."""
    tile = opened.tile
    return (
        len(tile) == 1
        and tile[0][0] == "jpeg"
        and tuple(tile[0][1]) == (0, 0, *opened.size)
        and tile[0][2] == 0
        and opened.decoderconfig == ()
        and opened.mode in ("RGB", "L")
        and opened.fp is not None
    )
