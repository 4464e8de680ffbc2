"""Contract: programs whose pictures are tensors of torchvision.io, as native plans."""

import os

import pytest
import torch
from headrace.capture.items import readers
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import batches, check, errors
from support.lazily import both_ways, epoch, without_workers
from support.photos import without_tables
from support.tensor_datasets import NATIVE, Read, Unchanged, evaluation
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision.io import read_image
from torchvision.transforms import v2

MODES = {"read": Read, "unchanged": Unchanged}


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_the_stock_loaders_bits(photos, name, num_workers):
    """The second epoch comes from the cache."""
    data = NATIVE[name](photos)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(photos, name):
    by_path = without_workers(lambda: NATIVE[name](photos)).samples_by_path
    assert by_path["python"] == 0 and sum(by_path.values()) == 81
    # With UNCHANGED the grey ones of these photos are the trainer's to make. So is all of a policy that may
    # change the contrast of a tensor: several threads of torch's make other bits than one.
    assert (by_path["local"] > 0) == (name in ("unchanged", "folder", "augmented"))


def test_parts_of_it(photos):
    data = Read(photos)
    both = ConcatDataset([Subset(data, [3, 1, 2]), Read(photos, data.transform)])
    check(lambda loader: loader(both, batch_size=4, shuffle=True, num_workers=2))


def test_without_a_transform_pictures_are_bytes(photos):
    data = datasets.ImageFolder(photos, loader=read_image)
    seen = check(lambda loader: loader(data, batch_size=1, num_workers=1))
    assert batches(seen)[0][0].dtype == torch.uint8


def files_of(root):
    return sorted(root.glob("*/*.jpg"))


def other(file, kind):
    """Makes a file one that torchvision.io decodes in its own way, or not at all."""
    image = Image.open(file).convert("RGB")
    if kind == "grey":
        image.convert("L").save(file)
    elif kind == "CMYK":
        image.convert("CMYK").save(file)
    elif kind == "progressive":
        image.save(file, progressive=True)
    elif kind == "PNG":
        image.save(file, "PNG")
    elif kind == "alpha":
        image.putalpha(77)
        image.save(file, "PNG")
    elif kind == "palette":
        image.quantize(16).save(file, "PNG")
    elif kind == "16 bits":
        image.convert("I").convert("I;16").save(file, "PNG")
    elif kind == "WebP":
        image.save(file, "WEBP")
    elif kind == "GIF":
        image.quantize(16).save(file, "GIF")
    elif kind == "truncated":
        file.write_bytes(file.read_bytes()[:-300])
    elif kind == "without tables":
        file.write_bytes(without_tables(file.read_bytes()))
    elif kind == "empty":
        file.write_bytes(b"")
    elif kind == "no picture":
        file.write_bytes(b"no picture")
    else:
        os.remove(file)


KINDS = [
    "grey", "CMYK", "progressive", "PNG", "alpha", "palette", "16 bits", "WebP", "GIF", "truncated",
    "without tables", "empty", "no picture", "missing",
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind(own_photos, kind, mode):
    """Among others, early and late in the epoch: their draws go on as the stock loader's do."""
    if kind == "palette":
        mode = "read"  # of UNCHANGED torchvision leaves most of the memory as it was
    files = files_of(own_photos)
    data = MODES[mode](own_photos)
    for at in (2, 13):
        other(files[at], kind)
    seen = check(lambda loader: loader(data, batch_size=3, num_workers=2))
    if kind in ("truncated", "without tables", "empty", "no picture", "missing"):
        assert errors(seen)


@pytest.mark.parametrize("kind", ["grey", "alpha", "truncated", "missing"])
def test_a_file_of_another_kind_without_workers(own_photos, kind):
    files = files_of(own_photos)

    def program():
        loader = DataLoader(Read(own_photos, evaluation()), 1)
        told = []
        iterator = iter(loader)
        while True:
            try:
                told.append(next(iterator))
            except StopIteration:
                return told
            except Exception as error:
                told.append((type(error), str(error).splitlines()[0]))

    other(files[5], kind)
    both_ways(program)


def test_pictures_of_grey_and_colour_in_one_data_set(own_photos):
    """UNCHANGED: those of grey have one channel, and no batch holds both."""
    for file in files_of(own_photos)[::3]:
        other(file, "grey")
    data = Unchanged(own_photos, evaluation().transforms[0])
    seen = check(lambda loader: loader(data, batch_size=1, num_workers=2))
    assert {batch[0].shape[1] for batch in batches(seen)} == {1, 3}


@pytest.mark.parametrize("name", ["read", "jpeg", "folder"])
def test_a_decoder_of_other_bits_is_found_out(photos, seam, monkeypatch, name):
    """As torchvision with another libjpeg would be: its samples differ before any is used."""
    for of in ("decode_image", "decode_jpeg"):
        real = getattr(torch.ops.image, of)

        def differs(*args, real=real):
            made = real(*args)
            made[0, 0, 0] ^= 1
            return made

        monkeypatch.setattr(torch.ops.image, of, differs)
    monkeypatch.setattr(readers, "_is_operator", lambda of: True)
    data = NATIVE[name](photos)
    data.transform = v2.ToDtype(torch.float32)  # shows every pixel
    loader = DataLoader(data, 1, num_workers=1)
    made = [batch[0] if isinstance(batch, list) else batch for batch in loader]
    report = state_of(loader).report
    assert report.path == "python"
    assert any("decode" in reason or "differ" in reason for reason in report.reasons)
    by_hand = [data[index] for index in range(len(data))]
    by_hand = [one[0] if isinstance(one, tuple) else one for one in by_hand]
    assert all(map(torch.equal, [batch[0] for batch in made], by_hand))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_reader_that_is_replaced_between_epochs(photos, monkeypatch, num_workers):
    def program():
        from torchvision.io import image

        real = image.read_file
        loader = DataLoader(Read(photos, evaluation()), 4, num_workers=num_workers)
        told = [epoch(loader)]
        paths = [file for file in files_of(photos)]
        image.read_file = lambda path: real(str(paths[0]))
        try:
            told.append(epoch(loader))
        finally:
            image.read_file = real
        return [*told, epoch(loader)]

    both_ways(program)
