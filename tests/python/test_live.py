"""What capture/live.py says of files; the rest of it is held by contract/test_num_workers_0.py."""

import os

import pytest
from headrace.capture import capture, live
from support.pipelines import evaluate_v1
from torch.utils.data import DataLoader
from torchvision import datasets


@pytest.fixture
def of_photos(own_photos, monkeypatch):
    monkeypatch.setattr(live, "_TICK", 0)
    data = datasets.ImageFolder(own_photos, evaluate_v1())
    return data, live.Live(data, capture(DataLoader(data, 4), "auto"))


def test_a_file_that_was_just_written_may_be_written_again_unseen(of_photos, monkeypatch):
    _, seen = of_photos
    assert seen.stamps([1, 2]) == seen.stamps([1, 2]) is not None
    monkeypatch.setattr(live, "_TICK", 10**12)
    assert seen.stamps([1, 2]) is None


def test_a_file_with_the_same_size_and_time_is_another_one(of_photos):
    data, seen = of_photos
    path = data.samples[2][0]
    before, about = seen.stamps([2, 3]), os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"x")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert seen.stamps([3]) == before[1:]
    assert seen.stamps([2, 3]) != before


def test_a_file_that_is_gone_and_another_directory(of_photos, tmp_path, monkeypatch):
    data, seen = of_photos
    os.unlink(data.samples[2][0])
    assert seen.stamps([2]) is None and seen.stamps([1]) is not None
    monkeypatch.chdir(tmp_path)
    assert seen.stamps([1]) is None
