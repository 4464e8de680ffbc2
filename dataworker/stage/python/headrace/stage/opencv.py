"""OpenCV's functions natively (functions.py): reading of JPEG files. Those on pictures: opencv_pictures.py."""

import os
import stat
from collections.abc import Iterator
from contextlib import nullcontext
from types import BuiltinFunctionType
from typing import Any

import cv2
import numpy as np

from .. import _images
from . import ahead_pictures, opencv_pictures
from .doors import Entry, Made
from .leaf_arrays import FileLeaf
from .leaf_bytes import ByteLeaf, Encoded
from .leaf_keys import Content, build_of, content_of
from .leaf_streams import LARGEST_READ_WHOLE

_UPRIGHT = (0, 1)  # Exif's orientations that leave a picture as it is

_JPEG = b"\xff\xd8\xff"  # how such a file begins

_AHEAD = {"RGB": ahead_pictures.RGB, "BGR": ahead_pictures.BGR, "GRAY": ahead_pictures.GRAY}

_BUILD = r"cv2|opencv|jpeg|png|libz[.-]|tiff|webp|headrace/_images"  # files of libraries that read pictures

# Limits that OpenCV has been told to keep, with errors of its own.
_LIMITS = "OPENCV_IO_MAX_IMAGE_"


def _channels() -> dict[int, str]:
    """What an array holds, by imread's flags. IMREAD_UNCHANGED of a grey file is grey."""
    kinds = {
        cv2.IMREAD_COLOR: "BGR",
        cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION: "BGR",
        cv2.IMREAD_UNCHANGED: "BGR",
        cv2.IMREAD_GRAYSCALE: "GRAY",
    }
    if hasattr(cv2, "IMREAD_COLOR_RGB"):
        kinds[cv2.IMREAD_COLOR_RGB] = "RGB"
    return kinds


class _Decoder:
    def __init__(self) -> None:
        self._files = _images.JpegFiles()
        self._channels = _channels()

    def imread(self, filename: Any, flags: Any = cv2.IMREAD_COLOR) -> Made | None:
        if type(flags) is not int or flags not in self._channels:
            return None
        path = os.fspath(filename)
        state = os.stat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_READ_WHOLE:
            return None  # what is in a pipe can be read once
        with open(path, "rb", buffering=0) as file:
            head = file.read(len(_JPEG))
            if head != _JPEG:
                return None
            data = np.frombuffer(head + file.read(), np.uint8)
            content = content_of(os.fstat(file.fileno()))
        return self._decode(data, flags, type(filename), content)

    def imdecode(self, buf: Any, flags: Any) -> Made | None:
        plain = type(buf) is np.ndarray and buf.dtype == np.uint8 and buf.ndim == 1
        if not plain or type(flags) is not int or flags not in self._channels:
            return None
        return self._decode(np.ascontiguousarray(buf), flags, None, None)

    def _decode(self, data: Any, flags: int, source: Any, content: Content | None) -> Made | None:
        """`content`: of the file that it is all of; None: it is of none."""
        form = self._files.form(data)
        if form is None or form.progressive or form.orientation not in _UPRIGHT:
            return None  # progressive ones gain nothing
        gray = form.components == 1 and flags == cv2.IMREAD_UNCHANGED
        channels = "GRAY" if gray else self._channels[flags]
        shape = (form.height, form.width) if channels == "GRAY" else (form.height, form.width, 3)
        pixels = self._pixels(data, channels, shape, content)
        if pixels is None:
            return None
        return Made((source, flags, form.components, form.sampling), pixels)

    def _pixels(
        self, data: Any, channels: str, shape: tuple[int, ...], content: Content | None
    ) -> Any:
        decoded_as = _AHEAD[channels]
        taken = ahead_pictures.taken(content, decoded_as, shape)
        if taken is not None and not taken.compares:
            return taken.pixels
        pixels = np.empty(shape, np.uint8)
        with nullcontext() if content is None else ahead_pictures.Decoding(decoded_as):
            if not self._files.decode(data, channels, pixels):
                return None
        if taken is not None and pixels.tobytes() != taken.pixels.tobytes() and ahead_pictures.here:
            ahead_pictures.here.differ("OpenCV")
        return pixels


def _flags(flags: Any = cv2.IMREAD_COLOR) -> str | None:
    """What imread's result depends on, beside the file."""
    return str(flags) if type(flags) is int else None


def _encoded(buf: Any, flags: Any) -> Encoded | None:
    """What imdecode is given."""
    plain = type(buf) is np.ndarray and buf.dtype == np.uint8 and buf.ndim == 1
    if not plain or not buf.flags.c_contiguous or type(flags) is not int:
        return None
    return Encoded(buf, str(flags), type(buf.base) is bytes and not buf.flags.writeable)


def entries() -> Iterator[Entry]:
    library = f"OpenCV {cv2.__version__}"
    yield from opencv_pictures.entries(library)
    if any(name.startswith(_LIMITS) for name in os.environ):
        return
    decoder = _Decoder()
    leaf = FileLeaf(f"cv2.imread {library}", lambda: build_of(_BUILD), _flags, quiet=True)
    of_bytes = ByteLeaf(f"cv2.imdecode {library}", lambda: build_of(_BUILD), _encoded, quiet=True)
    yield Entry(cv2, "imread", BuiltinFunctionType, library, decoder.imread, leaf=leaf)
    yield Entry(cv2, "imdecode", BuiltinFunctionType, library, decoder.imdecode, leaf=of_bytes)
