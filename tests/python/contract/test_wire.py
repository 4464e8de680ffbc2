"""Contract: batches that cross a network as uint8 and are finished in the trainer are the stock loader's.

The worker is on this host, but shares no memory with the trainer: HEADRACE_TRANSPORT=tcp.
"""

import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from PIL import Image
from support.compare import check, served
from support.photos import write_jpegs
from support.pipelines import MEAN, STD, train_tensors, train_v1, train_v2
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2


def to(dtype, *more):
    steps = [v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(dtype, scale=True), *more]
    return v2.Compose(steps)


PIPELINES = {
    "v1": train_v1(),
    "v2": train_v2(),
    "tensors-v1": train_tensors(1),
    "tensors-v2": train_tensors(2),
    "float16": to(torch.float16, v2.Normalize(MEAN, STD)),
    "bfloat16": to(torch.bfloat16),
    "float64": to(torch.float64, v2.Normalize(MEAN, STD)),
    "int32": to(torch.int32),
    "grey": v1.Compose([v1.Grayscale(), v1.Resize((20, 30)), v1.ToTensor(), v1.Normalize(0.5, 2)]),
    "flip-after": v1.Compose(
        [v1.Resize((33, 31)), v1.ToTensor(), v1.RandomHorizontalFlip(), v1.RandomVerticalFlip()]
    ),
    "erased-before": v2.Compose(
        [v2.Resize((40, 40)), v2.ToImage(), v2.RandomErasing(1.0), v2.ToDtype(torch.float32, True)]
    ),
}
# Pipelines whose tail is not cut: rectangles of floats, and what stays uint8.
WHOLE = {
    "erased-after": v1.Compose([v1.Resize((40, 40)), v1.ToTensor(), v1.RandomErasing(1.0)]),
    "uint8": v2.Compose([v2.Resize((40, 40)), v2.ToImage()]),
}


@pytest.fixture(autouse=True)
def _no_shared_memory(monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORT", "tcp")


def make(photos, transform):
    data = datasets.ImageFolder(photos, transform)
    # 27 photographs: the last batch is a short one.
    return lambda loader: loader(data, 4, shuffle=True, num_workers=2)


def counts(monkeypatch, photos, transform, form):
    """What the report says of two epochs."""
    monkeypatch.setenv("HEADRACE_WIRE", form)
    loaders = []

    def watched(cls):
        loaders.append(make(photos, transform)(cls))
        return loaders[0]

    served(watched)
    REPORT.as_dict()
    report = state_of(loaders[0]).report
    assert report.bytes["shm"] == 0
    return report.counts | {"tcp_bytes": report.bytes["tcp"]}


@pytest.mark.parametrize("name", PIPELINES)
def test_finished_batches_are_the_stock_loaders(photos, monkeypatch, name):
    monkeypatch.setenv("HEADRACE_WIRE", "uint8")
    check(make(photos, PIPELINES[name]))
    seen = counts(monkeypatch, photos, PIPELINES[name], "uint8")
    assert seen["finished_batches"] == 14
    assert seen["received_bytes"] < 0.55 * seen["tcp_bytes"]


@pytest.mark.parametrize("name", WHOLE)
def test_what_can_not_be_finished_crosses_as_made(photos, monkeypatch, name):
    monkeypatch.setenv("HEADRACE_WIRE", "uint8")
    check(make(photos, WHOLE[name]))
    seen = counts(monkeypatch, photos, WHOLE[name], "uint8")
    assert seen["finished_batches"] == 0
    assert seen["received_bytes"] == seen["tcp_bytes"]


def test_float32_takes_a_quarter_of_the_bytes_and_the_program_decides(photos, monkeypatch):
    as_made = counts(monkeypatch, photos, train_v1(), "as-made")
    uint8 = counts(monkeypatch, photos, train_v1(), "uint8")
    assert as_made["finished_batches"] == 0
    assert as_made["received_bytes"] == as_made["tcp_bytes"] == uint8["tcp_bytes"]
    assert uint8["received_bytes"] <= 0.26 * as_made["received_bytes"]
    assert uint8["finish_ns"] > 0


def test_missing_samples_of_such_a_batch_are_made_by_the_dataset(tmp_path, monkeypatch):
    photos = write_jpegs(tmp_path / "photos", classes=2, count=8)
    files = sorted(photos.rglob("*.jpg"))
    with Image.open(files[3]) as image:
        image.convert("CMYK").save(files[3], "TIFF")  # which PIL alone reads
    monkeypatch.setenv("HEADRACE_WIRE", "uint8")
    check(make(photos, train_v1()))
    seen = counts(monkeypatch, photos, train_v1(), "uint8")
    assert seen["missing_samples"] > 0
    assert seen["finished_batches"] > 0
