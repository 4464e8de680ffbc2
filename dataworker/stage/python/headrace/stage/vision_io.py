"""torchvision.io's decoding of JPEG files, natively (functions.py).

Replaced are the operators that read_image, decode_image and decode_jpeg call, whatever name a program has
these by. Where pictures are deferred, so are colour ones of these whose only use is shown (only_use.py).
"""

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torchvision
from torchvision.io import ImageReadMode, image

from .. import _images
from ..native.genuine import is_genuine
from . import picture_files, tensors, transforms
from .doors import Entry, Made
from .leaf_bytes import ByteLeaf, Encoded
from .leaf_keys import build_of
from .only_use import OnlyUse
from .redo import is_damaged


def _torchvisions_frame() -> Any:
    """Of the function that has called the one in the library's place (functions.Replaced), which called this
    module."""
    frame: Any = sys._getframe(1)
    while frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return frame


class _Readers:
    """torchvision's functions that end in the operators, and nothing else."""

    def __init__(self) -> None:
        named = {name: getattr(image, name, None) for name in _READERS}
        self._of_code = {
            function.__code__: function
            for function in named.values()
            if isinstance(function, types.FunctionType) and is_genuine(function, "torchvision")
        }

    def caller(self, frame: Any) -> tuple[Any, Any]:
        """The frame of the program's that has called the outermost of them from there, and which
        that is; None, None: something else is in between."""
        reader = None
        while frame is not None and frame.f_code in self._of_code:
            own = frame.f_globals.get(reader.__name__) if reader is not None else None
            if own is not reader:
                return None, None
            reader = self._of_code[frame.f_code]
            frame = frame.f_back
        return (frame, reader) if reader is not None else (None, None)


_READERS = ("decode_image", "decode_jpeg", "read_image")
_COLORS = (ImageReadMode.RGB.value, ImageReadMode.UNCHANGED.value)


def _is_plain(data: Any) -> bool:
    """Of others the library reads other memory, or none."""
    if type(data) is not torch.Tensor or data.dtype is not torch.uint8 or data.ndim != 1:
        return False
    return data.device.type == "cpu" and data.is_contiguous() and not data.is_neg()


def _is_gray(form: Any, mode: Any) -> bool:
    unchanged = mode == ImageReadMode.UNCHANGED.value and form.components == 1
    return bool(mode == ImageReadMode.GRAY.value or unchanged)


class _Decoder:
    def __init__(self, library: Callable[..., Any], readers: _Readers, only_use: OnlyUse) -> None:
        self._readers, self._only_use = readers, only_use
        self._files = _images.JpegFiles()
        self._library = library

    def decode(self, data: Any, mode: Any, apply_exif_orientation: Any = False) -> Made | None:
        if not _is_plain(data) or apply_exif_orientation is not False:
            return None
        file = tensors.array_of(data)
        form = self._files.form(file)
        if form is None or form.progressive:
            return None  # progressive ones gain nothing
        gray = _is_gray(form, mode)
        if not gray and mode not in _COLORS:
            return None
        kind = (mode, form.components, form.sampling)
        if not gray and self._defers(form, data):
            return Made(kind, self._undecoded(form, data, mode))
        shape = (form.height, form.width, 1 if gray else 3)
        pixels = torch.empty(shape, dtype=torch.uint8, device="cpu")
        if not self._files.decode(file, "GRAY" if gray else "RGB", tensors.array_of(pixels)):
            return None
        return Made(kind, pixels.permute(2, 0, 1))

    def encoded(
        self, data: Any, mode: Any = 0, apply_exif_orientation: Any = False
    ) -> Encoded | None:
        """What is decoded here and now, and so may be kept."""
        if not _is_plain(data) or type(mode) is not int or type(apply_exif_orientation) is not bool:
            return None
        if picture_files.is_on() and not apply_exif_orientation and mode in _COLORS:
            form = self._files.form(tensors.array_of(data))
            may = form is not None and not form.progressive and not _is_gray(form, mode)
            if may and self._defers(form, data):
                return None
        return Encoded(tensors.array_of(data), repr((mode, apply_exif_orientation)), False)

    def _defers(self, form: Any, data: Any) -> bool:
        """A truncated file is the library's, here and now."""
        if not picture_files.is_on() or min(form.height, form.width) <= 1:
            return False
        whole = tensors.array_of(data)[-2:].tobytes() == picture_files.END_OF_IMAGE
        if not whole or is_damaged(tensors.array_of(data)):
            return False
        return self._is_taken(_torchvisions_frame()) and picture_files.may_defer()

    def _is_taken(self, frame: Any) -> bool:
        caller, reader = self._readers.caller(frame)
        return self._only_use.shown(caller, reader)

    def _undecoded(self, form: Any, data: Any, mode: Any) -> tensors.Undecoded:
        file = tensors.array_of(
            data
        ).tobytes()  # the program may write something else into the tensor

        def decode(pixels: Any) -> bool:
            return self._files.decode(np.frombuffer(file, np.uint8), "RGB", pixels)

        def library() -> torch.Tensor:
            encoded = torch.frombuffer(bytearray(file), dtype=torch.uint8)
            made: torch.Tensor = self._library(encoded, mode)
            return made

        return tensors.Undecoded(file, (form.height, form.width), decode, library)


_BUILD = r"torchvision|jpeg|png|libz[.-]|webp|headrace/_images"
_TYPES = {torch.uint8: "uint8", torch.uint16: "uint16"}


def _to_array(value: Any) -> tuple[Any, Any] | None:
    """Its memory, the name of its type, and whether it is a view. None: it is not laid out as the library's
    pictures are."""
    if type(value) is not torch.Tensor or value.dtype not in _TYPES or value.ndim != 3:
        return None
    channels, height, width = value.shape
    alike = value.stride() == (1, width * channels, channels) and value.storage_offset() == 0
    memory = value.untyped_storage()
    if not alike or memory.nbytes() != value.nbytes or not memory.resizable():
        return None
    base = value._base
    if base is not None and not (base.shape == (height, width, channels) and base.is_contiguous()):
        return None
    # A copy where one axis has one element, whose stride says nothing to NumPy.
    array = np.ascontiguousarray(tensors.array_of(value.permute(1, 2, 0)))
    return array, (_TYPES[value.dtype], base is not None)


def _from_array(array: Any, more: Any) -> Any:
    kind, is_view = more
    kind, (height, width, channels) = getattr(torch, kind), array.shape
    if is_view:
        pixels = torch.empty(array.shape, dtype=kind, device="cpu")
        made = pixels.permute(2, 0, 1)
    else:
        shape, steps = (channels, height, width), (1, width * channels, channels)
        made = torch.empty_strided(shape, steps, dtype=kind, device="cpu")
        pixels = made.permute(1, 2, 0)
    tensors.array_of(pixels)[...] = array
    return made


def _nothing(*_: Any, **__: Any) -> Made | None:
    return None


def entries() -> Iterator[Entry]:
    readers, only_use = _Readers(), OnlyUse(transforms.takes)
    library = f"torchvision {torchvision.__version__}"
    for name in ("decode_jpeg", "decode_image", "decode_png"):
        if hasattr(torch.ops.image, name):  # a torchvision without its image library has none
            own = torch._ops.OpOverloadPacket
            decoder = _Decoder(getattr(torch.ops.image, name), readers, only_use)
            leaf = ByteLeaf(
                f"torchvision {name} {torchvision.__version__} {torch.__version__}",
                lambda: build_of(_BUILD),
                decoder.encoded,
                quiet=True,
                to_array=_to_array,
                from_array=_from_array,
            )
            decode = _nothing if name == "decode_png" else decoder.decode
            view, settle = tensors.array_of, tensors.settle
            yield Entry(
                torch.ops.image, name, own, library, decode, view=view, settle=settle, leaf=leaf
            )
