"""Runs the same sample through torchvision and through the native operators."""

import io
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, ImageFile

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEADRACE_BUILD_DIR", ROOT / "build" / "release"))
sys.path.insert(0, str(BUILD / "tests" / "python" / "ops"))

import _headrace_ops as native  # noqa: E402

LIBRARIES = {
    "pillow": PIL.__version__,
    "torch": torch.__version__,
    "torchvision": torchvision.__version__,
    "cpu_capability": torch.backends.cpu.get_cpu_capability(),
}
SEEDS = 2**48
# Bytes of torch's generator state in front of the normal numbers that it keeps.
_WORDS, _ENGINE = 24, 5016

# Blends of v2 with one number have other bits at an end of the tensor, which depends on its memory.
_AT_AN_END = "at an end are blended in another way"

# Noise takes more room than PIL's encoder expects of a progressive file.
ImageFile.MAXBLOCK = 1 << 23

_tables: dict[Any, bytes] = {}


def torch_exp_table(ranges: list[tuple[float, float, int]]) -> bytes:
    key = tuple(ranges)
    if key not in _tables:
        _tables[key] = native.build_torch_exp(
            ranges, lambda values: torch.exp(torch.from_numpy(values.copy())).numpy()
        )
    return _tables[key]


def compile_chain(nodes: list[tuple[str, dict]]) -> "native.Chain":
    ranges = native.Chain(nodes, LIBRARIES, b"").exp_ranges()
    return native.Chain(nodes, LIBRARIES, torch_exp_table(ranges) if ranges else b"")


def as_array(result: Any) -> np.ndarray:
    """A transform's result as the service delivers it: tensors as they are, images as HWC."""
    if isinstance(result, Image.Image):
        array = np.asarray(result)
        return array[:, :, None] if array.ndim == 2 else array
    tensor = torch.as_tensor(result).contiguous()
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.view(torch.uint16)  # the bits: numpy has no bfloat16
    return tensor.numpy()


def draws_of(state: bytes, seed: int) -> int:
    """How many 32-bit numbers torch took from its generator."""
    taken, step = native.Generator(seed), 0
    # The words change with the first number, and with each 624th after it.
    for begin, several in ((_WORDS, 624), (0, 1)):
        while taken.state()[begin:_ENGINE] != state[begin:_ENGINE]:
            count = several if step else 1
            taken.discard(count)
            step += count
            assert step < 1_000_000, "torch's generator left the stream"
    return step


def expected(transform: Any, image: Image.Image, seed: int) -> tuple[np.ndarray, int]:
    torch.manual_seed(seed)
    random.seed(seed)
    result = as_array(transform(image))
    return result, draws_of(torch.get_rng_state().numpy().tobytes(), seed)


def assert_same_bits(got: np.ndarray, want: np.ndarray) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    same = got.tobytes() == want.tobytes()
    if not same:
        where = np.argwhere(got != want)
        first = tuple(where[0]) if len(where) else "a NaN or a sign of zero"
        values = (got[first], want[first]) if len(where) else ()
        raise AssertionError(
            f"{len(where)} of {got.size} values differ, first at {first}: {values}"
        )


def check_image(nodes: list, transform: Any, image: Image.Image, seed: int) -> bool:
    """Array source: Image.fromarray(image), then the transform. False: v2's contrast left this image
    to the trainer."""
    want, draws = expected(transform, image, seed)
    chain = compile_chain([("from_array", {"mode": image.mode}), *nodes])
    try:
        got, taken = chain.run(np.ascontiguousarray(np.asarray(image)), seed)
    except native.Error as refused:
        if _AT_AN_END in str(refused):
            return False
        raise
    assert_same_bits(got, want)
    assert taken == draws
    return True


def check_file(nodes: list, transform: Any, data: bytes, seed: int) -> None:
    """File source, straight from the file and through the cache's form of it."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    want, draws = expected(transform, image, seed)
    chain = compile_chain([("decode", {}), *nodes])
    try:
        got, taken = chain.run(data, seed)
    except native.Error as refused:
        if _AT_AN_END in str(refused):
            return
        raise
    assert_same_bits(got, want)
    assert taken == draws
    cached, taken = chain.run_cached(chain.prefix(data), seed)
    assert_same_bits(cached, want)
    assert taken == draws


def noise(height: int, width: int, channels: int, seed: int) -> Image.Image:
    """Smooth and rough parts, and every value somewhere: what resampling and clipping care about."""
    rng = np.random.default_rng(seed)
    shape = (height, width, channels)
    y, x = np.mgrid[0:height, 0:width][:, :, :, None]
    smooth = 128 + 127 * np.sin(x / 7 + np.arange(channels)) * np.cos(y / 11)
    rough = rng.integers(0, 256, shape)
    pixels = np.where(rng.random((height, width, 1)) < rng.random(), smooth, rough).astype(np.uint8)
    if rng.random() < 0.2:
        pixels = np.where(pixels > 127, 255, 0).astype(np.uint8)
    return Image.fromarray(pixels if channels == 3 else pixels[:, :, 0])


def every_value(channel_count: int) -> Image.Image:
    """A ramp, so that the values are compared exhaustively."""
    return torchvision.transforms.functional.to_pil_image(
        np.arange(256 * channel_count, dtype=np.uint16)
        .astype(np.uint8)
        .reshape(16, 16, channel_count)
    )


def jpeg(image: Image.Image, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", **{"quality": 88, **options})
    return out.getvalue()


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
