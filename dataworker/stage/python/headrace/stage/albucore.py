"""albumentations' Normalize of 8-bit pictures, natively (functions.py).

albucore looks each byte up in a table of its channel. The table holds (byte - mean) * factor in float32,
so the native form computes that. Which tables are such is seen by making one both ways.
"""

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import albucore
import numpy as np
from albucore import functions as library

from .. import _images
from .doors import Entry, Made

_MOST_TABLES = 64  # pairs of mean and factor; a program has one or two

_RAMP = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(1, 256, 3)


class _Normalizer:
    """Its tables are the same in each thread."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], bool] = {}

    def normalize(self, img: Any, mean: Any, denominator: Any) -> Made | None:
        plain = type(img) is np.ndarray and img.dtype == np.uint8
        if not plain or img.ndim != 3 or img.shape[2] != 3:
            return None
        values = [value for value in (mean, denominator) if _is_by_channel(value)]
        if len(values) != 2 or not self._is_native(mean, denominator):
            return None
        made = _made(img, mean, denominator)
        return None if made is None else Made(None, made)

    def _is_native(self, mean: Any, factor: Any) -> bool:
        key = mean.tobytes(), factor.tobytes()
        known = self._known.get(key)
        if known is None:
            ramp = np.arange(256, dtype=np.float32)
            tables = (ramp - mean.reshape(-1, 1)) * factor.reshape(-1, 1)
            made = _made(_RAMP, mean, factor)
            known = made is not None and made[0].T.tobytes() == tables.tobytes()
            if len(self._known) < _MOST_TABLES:
                self._known[key] = known
        return known


def _is_by_channel(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == np.float32 and value.shape == (3,)


def _made(img: Any, mean: Any, factor: Any) -> Any:
    made = np.empty(img.shape, np.float32)
    done = _images.normalize_pixels(img, mean.tolist(), factor.tolist(), made)
    return made if done else None


def entries() -> Iterator[Entry]:
    name = f"albucore {albucore.__version__}"
    native = _Normalizer().normalize
    yield Entry(library, "normalize_lut", FunctionType, name, native, pictures=False)
