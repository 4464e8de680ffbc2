"""Functions of libraries that decode bytes: what a lane found is what the library returns of the same bytes."""

import ctypes
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from headrace.stage import leaves
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from support.leaf_worker import LeafWorker
from support.own_process import in_own_process

SEED = 20261129
STATE = 0x0112  # the orientation, of Exif


def begin():
    """A worker, and functions as in a lane, which keeps whatever it decodes."""
    from headrace.stage import functions, leaf_cost

    leaf_cost.is_worth = lambda seconds, size, first: True
    leaves.possible = True
    functions.enable(by_value=False)
    return LeafWorker()


def described(value):
    """All that a program sees of it."""
    if isinstance(value, np.ndarray):
        base = None if value.base is None else (value.base.shape, value.base.flags.owndata)
        flags = repr(value.flags)
        return type(value), value.dtype, value.shape, value.strides, value.tobytes(), flags, base
    if type(value).__name__ == "Tensor":
        memory = value.untyped_storage()
        return (
            (value.dtype, value.shape, value.stride(), value.storage_offset(), memory.nbytes()),
            (memory.resizable(), value.requires_grad, value.is_inference(), value.device),
            (value.is_shared(), value.is_pinned(), value._base is None, value._version),
            value.contiguous().numpy().tobytes(),
        )
    return value


def seen(call):
    """Value, error and warnings, and what a library writes to standard error."""
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        own = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            value = described(call())
        except Exception as error:
            value = type(error), str(error)
        finally:
            os.dup2(own, 2)
            os.close(own)
        file.seek(0)
        said = re.sub(rb"[0-9.]+", b"", file.read())  # times
        said = re.sub(rb"Corrupt JPEG data.*\n", b"", said)  # our own decoder says nothing of it
    return value, [(one.category, str(one.message)) for one in heard], said


def compare(calls, worker):
    """Each call in four lanes, against the library's own."""
    for lane in range(4):
        worker.lane()
        for number, (own, call) in enumerate(calls):
            now = seen(call)
            assert now == own, (lane, number, now[1:], own[1:], str(now)[:300], str(own)[:300])
    worker.lane()


def files(rng):
    """Pictures of all kinds that programs have, sound and damaged."""
    made = []

    def add(image, form, **options):
        file = io.BytesIO()
        image.save(file, form, **options)
        made.append(file.getvalue())

    rough = np.random.Generator(np.random.PCG64(SEED))
    color = Image.fromarray(rough.integers(0, 256, (40, 30, 3), np.uint8))
    for mode in ("RGB", "RGBA", "L", "LA", "P", "1"):
        add(color.convert(mode), "PNG")
    add(Image.fromarray(rough.integers(0, 1 << 16, (40, 30)).astype(np.uint16)), "PNG")
    for turned in range(1, 9):
        exif = Image.Exif()
        exif[STATE] = turned
        add(color, "JPEG", exif=exif, quality=90)
        add(color, "PNG", exif=exif)
    add(color.convert("L"), "JPEG")
    add(color.convert("CMYK"), "JPEG")
    add(color, "JPEG", progressive=True)
    add(color, "PNG", save_all=True, append_images=[color.rotate(90).resize(color.size)] * 2)
    add(color.convert("P"), "GIF", save_all=True, append_images=[color.convert("P")] * 2)
    for form in ("BMP", "TIFF", "WEBP"):
        add(color, form)
    whole = list(made)
    made.append(noted(color))
    for _ in range(24):
        file = bytearray(rng.choice(whole))
        if rng.random() < 0.5:
            del file[rng.randrange(1, len(file)) :]
        else:
            file[rng.randrange(len(file))] ^= 1 << rng.randrange(8)
        made.append(bytes(file))
    return [*made, b"no picture", b"\0"]


def noted(image):
    """A sound picture, and a damaged note in its file: libpng warns of it, each time."""
    file, note = io.BytesIO(), PngInfo()
    note.add_text("key", "value")
    image.save(file, "PNG", pnginfo=note)
    return file.getvalue().replace(b"value", b"valve")


class Own(np.ndarray):
    """An array of a class of the program's."""


@in_own_process
def test_imdecode_is_opencvs():
    cv2 = pytest.importorskip("cv2")
    rng, real, calls = random.Random(SEED), cv2.imdecode, []
    flags = cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED, cv2.IMREAD_ANYDEPTH
    flags += cv2.IMREAD_REDUCED_COLOR_2, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION

    def add(*args, **named):
        own = seen(lambda: real(*args, **named))
        calls.append((own, lambda: cv2.imdecode(*args, **named)))

    for file in files(rng):
        array = np.frombuffer(file, np.uint8)
        for flag in flags:
            add(array, flag)
            add(array.copy(), flag)
    file = files(rng)[0]
    array = np.frombuffer(file, np.uint8)
    apart = np.repeat(array, 2)[::2]
    assert not apart.flags.c_contiguous
    fixed = array.copy()
    fixed.flags.writeable = False
    for buffer in (apart, fixed, array[None], array[:, None], array.view(np.int8), array.view(Own)):
        add(buffer, 1)
    for buffer in (file, bytearray(file), memoryview(file), None, array.astype(np.uint16), "text"):
        add(buffer, 1)
    add(array, flags=-1)
    add(array, True)
    add(array, 1.0)
    add(array)
    worker = begin()
    assert cv2.imdecode is not real
    assert any(type(value[0]) is type and said for (value, _, said), _ in calls), "of libpng"
    compare(calls, worker)
    assert worker.hits > 400 and worker.entries >= 100


@in_own_process
def test_imdecode_of_a_buffer_that_is_used_again():
    cv2 = pytest.importorskip("cv2")
    real, rng = cv2.imdecode, np.random.default_rng(SEED)
    pictures = [
        cv2.imencode(".bmp", rng.integers(0, 256, (16, 16, 3), np.uint8))[1] for _ in range(5)
    ]
    worker, buffer = begin(), np.empty_like(pictures[0])
    for _ in range(4):
        worker.lane()
        for picture in pictures * 2:
            buffer[:] = picture
            made = cv2.imdecode(buffer, 1)
            assert np.array_equal(made, real(picture, 1))
            buffer[:] = 0
            made[:] = 0
    worker.lane()
    assert worker.entries == 5 and worker.hits >= 30


@in_own_process
def test_bytes_that_another_thread_writes_meanwhile_are_not_kept():
    """An array that says that nobody can write into it may lie in memory that somebody can."""
    cv2 = pytest.importorskip("cv2")
    real, rng = cv2.imdecode, np.random.default_rng(SEED)
    one = cv2.imencode(".bmp", rng.integers(0, 256, (16, 16, 3), np.uint8))[1]
    memory = bytearray(one.tobytes())
    shown = np.frombuffer(memoryview(memory).toreadonly(), np.uint8)
    worker = begin()
    replaced = cv2.imdecode

    def meanwhile(buf, flags):
        made = real(buf, flags)
        memory[60] ^= 1
        return made

    replaced.real = meanwhile
    worker.lane()
    assert np.array_equal(replaced(shown, 1), real(one, 1))
    worker.lane()
    assert worker.entries == 0


@in_own_process
def test_pictures_of_torchvision_are_torchvisions(tmp_path):
    pytest.importorskip("torchvision")
    import torch
    from torchvision import io as vision

    folder, rng, calls = Path(tmp_path), random.Random(SEED), []
    modes = [vision.ImageReadMode[name] for name in ("UNCHANGED", "GRAY", "RGB")]
    alphas = [vision.ImageReadMode[name] for name in ("RGB_ALPHA", "GRAY_ALPHA")]

    def add(name, *args, **named):
        read = getattr(vision, name)
        calls.append((seen(lambda: read(*args, **named)), lambda: read(*args, **named)))

    webp = next(file for file in files(rng) if file[8:12] == b"WEBP")
    # It warns of this once in a process.
    vision.decode_image(torch.frombuffer(bytearray(webp), dtype=torch.uint8), modes[1])
    for number, file in enumerate(files(rng)):
        tensor = torch.frombuffer(bytearray(file), dtype=torch.uint8)
        (folder / str(number)).write_bytes(file)
        # torchvision reads beyond its rows where it gives palettes an alpha channel: other bits each time.
        has_palette = file[:4] == b"\x89PNG" and file[25:26] == b"\3"
        for mode in modes if has_palette else modes + alphas:
            add("decode_image", tensor, mode)
            add("read_image", str(folder / str(number)), mode)
        add("decode_image", tensor, modes[2], apply_exif_orientation=True)
        add("decode_jpeg", tensor, modes[2])
        add("decode_png", tensor, modes[0])
    tensor = torch.frombuffer(bytearray(files(rng)[7]), dtype=torch.uint8)
    for given in (tensor[None], tensor.to(torch.int8), torch.stack([tensor] * 2, 1)[:, 0], None):
        add("decode_image", given)
        add("decode_jpeg", given)
    add("read_image", str(folder / "none"))
    with torch.inference_mode():
        of_inference = seen(lambda: vision.decode_image(tensor))
    worker = begin()
    compare(calls, worker)
    worker.lane()
    with torch.inference_mode():
        assert seen(lambda: vision.decode_image(tensor)) == of_inference
    assert worker.hits > 600 and worker.entries >= 150, (worker.hits, worker.entries)
    made = vision.decode_image(tensor)
    stock = made.clone()
    made.zero_()
    assert torch.equal(vision.decode_image(tensor), stock)


@in_own_process
def test_what_was_kept_of_other_bytes_ends_the_keeping():
    """As it would be if two contents had one name, or a library decoded as it likes."""
    cv2 = pytest.importorskip("cv2")
    real = cv2.imdecode
    picture = cv2.imencode(".png", np.full((9, 9, 3), 77, np.uint8))[1]
    worker = begin()
    worker.lane()
    cv2.imdecode(picture, 1)
    worker.lane()
    for number, (content, rows) in worker.segments.items():
        worker.segments[number] = content.replace(b"M" * 99, b"N" * 99), rows
    for _ in range(3):
        assert np.array_equal(cv2.imdecode(picture, 1), real(picture, 1))
    worker.lane()
    assert worker.hits == 1, "it was not asked again"


@in_own_process
def test_a_function_that_the_program_has_replaced_is_the_programs():
    cv2 = pytest.importorskip("cv2")
    own = cv2.imdecode = lambda buf, flags: "the program's"
    worker = begin()
    worker.lane()
    assert cv2.imdecode is own and cv2.imdecode(np.zeros(9, np.uint8), 1) == "the program's"
    worker.lane()
    assert worker.misses == 0


def test_two_programs_give_the_same_bytes_the_same_name():
    text = """
        import numpy as np, cv2
        from headrace.stage import functions, leaves
        leaves.possible = True
        functions.enable(by_value=False)
        array = np.arange(200, dtype=np.uint8)
        print(cv2.imdecode._entry.leaf.wanted((array, 1), {}).key)
    """
    pytest.importorskip("cv2")
    command = [sys.executable, "-c", textwrap.dedent(text)]
    names = {subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)}
    assert len(names) == 1 and b"Key(" in names.pop()


def test_memory_of_bytes_is_what_nobody_can_write():
    pytest.importorskip("cv2")
    from headrace.stage.opencv import _encoded

    data = bytes(bytearray(b"one of a kind"))
    assert _encoded(np.frombuffer(data, np.uint8), 1).is_fixed
    mine = np.frombuffer(bytearray(data), np.uint8)
    shown = np.frombuffer(memoryview(bytearray(data)).toreadonly(), np.uint8)
    fixed = mine.copy()
    fixed.flags.writeable = False
    of_c = np.ctypeslib.as_array((ctypes.c_uint8 * 9)())
    for array in (mine, shown, fixed, of_c, mine.copy()):
        assert not _encoded(array, 1).is_fixed
