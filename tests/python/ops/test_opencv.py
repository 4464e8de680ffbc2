"""The operators for OpenCV equal the installed cv2 bit for bit.

A worker has Debian's OpenCV, a program its own. What is not listed here as equal has no native form, or
the trials of admission decide."""

import numpy as np
import pytest
from support.operators import assert_same_bits, compile_chain
from support.photos import encode_photo

cv2 = pytest.importorskip("cv2", reason="./dev test installs OpenCV")
SEED = 20261125
MAJOR = int(cv2.__version__.split(".")[0])


def picture(rng, channels=3, most=140):
    height, width = (int(v) for v in rng.integers(1, most, 2))
    noise = rng.integers(0, 256, (height, width, channels), np.uint8)
    return noise if rng.integers(4) else noise // 128 * 255


def native(op, args, image):
    mode = "RGB" if image.shape[2] == 3 else "L"
    chain = compile_chain([("from_array", {"mode": mode}), (op, {**args, "version": MAJOR})])
    row = image if image.shape[2] == 3 else image[:, :, 0]
    return chain.run(np.ascontiguousarray(row), 0, 0)[0]


def whole(array):
    return array if array.ndim == 3 else array[:, :, None]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", ["NEAREST", "LINEAR", "AREA", "LANCZOS4"])
def test_resize(name, channels):
    rng = np.random.default_rng(SEED)
    for _ in range(300):
        image = picture(rng, channels)
        height, width = (int(v) for v in rng.integers(1, 140, 2))
        if rng.integers(4) == 0:  # sizes that OpenCV has code of its own for
            height, width = max(1, image.shape[0] // 2), max(1, image.shape[1] // 2)
            image = np.ascontiguousarray(image[: 2 * height, : 2 * width])
        want = cv2.resize(image, (width, height), interpolation=getattr(cv2, f"INTER_{name}"))
        got = native("cv_resize", {"size": [height, width], "interpolation": name}, image)
        assert_same_bits(got, whole(want))


@pytest.mark.parametrize("border", ["CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101"])
def test_gaussian_blur(border):
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        image = picture(rng, int(rng.choice([1, 3])))
        height, width = (int(2 * v + 1) for v in rng.integers(0, 9, 2))
        sigma_x = float(rng.choice([0, 0.3, 1, 2.5]))
        sigma_y = float(rng.choice([0, 1.5]))
        want = cv2.GaussianBlur(
            image,
            (width, height),
            sigma_x,
            sigmaY=sigma_y,
            borderType=getattr(cv2, f"BORDER_{border}"),
        )
        args = {"size": [height, width], "sigma_x": sigma_x, "sigma_y": sigma_y, "border": border}
        assert_same_bits(native("cv_gaussian_blur", args, image), whole(want))


CODES = [
    "BGR2GRAY", "RGB2GRAY", "GRAY2BGR", "GRAY2RGB", "BGR2YCrCb", "RGB2YCrCb", "YCrCb2BGR", "BGR2HSV",
    "RGB2HSV", "BGR2Lab", "RGB2Lab", "BGR2HLS", "RGB2HLS", "Lab2BGR", "Lab2RGB",
    "BGR2YUV", "RGB2YUV", "YCrCb2RGB",
]  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_cvt_color(code):
    """All values that a pixel can have."""
    if code.startswith("GRAY"):
        image = np.arange(256, dtype=np.uint8).reshape(1, 256, 1)
    else:
        colours = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096)
        image = np.stack([colours & 255, colours >> 8 & 255, colours >> 16], 2).astype(np.uint8)
    want = cv2.cvtColor(image, getattr(cv2, f"COLOR_{code}"))
    assert_same_bits(native("cv_cvt_color", {"code": code}, image), whole(want))


@pytest.mark.parametrize("border", ["CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101"])
def test_warp_affine(border):
    rng = np.random.default_rng(SEED)
    for _ in range(100):
        image = picture(rng)
        height, width = int(rng.integers(1, 140)), int(16 * rng.integers(1, 9))
        matrix = cv2.getRotationMatrix2D((30.5, 40.25), float(rng.integers(360)), 0.8)
        inverse = bool(rng.integers(2))
        outside = [int(v) for v in rng.integers(0, 256, 3)]
        want = cv2.warpAffine(
            image, matrix, (width, height), borderValue=outside,
            flags=cv2.INTER_LINEAR | (cv2.WARP_INVERSE_MAP if inverse else 0),
            borderMode=getattr(cv2, f"BORDER_{border}"),
        )  # fmt: skip
        args = {
            "matrix": matrix.ravel().tolist(), "size": [height, width], "inverse": int(inverse),
            "border": border, "outside": [float(v) for v in outside],
        }  # fmt: skip
        assert_same_bits(native("cv_warp_affine", args, image), want)


def test_reverse_channels():
    image = picture(np.random.default_rng(SEED))
    chain = compile_chain([("from_array", {"mode": "RGB"}), ("reverse_channels", {})])
    got = chain.run(image, 0, 0)[0]
    assert_same_bits(got, cv2.cvtColor(image, cv2.COLOR_BGR2RGB))


FLAGS = {"BGR": cv2.IMREAD_COLOR, "GRAY": cv2.IMREAD_GRAYSCALE}
if hasattr(cv2, "IMREAD_COLOR_RGB"):
    FLAGS["RGB"] = cv2.IMREAD_COLOR_RGB


def files():
    for seed in range(6):  # three samplings of chroma, each as two kinds of files
        for options in ({}, {"progressive": True}, {"quality": 30}):
            yield encode_photo(61 + seed, 83 - seed, seed, **options)
    yield encode_photo(40, 41, 1, gray=True)
    rng = np.random.default_rng(SEED)
    for shape in ((33, 47, 3), (47, 33)):
        yield cv2.imencode(".png", rng.integers(0, 256, shape, np.uint8))[1].tobytes()


@pytest.mark.parametrize("channels", FLAGS)
def test_read(channels, tmp_path):
    chain = compile_chain([("cv_read", {"channels": channels})])
    for number, file in enumerate(files()):
        want = cv2.imdecode(np.frombuffer(file, np.uint8), FLAGS[channels])
        try:
            got = chain.run(file, 0, 0)[0]
        except RuntimeError as refused:
            # Grey of a coloured PNG is libpng's, which nothing here has.
            assert channels == "GRAY" and file.startswith(b"\x89PNG"), (number, refused)
            continue
        assert_same_bits(got, whole(want))
        assert_same_bits(chain.run_cached(chain.prefix(file), 0)[0], whole(want))
