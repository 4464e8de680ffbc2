"""The examples are what the demo says they are."""

import importlib.util
from pathlib import Path

import numpy
import pytest
from PIL import Image

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def make_photos():
    spec = importlib.util.spec_from_file_location("make_photos", EXAMPLES / "make_photos.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_training_program_knows_nothing_of_headrace():
    assert "headrace" not in (EXAMPLES / "train.py").read_text().lower()


def test_same_photographs_give_the_same_bytes(make_photos, tmp_path):
    photograph = tmp_path / "photograph.jpg"
    pixels = numpy.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=numpy.uint8)
    Image.fromarray(pixels).resize((1600, 1200)).save(photograph)
    sets = []
    for name in ("first", "second"):
        sizes = make_photos.make_class(("dune", photograph, tmp_path / name, 10))
        assert len(sizes) == 10
        files = sorted((tmp_path / name).rglob("*.jpg"))
        sets.append({path.relative_to(tmp_path / name): path.read_bytes() for path in files})
    assert sets[0] == sets[1]
    assert len(sets[0]) == 10
    assert len([path for path in sets[0] if path.parts[0] == "val"]) == 2
