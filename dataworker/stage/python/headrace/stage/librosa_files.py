"""librosa's reader as leaves (functions.py): sound that is decoded, mixed and resampled."""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import librosa
import numpy as np
import scipy
import soundfile
import soxr
from librosa.core import audio

from .doors import Entry, Made
from .leaf_arrays import FileLeaf, Part
from .leaf_keys import build_of
from .leaves import Leaves

_FILES = r"sndfile|libflac|libvorbis|libogg|libopus|libmpg123|libmp3lame|soxr|/numpy/|/scipy/|_multiarray"
# Ways of resampling whose code is named here.
_WAYS = frozenset(
    ("soxr_vhq", "soxr_hq", "soxr_mq", "soxr_lq", "soxr_qq", "fft", "scipy", "polyphase")
)
_TYPES = (np.float32, np.float64, "float32", "float64")
_OTHER = "__audioread_load"  # what librosa turns to where soundfile can't read a file: with warnings, each time
_turned = threading.local()


def _number(*values: Any) -> bool:
    return all(type(value) in (int, float) for value in values)


def _load(
    *,
    sr: Any = 22050,
    mono: Any = True,
    offset: Any = 0.0,
    duration: Any = None,
    dtype: Any = np.float32,
    res_type: Any = "soxr_hq",
) -> str | None:
    plain = (
        (sr is None or _number(sr))
        and type(mono) is bool
        and _number(offset)
        and (duration is None or _number(duration))
        and type(dtype) in (type, str)
        and dtype in _TYPES
        and type(res_type) is str
        and res_type in _WAYS
    )
    if not plain or "LIBROSA_CACHE_DIR" in os.environ:  # there it keeps results itself
        return None
    text = repr((sr, mono, offset, duration, np.dtype(dtype).str, res_type))
    return text if not offset and duration is None else Part(text)


def _version(module: Any) -> str:
    return str(module.__version__)


def _two(value: Any) -> tuple[Any, Any] | None:
    """An array, and the samples a second."""
    if type(value) is tuple and len(value) == 2 and _number(value[1]):
        return value
    return None


class _Sound(FileLeaf):
    def make(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], args: Any, named: Any
    ) -> Any:
        _listen()
        _turned.now = False
        return super().make(leaves, wanted, read, args, named)

    def _is_silent(self, path: Any) -> bool:
        return not _turned.now


@functools.cache
def _listen() -> None:
    setattr(audio, _OTHER, _noted(getattr(audio, _OTHER)))


def _noted(real: Callable[..., Any]) -> Callable[..., Any]:
    def load(*args: Any, **named: Any) -> Any:
        _turned.now = True
        return real(*args, **named)

    return load


def _nothing(*_: Any, **__: Any) -> Made | None:
    return None


def _array(value: Any) -> Any:
    """What is compared of a result."""
    array, rate = value
    return array if rate > 0 else None


def entries() -> Iterator[Entry]:
    if type(vars(audio).get(_OTHER)) is not FunctionType:
        return  # another librosa
    library = f"librosa {_version(librosa)}"
    versions = _version(soxr), soundfile.__version__, scipy.__version__, np.__version__
    leaf = _Sound(
        f"{library} {versions} {soundfile.__libsndfile_version__}",
        lambda: build_of(_FILES),
        _load,
        quiet=True,
        to_array=_two,
        from_array=lambda array, rate: (array, rate),
    )
    yield Entry(
        audio, "load", FunctionType, library, _nothing, view=_array, pictures=False, leaf=leaf
    )
