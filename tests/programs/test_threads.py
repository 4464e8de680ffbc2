"""Programs whose threads iterate loaders get what they get without us, and keep their random numbers."""

from pathlib import Path

import pytest
from support.both_ways import compare
from support.photos import write_jpegs

PROGRAM = Path(__file__).parent / "programs" / "threads.py"


@pytest.mark.parametrize(("how", "samples"), [("three", 3 * 2 * 24), ("background", 3 * 24)])
def test_loaders_in_threads(tmp_path, how, samples):
    root = write_jpegs(tmp_path / "photos", classes=2, count=12)
    compared = compare(PROGRAM, [how, root, "--one-by-one", "{out}"], tmp_path)
    assert compared.made["native"] == compared.samples == samples
    assert compared.said == []
    if how == "background":
        assert "result the main thread's numbers are its own: [True, True, True]" in compared.told
