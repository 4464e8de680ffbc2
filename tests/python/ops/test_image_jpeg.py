"""ops/vision/jpeg_decoder and image_header against Pillow, bit for bit.

The rule: whatever the kernels decode is what Pillow decodes, and what Pillow refuses they refuse.
They may refuse more (the caller then asks Pillow), but not ordinary files.
"""

import io
import pathlib
import struct

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from PIL import Image
from support.image_kernels import (
    CMYK,
    DATA_LOSS,
    GRAY,
    OK,
    RGB,
    UNSUPPORTED,
    YCBCR,
    YCCK,
    decode_jpeg,
    encode_jpeg,
    header,
    picture,
    pil_rgb,
    settings,
)

PHOTOGRAPHS = sorted(pathlib.Path("/usr/share/backgrounds").rglob("*.jp*g"))[:6]
# Luminance sampling (h, v) with 1x1 chroma: 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 and stranger ones.
SAMPLINGS = [(1, 1), (2, 1), (2, 2), (1, 2), (4, 1), (4, 2), (2, 4), (1, 4)]
CHANNELS = {GRAY: 1, RGB: 3, YCBCR: 3, CMYK: 4, YCCK: 4}

sides = st.one_of(st.integers(1, 20), st.integers(1, 150), st.integers(1, 500))


@st.composite
def files(draw, sides=sides):
    """(file, size) of every kind that libjpeg writes, arithmetic coding apart."""
    width, height = draw(sides), draw(sides)
    space = draw(st.sampled_from([YCBCR, YCBCR, YCBCR, GRAY, RGB, CMYK, YCCK]))
    pixels = picture(draw(st.integers(0, 2**32 - 1)), height, width, CHANNELS[space])
    first = draw(st.sampled_from(SAMPLINGS))
    data = encode_jpeg(
        pixels,
        space=space,
        sampling=[first, (1, 1), (1, 1), first if space in (CMYK, YCCK) else (1, 1)],
        quality=draw(st.sampled_from([5, 30, 75, 90, 100])),
        progressive=draw(st.booleans()),
        restart=draw(st.sampled_from([0, 0, 1, 4, 17])),
        separate_scans=draw(st.integers(0, 4)) == 0,
    )
    hypothesis.assume(data)
    return data, (width, height)


@st.composite
def windows(draw, size):
    left, top = draw(st.integers(0, size[0] - 1)), draw(st.integers(0, size[1] - 1))
    return (
        top,
        left,
        draw(st.integers(1, size[1] - top)),
        draw(st.integers(1, size[0] - left)),
    )


def cut(pixels, window):
    top, left, height, width = window
    return pixels[top : top + height, left : left + width]


def check_decodes(data, size, window=None, pixel_bytes=4):
    want = pil_rgb(data)
    assert want is not None
    code, got = decode_jpeg(data, size, window, pixel_bytes)
    assert code == OK
    want = want if window is None else cut(want, window)
    assert np.array_equal(got, want), np.argwhere((got != want).any(axis=2))[:5]


def check_agrees(data, size, window):
    """What is decoded at all is right."""
    code, got = decode_jpeg(data, size, window)
    if code == OK:
        want = pil_rgb(data)
        assert want is not None, "decoded what Pillow refuses"
        assert np.array_equal(got, cut(want, window))
    return code


@settings
@hypothesis.given(files(), st.sampled_from([3, 4]))
def test_whole_image(file, pixel_bytes):
    check_decodes(*file, pixel_bytes=pixel_bytes)


@settings
@hypothesis.given(files(), st.sampled_from([3, 4]), st.data())
def test_window(file, pixel_bytes, data):
    for _ in range(4):
        check_decodes(*file, window=data.draw(windows(file[1])), pixel_bytes=pixel_bytes)


@settings
@hypothesis.given(files())
def test_header(file):
    data, size = file
    opened = Image.open(io.BytesIO(data))
    code, found = header(data)
    assert code == OK and found["need_bytes"] == 0
    assert (found["width"], found["height"]) == opened.size == size
    assert found["channels"] == opened.layers
    assert found["progressive"] == ("progressive" in opened.info)


@settings
@hypothesis.given(files(sides=st.integers(1, 60)))
def test_header_asks_for_exactly_what_it_needs(file):
    data, size = file
    have = 0
    while True:
        code, found = header(data[:have])
        assert code == OK
        if found["need_bytes"] == 0:
            break
        assert have < found["need_bytes"] <= len(data)
        have = found["need_bytes"]
    assert (found["width"], found["height"]) == size


@settings
@hypothesis.given(files(sides=st.integers(1, 90)), st.data())
def test_truncated(file, data):
    whole, size = file
    window = data.draw(windows(size))
    scan = whole.rindex(b"\xff\xda")
    for length in data.draw(
        st.lists(
            st.one_of(
                st.integers(0, len(whole) - 1),
                st.integers(max(scan - 20, 0), len(whole) - 1),
                st.integers(max(len(whole) - 8, 0), len(whole) - 1),
            ),
            min_size=5,
            max_size=20,
        )
    ):
        assert check_agrees(whole[:length], size, window) in (DATA_LOSS, UNSUPPORTED)


@pytest.mark.parametrize("progressive", [False, True])
def test_truncated_at_every_byte(progressive):
    pixels = picture(3, 24, 40, 3)
    whole = encode_jpeg(pixels, sampling=[(2, 2)], progressive=progressive)
    for length in range(len(whole)):
        for window in [(0, 0, 24, 40), (0, 0, 1, 1), (3, 5, 7, 9)]:
            assert check_agrees(whole[:length], (40, 24), window) in (DATA_LOSS, UNSUPPORTED)


@settings
@hypothesis.given(files(sides=st.integers(1, 60)), st.binary(max_size=40), st.data())
def test_bytes_behind_the_end_do_not_matter(file, junk, data):
    whole, size = file
    check_decodes(whole + junk, size, data.draw(windows(size)))
    check_decodes(whole + whole[: len(whole) // 2], size, data.draw(windows(size)))


@settings
@hypothesis.given(files(sides=st.integers(1, 90)), st.data())
def test_damaged(file, data):
    whole, size = file
    damaged = bytearray(whole)
    scan = whole.rindex(b"\xff\xda")
    for _ in range(data.draw(st.integers(1, 3))):
        low = min(data.draw(st.sampled_from([0, 0, scan])), len(damaged) - 1)
        at = data.draw(st.integers(low, len(damaged) - 1))
        kind = data.draw(st.sampled_from(["change", "insert", "delete"]))
        if kind == "change":
            damaged[at] = data.draw(st.integers(0, 255))
        elif kind == "insert":
            damaged[at:at] = data.draw(st.binary(min_size=1, max_size=4))
        elif len(damaged) > 30:
            del damaged[at : at + data.draw(st.integers(1, 40))]
    damaged = bytes(damaged)
    code, found = header(damaged)
    if code != OK or found["need_bytes"] > 0:
        size = (1, 1)
        assert check_agrees(damaged, size, (0, 0, 1, 1)) != OK
        return
    size = (found["width"], found["height"])
    hypothesis.assume(size[0] * size[1] < 1_000_000)
    check_agrees(damaged, size, data.draw(windows(size)))


@settings
@hypothesis.given(files(sides=st.integers(1, 60)), st.binary(max_size=300), st.data())
def test_application_segments(file, content, data):
    whole, size = file
    marker = data.draw(st.sampled_from([0xE0, 0xE1, 0xE2, 0xED, 0xEE, 0xFE]))
    start = data.draw(
        st.sampled_from(
            [
                b"",
                b"JFIF",
                b"Exif\0\0",
                b"Exif\0\0II*\0\x08\0\0\0",
                b"Adobe",
                b"ICC_PROFILE\0",
                b"Photoshop 3.0\0",
                b"Photoshop 3.0\x008BIM\x03\xed",
                b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x068BIM",
                b"MPF\0",
                b"http://ns.adobe.com/xap/1.0/\0",
            ]
        )
    )
    segment = start + content[: data.draw(st.integers(0, 300))]
    file = b"".join(
        [
            whole[:2],
            bytes([0xFF, marker]),
            (len(segment) + 2).to_bytes(2, "big"),
            segment,
            whole[2:],
        ]
    )
    code = check_agrees(file, size, (0, 0, size[1], size[0]))
    if marker == 0xFE or start == b"":
        assert code == OK or marker in (0xE0, 0xE1, 0xEE)


def tiff(draw) -> bytes:
    """A directory of tags as Exif and MPF segments hold it, more or less well-formed."""
    order = draw(st.sampled_from("<>"))
    number = st.one_of(
        st.sampled_from([0, 1, 2, 3, 5, 7, 8, 10, 26, 50]), st.integers(0, 2**32 - 1)
    )
    tags = [0x0112, 0x011A, 0x011B, 0x0128, 0x8769, 0x8825, 0xB000, 0xB001, 0xB002]
    data = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "HI", 42, 8)
    entries = draw(st.integers(0, 5))
    data += struct.pack(order + "H", entries)
    for _ in range(entries):
        tag, kind = draw(st.sampled_from(tags)), draw(st.integers(0, 13))
        data += struct.pack(order + "HHII", tag, kind, draw(number), draw(number))
    return data + bytes(4) + draw(st.binary(max_size=60))


@settings
@hypothesis.given(files(sides=st.integers(1, 30)), st.data())
def test_tags(file, data):
    whole, size = file
    for _ in range(data.draw(st.integers(1, 2))):
        start, marker = data.draw(st.sampled_from([(b"Exif\0\0", 0xE1), (b"MPF\0", 0xE2)]))
        segment = start + tiff(data.draw)
        at = data.draw(st.sampled_from([2, 20]))  # before and after JFIF's resolution
        hypothesis.assume(whole[at] == 0xFF)
        head = bytes([0xFF, marker]) + (len(segment) + 2).to_bytes(2, "big")
        whole = whole[:at] + head + segment + whole[at:]
    check_agrees(whole, size, (0, 0, size[1], size[0]))


@settings
@hypothesis.given(st.data())
def test_several_pictures_in_a_file(data):
    out = io.BytesIO()
    first, second = (Image.fromarray(picture(seed, 30, 40, 3)) for seed in (1, 2))
    first.save(out, "MPO", save_all=True, append_images=[second])
    file = bytearray(out.getvalue())
    assert check_agrees(bytes(file), (40, 30), (0, 0, 30, 40)) == OK
    index = file.index(b"MPF\0")
    for _ in range(data.draw(st.integers(0, 4))):
        file[data.draw(st.integers(index, index + 90))] = data.draw(st.integers(0, 255))
    check_agrees(bytes(file), (40, 30), (0, 0, 30, 40))


@pytest.mark.parametrize("progressive", [False, True])
def test_thumbnail_in_a_segment(progressive):
    pixels = picture(11, 100, 130, 3)
    whole = encode_jpeg(pixels, sampling=[(2, 2)], progressive=progressive)
    thumbnail = encode_jpeg(pixels[::8, ::8])
    exif = b"Exif\0\0" + thumbnail
    file = whole[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + whole[2:]
    check_decodes(file, (130, 100), (10, 20, 50, 60))
    assert check_agrees(file[:-20], (130, 100), (10, 20, 5, 6)) != OK


def test_exif_orientation_is_ignored():
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(picture(2, 30, 50, 3)).save(out, "JPEG", exif=exif)
    check_decodes(out.getvalue(), (50, 30))
    assert header(out.getvalue())[1]["width"] == 50


@pytest.mark.parametrize("options", [{"restart_marker_rows": 1}, {"restart_marker_blocks": 3}])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_files_that_pillow_writes(options, subsampling):
    out = io.BytesIO()
    image = Image.fromarray(picture(4, 77, 133, 3))
    image.save(out, "JPEG", subsampling=subsampling, quality=80, **options)
    check_decodes(out.getvalue(), (133, 77))
    check_decodes(out.getvalue(), (133, 77), (40, 50, 30, 40))


def test_arithmetic_coding_is_left_to_pillow():
    data = encode_jpeg(picture(5, 30, 30, 3), arithmetic=True)
    assert data
    assert decode_jpeg(data, (30, 30))[0] == UNSUPPORTED
    assert header(data)[0] == UNSUPPORTED


def test_images_above_the_limit_of_pillow_are_left_to_it():
    data = bytearray(encode_jpeg(picture(5, 30, 30, 3)))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"
    assert header(bytes(data))[0] == UNSUPPORTED
    assert decode_jpeg(bytes(data), (1, 1), (0, 0, 1, 1))[0] == UNSUPPORTED


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xd8", b"GIF89a" * 3, b"\xff\xd8\xff\xd9"])
def test_other_files_are_refused(data):
    assert decode_jpeg(data, (1, 1))[0] in (DATA_LOSS, UNSUPPORTED, 1)


@pytest.mark.parametrize("path", PHOTOGRAPHS, ids=lambda path: path.name)
def test_photographs(path):
    data = path.read_bytes()
    want = pil_rgb(data)
    size = (want.shape[1], want.shape[0])
    rng = np.random.default_rng(7)
    code, got = decode_jpeg(data, size)
    assert code == OK and np.array_equal(got, want)
    for _ in range(5):
        top, left = int(rng.integers(0, size[1] - 1)), int(rng.integers(0, size[0] - 1))
        window = (
            top,
            left,
            int(rng.integers(1, size[1] - top + 1)),
            int(rng.integers(1, size[0] - left + 1)),
        )
        code, got = decode_jpeg(data, size, window)
        assert code == OK and np.array_equal(got, cut(want, window))
