"""The native operators for stage hosts (dataworker/stage/images)."""

from collections.abc import Callable
from typing import Any

import numpy as np

Room = Callable[[tuple[int, ...], bool], tuple[Any, int]]
Args = dict[str, int | float | str | list[int] | list[float]]

class Chain:
    """Operators with the draws of the transforms that they stand for. Thread-safe; one runs at a
    time. `state`: torch.get_rng_state() as an array that the draws move on in place, or an empty
    one if nothing is random. All methods return uint8 or float32, [C, H, W] for a tensor and [H,
    W, C] for an image. None, with the state unchanged: only Python can tell. That is so for another
    format, a damaged file, or arguments that do not fit the picture. Without the GIL."""

    @property
    def is_random(self) -> bool: ...
    # `room`: called once it is known what comes out, with the shape, and whether it is float32. It gives an object, which
    # is returned in the array's place, and where that one's memory begins. It is called with the GIL.
    def run_file(self, file: bytes, state: np.ndarray, room: Room | None = None) -> Any: ...
    def run_file_drawn(self, file: bytes, state: np.ndarray) -> tuple[np.ndarray, list[int]] | None:
        """With what the operators drew, in the words of their params."""
    def run_pixels(self, pixels: np.ndarray, state: np.ndarray, room: Room | None = None) -> Any:
        """`pixels`: uint8 [H, W, C] or [H, W]."""

class Renderer:
    """Thread-safe. The versions decide about bits, as in a plan's libraries."""

    def __init__(self, pillow: str, torch: str, torchvision: str, cpu_capability: str) -> None: ...
    def compile(self, nodes: list[tuple[str, Args]], torch_exp: bytes) -> Chain | None:
        """`torch_exp`: the plan's constant (capture/torch_exp.py). None: there is no native form."""
    def render(self, file: bytes, nodes: list[tuple[str, Args]]) -> np.ndarray | None:
        """What the nodes make of an encoded image: uint8 [H, W, 3], or as their last one says.
        None: there is no native form of it, or the file is damaged. Without the GIL."""
    def edit(self, pixels: np.ndarray, nodes: list[tuple[str, Args]]) -> np.ndarray | None:
        """The same of uint8 [H, W, 3], contiguous."""

class JpegForm:
    """What a library that decodes JPEG files by itself may make depend on."""

    height: int
    width: int
    components: int
    progressive: bool
    sampling: int  # of each component a byte
    orientation: int  # Exif's; 0: it says none; -1: readers may differ

class JpegFiles:
    """Decodes whole JPEG files as libraries beside PIL do. Thread-safe."""

    def __init__(self) -> None: ...
    def form(self, file: np.ndarray) -> JpegForm | None:
        """None: not a JPEG file, or one that has no native form."""
    def decode(self, file: np.ndarray, channels: str, out: np.ndarray) -> bool:
        """Decodes into `out`, which is contiguous and has the picture's size. channels: BGR, RGB or
        GRAY. False: there is no native form, or the file is damaged; `out` then holds anything."""

# Functions on pictures in memory, uint8 [H, W, 3]. They write into `out`, which is contiguous and has the
# result's size, without the GIL. False, with `out` untouched: there is no native form of it, or this
# machine has not the instructions. Thread-safe.

def resize_linear(src: np.ndarray, out: np.ndarray) -> bool:
    """cv2.resize with INTER_LINEAR."""

def resize_area(src: np.ndarray, out: np.ndarray) -> bool:
    """cv2.resize with INTER_AREA."""

def warp_linear(
    src: np.ndarray,
    matrix: list[float],
    inverted: bool,
    border: int,
    outside: list[int],
    out: np.ndarray,
) -> bool:
    """cv2.warpAffine with INTER_LINEAR of OpenCV 5.0. matrix: its six numbers by rows, of the result's
    places if `inverted`. outside: of three channels."""

def copy_pixels(src: np.ndarray, out: np.ndarray) -> bool:
    """A copy of pixels in another order: mirrored, channels reversed, or as planes [3, H, W]."""

def normalize_pixels(
    src: np.ndarray, mean: list[float], factor: list[float], out: np.ndarray
) -> bool:
    """(src - mean) * factor by channel in float32."""

# Between PIL's pixels, tensors and plain memory. `exported`: the Arrow array of a PIL image that nobody else
# writes to meanwhile (ImagingCore.__arrow_c_array__).

def pack_pixels(exported: object, pixels: int, channels: int) -> bytes | None:
    """What Image.tobytes() returns of an image with so many pixels. channels: 1 (L), 3 (RGB) or 4 (RGBA). None:
    its memory is laid out in another way, or this machine has not the instructions."""

def fill_pixels(pixels: np.ndarray, exported: object) -> bool:
    """Writes uint8 [H, W, 3], contiguous, into an RGB image of PIL's. False, untouched: as pack_pixels."""

def stack_planes(samples: list[np.ndarray], out: np.ndarray) -> bool:
    """torch.stack of [3, ...] of which the elements of a pixel lie next to each other, each of 1 byte or of 4,
    without the GIL. `out`: contiguous, with the result's shape. False, untouched: they have another form."""

def turn_hue(image: np.ndarray, factor: float, api: int, out: np.ndarray) -> bool:
    """torchvision's adjust_hue of a tensor's uint8 [3, H, W], of any strides, without the GIL. api: 1 for
    torchvision.transforms, 2 for v2. `out`: of the same shape. False, untouched: other arguments."""

def normalize_floats(
    image: np.ndarray, mean: list[float], deviation: list[float], out: np.ndarray
) -> bool:
    """(image - mean) / deviation by channel in float32, as torch rounds it, without the GIL. image: float32
    [..., C, H, W], dense, as planes or, of up to 4 channels, with channels last. `out`: of the same shape and strides.
    False, untouched: other arguments, a deviation of 0, what is not finite, or this machine has not the instructions."""

# What scipy.ndimage calls, of arrays with two axes of up to 32,768 elements, without the GIL. False, untouched: other
# sizes. Thread-safe.

def filter_spline(src: np.ndarray, axis: int, out: np.ndarray) -> bool:
    """A spline filter of order 3 that mirrors at the ends, along the axis. src: float32 or float64, of any strides,
    which may be `out`. out: float64, contiguous, of the same shape. Sides of at least 4."""

def zoom_spline(filtered: np.ndarray, zoom: list[float], outside: float, out: np.ndarray) -> bool:
    """zoom_shift of order 3 and mode `constant`. filtered: float64, contiguous. out: float32 or float64."""

def take_nearest(
    src: np.ndarray, fractions: bool, matrix: list[float], offset: list[float], out: np.ndarray
) -> bool:
    """geometric_transform of order 0 and mode `constant` with zero outside. Arrays: uint8 [H, W, bytes of an element],
    contiguous. fractions: float32 or float64; else elements of 1 or 4 bytes. matrix: by rows."""

# Numbers.

def draw_normals(state: np.ndarray, mean: float, deviation: float, out: np.ndarray) -> bool:
    """Numbers of NumPy's legacy generator that keeps none of a pair, without the GIL. state: uint32 [625], 624 words of
    MT19937 and which one is next, moved on. out: float64, contiguous, an even number. False, untouched: others."""
