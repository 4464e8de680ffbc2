"""The kernels for float32 elements equal torchvision's on elements of every kind, for each instruction
set: zeros with a sign, numbers outside of 0..1, infinite ones and NaN, in memory of every order.

Where an element is no number, an operator may refuse the image, and the trainer makes it.
"""

import ctypes
import itertools
import zlib

import numpy as np
import pytest
import torch
from support.image_kernels import OK, UNSUPPORTED, library
from support.torch_bits import needs_vectors
from torchvision.transforms import functional as v1
from torchvision.transforms.v2 import functional as v2

pytestmark = [needs_vectors, pytest.mark.usefixtures("one_thread")]

SEED, CASES = 20, 1200
LEVELS = (0, 1)  # scalar, AVX2
APIS = {1: v1, 2: v2}
# As in ops/vision/testing/image_testing_floats.cc.
OPERATIONS = [
    "brightness", "saturation", "contrast", "hue", "invert", "solarize", "posterize", "autocontrast",
    "sharpness", "gray",
]  # fmt: skip
COLORED = ("saturation", "contrast", "hue", "sharpness")
ALWAYS = ("brightness", "invert", "solarize", "posterize")  # of what is no number, too
KINDS = {
    "0..1": lambda rng, shape: rng.random(shape),
    "bytes": lambda rng, shape: rng.integers(0, 256, shape) / np.float32(255),
    "wider": lambda rng, shape: rng.random(shape) * 3 - 1,
    "normalized": lambda rng, shape: (rng.random(shape) - 0.45) / 0.225,
    "few": lambda rng, shape: rng.integers(-2, 4, shape) / 2,
    "zeros": lambda rng, shape: rng.choice([-0.0, 0.0, 0.25, 1.0], shape),
    "small": lambda rng, shape: rng.choice([1e-45, -1e-45, 1e-38, 0.0, 3e-39], shape),
    "large": lambda rng, shape: rng.random(shape) * rng.choice([-3e38, 1e38, 3e38], shape),
    "infinite": lambda rng, shape: rng.choice([np.inf, -np.inf, 0.5, 3e38, -0.0], shape),
    "nan": lambda rng, shape: rng.choice([np.nan, -np.nan, 0.5, np.inf, -0.0], shape),
}
FINITE = [kind for kind in KINDS if kind not in ("infinite", "nan")]


def elements(rng, kind, shape):
    return KINDS[kind](rng, shape).astype(np.float32)


def tensor_in(order, array):
    """A tensor of these elements (CHW) that lies in memory in that order."""
    if order == "channels last":
        return torch.from_numpy(np.ascontiguousarray(array.transpose(1, 2, 0))).permute(2, 0, 1)
    if order == "part":
        channels, height, width = array.shape
        around = torch.full((channels, height + 3, width + 4), torch.nan)
        part = around[:, 2:-1, 1:-3]
        part.copy_(torch.from_numpy(array))
        return part
    return torch.from_numpy(array.copy())


ORDERS = ("rows", "channels last", "part")


def native(level, operation, api, value, array, channels_out=None):
    channels, height, width = array.shape
    channels_out = channels_out or channels
    packed = np.ascontiguousarray(array.transpose(1, 2, 0))
    out = np.empty((height, width, channels_out), np.float32)
    numbers = [level, OPERATIONS.index(operation), api, channels, height, width, channels_out]
    settings = np.array(numbers, np.int32)
    code = library().hr_float_operation(
        ctypes.c_void_p(settings.ctypes.data), ctypes.c_double(value),
        ctypes.c_void_p(packed.ctypes.data), ctypes.c_void_p(out.ctypes.data),
    )  # fmt: skip
    return code, out.transpose(2, 0, 1)


def stock(operation, api, value, image, channels_out):
    functional = APIS[api]
    if operation == "gray":
        return functional.rgb_to_grayscale(image, channels_out)
    if operation in ("invert", "autocontrast"):
        return getattr(functional, operation)(image)
    if operation in ("solarize", "posterize"):
        return getattr(functional, operation)(image, value)
    return getattr(functional, f"adjust_{operation}")(image, value)


def drawn_value(rng, operation):
    if operation == "hue":
        value = rng.choice([rng.uniform(-0.5, 0.5), rng.choice([-0.5, 0.0, 1 / 3, 0.5])])
    elif operation == "solarize":
        return float(rng.choice([rng.random(), -1.0, 0.0, 0.3, 1.0]))
    elif operation == "posterize":
        return int(rng.integers(0, 9))
    else:
        value = rng.choice([rng.uniform(0, 2), rng.uniform(0, 30), 0.0, 1.0, 2.0])
    return float(np.float32(value))  # as the transform draws it


def compare(operation, api, rng, kind, case):
    channels = 3 if operation in COLORED else int(rng.choice([1, 3]))
    height, width = (int(side) for side in rng.integers(1, 40, 2))
    array = elements(rng, kind, (channels, height, width))
    order = ORDERS[case % len(ORDERS)]
    value = drawn_value(rng, operation)
    channels_out = channels
    if operation == "gray":
        channels_out = int(rng.choice([1, 3]))
        if channels == 1 and api == 1:
            channels_out = 1  # v1 leaves it as it is
    want = stock(operation, api, value, tensor_in(order, array), channels_out)
    want = np.ascontiguousarray(want.contiguous().numpy())
    refused = 0
    for level in LEVELS:
        code, got = native(level, operation, api, value, array, channels_out)
        refused += code == UNSUPPORTED
        if code == UNSUPPORTED:
            continue
        assert code == OK
        where = f"seed {SEED}, case {case}: {operation} {api} of {kind}, {order}, value {value}"
        assert np.ascontiguousarray(got).tobytes() == want.tobytes(), f"{where}, level {level}"
    assert refused in (0, len(LEVELS))
    return refused == 0


def ways():
    return [
        (operation, api)
        for operation, api in itertools.product(OPERATIONS, APIS)
        if (operation, api) != ("posterize", 1)  # raises
    ]


@pytest.mark.parametrize(("operation", "api"), ways())
def test_every_kind_of_element(operation, api):
    rng = np.random.default_rng([SEED, zlib.crc32(f"{operation} {api}".encode())])
    made = {kind: 0 for kind in KINDS}
    for case in range(CASES):
        kind = list(KINDS)[case % len(KINDS)]
        made[kind] += compare(operation, api, rng, kind, case)
    # What is refused of finite elements: sums that overflow, a least zero of both signs, and of v2's
    # contrast what is blended in another way at an end.
    each = CASES // len(KINDS)
    for kind in KINDS if operation in ALWAYS else FINITE:
        least = each if operation in ALWAYS else 0 if kind in ("large", "zeros") else each // 2
        assert made[kind] >= least, (kind, made)


@pytest.mark.parametrize("api", APIS)
def test_hue_of_every_colour_of_a_coarse_grid(api):
    steps = torch.linspace(-0.25, 1.25, 31)
    image = torch.stack(torch.meshgrid(steps, steps, steps, indexing="ij")).reshape(3, 31, -1)
    for value in (-0.5, -0.21, 0.0, 0.07, 0.5):
        want = APIS[api].adjust_hue(image, value).contiguous().numpy()
        for level in LEVELS:
            code, got = native(level, "hue", api, value, image.numpy())
            assert code == OK
            assert np.ascontiguousarray(got).tobytes() == want.tobytes()


@pytest.mark.parametrize("first", [0, 120_000])
def test_sums(first):
    """Of every number of elements up to some thousand, and of as many as pictures have."""
    rng = np.random.default_rng([SEED, first])
    total = library().hr_torch_sum
    total.restype = ctypes.c_float
    counts = range(first, first + 3000) if first == 0 else rng.integers(3000, 2_500_000, 300)
    numbers = (rng.random(2_500_000) * 2 - 0.3).astype(np.float32)
    for count in counts:
        begin = int(rng.integers(0, len(numbers) - count + 1))
        part = numbers[begin : begin + count].copy()
        got = total(ctypes.c_void_p(part.ctypes.data), ctypes.c_size_t(count))
        want = torch.from_numpy(part).reshape(1, -1, 1).sum(dim=(-3, -2, -1)).item()
        assert got == want, f"seed {SEED}: {count} numbers from {begin}"


def test_elements_that_are_no_numbers_are_refused_where_their_bits_differ():
    image = elements(np.random.default_rng(SEED), "0..1", (3, 9, 9))
    for bad in (np.nan, np.inf):
        image[1, 4, 5] = bad
        for level, api in itertools.product(LEVELS, APIS):
            for operation in ("hue", "autocontrast"):
                assert native(level, operation, api, 0.1, image)[0] == UNSUPPORTED
    for level, api in itertools.product(LEVELS, APIS):
        image[1, 4, 5] = np.nan
        for operation in ("gray", "saturation", "contrast"):
            assert native(level, operation, api, 0.1, image)[0] == UNSUPPORTED
