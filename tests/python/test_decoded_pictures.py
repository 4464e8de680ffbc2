"""Pictures that were decoded ahead of a lane, where its code opens them: bits, files that change, and evidence."""

import random

import numpy as np
import pytest
from headrace.stage import ahead_pictures
from headrace.stage.ahead_pictures import BGR, PIL, Pictures, Row
from headrace.stage.leaf_keys import Content, content_at
from support.own_process import in_own_process

SEED = 20261130


def row(number, content, offset=0, size=(2, 3), took_ns=5_000_000, decoded_as=PIL):
    height, width = size
    return Row(number, *content, offset, 3 * height * width, width, height, took_ns, decoded_as)


def content(number):
    return Content(1, number, 100, 5, 6)


def test_what_is_taken_is_a_copy_and_is_there_once():
    pictures = Pictures()
    memory = bytearray(range(64))
    pictures.share(memoryview(memory))
    pictures.add([row(5, content(1), 10)])
    assert pictures.take(content(2), PIL, (2, 3, 3)) is None
    assert pictures.take(content(1), BGR, (2, 3, 3)) is None
    assert pictures.take(content(1), PIL, (3, 2, 3)) is None
    assert pictures.take(None, PIL, (2, 3, 3)) is None
    taken = pictures.take(content(1), PIL, (2, 3, 3))
    memory[:] = bytes(64)
    assert taken.pixels.tobytes() == bytes(range(10, 28))
    assert taken.pixels.flags.owndata and taken.pixels.flags.writeable and taken.seconds == 0.005
    assert pictures.take(content(1), PIL, (2, 3, 3)) is None
    assert pictures.saved == 0.005


def test_rows_lie_in_the_memory_that_they_came_with():
    pictures = Pictures()
    pictures.add([row(1, content(1))])
    pictures.share(memoryview(bytes(64)))
    assert pictures.take(content(1), PIL, (2, 3, 3)) is None, "it came without any"
    pictures.add([row(2, content(2))])
    pictures.share(memoryview(b"x" * 64))
    assert pictures.take(content(2), PIL, (2, 3, 3)) is None
    pictures.add([row(3, content(3)), row(4, content(4))])
    assert pictures.take(content(3), PIL, (2, 3, 3)).pixels.tobytes() == b"x" * 18
    pictures.leave()
    assert pictures.take(content(4), PIL, (2, 3, 3)) is None and not pictures.has_memory


def test_rows_say_how_they_were_decoded():
    pictures = Pictures()
    pictures.share(memoryview(bytes(64)))
    pictures.add([row(1, content(1), decoded_as=BGR)])
    pictures.add([row(2, content(2), decoded_as=PIL)])
    assert pictures.take(content(1), PIL, (2, 3, 3)) is None
    assert pictures.take(content(2), BGR, (2, 3, 3)) is None
    assert pictures.take(content(1), BGR, (2, 3, 3)) is not None
    assert pictures.take(content(2), PIL, (2, 3, 3)) is not None


def test_a_sample_that_is_over_leaves_nothing():
    pictures = Pictures()
    pictures.share(memoryview(bytes(64)))
    pictures.add([row(number, content(number)) for number in (3, 4, 5)])
    assert pictures.take(content(3), PIL, (2, 3, 3)) is not None
    assert pictures.passed(5) == (1, 1)
    assert pictures.take(content(4), PIL, (2, 3, 3)) is None
    assert pictures.take(content(5), PIL, (2, 3, 3)) is not None
    assert pictures.passed(6) == (1, 0)


def test_rows_that_lie_outside_give_nothing():
    drawn = random.Random(SEED)
    pictures = Pictures()
    pictures.share(memoryview(bytes(64)))
    for at in range(2000):
        words = [drawn.choice((0, 1, 18, 47, 64, 2**40, 2**64 - 1)) for _ in range(4)]
        pictures.add([Row(at, *content(at), *words[:2], 3, 2, words[3], PIL)])
        taken = pictures.take(content(at), PIL, (2, 3, 3))
        assert (taken is not None) == (words[1] == 18 and words[0] + 18 <= 64)


def test_the_first_ones_and_a_share_are_compared():
    pictures = Pictures()
    pictures.share(memoryview(bytes(64)))
    compared = []
    for at in range(1, 200):
        pictures.add([row(at, content(at))])
        if pictures.take(content(at), PIL, (2, 3, 3)).compares:
            compared.append(at)
    assert compared == [1, 2, 64, 128, 192]


def test_a_fork_takes_nothing():
    pictures = Pictures()
    pictures.share(memoryview(bytes(64)))
    pictures.add([row(1, content(1))])
    pictures._pid += 1
    assert pictures.take(content(1), PIL, (2, 3, 3)) is None


def shared(path, pixels, decoded_as=PIL):
    """As if the worker had decoded this file."""
    pictures = ahead_pictures.here = Pictures()
    pictures.share(memoryview(pixels.tobytes()))
    height, width, _ = pixels.shape
    told = Row(1, *content_at(path), 0, pixels.nbytes, width, height, 5_000_000, decoded_as)
    pictures.add([told] * 3)
    return pictures


@in_own_process
def test_a_picture_is_taken_where_code_opens_it(tmp_path):
    from pathlib import Path

    from PIL import Image
    from support.stage_pictures import enable, photo, plain

    enable()
    from headrace.stage import render

    drawn = random.Random(SEED)
    ways = (
        np.array,
        lambda image: np.asarray(image.resize((31, 17))),
        lambda image: np.asarray(image.crop((1, 1, 9, 9)).resize((31, 17))),
        lambda image: np.asarray(image.transpose(0)),
        lambda image: np.frombuffer(image.tobytes(), np.uint8),
    )
    for at in range(24):
        path = Path(tmp_path) / f"{at}.jpg"
        path.write_bytes(photo(drawn, (16, 200)))
        right = plain(path.read_bytes())
        way = ways[at % len(ways)]
        pictures = shared(path, np.asarray(right))
        pictures._taken = 2 + (at % 3) * 61  # compared or not
        with Image.open(path) as opened:
            image = opened.convert("RGB")
        made = way(image)
        assert made.tobytes() == way(right).tobytes()
        assert pictures.saved == 0.005 and not pictures.differed
    assert render  # it is the one that was used


@in_own_process
def test_another_picture_is_seen_and_ends_it(tmp_path):
    import contextlib
    import io
    from pathlib import Path

    from PIL import Image
    from support.stage_pictures import enable, photo, plain

    enable()
    path = Path(tmp_path) / "a.jpg"
    path.write_bytes(photo(random.Random(SEED), (16, 200)))
    right = np.asarray(plain(path.read_bytes()))
    wrong = right.copy()
    wrong[-1, -1, -1] ^= 1
    pictures = shared(path, wrong)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        for _ in range(3):
            assert np.array_equal(np.asarray(Image.open(path).convert("RGB")), right)
    assert pictures.differed and pictures.saved == 0.005
    assert said.getvalue().count("other bits than PIL gives here") <= 1


@in_own_process
def test_a_file_that_is_another_one_now_is_decoded_here(tmp_path):
    from pathlib import Path

    from PIL import Image
    from support.stage_pictures import enable, photo, plain

    enable()
    drawn = random.Random(SEED)
    path = Path(tmp_path) / "a.jpg"
    path.write_bytes(photo(drawn, (16, 200)))
    pictures = shared(path, np.asarray(plain(path.read_bytes())))
    path.write_bytes(photo(drawn, (16, 200)))
    right = np.asarray(plain(path.read_bytes()))
    assert np.array_equal(np.asarray(Image.open(path).convert("RGB")), right)
    assert pictures.saved == 0
    # Cut: PIL's own error, where it comes.
    path.write_bytes(path.read_bytes()[:-300])
    pictures = shared(path, right)
    with pytest.raises(OSError, match="truncated"):
        np.asarray(Image.open(path).convert("RGB"))
    assert pictures.saved == 0
    # The same state, and another size than its header says.
    path.write_bytes(photo(drawn, (50, 60)))
    pictures = shared(path, np.zeros((7, 9, 3), np.uint8))
    np.asarray(Image.open(path).convert("RGB"))
    assert pictures.saved == 0


@in_own_process
def test_opencvs_pictures_are_taken_and_compared(tmp_path):
    from pathlib import Path

    import cv2
    from headrace.stage import functions
    from support.stage_pictures import photo

    real = cv2.imread
    functions.enable()
    drawn = random.Random(SEED)
    path = Path(tmp_path) / "a.jpg"
    path.write_bytes(photo(drawn, (16, 200)))
    right = real(str(path))
    cv2.imread(str(path))  # which compares native results first
    pictures = shared(path, right, BGR)
    for at in range(3):
        made = cv2.imread(str(path))
        assert np.array_equal(made, right) and made.flags.owndata
        assert pictures._taken == at + 1
    wrong = right.copy()
    wrong[0, 0, 0] ^= 1
    pictures = shared(path, wrong, BGR)
    for _ in range(3):
        assert np.array_equal(cv2.imread(str(path)), right)
    assert pictures.differed and pictures._taken == 1
