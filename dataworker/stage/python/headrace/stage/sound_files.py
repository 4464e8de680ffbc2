"""soundfile's reader as leaves (functions.py). What is not packed costs no more to read than to copy, and is not
kept, by its cost."""

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import soundfile

from .doors import Entry, Made
from .leaf_arrays import FileLeaf, Part
from .leaf_keys import build_of
from .sound_handles import Reads, form

_FILES = r"sndfile|libflac|libvorbis|libogg|libopus|libmpg123|libmp3lame"
_TYPES = ("float64", "float32", "int32", "int16")


def _read(
    frames: Any = -1,
    start: Any = 0,
    stop: Any = None,
    dtype: Any = "float64",
    always_2d: Any = False,
) -> str | None:
    plain = (
        type(frames) is int
        and type(start) is int
        and (stop is None or type(stop) is int)
        and dtype in _TYPES
        and type(always_2d) is bool
    )
    if not plain:
        return None
    text = repr((frames, start, stop, dtype, always_2d))
    return text if (frames, start, stop) == (-1, 0, None) else Part(text)


def _two(value: Any) -> tuple[Any, Any] | None:
    """An array, and the samples a second."""
    if type(value) is tuple and len(value) == 2 and type(value[1]) is int:
        return value
    return None


def _nothing(*_: Any, **__: Any) -> Made | None:
    return None


def _rate(value: Any) -> Any:
    """What is compared of a result."""
    array, rate = value
    return array if rate > 0 else None


def entries() -> Iterator[Entry]:
    version = f"soundfile {soundfile.__version__} {soundfile.__libsndfile_version__}"
    leaf = FileLeaf(
        f"soundfile.read {version}",
        lambda: build_of(_FILES),
        _read,
        quiet=True,  # libmpg123 speaks of damaged frames
        to_array=_two,
        from_array=lambda array, rate: (array, rate),
    )
    yield Entry(
        soundfile, "read", FunctionType, version, _nothing, view=_rate, pictures=False, leaf=leaf
    )
    reads = Reads(f"SoundFile.read {version}", lambda: build_of(_FILES), form, quiet=True)
    owner = soundfile.SoundFile
    yield Entry(owner, "read", FunctionType, version, _nothing, pictures=False, leaf=reads)
