"""Data sets that read by torchvision.io: what is found in their code, and what of it is refused."""

import pytest
import torch
import torchvision
from headrace.capture.items import TORCHVISION, items_of, reader_of
from headrace.native.plan import NotNative
from PIL import Image
from support.tensor_datasets import Jpeg, OfBytes, Read, Twice, Unchanged
from torchvision.io import ImageReadMode, decode_image, decode_jpeg, image, read_file, read_image
from torchvision.transforms import v2

RGB = ImageReadMode.RGB
MODES = {Read: "RGB", Unchanged: "UNCHANGED", OfBytes: "RGB", Jpeg: "RGB", Twice: "RGB"}


@pytest.mark.parametrize("cls", MODES)
def test_what_is_read(photos, cls):
    data = cls(photos)
    items = items_of(data)
    assert (items.modes, items.libraries) == ((MODES[cls],), (TORCHVISION,))
    assert items.paths == ([data.path(index) for index in range(len(data))],)
    assert items.seen.same()


class Gray(Read):
    def __getitem__(self, idx):
        return self.transform(read_image(self.path(idx), ImageReadMode.GRAY))


class Turned(Read):
    def __getitem__(self, idx):
        return self.transform(decode_image(self.path(idx), RGB, apply_exif_orientation=True))


class OnDevice(Read):
    def __getitem__(self, idx):
        return self.transform(decode_jpeg(read_file(self.path(idx)), device="cuda"))


class OfPath(Read):
    def __getitem__(self, idx):
        return self.transform(decode_jpeg(self.path(idx)))


class Computes(Read):
    def __getitem__(self, idx):
        return self.transform(read_image(self.path(idx), RGB) / 255)


class Asks(Read):
    def __getitem__(self, idx):
        picture = read_image(self.path(idx), RGB)
        return self.transform(picture.expand(3, -1, -1))


class NotDecoded(Read):
    def __getitem__(self, idx):
        read_file(self.path(idx))
        return self.transform(read_image(self.path(idx), RGB))


class Itself(Read):
    def __getitem__(self, idx):
        return read_image(self.path(idx), RGB)


class OneFile(Read):
    def __getitem__(self, idx):
        return self.transform(read_image(self.root, RGB))


class Number(Read):
    def __getitem__(self, idx):
        return self.transform(read_image(self.path(idx), 3))


class Misspelt(Read):
    def __getitem__(self, idx):
        return self.transform(read_image(self.path(idx), modes=RGB))


class Erased(Read):
    def __init__(self, root):
        super().__init__(root)
        self.erase = v2.RandomErasing(inplace=True)

    def __getitem__(self, idx):
        picture = read_image(self.path(idx), RGB)
        return self.erase(picture), self.transform(picture)


CASES = {
    Gray: "in mode GRAY",
    Turned: "apply_exif_orientation=, which turns pictures",
    OnDevice: "with a device",
    OfPath: "calls decode_jpeg with what belongs to the index",
    Computes: "__getitem__",
    Asks: "uses .expand of the picture",
    NotDecoded: "a file that it does not use",
    Itself: "the picture itself, as it was read",
    OneFile: "calls read_image with|not told by the index",
    Number: "in mode 3",
    Misspelt: "arguments that do not fit",
    Erased: "inplace=True to a tensor that it uses elsewhere",
}


@pytest.mark.parametrize("cls", CASES)
def test_more_than_that_is_refused(photos, cls):
    with pytest.raises(NotNative, match=CASES[cls]):
        items_of(cls(photos))


LOADERS = {
    "an array": (lambda path: torch.load(path), "torch.*not followed"),
    "a step": (lambda path: v2.functional.hflip(read_image(path)), "more than read"),
    "another file": (lambda path: read_image(path + ".jpg"), "another file"),
    "PIL, not converted": (lambda path: Image.open(path), "more than read"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders_that_do_more_are_refused(name):
    loader, why = LOADERS[name]
    with pytest.raises(NotNative, match=f"is Python code: .*{why}"):
        reader_of(loader, ["a.jpg", "b.jpg"])


def _operator(monkeypatch):
    real = torch.ops.image.decode_image
    monkeypatch.setattr(torch.ops.image, "decode_image", lambda *args: real(*args))


def _function(monkeypatch):
    monkeypatch.setattr(image, "decode_image", lambda *args, **named: None)


def _code(monkeypatch):
    def read_image(path, mode=None, apply_exif_orientation=False):
        return None

    monkeypatch.setattr(image.read_image, "__code__", read_image.__code__)


def _defaults(monkeypatch):
    monkeypatch.setattr(image.read_image, "__defaults__", (ImageReadMode.GRAY, False))


@pytest.mark.parametrize("change", [_operator, _function, _code, _defaults])
def test_what_is_replaced_in_torchvision_is_seen(photos, monkeypatch, change):
    items = items_of(Read(photos))
    change(monkeypatch)
    assert not items.seen.same()
    if change is not _defaults:
        with pytest.raises(NotNative):
            items_of(Read(photos))


def test_the_public_module_is_not_what_reads(photos, monkeypatch):
    """Nobody looks up torchvision.io.read_file: the functions call each other in their own module."""
    items = items_of(Read(photos))
    monkeypatch.setattr(torchvision.io, "read_file", None)
    assert items.seen.same()
