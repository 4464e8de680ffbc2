"""The C++ image kernels for tests, through ctypes, and Pillow as their oracle.

The library is build/release/ops/vision/libheadrace_image_testing.so, or what
HEADRACE_TEST_IMAGE_LIBRARY names. HEADRACE_TEST_PILLOW_OLD names a directory with a Pillow 12 or older
(pip install --target). HEADRACE_TEST_EXAMPLES sets how many cases each property tries.
"""

from __future__ import annotations

import ctypes
import functools
import io
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import hypothesis
import numpy as np
from PIL import Image

from support.extent import share

OK, DATA_LOSS, UNSUPPORTED = 0, 6, 10

settings = hypothesis.settings(
    deadline=None,
    max_examples=int(os.environ.get("HEADRACE_TEST_EXAMPLES", share(150))),
    print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@functools.cache
def library() -> ctypes.CDLL:
    path = os.environ.get("HEADRACE_TEST_IMAGE_LIBRARY")
    if not path:
        root = pathlib.Path(__file__).resolve().parents[2]
        # The release build only: a sanitizer's library ends an interpreter that it was not loaded first in.
        path = str(root / "build/release/ops/vision/libheadrace_image_testing.so")
        if not os.path.exists(path):
            raise RuntimeError("build headrace_image_testing first (./dev build)")
    lib = ctypes.CDLL(path)
    lib.hr_jpeg_encode.restype = ctypes.c_size_t
    return lib


def _pointer(array: np.ndarray | None):
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def _bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(bytes(data) or b"\0", np.uint8)


def _int64(values) -> np.ndarray | None:
    return None if values is None else np.array(values, np.int64)


def header(data: bytes) -> tuple[int, dict[str, int]]:
    out = np.zeros(6, np.int64)
    raw = _bytes(data)
    code = library().hr_image_header(_pointer(raw), ctypes.c_size_t(len(data)), _pointer(out))
    names = ("need_bytes", "format", "width", "height", "channels", "progressive")
    return code, dict(zip(names, out.tolist(), strict=True))


def decode_jpeg(data: bytes, size, window=None, pixel_bytes=4):
    """(code, pixels); size = (width, height) of the image, window = (top, left, height, width)."""
    height, width = (size[1], size[0]) if window is None else window[2:]
    out = np.empty((height, width, 3), np.uint8)
    raw = _bytes(data)
    part = _int64(window)
    code = library().hr_jpeg_decode(
        _pointer(raw), ctypes.c_size_t(len(data)), _pointer(part), pixel_bytes,
        _pointer(out), ctypes.c_size_t(out.size),
    )  # fmt: skip
    return code, out


def decode_png(data: bytes, size, window=None, pixel_bytes=4):
    """As decode_jpeg."""
    height, width = (size[1], size[0]) if window is None else window[2:]
    out = np.empty((height, width, 3), np.uint8)
    raw = _bytes(data)
    part = _int64(window)
    code = library().hr_png_decode(
        _pointer(raw), ctypes.c_size_t(len(data)), _pointer(part), pixel_bytes,
        _pointer(out), ctypes.c_size_t(out.size),
    )  # fmt: skip
    return code, out


PILLOW, TORCH_BYTES, TORCH_FLOATS = 0, 1, 2  # ResizeArithmetic
NEAREST_EXACT = 6  # a Filter that Pillow lacks


def resize(
    pixels: np.ndarray, size, filter_, *, level, version="", box=None, window=None, step=4,
    arithmetic=PILLOW, antialias=True,
):  # fmt: skip
    """Resizes [H,W] or [H,W,3] u8; window = (top, left, height, width) of the output."""
    pixels = np.ascontiguousarray(pixels)
    channels = 1 if pixels.ndim == 2 else 3
    height, width = (size[1], size[0]) if window is None else window[2:]
    out = np.empty((height, width) if channels == 1 else (height, width, 3), np.uint8)
    spec = _int64(
        [
            pixels.shape[1],
            pixels.shape[0],
            *size,
            int(filter_),
            library().hr_pass_order(version.encode()),
            arithmetic,
            int(antialias),
        ]
    )
    corners = None if box is None else np.array(box, np.float32)
    part = _int64(window)
    code = library().hr_resize(
        level, _pointer(spec), _pointer(corners), _pointer(part), _pointer(pixels), channels,
        1 if channels == 1 else step, _pointer(out), ctypes.c_size_t(out.size),
    )  # fmt: skip
    return code, out


def simd_levels() -> range:
    return range(library().hr_simd_level() + 1)


def pointwise_levels() -> range:
    return range(library().hr_pointwise_level() + 1)


def table_f32(pixels: np.ndarray, table: np.ndarray, channels, *, level, flip=(False, False)):
    """[H,W,step] u8 -> [channels,H,W] f32 through table [channels,256]."""
    pixels = np.ascontiguousarray(pixels)
    height, width, step = pixels.shape
    out = np.empty((channels, height, width), np.float32)
    shape = _int64([height, width, channels, step])
    table = np.ascontiguousarray(table, np.float32)
    library().hr_table_f32(
        level, _pointer(pixels), _pointer(shape), int(flip[0]), int(flip[1]), _pointer(table),
        _pointer(out),
    )  # fmt: skip
    return out


# libjpeg's J_COLOR_SPACE.
GRAY, RGB, YCBCR, CMYK, YCCK = 1, 2, 3, 4, 5


def encode_jpeg(
    pixels: np.ndarray, *, space=YCBCR, sampling=(), quality=90, progressive=False, restart=0,
    arithmetic=False, separate_scans=False,
) -> bytes:  # fmt: skip
    """b"" where libjpeg does not write such a file. sampling: (h, v) for each component."""
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    components = 1 if pixels.ndim == 2 else pixels.shape[2]
    factors = [f for pair in (*sampling, *[(1, 1)] * 4)[:4] for f in pair]
    options = np.array(
        [space, quality, progressive, restart, arithmetic, separate_scans, *factors], np.int32
    )
    out = np.empty(pixels.size * 4 + 65536, np.uint8)
    size = library().hr_jpeg_encode(
        _pointer(pixels), ctypes.c_int64(width), ctypes.c_int64(height), components,
        _pointer(options), _pointer(out), ctypes.c_size_t(out.size),
    )  # fmt: skip
    return out[:size].tobytes()


def pil_rgb(data: bytes) -> np.ndarray | None:
    """What Image.open(...).convert("RGB") gives; None where it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception:  # whatever Pillow raises is a refusal
        return None


class ThisPillow:
    version = Image.__version__

    def resize(self, pixels: np.ndarray, size, filter_, box=None) -> np.ndarray:
        return np.asarray(Image.fromarray(pixels).resize(size, filter_, box))

    def close(self) -> None:
        pass


class OldPillow:
    """The same in a process with the Pillow of HEADRACE_TEST_PILLOW_OLD."""

    _SERVER = """
import pickle, sys
import numpy as np
from PIL import Image
pickle.dump(Image.__version__, sys.stdout.buffer); sys.stdout.buffer.flush()
while True:
    pixels, size, filter_, box = pickle.load(sys.stdin.buffer)
    result = np.asarray(Image.fromarray(pixels).resize(size, filter_, box))
    pickle.dump(result, sys.stdout.buffer); sys.stdout.buffer.flush()
"""

    def __init__(self, directory: str):
        self._process = subprocess.Popen(
            [sys.executable, "-c", self._SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=directory),
        )
        self.version = pickle.load(self._process.stdout)

    def resize(self, pixels, size, filter_, box=None) -> np.ndarray:
        pickle.dump((pixels, size, int(filter_), box), self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def picture(seed: int, height: int, width: int, channels: int) -> np.ndarray:
    """Shapes, edges and noise: [H,W] or [H,W,channels] u8."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(channels):
        a, b, c = rng.uniform(-0.3, 0.3, 3)
        plane = 128 + 127 * np.sin(a * x + b * y + c)
        plane += 200 * (((x * rng.integers(1, 5) + y * rng.integers(1, 5)) % 37) < 9)
        plane += rng.normal(0, rng.choice([0, 4, 40]), (height, width))
        planes.append(np.clip(plane, 0, 255).astype(np.uint8))
    return planes[0] if channels == 1 else np.stack(planes, axis=2)
