"""Contract of the report: what each number counts."""

import re

import pytest
import torch
import tqdm
from headrace.loader.seam import state_of
from headrace.service import service
from headrace.service.report import LoaderReport, say
from PIL import Image
from support.photos import write_jpegs
from support.pipelines import Numbers, train_v1
from torch.utils.data import DataLoader
from torchvision import datasets


@pytest.fixture
def odd_photos(tmp_path):
    """16 photos, 3 of them in forms that only PIL reads: CMYK, GIF, BMP."""
    root = write_jpegs(tmp_path / "odd", classes=2, count=8)
    first, second, third = sorted(root.glob("class1/*.jpg"))[:3]
    with Image.open(first) as image:
        image.convert("CMYK").save(first, "JPEG")
    Image.new("P", (60, 60), 3).save(second, "GIF")
    with Image.open(third) as image:
        image.load()
    image.save(third, "BMP")
    return root


def report_of(loader):
    service.REPORT.as_dict()
    return state_of(loader).report


def test_samples_that_the_trainer_made_are_local(odd_photos, seam):
    loader = DataLoader(datasets.ImageFolder(odd_photos, train_v1()), 4, num_workers=2)
    list(loader)
    list(loader)
    report = report_of(loader)
    missing = report.counts["missing_samples"]
    assert report.path == "native" and 2 <= missing // 2 <= 3
    assert report.samples_by_path == {"native": 32 - missing, "python": 0, "local": missing}
    assert sum(report.samples_by_worker.values()) == 32 - missing
    assert report.samples == 32


def test_a_batch_that_raised_is_counted_once(odd_photos, seam):
    sorted(odd_photos.glob("class0/*"))[2].write_bytes(b"no picture")
    loader = DataLoader(datasets.ImageFolder(odd_photos, train_v1()), 4, num_workers=1)
    iterator = iter(loader)
    with pytest.raises(Exception, match="cannot identify image file"):
        next(iterator)
    assert report_of(loader).samples_by_path == {"native": 3, "python": 0, "local": 1}


def test_python_stage_is_python(seam):
    loader = DataLoader(Numbers(), 4, num_workers=2)
    list(loader)
    assert report_of(loader).samples_by_path == {"native": 0, "python": 20, "local": 0}


def test_what_stays_is_local(seam):
    loader = DataLoader(torch.utils.data.TensorDataset(torch.zeros(0, 3)), 4)
    list(loader)
    assert report_of(loader).samples_by_path == {"native": 0, "python": 0, "local": 0}
    assert report_of(loader).path == "local"


def test_line_beside_a_progress_bar(capfd):
    """It does not stand at the end of the bar's unfinished line."""
    captured = []
    with tqdm.tqdm(range(3), desc="epoch", mininterval=0) as bar:
        say(LoaderReport("Rows", 1), "Rows", "stays in the trainer: a test")
        captured.append(capfd.readouterr().err)
        bar.update()
    say(LoaderReport("Rows", 1), "Rows", "stays in the trainer: another test")
    captured.append(capfd.readouterr().err)
    for text in captured:
        (line,) = [line for line in re.split(r"[\r\n]", text) if "headrace: " in line]
        assert line.startswith("headrace: DataLoader(Rows) stays in the trainer: a")
    assert "headrace: " not in captured[0].rpartition("\n")[2]
