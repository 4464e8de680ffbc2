"""Differential admission: a node whose bits differ keeps the pipeline in Python, by name."""

import os

import pytest
import torch
from headrace.admission import admission
from headrace.capture.datasets import rows_of
from headrace.capture.fingerprint import Fingerprint
from headrace.loader.seam import state_of
from headrace.native import transforms
from headrace.service import service
from support.compare import check
from support.own_datasets import Joined
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
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
    misread(monkeypatch, "RandomHorizontalFlip", {"p": 0.0})
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=1)
    list(loader)
    assert list(state_of(loader).verdict.by_pil) == ["flip"]
    service.REPORT.as_dict()
    report = state_of(loader).report
    assert report.counts["native_images"] == report.samples_by_path["python"] > 0


def test_compares_once_for_equal_loaders(photos, monkeypatch, seam):
    calls = []
    real = admission._compare
    monkeypatch.setattr(admission, "_compare", lambda *args: calls.append(args) or real(*args))
    for _ in range(3):
        reasons(datasets.ImageFolder(photos, train_v1()))
    assert len(calls) == 1


def test_samples_that_raise_both_ways_are_no_difference(own_photos, seam):
    for path in sorted(own_photos.glob("class0/*"))[:3]:
        path.write_bytes(b"no picture")
    loader = DataLoader(datasets.ImageFolder(own_photos, train_v1()), 4, num_workers=1)
    iter(loader)
    assert state_of(loader).report.path == "native"


def test_sample_that_raises_but_not_natively():
    """An example is a limit that only the installed library knows: a difference, and no native
    plan."""
    raising = admission._Sample(0, None, b"")
    made = admission.Made([torch.zeros(3), 1], None, b"")
    fine = admission._Sample(1, admission.fields_of(made, (0, 1)), b"")
    assert not admission._agree([torch.zeros(3), torch.tensor(1)], raising)
    assert admission._agree("truncated", raising) and admission._agree("truncated", fine)
    verdict = admission._first_difference(None, None, [fine, raising], [fine.fields, fine.fields])
    assert verdict.reason == "sample 0 raises, and would not natively"


def test_other_numbers_of_draws_are_a_difference(photos, monkeypatch, seam):
    """The samples themselves are the same; the next one's draws would not be."""
    chain = v1.Compose([v1.Resize((40, 40)), v1.ToTensor(), v1.RandomErasing(p=0.0)])
    assert reasons(datasets.ImageFolder(photos, chain)).path == "native"
    admission._verdicts.clear()
    drawn = admission._by_service

    def one_more(*asked):
        made, draws = drawn(*asked)
        return made, [count + 1 for count in draws]

    monkeypatch.setattr(admission, "_by_service", one_more)
    report = reasons(datasets.ImageFolder(photos, chain))
    assert report.path == "python" and "gives other bits natively" in report.reasons[0]


def test_keys_are_of_every_kind_and_size(tmp_path):
    folder = tmp_path / "class0"
    folder.mkdir()
    names = [*(f"{i:03}.jpg" for i in range(40)), "930.png", "931.PPM", "932.jpeg"]
    for i, name in enumerate(names):
        (folder / name).write_bytes(b"x" * (1000 - i if name != "930.png" else 5))
    data = datasets.ImageFolder(tmp_path)
    keys = admission.keys_to_try(rows_of(data, Fingerprint()))
    tried = [data.samples[key][0] for key in keys]
    assert len(tried) == len(set(tried)) <= 10
    kinds = {path.rpartition(".")[2].lower() for path in tried}
    assert {"jpg", "png"} <= kinds
    assert str(folder / "000.jpg") in tried and str(folder / "930.png") in tried
    tensors = torch.utils.data.TensorDataset(torch.zeros(9))
    assert admission.keys_to_try(rows_of(tensors, Fingerprint())) == [0, 2, 4, 6]


def test_files_of_a_data_set_of_the_programs_own_are_looked_at_too(own_photos):
    data = Joined(own_photos)
    last = max(range(len(data)), key=lambda i: os.stat(own_photos / data.names[i]).st_size)
    assert last in admission.keys_to_try(rows_of(data, Fingerprint()))
    part = torch.utils.data.Subset(data, [last, 0])
    assert rows_of(part, Fingerprint()).path_of(0) == str(own_photos / data.names[last])


def test_every_sample_raises(own_photos):
    for path in own_photos.glob("*/*"):
        path.write_bytes(b"no picture")
    data = datasets.ImageFolder(own_photos, train_v1())
    check(lambda loader: loader(data, 4, num_workers=1))


def test_a_bound_that_no_batch_fits_leaves_the_loader_its_own_workers(photos, seam, monkeypatch):
    """Where no batch fits into the bound, the loader keeps its own workers, and a line names it."""
    service.close()
    monkeypatch.setenv("HEADRACE_MEMORY", "1M")
    big = v1.Compose([v1.Resize((700, 700)), v1.ToTensor()])
    try:
        report = reasons(datasets.ImageFolder(photos, big), num_workers=1)
        assert report.path == "local" and "HEADRACE_MEMORY" in report.reasons[0]
    finally:
        service.close()


def test_different_pipeline_without_workers_stays_in_the_trainer(photos, monkeypatch, seam):
    misread(monkeypatch, "Normalize", {"mean": [0.1, 0.2, 0.3]})
    report = reasons(datasets.ImageFolder(photos, train_v1()), num_workers=0)
    assert report.path == "local" and "gives other bits natively" in report.reasons[0]
