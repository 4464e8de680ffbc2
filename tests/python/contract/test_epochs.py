"""Contract: what has not changed is not done again in a later epoch, and what has changed is.

Counted are calls in the trainer and in its lanes, which are forks of it.
"""

import functools
import multiprocessing
import os
import sys

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.session import SessionHandle
from headrace.stage import fresh_pictures, wire
from headrace.stage.checkpoint import Checkpoint
from headrace.stage.lane_requests import Requests
from headrace.stage.recipes import Recipe
from headrace.stage.render import ImageMaker
from PIL import Image
from support.compare import check
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F

LANES = 2
INVERT, RESIZE = F.invert, Image.Image.resize


class Counted:
    """How often functions were called, in this process and in its forks."""

    def __init__(self, monkeypatch):
        self._patch = monkeypatch
        self._counts = {}
        self._pid = os.getpid()

    def calls(self, owner, name, counts=lambda *args: True):
        real = getattr(owner, name)
        here, in_lanes = multiprocessing.Value("i"), multiprocessing.Value("i")
        self._counts[name] = here, in_lanes

        @functools.wraps(real)
        def called(*args, **named):
            if counts(*args):
                count = here if os.getpid() == self._pid else in_lanes
                with count.get_lock():
                    count.value += 1
            return real(*args, **named)

        self._patch.setattr(owner, name, called)

    def since(self, name):
        """Calls here, and in lanes, since the last look."""
        here, in_lanes = self._counts[name]
        seen = here.value, in_lanes.value
        here.value = in_lanes.value = 0
        return seen


@pytest.fixture
def counted(monkeypatch, seam):
    return Counted(monkeypatch)


class Views(Dataset):
    """Three views of each picture, by transforms that PIL and torchvision share."""

    def __init__(self, root):
        self.files = sorted(root.glob("*/*.jpg"))
        self.large = v1.Compose([v1.RandomResizedCrop(40), v1.ColorJitter(0.3, 0.3), v1.ToTensor()])
        self.small = v1.Compose([v1.RandomResizedCrop(24), v1.RandomInvert(), v1.ToTensor()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if index >= len(self.files):  # a decision by the index, which keeps it Python
            raise IndexError(index)
        picture = Image.open(self.files[index]).convert("RGB")
        return self.large(picture), self.small(picture), self.small(picture)


class Numbers(Dataset):
    """No picture, before somebody sets `files`."""

    files = ()

    def __init__(self, size=4):
        self.size = size

    def __len__(self):
        return 24

    def __getitem__(self, index):
        if not self.files:
            return torch.full((self.size,), float(index)) + torch.rand(1)
        with Image.open(self.files[index % len(self.files)]) as picture:
            return torch.from_numpy(np.array(picture.convert("RGB").resize((8, 8))))


class Pictures(Dataset):
    """Grey ones, which nobody defers, until somebody sets `in_colour`."""

    in_colour = False

    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if index >= len(self.files):  # a decision by the index, which keeps it Python
            raise IndexError(index)
        with Image.open(self.files[index]) as picture:
            picture = picture.convert("RGB" if self.in_colour else "L")
            return torch.from_numpy(np.array(picture.resize((8, 8))))


def loader_of(data, **named):
    return DataLoader(data, batch_size=2, num_workers=LANES, **named)


def test_lanes_compare_with_the_library_in_the_first_epoch_alone(photos, counted, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # what it holds is compared when it is first found
    loader = loader_of(Views(photos))
    counted.calls(ImageMaker, "by_pil")
    counted.calls(Recipe, "__init__")
    list(loader)
    assert counted.since("by_pil")[1] > 0
    assert counted.since("__init__") == (0, 2 * LANES)
    list(loader)
    assert counted.since("by_pil") == (0, 0)
    assert counted.since("__init__") == (2, 0), "the trainer compiles, and its forks have it"
    list(loader)
    assert counted.since("by_pil") == counted.since("__init__") == (0, 0)


def test_they_compare_again_where_a_setting_of_a_library_has_changed(photos, counted):
    loader = loader_of(Views(photos))
    counted.calls(ImageMaker, "by_pil")
    list(loader)
    list(loader)
    counted.since("by_pil")
    torch.set_float32_matmul_precision("medium")
    try:
        list(loader)
        assert counted.since("by_pil")[1] > 0
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_changed_transform_is_compiled_again(photos, counted):
    data = Views(photos)
    loader = loader_of(data)
    counted.calls(Recipe, "__init__")
    list(loader)
    list(loader)
    counted.since("__init__")
    data.small.transforms[1].p = 0.9
    list(loader)
    assert counted.since("__init__") == (1, 0)


def test_batches_equal_the_stock_loaders_where_transforms_change_between_epochs(photos):
    def change(loader, epoch):
        loader.dataset.small.transforms[1].p = 0.2 * epoch
        if epoch == 2:
            loader.dataset.large = v1.Compose([v1.CenterCrop(30), v1.ToTensor()])

    def make(loader):
        return loader(Views(photos), batch_size=2, num_workers=LANES, shuffle=True)

    check(make, "python", epochs=4, before=change)


def inverted_otherwise(image):
    return image.point(lambda value: 254 - value if value < 200 else value)


class Replaces:
    """Replaces a function of torchvision's in the worker, when the program says so."""

    now = False

    def __call__(self, worker):
        if Replaces.now:
            F.invert = inverted_otherwise


def nearest(image, size, *args, **named):
    return RESIZE(image, size, Image.Resampling.NEAREST)


@pytest.mark.parametrize("what", ["of PIL", "of torchvision", "in the workers"])
def test_what_is_replaced_after_some_epochs_is_what_runs(photos, monkeypatch, what):
    def replace(loader, epoch):
        now = epoch == 2
        if what == "in the workers":
            monkeypatch.setattr(Replaces, "now", now)
        elif what == "of PIL":
            monkeypatch.setattr(Image.Image, "resize", nearest if now else RESIZE)
        else:
            monkeypatch.setattr(F, "invert", inverted_otherwise if now else INVERT)

    def make(loader):
        data = Views(photos)
        data.small.transforms[1].p = 1.0
        init = Replaces() if what == "in the workers" else None
        return loader(data, batch_size=2, num_workers=LANES, worker_init_fn=init)

    check(make, "python", epochs=4, before=replace)


def test_a_lane_whose_code_opens_no_picture_is_forked_once(counted):
    loader = loader_of(Numbers())
    counted.calls(Checkpoint, "make")
    list(loader)
    assert counted.since("make")[1] >= LANES, "nobody knows it yet"
    list(loader)
    list(loader)
    assert counted.since("make") == (0, 0)


def test_pictures_that_come_later_are_made_natively_from_the_next_epoch_on(
    photos, counted, monkeypatch
):
    monkeypatch.setattr(fresh_pictures, "LEAST", 4)
    data = Numbers()
    loader = loader_of(data)
    counted.calls(Checkpoint, "make")
    list(loader)
    counted.since("make")
    data.files = sorted(photos.glob("*/*.jpg"))
    expected = [data[index] for index in range(len(data))]
    for forks in (0, LANES):
        assert all(map(torch.equal, torch.cat(list(loader)), expected))
        assert counted.since("make")[1] >= forks and (forks or not counted.since("make")[1])


def test_a_lane_that_defers_no_picture_is_forked_once(photos, counted, monkeypatch):
    """Also where it opens some. One that is deferred later is seen, and the next lanes defer."""
    monkeypatch.setattr(fresh_pictures, "LEAST", 4)
    data = Pictures(sorted(photos.glob("*/*.jpg")))
    loader = loader_of(data)
    counted.calls(Checkpoint, "make")
    list(loader)
    assert counted.since("make")[1] >= LANES, "nobody knows it yet"
    for _ in range(3):
        list(loader)
    assert counted.since("make") == (0, 0)
    data.in_colour = True
    expected = [data[index] for index in range(len(data))]
    for forks in (0, LANES, LANES):
        assert all(map(torch.equal, torch.cat(list(loader)), expected))
        made = counted.since("make")[1]
        assert made >= forks and (forks or not made)


class Doubled:
    """A transform of the program's own, which has no native form."""

    def __init__(self):
        self.steps = [v1.ToTensor()]

    def __call__(self, picture):
        for step in self.steps:
            picture = step(picture)
        return float(f"{picture[0, 0, 0]:.3f}")


def native_attempts(counted):
    counted.calls(sys.modules["headrace.capture.capture"], "_native")
    return lambda: counted.since("_native")[0]


def test_what_has_no_native_form_is_not_followed_again(photos, counted):
    attempts = native_attempts(counted)
    """Nor where its rows are others in each epoch, as of programs that draw negatives."""
    loader = loader_of(ImageFolder(photos, Doubled()))
    for _ in range(4):
        loader.dataset.negatives = list(range(1000))
        list(loader)
    assert attempts() == 1
    assert state_of(loader).report.path == "python"


CHANGES = {
    "the transform": lambda data: setattr(data, "transform", v1.ToTensor()),
    "a part of it": lambda data: data.transform.steps.append(v1.Normalize(0.5, 0.5)),
    "a number": lambda data: setattr(data, "extra", 1),
    "a method": lambda data: setattr(type(data.transform), "again", lambda self: None),
    "a setting": lambda data: torch.set_default_dtype(torch.float64),
}


@pytest.mark.parametrize("what", CHANGES)
def test_it_is_followed_again_where_the_pipeline_has_changed(photos, counted, what):
    attempts = native_attempts(counted)
    data = ImageFolder(photos, type("Own", (Doubled,), {})())
    loader = loader_of(data)
    list(loader)
    list(loader)
    assert attempts() == 1
    try:
        CHANGES[what](data)
        iter(loader)
        iter(loader)
    finally:
        torch.set_default_dtype(torch.float32)
    assert attempts() >= 1
    assert state_of(loader).report.path == ("native" if what == "the transform" else "python")


def test_it_is_followed_again_now_and_then(counted):
    """What is not looked at may have changed."""
    attempts = native_attempts(counted)
    loader = loader_of(Numbers())
    for _ in range(16):
        iter(loader)
    assert attempts() == 1
    for _ in range(17):
        iter(loader)
    assert attempts() == 2


def test_epochs_share_a_session_also_where_the_loop_breaks_out(counted):
    loader = loader_of(Numbers())
    counted.calls(SessionHandle, "__init__")
    for _ in range(2):
        list(loader)
        for _ in loader:
            break
    assert counted.since("__init__") == (1, 0)
    assert state_of(loader).report.path == "python"


def test_a_slot_is_too_small_once_a_lane_at_most(counted):
    """Batches that were planned before the first one was made have room for themselves."""
    loader = loader_of(Numbers(size=1 << 20), prefetch_factor=4)
    too_small = wire.numbers(wire.TOO_SMALL)
    counted.calls(Requests, "answer", lambda _, asked, *parts: parts[0] == too_small)
    list(loader)
    assert 1 <= counted.since("answer")[1] <= LANES
    list(loader)
    assert counted.since("answer") == (0, 0)
