"""zoom, rotate and affine_transform of scipy.ndimage in programs' lanes: SciPy's own bits, layouts and errors
(stage/scipy_functions.py)."""

import importlib.util
import random

import numpy as np
import pytest
from support.own_process import in_own_process

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("scipy") is None,
    reason="SciPy comes with albumentations, which ./dev test installs",
)

SEED = 20261130
MODES = ("constant",) * 12 + ("mirror", "reflect", "nearest", "wrap", "grid-constant", "grid-wrap")
KINDS = "float32", "float64", "uint8", "int32", "int64", "bool", "float16", ">f4", "complex64"


def arrays(rng):
    kind = np.dtype(rng.choice(KINDS[:2] * 6 + KINDS[:4] * 2 + KINDS))
    sides = [
        rng.choice((1, 2, 3, 4, 5, *(rng.randint(30, 90) for _ in range(30)))) for _ in range(2)
    ]
    generator = np.random.RandomState(rng.randrange(2**32))
    values = generator.standard_normal(
        (*sides, *rng.choice(((),) * 9 + ((3,),)))
    ) * 10.0 ** rng.randint(0, 4)
    if kind.kind == "f" and rng.random() < 0.2:
        values[generator.random_sample(values.shape) < 0.01] = rng.choice((np.nan, np.inf, -0.0))
    with np.errstate(all="ignore"):
        array = values.astype(kind) if kind.kind in "fc" else values.clip(0, 250).astype(kind)
    way = rng.randrange(8)
    return (array.T, array[::-1], array[:, ::2], *[array] * 5)[way]


def calls(rng, ndimage):
    """The same functions of SciPy's that programs call."""
    array, axes = arrays(rng), 2
    order, mode = rng.choice((0, 0, 0, 3, 3, 3, 3, 1, 2)), rng.choice(MODES)
    by = [rng.choice((rng.uniform(0.3, 2), 1, 2, 0.5)) for _ in range(array.ndim)]
    cval, angle = rng.choice((0, 0.0, 0.0, 7.5)), rng.choice((rng.uniform(-180, 180), 90, 45))
    matrix = np.array([[rng.uniform(-2, 2) for _ in range(axes)] for _ in range(axes)])
    moved, reshape = [rng.uniform(-9, 9), rng.uniform(-9, 9)], rng.random() < 0.5
    output = rng.choice((None,) * 5 + (np.float32, np.float64, np.uint8))
    common = {"order": order, "mode": mode, "cval": cval}
    yield lambda: ndimage.zoom(array, by, output, **common)
    yield lambda: ndimage.rotate(array, angle, reshape=reshape, output=output, **common)
    yield lambda: ndimage.affine_transform(array, matrix, moved, output=output, **common)
    yield lambda: ndimage.shift(array, by, **common)
    yield lambda: ndimage.spline_filter(array, max(order, 2), mode="mirror")
    yield lambda: ndimage.spline_filter1d(array, 3, rng.choice((0, 1, -1)), mode="reflect")


def seen(call):
    try:
        made = call()
    except Exception as error:
        return type(error), str(error)
    return made.dtype, made.shape, made.strides, made.flags.owndata, made.tobytes()


@in_own_process
def test_results_are_scipys():
    import warnings

    from headrace.stage import functions
    from scipy import ndimage
    from scipy.ndimage import _nd_image

    warnings.simplefilter("ignore")  # SciPy's, of modes
    names = "spline_filter1d", "zoom_shift", "geometric_transform"
    real = {name: getattr(_nd_image, name) for name in names}
    functions.enable()
    mine = {name: getattr(_nd_image, name) for name in names}
    assert all(mine[name] is not real[name] for name in names)
    native = dict.fromkeys(names, 0)
    for name, replaced in mine.items():
        made = replaced._native

        def counted(args, named, name=name, made=made):
            found = made(args, named)
            native[name] += found is not None
            return found

        replaced._native = counted
    rng = random.Random(SEED)
    for case in range(300):
        state = rng.getstate()
        for number in range(6):
            found = []
            for functions_of in (mine, real):
                vars(_nd_image).update(functions_of)
                rng.setstate(state)
                found.append(seen(list(calls(rng, ndimage))[number]))
            assert found[0] == found[1], (SEED, case, number, found[0][:3])
    assert min(native.values()) > 12 and all(one._on for one in mine.values()), native


@in_own_process
def test_no_argument_of_a_call_that_is_scipys_is_compared():
    from headrace.stage import functions
    from scipy import ndimage
    from scipy.ndimage import _nd_image

    compared = []

    class Turned:
        """A mapping of the program's, which would notice."""

        __hash__ = None

        def __call__(self, place):
            return place[::-1]

        def __eq__(self, other):
            compared.append(other)
            return True

    class Places(np.ndarray):
        """Coordinates: SciPy's Python code makes a plain array of them, its C code is called with them here."""

        __hash__ = None

        def __eq__(self, other):
            compared.append(other)
            return super().__eq__(other)

    array = np.arange(48.0 * 48).reshape(48, 48)
    places = np.random.RandomState(SEED).uniform(0, 47, (2, 48, 48)).view(Places)
    turned = ndimage.geometric_transform(array, Turned(), order=1)
    taken, made = ndimage.map_coordinates(array, places, order=0), np.zeros((48, 48))
    real = _nd_image.geometric_transform
    functions.enable()
    assert _nd_image.geometric_transform is not real
    compared.clear()
    assert ndimage.geometric_transform(array, Turned(), order=1).tobytes() == turned.tobytes()
    arguments = (made, 0, 4, 0.0, 0, None, None)  # of SciPy's own call
    _nd_image.geometric_transform(array, None, places, None, None, *arguments)
    assert made.tobytes() == taken.tobytes()
    assert not compared


@in_own_process
def test_another_scipys_bits_end_it():
    from headrace.stage import functions, scipy_functions
    from scipy import ndimage

    before = ndimage.zoom(np.arange(4096.0).reshape(64, 64), 0.5)
    real = scipy_functions._images.filter_spline

    class Other:
        zoom_spline = staticmethod(scipy_functions._images.zoom_spline)

        @staticmethod
        def filter_spline(src, axis, out):
            done = real(src, axis, out)
            out[3, 3] = np.nextafter(out[3, 3], 9e9)
            return done

    scipy_functions._images = Other
    functions.enable()
    after = ndimage.zoom(np.arange(4096.0).reshape(64, 64), 0.5)
    assert after.tobytes() == before.tobytes()
    assert not ndimage._nd_image.spline_filter1d._on and ndimage._nd_image.zoom_shift._on
