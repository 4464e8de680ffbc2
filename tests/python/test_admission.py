"""Differential admission: a node whose bits differ keeps the pipeline in Python, by name."""

import headrace
import pytest
import torch
from headrace import admission, service
from headrace.capture import python_stage, transforms
from headrace.seam import state_of
from support.compare import check
from support.pipelines import train_v1
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as v1


@pytest.fixture(autouse=True)
def _forget():
    admission._verdicts.clear()
    yield
    admission._verdicts.clear()


def reasons(data, **named):
    loader = DataLoader(data, 4, **{"num_workers": 1, **named})
    list(loader)
    return state_of(loader).report


def test_equal_pipeline_is_admitted(photos, seam):
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert report.path == "native" and report.reasons == []


def misread(monkeypatch, name, change):
    """Capture takes the arguments of a v1 transform for others: its native form is wrong."""
    real = transforms._TABLE[f"v1.{name}"]

    def convert(transform):
        node = real(transform)
        node.args = {**node.args, **change}
        return node

    monkeypatch.setitem(transforms._TABLE, f"v1.{name}", convert)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Normalize", {"mean": [0.1, 0.2, 0.3]}),
        ("RandomResizedCrop", {"interpolation": "bicubic"}),
        ("RandomHorizontalFlip", {"p": 0.0}),
    ],
)
def test_node_with_other_bits_is_python_and_named(photos, monkeypatch, seam, name, change):
    """Its own code runs on the workers, and everything is what it is without us."""
    misread(monkeypatch, name, change)
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert report.path == "python" and report.samples_by_path["python"]
    assert f"{name}(" in report.reasons[0] and "gives other bits natively" in report.reasons[0]
    admission._verdicts.clear()
    check(
        lambda loader: loader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2),
        path="python",
        epochs=1,
    )


def test_only_the_blamed_steps_are_pils(photos, monkeypatch, seam):
    """The pictures of the stage stay native where the blamed node has no part in them."""
    packed = []
    real = python_stage.pack
    monkeypatch.setattr(
        python_stage,
        "pack",
        lambda loader, by_pil, *keeps: packed.append(by_pil) or real(loader, by_pil, *keeps),
    )
    misread(monkeypatch, "RandomHorizontalFlip", {"p": 0.0})
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert packed and all(steps == ["flip"] for steps in packed)
    service.REPORT.as_dict()
    assert report.counts["native_images"] == report.samples_by_path["python"] > 0


def test_library_that_computes_something_else(photos, monkeypatch, seam):
    """The program changed what a library function does; class and arguments look the same. Its code
    would find the unchanged library on the workers."""
    real = v1.functional.normalize
    monkeypatch.setattr(
        v1.functional, "normalize", lambda tensor, *args, **named: real(tensor, *args, **named) + 1
    )
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert report.path == "local"
    assert "Normalize(mean=(0.485, 0.456, 0.406)" in report.reasons[0]
    assert "gives other bits natively, and so does its code on the workers" in report.reasons[0]


def test_decoder_that_computes_something_else(photos, monkeypatch, seam):
    from PIL import Image, ImageChops

    real = Image.Image.convert
    monkeypatch.setattr(
        Image.Image, "convert", lambda self, mode: ImageChops.invert(real(self, mode))
    )
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert "Image.open(path).convert" in report.reasons[0]


def test_other_draws_are_noticed(photos, monkeypatch, seam):
    monkeypatch.setattr(torch, "rand", lambda *size: torch.full(size, 0.2))
    report = reasons(datasets.ImageFolder(photos, train_v1()))
    assert report.path == "local" and "RandomHorizontalFlip" in report.reasons[0]


def test_different_pipeline_without_workers_stays_in_the_trainer(photos, monkeypatch, seam):
    monkeypatch.setattr(v1.functional, "normalize", lambda tensor, *args, **named: tensor)
    report = reasons(datasets.ImageFolder(photos, train_v1()), num_workers=0)
    assert report.path == "local" and "gives other bits natively" in report.reasons[0]


def test_compares_once_for_equal_loaders(photos, monkeypatch, seam):
    calls = []
    real = admission._compare
    monkeypatch.setattr(admission, "_compare", lambda *args: calls.append(args) or real(*args))
    for _ in range(3):
        reasons(datasets.ImageFolder(photos, train_v1()))
    assert len(calls) == 1


def test_first_samples_that_raise_are_passed_over(own_photos, seam):
    for path in sorted(own_photos.glob("class0/*"))[:3]:
        path.write_bytes(b"no picture")
    loader = DataLoader(datasets.ImageFolder(own_photos, train_v1()), 4, num_workers=1)
    iter(loader)
    assert state_of(loader).report.path == "native"


def test_every_sample_raises(own_photos):
    for path in own_photos.glob("*/*"):
        path.write_bytes(b"no picture")
    data = datasets.ImageFolder(own_photos, train_v1())
    check(lambda loader: loader(data, 4, num_workers=1))


def test_errors_of_the_service_are_the_packages(photos, seam, monkeypatch):
    """What admission asks of the service fails as everything else does."""
    service.close()
    monkeypatch.setenv("HEADRACE_MEMORY", "1M")
    big = v1.Compose([v1.Resize((700, 700)), v1.ToTensor()])
    try:
        with pytest.raises(headrace.OutOfMemory, match="HEADRACE_MEMORY"):
            iter(DataLoader(datasets.ImageFolder(photos, big), 4, num_workers=1))
    finally:
        service.close()
