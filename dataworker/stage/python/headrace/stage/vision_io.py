"""torchvision.io's decoding of JPEG files, natively (functions.py).

Replaced are the operators that read_image, decode_image and decode_jpeg call, whatever name a program
has these by.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torchvision
from torchvision.io import ImageReadMode

from .. import _images
from .functions import Entry, Made


class _Decoder:
    def __init__(self) -> None:
        self._files = _images.JpegFiles()

    def decode(self, data: Any, mode: Any, apply_exif_orientation: Any = False) -> Made | None:
        plain = type(data) is torch.Tensor and data.dtype is torch.uint8 and data.ndim == 1
        if not plain or apply_exif_orientation is not False:
            return None
        file = data.numpy()
        form = self._files.form(file)
        if form is None or form.progressive:
            return None  # progressive ones gain nothing
        gray = mode == ImageReadMode.GRAY.value or (
            mode == ImageReadMode.UNCHANGED.value and form.components == 1
        )
        if not gray and mode not in (ImageReadMode.RGB.value, ImageReadMode.UNCHANGED.value):
            return None
        shape = (form.height, form.width, 1 if gray else 3)
        pixels = torch.empty(shape, dtype=torch.uint8, device="cpu")
        if not self._files.decode(file, "GRAY" if gray else "RGB", pixels.numpy()):
            return None
        kind = (mode, form.components, form.sampling)
        return Made(kind, pixels.permute(2, 0, 1))


def entries() -> Iterator[Entry]:
    decoder = _Decoder()
    library = f"torchvision {torchvision.__version__}"
    for name in ("decode_jpeg", "decode_image"):
        if hasattr(torch.ops.image, name):  # a torchvision without its image library has none
            own = torch._ops.OpOverloadPacket
            yield Entry(torch.ops.image, name, own, library, decoder.decode, torch.Tensor.numpy)
