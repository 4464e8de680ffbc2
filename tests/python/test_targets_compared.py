"""Targets that the trainer makes beside a picture: a difference in any part of them is found."""

import headrace
import pytest
import torch
from headrace.admission import admission
from headrace.loader.seam import state_of
from headrace.native.targets import Targets
from PIL import Image
from support import detection
from support.compare import check
from torch.utils.data import DataLoader
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F


class Objects(detection.Objects):
    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.tensor(self.boxes[idx], dtype=torch.float32).reshape(-1, 4)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=F.get_size(image))
        labels = torch.tensor(self.labels[idx], dtype=torch.int64)
        target = {"boxes": boxes, "labels": labels, "pair": (idx, [0.0]), "ids": torch.arange(3)}
        return self.transforms(image, target)


def _others(boxes, **named):
    held = {"format": boxes.format, "canvas_size": boxes.canvas_size, **named}
    return tv_tensors.BoundingBoxes(boxes.as_subclass(torch.Tensor), **held)


def _next(boxes):
    made = torch.nextafter(boxes.as_subclass(torch.Tensor), torch.full((), 1e9))
    return tv_tensors.wrap(made, like=boxes)


BOXES, LABELS, INDEX, FLOAT, IDS = range(5)  # the target's values, after the picture
# Of a value, what it becomes. Each is a difference that a program can see.
CHANGES = {
    "last bits of boxes": (BOXES, _next),
    "format": (BOXES, lambda boxes: _others(boxes, format="XYWH")),
    "canvas_size": (BOXES, lambda boxes: _others(boxes, canvas_size=(1, 1))),
    "class": (BOXES, lambda boxes: boxes.as_subclass(torch.Tensor)),
    "class that holds nothing else": (IDS, tv_tensors.Mask),
    "dtype": (LABELS, lambda labels: labels.to(torch.int32)),
    "dtype of the same bytes": (LABELS, lambda labels: labels.view(torch.float64)),
    "elements": (LABELS, lambda labels: labels + 1),
    "shape": (IDS, lambda ids: ids.reshape(1, 3)),
    "an int": (INDEX, lambda index: index + 1),
    "an int that is a float": (INDEX, float),
    "minus zero": (FLOAT, lambda zero: -zero),
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return detection.write_photos(tmp_path_factory.mktemp("photos"), 12)


@pytest.fixture(autouse=True)
def _forget():
    admission._verdicts.clear()
    yield
    admission._verdicts.clear()


def change_targets(monkeypatch, change, keys=range(12)):
    """The trainer makes other targets of these samples."""
    real, (number, function) = Targets.of, change

    def of(self, key, size, words):
        made = real(self, key, size, words)
        if key in keys:
            made[number] = function(made[number])
        return made

    monkeypatch.setattr(Targets, "of", of)


def loader_of(photos, make=DataLoader):
    return make(Objects(photos, detection.flips()), 4, num_workers=1, collate_fn=detection.zipped)


def test_without_a_change_it_is_native(photos, monkeypatch, seam):
    change_targets(monkeypatch, (INDEX, int))
    loader = loader_of(photos)
    list(loader)
    assert state_of(loader).report.path == "native"


@pytest.mark.parametrize("name", CHANGES)
def test_admission_finds(photos, monkeypatch, seam, name):
    change_targets(monkeypatch, CHANGES[name])
    loader = loader_of(photos)
    list(loader)
    report = state_of(loader).report
    assert report.path == "python" and "beside its pictures differs" in report.reasons[0]
    admission._verdicts.clear()
    check(lambda make: loader_of(photos, make), path="python", epochs=1)


@pytest.mark.parametrize("name", CHANGES)
def test_the_comparison_of_batches_finds(photos, monkeypatch, seam, name):
    """Where the samples that admission looks at show no difference."""
    monkeypatch.setenv("HEADRACE_COMPARE", "1")
    monkeypatch.setattr(admission, "keys_to_try", lambda rows: [0])
    change_targets(monkeypatch, CHANGES[name], keys=[9])
    differs = f"sample 9 of batch 2.* field {1 + CHANGES[name][0]} differs"
    with pytest.raises(headrace.SamplesDiffer, match=differs):
        list(loader_of(photos))
