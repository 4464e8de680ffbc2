"""Files of pictures that are far larger than their pictures: libraries read the picture alone, and so do we."""

import importlib.util
import random
import resource

import numpy as np
import pytest
from PIL import Image
from support.own_process import in_own_process
from support.stage_pictures import SEED, enable, photo, plain

_HOLE = 512 << 20
_MOST_KB = 128 << 10


def _files(folder):
    """A picture, and the path of a file with it, a hole, and what looks like the end of a picture."""
    file = photo(random.Random(SEED), (100, 200))
    path = f"{folder}/photo.jpg"
    with open(path, "wb") as out:
        out.write(file)
        out.seek(_HOLE)
        out.write(b"\xff\xd9")
    return file, path


def _most_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@in_own_process
def test_pils_pictures(tmp_path):
    enable()
    file, path = _files(tmp_path)
    expected = plain(file)
    before = _most_kb()
    assert Image.open(path).convert("RGB") == expected
    with Image.open(path) as opened:
        opened.load()
        assert np.array_equal(np.asarray(opened), np.asarray(expected))
    assert _most_kb() - before < _MOST_KB


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="./dev test installs OpenCV")
@in_own_process
def test_opencvs_pictures(tmp_path):
    import cv2
    from headrace.stage import functions

    file, path = _files(tmp_path)
    expected = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)
    functions.CHECKS = 0
    functions.enable()
    before = _most_kb()
    assert np.array_equal(cv2.imread(path), expected)
    assert _most_kb() - before < _MOST_KB
