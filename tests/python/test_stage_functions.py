"""Library functions with native forms give what the libraries give: bits, None and errors."""

import contextlib
import copy
import importlib.util
import io
import os
import pickle
import random
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.image_kernels import CMYK, GRAY, RGB, YCBCR, YCCK, encode_jpeg, picture
from support.own_process import in_own_process
from support.photos import encode_photo, without_tables

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cv2") is None, reason="./dev test installs OpenCV"
)

SEED = 20261122
SAMPLINGS = ((), ((2, 1),), ((2, 2),), ((1, 2),), ((4, 1),), ((4, 2),), ((2, 2), (2, 1), (1, 2)))


def enable(checks=0):
    """Enables them as in a host. With 0 checks only the native form makes what it can make."""
    from headrace.stage import functions

    functions.CHECKS = checks
    functions.enable()
    return functions


def any_jpeg(rng):
    kind = rng.choice((YCBCR,) * 12 + (GRAY, GRAY, RGB, CMYK, YCCK))
    height, width = (rng.randint(1, 120) for _ in range(2))
    channels = {GRAY: 1, CMYK: 4, YCCK: 4}.get(kind, 3)
    pixels = picture(rng.randrange(10**6), height, width, channels)
    common = dict(space=kind, quality=rng.choice((5, 50, 90, 100)), restart=rng.choice((0, 0, 2)))
    way = rng.choice(("",) * 5 + ("progressive", "arithmetic", "separate_scans"))
    file = encode_jpeg(
        pixels,
        sampling=rng.choice(SAMPLINGS) if channels == 3 else (),
        **common,
        **({way: True} if way else {}),
    )
    return file or any_jpeg(rng)  # the encoder does not know all of them


def turned(file, rng):
    """Adds Exif data, whole or odd, that may say how to turn the picture."""
    order = rng.choice("<>")
    entries = [(0x010F, 2, 1, 0), (0x0112, rng.choice((3, 3, 3, 4)), 1, rng.randrange(10))]
    entries = rng.sample(entries, rng.randrange(3))
    body = struct.pack(order + "H", len(entries) + rng.choice((0, 0, 0, 1)))
    for tag, kind, count, value in entries:
        body += struct.pack(order + "HHIHH", tag, kind, count, value, 0)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    exif = b"Exif\0\0" + head + body + b"\0\0\0\0"
    other = rng.choice((b"", b"http://ns.adobe.com/xap/1.0/\0<x/>", b"Other\0" + head + body))
    for data in filter(None, rng.sample([exif, other], 2)):
        file = file[:2] + b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data + file[2:]
    return file


def damaged(file, rng):
    how = rng.randrange(4)
    if how == 0:
        return file[: rng.randrange(len(file))]
    if how == 1:
        return file + rng.randbytes(rng.randrange(1, 9))
    if how == 2:
        return without_tables(file)
    out = bytearray(file)
    for _ in range(rng.randint(1, 3)):
        out[rng.randrange(2, len(out))] = rng.randrange(256)
    return bytes(out)


def any_file(rng):
    file = any_jpeg(rng)
    way = rng.randrange(10)
    if way < 2:
        return turned(file, rng)
    if way == 2:
        return damaged(file, rng)
    if way == 3:
        with io.BytesIO() as other:
            kind = rng.choice(("PNG", "BMP", "TIFF", "WEBP"))
            Image.fromarray(picture(rng.randrange(99), 9, 7, 3)).save(other, kind)
            return other.getvalue()
    if way == 4:
        return rng.choice((b"", b"\xff", b"\xff\xd8\xff", rng.randbytes(40)))
    return file


def outcome(function, *args, **named):
    """Everything that a program can see of a call."""
    try:
        value = function(*args, **named)
    except Exception as error:
        return type(error), str(error)
    if value is None:
        return None
    array = value if isinstance(value, np.ndarray) else value.numpy()
    flags = array.flags.c_contiguous, array.flags.writeable, array.flags.owndata
    return type(value), array.dtype, array.shape, array.strides, flags, array.tobytes()


def cv2_flags(rng):
    import cv2

    names = [name for name in dir(cv2) if name.startswith("IMREAD_")]
    common = [cv2.IMREAD_COLOR, cv2.IMREAD_UNCHANGED, cv2.IMREAD_GRAYSCALE]
    rare = [getattr(cv2, name) for name in names if "GDAL" not in name]
    return rng.choice(common * 10 + rare + [129, 256, -1, 3, 12345])


@in_own_process
def test_imread_equals_opencv(tmp_path):
    import cv2

    functions = enable()
    rng = random.Random(SEED)
    for case in range(600):
        name = rng.choice(("photo.jpg", "ein Bild ä–写真.JPG", "a.png", "no_ending"))
        path = f"{tmp_path}/{name}"
        Path(path).write_bytes(any_file(rng))
        path = rng.choice((path, Path(path), os.fsencode(path)))
        flags = cv2_flags(rng)
        arguments = rng.choice((((path,), {}), ((path, flags), {}), ((path,), {"flags": flags})))
        mine = outcome(cv2.imread, *arguments[0], **arguments[1])
        theirs = outcome(cv2.imread.real, *arguments[0], **arguments[1])
        assert mine == theirs, (SEED, case)
    count = functions.take_count()
    assert count > 100, f"{count} made natively"


@in_own_process
def test_imdecode_equals_opencv():
    import cv2

    functions = enable()
    rng = random.Random(SEED + 1)
    for case in range(600):
        data = np.frombuffer(any_file(rng), np.uint8)
        data = rng.choice((data, data, data, np.repeat(data, 2)[::2], data[None], data.copy()))
        flags = cv2_flags(rng)
        mine, theirs = outcome(cv2.imdecode, data, flags), outcome(cv2.imdecode.real, data, flags)
        assert mine == theirs, (SEED, case)
    count = functions.take_count()
    assert count > 100, f"{count} made natively"


@in_own_process
def test_torchvision_equals_torchvision(tmp_path):
    import torch
    from torchvision import io as images

    operators = {name: getattr(torch.ops.image, name) for name in ("decode_jpeg", "decode_image")}
    functions = enable()
    rng = random.Random(SEED + 2)

    def both(function, *args, **named):
        mine = outcome(function, *args, **named)
        replaced = {name: getattr(torch.ops.image, name) for name in operators}
        for name, operator in operators.items():
            setattr(torch.ops.image, name, operator)
        theirs = outcome(function, *args, **named)
        for name, replacement in replaced.items():
            setattr(torch.ops.image, name, replacement)
        return mine, theirs

    path = f"{tmp_path}/photo.jpg"
    for case in range(400):
        file = any_file(rng) or b"-"
        Path(path).write_bytes(file)
        mode = rng.choice(list(images.ImageReadMode) + [images.ImageReadMode.RGB] * 4)
        turn = {"apply_exif_orientation": True} if rng.random() < 0.2 else {}
        data = torch.frombuffer(bytearray(file), dtype=torch.uint8)
        for function, source in (
            (images.read_image, path),
            (images.decode_image, data),
            (images.decode_jpeg, data),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mine, theirs = both(function, source, mode, **turn)
            assert mine == theirs, (SEED, case, function.__name__, mode)
    many = [torch.frombuffer(bytearray(any_jpeg(rng)), dtype=torch.uint8) for _ in range(3)]
    for made, data in zip(images.decode_jpeg(many), many, strict=True):
        assert outcome(lambda value: value, made) == outcome(images.decode_jpeg, data)
    for wrong in (data[None], data.float(), data[:0], data.to("meta"), "/nowhere.jpg", None):
        mine, theirs = both(images.decode_image, wrong)
        assert mine == theirs
    assert functions.take_count() > 300, "hardly any was made natively"


@in_own_process
def test_what_is_no_file(tmp_path):
    """Missing ones, folders, pipes, and arguments of no sense."""
    import cv2

    enable()
    photo = f"{tmp_path}/photo.jpg"
    Path(photo).write_bytes(encode_photo(30, 40, 1))
    os.mkfifo(f"{tmp_path}/pipe")
    assert cv2.imread._entry.native(f"{tmp_path}/pipe") is None  # it is not even opened
    calls = [
        ((f"{tmp_path}/missing.jpg",), {}),
        ((tmp_path,), {}),
        (("",), {}),
        (("a\0b",), {}),
        ((None,), {}),
        ((7,), {}),
        ((), {}),
        ((photo, True), {}),
        ((photo, np.int64(1)), {}),
        ((photo, None), {}),
        ((f"{tmp_path}/missing.jpg",), {"flag": 1}),
    ]
    for args, named in calls:
        assert outcome(cv2.imread, *args, **named) == outcome(cv2.imread.real, *args, **named)
    calls = [((b"abc", 1), {}), ((np.zeros(3), 1), {}), ((np.zeros(0, np.uint8), 1), {}), ((), {})]
    for args, named in calls:
        assert outcome(cv2.imdecode, *args, **named) == outcome(cv2.imdecode.real, *args, **named)


@in_own_process
def test_threads_of_the_program():
    from multiprocessing.pool import ThreadPool

    import cv2

    functions = enable()
    files = [np.frombuffer(encode_photo(90 + i, 120, i), np.uint8) for i in range(9)]
    with ThreadPool(4) as pool:
        made = pool.map(lambda file: cv2.imdecode(file, cv2.IMREAD_COLOR), files * 20)
    expected = [cv2.imdecode.real(file, cv2.IMREAD_COLOR) for file in files] * 20
    assert all(map(np.array_equal, made, expected))
    assert functions.take_count() > 0


@in_own_process
def test_looks_like_the_librarys_function(tmp_path):
    import cv2

    path = f"{tmp_path}/photo.jpg"
    Path(path).write_bytes(encode_photo(30, 40, 1))
    own = {"__builtins__": __builtins__}
    exec("from cv2 import imread\ndef read(path): return imread(path)", own)
    held = {"imread": cv2.imread}  # data of the program, which is left alone
    real, text = cv2.imread, repr(cv2.imread)
    functions = enable()
    assert cv2.imread is not real and own["imread"] is cv2.imread
    assert held["imread"] is cv2.imread.real
    own["read"](path)
    assert functions.take_count() == 1
    assert repr(cv2.imread) == text and cv2.imread.__doc__ == cv2.imread.real.__doc__
    assert cv2.imread.__name__ == "imread" and callable(cv2.imread)
    assert pickle.loads(pickle.dumps(cv2.imread)) is cv2.imread
    assert copy.deepcopy(cv2.imread) is cv2.imread

    class Reader:
        read = cv2.imread

    assert Reader().read(path).shape == (30, 40, 3)  # not a method


@in_own_process
def test_names_in_modules_from_before_a_freeze(tmp_path):
    import gc
    import sys

    sys.path.insert(0, f"{tmp_path}")
    Path(f"{tmp_path}/reader.py").write_text("from cv2 import imread as read")
    import cv2
    import reader

    gc.freeze()
    enable()
    assert reader.read is cv2.imread and reader.read.real is not reader.read


@in_own_process
def test_a_function_that_differs_is_the_librarys_from_then_on(tmp_path):
    import cv2

    real = cv2.imread
    path = f"{tmp_path}/photo.jpg"
    Path(path).write_bytes(encode_photo(30, 40, 1))
    functions = enable(checks=2)
    decoder = cv2.imread._entry.native.__self__
    decode = decoder._files.decode

    class Wrong:
        """One bit off, as another OpenCV would have it."""

        form = decoder._files.form

        def decode(self, file, channels, out):
            made = decode(file, channels, out)
            out[0, 0, 0] ^= 1
            return made

    cv2.imread(path)
    decoder._files = Wrong()
    with contextlib.redirect_stderr(io.StringIO()) as said:
        for _ in range(4):
            assert (cv2.imread(path) == real(path)).all()
    assert said.getvalue().splitlines() == [
        f"headrace: imread gives other bits natively than OpenCV {cv2.__version__} does: "
        f"OpenCV {cv2.__version__} does it"
    ]
    assert functions.take_count() == 1
    data = np.fromfile(path, np.uint8)
    decoder._files = type("Right", (), {"form": Wrong.form, "decode": staticmethod(decode)})()
    cv2.imdecode(data, 1)
    assert functions.take_count() == 1  # the others go on


@in_own_process
def test_what_the_program_has_put_in_its_place_stays():
    import cv2

    def imread(path):
        return path

    cv2.imread = imread
    enable()
    assert cv2.imread is imread and type(cv2.imdecode).__name__ == "Replaced"


@in_own_process
def test_a_library_of_another_kind():
    import sys
    from types import ModuleType

    sys.modules["cv2"] = ModuleType("cv2")
    functions = enable()
    assert vars(sys.modules["cv2"]).keys() == vars(ModuleType("cv2")).keys()
    assert functions.take_count() == 0


@in_own_process
def test_limits_of_opencv_are_opencvs(tmp_path):
    os.environ["OPENCV_IO_MAX_IMAGE_WIDTH"] = "20"
    import cv2

    enable()
    path = f"{tmp_path}/photo.jpg"
    Path(path).write_bytes(encode_photo(30, 40, 1))
    with pytest.raises(cv2.error, match="MAX_IMAGE_WIDTH"):
        cv2.imread(path)


@in_own_process
def test_what_a_lane_found_out_of_torchvisions_readers_the_next_one_knows():
    """By the pages that lanes leave (lessons.py). It is compared again once the libraries may have changed."""
    import torch
    from headrace.stage import functions
    from headrace.stage.lessons import Lessons
    from support.found_cases.runner import in_fork
    from torchvision.io import decode_jpeg

    data = torch.frombuffer(bytearray(encode_photo(30, 40, 1)), dtype=torch.uint8)
    expected = decode_jpeg(data)
    lessons = Lessons(1)

    def lane():
        """How often the library was called, and how many pictures were right."""
        functions.enable()
        lessons.know_functions()
        replaced, calls = torch.ops.image.decode_jpeg, []
        real = replaced.real
        replaced.real = lambda *given, **named: calls.append(1) or real(*given, **named)
        right = sum(torch.equal(decode_jpeg(data), expected) for _ in range(5))
        lessons.note(0, True, False, None)
        return len(calls), right

    seen = []
    for intact in (True, True, True, False, True, True):
        lessons.take([], (), intact)
        seen.append(in_fork(lane))
    compares = functions.CHECKS
    assert seen == [(count, 5) for count in (compares, 0, 0, compares, 0, 0)]
