"""ops/vision/png_decoder against Pillow, bit for bit. The rule is that of test_image_jpeg.py."""

import io
import os
import struct
import subprocess
import sys
import zlib

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from PIL import Image
from support.image_kernels import (
    DATA_LOSS,
    OK,
    UNSUPPORTED,
    decode_png,
    header,
    picture,
    pil_rgb,
    settings,
)
from support.png_files import KINDS, chunk, encode

sides = st.one_of(st.integers(1, 9), st.integers(1, 60), st.integers(1, 300))


EXTRA = st.lists(
    st.one_of(
        st.sampled_from(
            [
                (b"gAMA", struct.pack(">I", 45455)),
                (b"gAMA", b"\0"),
                (b"cHRM", bytes(32)),
                (b"sRGB", b"\1"),
                (b"sRGB", b""),
                (b"pHYs", struct.pack(">IIB", 2835, 2835, 1)),
                (b"bKGD", b"\0\1"),
                (b"tIME", b"\x07\xe0\1\1\1\1\1"),
                (b"tRNS", b"\0\1"),
                (b"tRNS", b"\1\x2c"),
                (b"tRNS", b"\0\1\0\2\0\3"),
                (b"tRNS", b"\xff\0\xff"),
                (b"tRNS", b"\x80\x81\x82"),
                (b"eXIf", b"II*\0\x08\0\0\0\0\0"),
                (b"prVt", b"123"),
                (b"iCCP", b"name\0\0" + zlib.compress(b"profile" * 100)),
                (b"iCCP", b"name\0\0" + zlib.compress(bytes(1 << 21))),
                (b"iCCP", b"name\0\1x"),
                (b"iCCP", b"name"),
                (b"acTL", struct.pack(">II", 1, 0)),
                (b"iTXt", b"k\0\1\0\0\0" + zlib.compress(b"v")),
                (b"iTXt", b"k\0\0\0\0\0value"),
                (b"iTXt", b"k\0\1\0\0\0" + zlib.compress(bytes(1 << 21))),
                (b"zTXt", b"k\0\0" + zlib.compress(b"v")),
                (b"zTXt", b"k\0\3x"),
            ]
        ),
        st.tuples(
            st.sampled_from([b"tEXt", b"zTXt", b"iTXt"]),
            st.one_of(
                st.binary(max_size=20),
                st.sampled_from(
                    [b"interlace\0x", b"transparency\0x", b"bbox\0x", b"date:create\0x", b"exif\0x"]
                ),
            ),
        ),
    ),
    max_size=3,
)


NOTHING = st.just(())


@st.composite
def files(draw, sides=sides, extra=NOTHING):
    color = draw(st.sampled_from(sorted(KINDS)))
    size = (draw(sides), draw(sides))
    file = encode(
        draw(st.integers(0, 2**32 - 1)),
        *size,
        color,
        draw(st.sampled_from(KINDS[color][0])),
        draw(st.integers(0, 1)),
        extra=draw(extra),
        behind=draw(extra),
        pieces=draw(st.sampled_from([1, 1, 2, 5])),
    )
    return file, size


def check_agrees(data, size, pixel_bytes=4, window=None):
    code, got = decode_png(data, size, window, pixel_bytes)
    if code == OK:
        want = pil_rgb(data)
        assert want is not None, "decoded what Pillow refuses"
        if window is not None:
            top, left, height, width = window
            want = want[top : top + height, left : left + width]
        assert np.array_equal(got, want), np.argwhere((got != want).any(axis=2))[:5]
    return code


@settings
@hypothesis.given(files(), st.sampled_from([3, 4]))
def test_every_kind(file, pixel_bytes):
    assert check_agrees(*file, pixel_bytes) == OK


@settings
@hypothesis.given(files(), st.sampled_from([3, 4]), st.data())
def test_windows(file, pixel_bytes, data):
    width, height = file[1]
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    rows, columns = (
        data.draw(st.integers(1, height - top)),
        data.draw(st.integers(1, width - left)),
    )
    assert check_agrees(*file, pixel_bytes, (top, left, rows, columns)) == OK


@settings
@hypothesis.given(files())
def test_header(file):
    data, size = file
    code, found = header(data[:33])
    assert code == OK and found["need_bytes"] == 0
    assert (found["width"], found["height"]) == Image.open(io.BytesIO(data)).size == size


@settings
@hypothesis.given(files(st.integers(1, 20), EXTRA))
def test_other_chunks(file):
    check_agrees(*file)


@settings
@hypothesis.given(files(st.integers(1, 40)), st.data())
def test_truncated(file, data):
    whole, size = file
    for length in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=5, max_size=20)):
        assert check_agrees(whole[:length], size) in (DATA_LOSS, UNSUPPORTED)


@settings
@hypothesis.given(files(st.integers(1, 40)), st.binary(max_size=30))
def test_bytes_behind_the_end_do_not_matter(file, junk):
    assert check_agrees(file[0] + junk, file[1]) == OK


def fix_sums(data: bytes) -> bytes:
    """The same chunks with right checksums, if the chunks can be found."""
    out, at = data[:8], 8
    while at + 12 <= len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        if at + 12 + length > len(data):
            break
        out += chunk(data[at + 4 : at + 8], data[at + 8 : at + 8 + length])
        at += 12 + length
    return out + data[at:]


@settings
@hypothesis.given(files(st.integers(1, 40), EXTRA), st.data())
def test_damaged(file, data):
    damaged = bytearray(file[0])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        kind = data.draw(st.sampled_from(["change", "insert", "delete"]))
        if kind == "change":
            damaged[at] = data.draw(st.integers(0, 255))
        elif kind == "insert":
            damaged[at:at] = data.draw(st.binary(min_size=1, max_size=4))
        elif len(damaged) > 40:
            del damaged[at : at + data.draw(st.integers(1, 20))]
    damaged = fix_sums(bytes(damaged)) if data.draw(st.booleans()) else bytes(damaged)
    code, found = header(damaged)
    if code != OK or found["need_bytes"] > 0:
        assert decode_png(damaged, (1, 1))[0] != OK
        return
    hypothesis.assume(found["width"] * found["height"] < 100_000)
    check_agrees(damaged, (found["width"], found["height"]))


@settings
@hypothesis.given(files(st.integers(1, 40)), st.data())
def test_damaged_pixel_stream(file, data):
    """Damage inside the compressed stream, with right chunk checksums."""
    whole, size = file
    start = whole.index(b"IDAT") - 4
    length = struct.unpack(">I", whole[start : start + 4])[0]
    stream = bytearray(whole[start + 8 : start + 8 + length])
    hypothesis.assume(stream)
    kind = data.draw(st.sampled_from(["change", "cut", "append"]))
    if kind == "change":
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    elif kind == "cut":
        del stream[data.draw(st.integers(0, len(stream) - 1)) :]
    else:
        stream += data.draw(st.binary(min_size=1, max_size=9))
    file = whole[:start] + chunk(b"IDAT", bytes(stream)) + whole[start + 12 + length :]
    check_agrees(file, size)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"dpi": (72, 72), "gamma": 0.45}])
def test_files_that_pillow_writes(mode, options):
    image = Image.fromarray(picture(6, 67, 45, 3)).convert(mode)
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    assert check_agrees(out.getvalue(), (45, 67)) == OK


def test_transparent_palette():
    image = Image.fromarray(picture(6, 67, 45, 3)).convert("P")
    for transparency in (3, bytes(range(100))):
        out = io.BytesIO()
        image.save(out, "PNG", transparency=transparency)
        assert check_agrees(out.getvalue(), (45, 67)) == OK


@pytest.fixture(scope="module")
def all_sixteen_bit_grays() -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)).save(out, "PNG")
    return out.getvalue()


def test_sixteen_bit_gray(all_sixteen_bit_grays):
    assert check_agrees(all_sixteen_bit_grays, (256, 256)) == OK


@pytest.mark.skipif("HEADRACE_TEST_PILLOW_OLD" not in os.environ, reason="no older Pillow")
def test_sixteen_bit_gray_of_an_older_pillow(all_sixteen_bit_grays):
    """Its arithmetic has been discussed in Pillow, so an older one is asked too."""
    program = (
        "import io, sys; import numpy as np; from PIL import Image; "
        "image = Image.open(io.BytesIO(sys.stdin.buffer.read())).convert('RGB'); "
        "sys.stdout.buffer.write(np.asarray(image).tobytes())"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        input=all_sixteen_bit_grays,
        stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=os.environ["HEADRACE_TEST_PILLOW_OLD"]),
        check=True,
    ).stdout
    code, got = decode_png(all_sixteen_bit_grays, (256, 256))
    assert code == OK and got.tobytes() == made


def test_checksums_of_the_pixels_chunks_do_not_count():
    """PIL skips them: a file with a wrong one has pixels."""
    whole = encode(3, 20, 10, 2, 8, 0, pieces=3)
    length = struct.unpack(">I", whole[33:37])[0]
    damaged = bytearray(whole)
    damaged[41 + length] ^= 1
    assert check_agrees(bytes(damaged), (20, 10)) == OK
