"""Functions on pictures in memory with native forms give what OpenCV, NumPy and albucore give."""

import contextlib
import importlib.util
import io
import pickle
import random

import numpy as np
import pytest
from support.own_process import in_own_process

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cv2") is None, reason="./dev test installs OpenCV"
)

SEED = 20261125


def enable(checks=0):
    """Enables them as in a host. With 0 checks only the native form makes what it can make."""
    import cv2  # noqa: F401
    from headrace.stage import functions

    functions.CHECKS = checks
    functions.enable()
    return functions


def outcome(function, *args, **named):
    """Everything that a program can see of a call."""
    try:
        value = function(*args, **named)
    except Exception as error:
        return type(error), str(error)
    flags = value.flags.c_contiguous, value.flags.writeable, value.flags.owndata
    return type(value), value.dtype, value.shape, value.strides, flags, value.tobytes()


def array(rng, height, width, kind="u1", channels=3):
    shape = (height, width) if channels is None else (height, width, channels)
    return np.random.default_rng(rng.randrange(10**9)).integers(0, 256, shape).astype(kind)


def any_array(rng, most=90):
    """Mostly a picture of 8 bits with three channels, whole or a crop of one."""
    height, width = (rng.randint(1, most) for _ in range(2))
    way = rng.randrange(12)
    if way == 0:
        return array(rng, height, width, rng.choice(("f4", "u2", "f8", "i2")))
    if way == 1:
        return array(rng, height, width, channels=rng.choice((None, 1, 2, 4)))
    if way < 6:
        top, left = rng.randint(0, 9), rng.randint(0, 9)
        whole = array(rng, height + top + rng.randint(0, 3), width + left + rng.randint(0, 3))
        return whole[top : top + height, left : left + width]
    return array(rng, height, width)


def turned(rng, image):
    """Rows, columns or channels in another order, as views."""
    if image.ndim != 3:
        return image
    order = rng.choice(("", "m", "r", "mr", "f", "fmr", "p", "pr", "pm", "pmr", "pf", "t", "s"))
    if "m" in order:
        image = image[:, ::-1]
    if "f" in order:
        image = image[::-1]
    if "r" in order:
        image = image[..., ::-1]
    if "p" in order:
        image = image.transpose(2, 0, 1)
    if "t" in order:
        image = image.transpose(1, 0, 2)
    return image[:, ::2] if "s" in order else image


@in_own_process
def test_resize_equals_opencv():
    import cv2

    functions = enable()
    rng = random.Random(SEED)
    kinds = [cv2.INTER_LINEAR, cv2.INTER_AREA]
    others = [cv2.INTER_NEAREST, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4, cv2.INTER_LINEAR_EXACT, 77]
    for case in range(1500):
        image = any_array(rng) if rng.random() < 0.9 else turned(rng, any_array(rng))
        size = rng.choice([(rng.randint(1, 120), rng.randint(1, 120))] * 8 + [
            image.shape[1::-1], (image.shape[1] // 2, image.shape[0] // 2), (0, 5), None, (7.5, 9),
        ])  # fmt: skip
        kind = rng.choice(kinds * 6 + others)
        args, named = (image, size), {"interpolation": kind}
        way = rng.randrange(12)
        if way == 0:
            args, named = (image, size, None, 0, 0, kind), {}
        elif way == 1:
            named |= {"fx": 0.5, "fy": rng.choice((0, 0.7))}
        elif way == 2:
            named |= {"dst": np.zeros((9, 9, 3), np.uint8)}
        elif way == 3:
            args, named = (), {"src": image, "dsize": size}
        mine, theirs = outcome(cv2.resize, *args, **named), outcome(cv2.resize.real, *args, **named)
        assert mine == theirs, (SEED, case, image.shape, image.strides, size, named)
    image, size = array(rng, 60, 70), (40, 30)
    wrong = (
        {"fx": "much"},
        {"dst": "there"},
        {"dsize": ("a", 9)},
        {"interpolation": None},
        {"more": 1},
    )
    for named in wrong:
        named = {"dsize": size} | named
        assert outcome(cv2.resize, image, **named) == outcome(cv2.resize.real, image, **named)
    dst = np.zeros((30, 40, 3), np.uint8)
    assert cv2.resize(image, size, dst) is dst and (dst == cv2.resize.real(image, size)).all()
    assert made_natively(cv2.resize, image=image, sizes=((40, 30), (80, 90)))
    assert functions.take_count() == 0, "these are no pictures of files"


def made_natively(resize, image, sizes):
    return all(resize._entry.native(image, size) is not None for size in sizes)


@in_own_process
def test_sizes_of_photographs_equal_opencv():
    import cv2

    enable()
    rng = random.Random(SEED + 1)
    image = array(rng, 375, 500)
    for size in ((224, 224), (640, 480), (320, 240), (499, 374), (1000, 751), (416, 312)):
        for kind in (cv2.INTER_LINEAR, cv2.INTER_AREA):
            assert outcome(cv2.resize, image, size, interpolation=kind) == outcome(
                cv2.resize.real, image, size, interpolation=kind
            ), (size, kind)


def any_matrix(rng, cv2):
    kind = rng.choice(("f8", "f8", "f4"))
    way = rng.randrange(10)
    if way == 0:
        return rng.choice((np.zeros((2, 3)), np.eye(3), [[1, 0, 0]], None, np.ones((2, 3), int)))
    if way == 1:
        return np.array([[1, 0, rng.randint(-9, 9)], [0, 1, rng.randint(-9, 9)]], kind)
    if way == 2:
        return np.array([[rng.uniform(-2, 2) for _ in range(3)] for _ in range(2)], kind)
    centre = rng.uniform(-5, 90), rng.uniform(-5, 90)
    turn = cv2.getRotationMatrix2D(centre, rng.uniform(-180, 180), rng.uniform(0.2, 3))
    return turn.astype(kind)


@in_own_process
def test_warp_affine_equals_opencv():
    import cv2

    enable()
    rng = random.Random(SEED + 2)
    natively = 0
    values = (
        None,
        (0, 0, 0),
        (7, 130, 255),
        [1.0, 2.0, 3.0],
        (9, 9, 9, 9),
        5,
        (1.5, 2, 3),
        (300, -1, 2),
    )
    borders = [
        cv2.BORDER_CONSTANT,
        cv2.BORDER_REPLICATE,
        cv2.BORDER_REFLECT,
        cv2.BORDER_REFLECT_101,
    ]
    for case in range(1500):
        image = any_array(rng)
        width = 16 * rng.randint(1, 6) if rng.random() < 0.8 else rng.randint(1, 90)
        named = {
            "flags": rng.choice([1] * 6 + [1 | cv2.WARP_INVERSE_MAP] * 3 + [0, 2]),
            "borderMode": rng.choice(borders * 4 + [cv2.BORDER_WRAP, cv2.BORDER_TRANSPARENT]),
            "borderValue": rng.choice(values),
        }
        named = {name: named[name] for name in rng.sample(list(named), rng.choice((0, 1, 3, 3)))}
        if named.get("borderMode") == cv2.BORDER_TRANSPARENT:
            continue  # what nobody has written is there
        args = image, any_matrix(rng, cv2), (width, rng.randint(1, 90))
        mine = outcome(cv2.warpAffine, *args, **named)
        assert mine == outcome(cv2.warpAffine.real, *args, **named), (SEED, case, args, named)
        natively += is_native(cv2.warpAffine, args, named)
    assert natively > 300, natively
    image, dst = array(rng, 40, 50), np.zeros((30, 48, 3), np.uint8)
    matrix = np.float64([[1, 0.5, 2], [0, 1, 3]])
    assert cv2.warpAffine(image, matrix, (48, 30), dst) is dst
    assert (dst == cv2.warpAffine.real(image, matrix, (48, 30))).all()
    for far in (np.nan, np.inf, 1e9, -1e9):
        matrix = np.array([[1, 0, far], [0, 1, 0]])
        assert not is_native(cv2.warpAffine, (image, matrix, (48, 30)), {})


def is_native(function, args, named):
    entry = getattr(function, "_entry", None)
    try:
        return entry is not None and entry.native(*args, **named) is not None
    except Exception:
        return False


@in_own_process
def test_ascontiguousarray_equals_numpy():
    enable()
    rng = random.Random(SEED + 3)
    natively = 0
    for case in range(1500):
        image = turned(rng, any_array(rng))
        args, named = rng.choice(
            [((image,), {})] * 8
            + [
                ((image, np.uint8), {}),
                ((image,), {"dtype": np.float32}),
                ((image,), {"dtype": np.dtype(rng.choice(("float64", "uint8", "float32")))}),
                ((image,), {"like": image}),
            ]
            + [((image.tolist(),), {}), ((image.view(Subclass),), {}), ((image, "nonsense"), {})]
        )
        mine = outcome(np.ascontiguousarray, *args, **named)
        assert mine == outcome(np.ascontiguousarray.real, *args, **named), (
            SEED,
            case,
            image.strides,
        )
        natively += is_native(np.ascontiguousarray, args, named)
    assert natively > 300, natively
    whole = array(rng, 50, 50)
    assert np.ascontiguousarray(whole) is whole
    frozen = whole[..., ::-1]
    frozen.flags.writeable = False
    assert np.ascontiguousarray(frozen).flags.writeable


class Subclass(np.ndarray):
    pass


@in_own_process
def test_normalize_equals_albucore():
    import albumentations as A
    import cv2
    from albucore import functions as library

    rng = random.Random(SEED + 4)
    real = library.normalize_lut
    transforms = [A.Normalize(), A.Normalize((0.5,) * 3, (0.25,) * 3), A.Normalize(mean=0.5, std=0.2),
                  A.Normalize((0, 0, 0), (1, 1, 1)), A.Normalize(normalization="image")]  # fmt: skip
    cases = [any_array(rng) for _ in range(300)]
    cases = [case if case.dtype in (np.uint8, np.float32) else array(rng, 9, 8) for case in cases]
    expected = [
        outcome(lambda image, t=t: t(image=image)["image"], x) for x in cases for t in transforms
    ]
    enable()
    assert library.normalize_lut is not real
    made = [
        outcome(lambda image, t=t: t(image=image)["image"], x) for x in cases for t in transforms
    ]
    for case, (mine, theirs) in enumerate(zip(made, expected, strict=True)):
        assert mine == theirs, (SEED, case)
    image, means = array(rng, 30, 40), np.float32([1, 2, 3])
    assert is_native(library.normalize_lut, (image, means, means), {})
    assert not is_native(library.normalize_lut, (image, means.astype("f8"), means), {})
    assert not is_native(library.normalize_lut, (image, 2.0, 3.0), {})
    assert cv2.imread is not None


@in_own_process
def test_small_pictures_are_the_librarys():
    import cv2

    enable()
    small = array(random.Random(SEED), 8, 8)
    assert not is_native(cv2.resize, (small, (9, 9)), {})
    assert not is_native(np.ascontiguousarray, (small[..., ::-1],), {})


@in_own_process
def test_another_opencv_is_seen_by_the_trials():
    """One whose bits differ in one of thousands: no result of the native form is used."""
    import cv2

    ours = {name: getattr(cv2, name) for name in ("resize", "warpAffine")}
    functions = enable()
    image = array(random.Random(SEED), 60, 70)
    matrix = cv2.getRotationMatrix2D((30, 30), 10, 1)
    calls = {"resize": (image, (50, 40)), "warpAffine": (image, matrix, (64, 40))}
    for name, args in calls.items():
        replaced = getattr(cv2, name)

        def another(*args, _real=ours[name], **named):
            made = _real(*args, **named)
            made[-1, -1, -1] ^= 1
            return made

        replaced.real = another
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for _ in range(3):
                assert (replaced(*args) == another(*args)).all()
        version = f"OpenCV {cv2.__version__}"
        assert said.getvalue().splitlines() == [
            f"headrace: {name} gives other bits natively than {version} does: {version} does it"
        ]
    cv2.imencode(".png", cv2.resize(image, (50, 40)))
    assert functions.take_count() == 0


@in_own_process
def test_an_older_opencv_warps_by_itself():
    import cv2

    real, cv2.__version__ = cv2.warpAffine, "4.12.0"
    enable()
    assert cv2.warpAffine is real and type(cv2.resize).__name__ == "Replaced"


@in_own_process
def test_results_are_checked_once_more_by_kind():
    import cv2

    functions = enable(checks=2)
    image = array(random.Random(SEED), 60, 70)
    calls = []
    real = cv2.resize.real
    cv2.resize.real = lambda *args, **named: calls.append(args) or real(*args, **named)
    for _ in range(4):
        cv2.resize(image, (50, 40))
    trials = len(list(cv2.resize._entry.trials()))
    assert len(calls) == trials + functions.CHECKS
    cv2.resize(image, (90, 80))
    assert len(calls) == trials + functions.CHECKS + 1  # it grows: of another kind


@in_own_process
def test_look_like_the_librarys_functions():
    import cv2

    own = {"__builtins__": __builtins__}
    exec("from cv2 import resize\nfrom numpy import ascontiguousarray", own)
    names = (cv2, "resize"), (cv2, "warpAffine"), (np, "ascontiguousarray")
    texts = [repr(getattr(owner, name)) for owner, name in names]
    enable()
    for (owner, name), text in zip(names, texts, strict=True):
        function = getattr(owner, name)
        assert repr(function) == text and function.__name__ == name
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__ == function.real.__doc__
    assert own["resize"] is cv2.resize and own["ascontiguousarray"] is np.ascontiguousarray


@in_own_process
def test_a_machine_without_the_instructions():
    import cv2
    from headrace.stage import opencv_pictures

    enable()
    opencv_pictures._RESIZES = dict.fromkeys(opencv_pictures._RESIZES, lambda src, out: False)
    image = array(random.Random(SEED), 60, 70)
    assert (cv2.resize(image, (50, 40)) == cv2.resize.real(image, (50, 40))).all()


@in_own_process
def test_tables_of_another_kind_are_albucores():
    """The native form computes what the table is expected to hold, and looks before."""
    import cv2  # noqa: F401
    from albucore import functions as library
    from headrace.stage import albucore

    enable()
    made = albucore._made

    def another(img, mean, factor):
        result = made(img, mean, factor)
        result[0, -1, 2] += 1
        return result

    albucore._made = another
    values = np.float32([1, 2, 3])
    args = array(random.Random(SEED), 9, 9), values, values
    assert not is_native(library.normalize_lut, args, {})
    assert outcome(library.normalize_lut, *args) == outcome(library.normalize_lut.real, *args)
