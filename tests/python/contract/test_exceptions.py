"""Contract: errors keep their type, message and place, and nothing else is lost."""

import io
import os
import shutil
import sys

import pytest
import torch
from PIL import Image
from support.compare import batches, check, errors
from support.pipelines import FailedRow, Failing, train_v1
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets


def loader_of(root, num_workers=2, **named):
    data = datasets.ImageFolder(root, train_v1())
    return lambda loader: loader(data, batch_size=3, num_workers=num_workers, **named)


def damage(root, name, content):
    path = root / "class1" / name
    path.write_bytes(content(path.read_bytes()))


def test_truncated_jpeg(own_photos):
    damage(own_photos, "003.jpg", lambda data: data[: len(data) // 2])
    seen = check(loader_of(own_photos))
    (first, _) = errors(seen)
    assert first[0] is OSError
    assert first[1].startswith("Caught OSError in DataLoader worker process ")
    assert len(batches(seen)) == 2 * 5


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_note_names_the_file_that_the_message_does_not(own_photos, seam, workers):
    damage(own_photos, "003.jpg", lambda data: data[: len(data) // 2])
    data = datasets.ImageFolder(own_photos, torch_tensors())
    keys = [15, 11, 0]
    nested = Subset(ConcatDataset([Subset(data, [0, 1]), Subset(data, keys)]), [4, 0, 3])
    batches = iter(DataLoader(nested, num_workers=workers))
    next(batches)
    next(batches)
    with pytest.raises(OSError, match="truncated") as raised:
        next(batches)
    path = own_photos / "class1" / "003.jpg"
    assert raised.value.__notes__ == [f"headrace: sample 2 is {path}: replace or remove that file"]


def test_truncated_jpeg_in_the_trainer_itself(own_photos):
    damage(own_photos, "003.jpg", lambda data: data[: len(data) // 2])
    data = datasets.ImageFolder(own_photos, torch_tensors())
    seen = check(lambda loader: loader(data, batch_size=3))
    assert "worker process" not in errors(seen)[0][1]


def torch_tensors():
    from torchvision import transforms

    return transforms.Compose([transforms.Resize((20, 20)), transforms.ToTensor()])


def test_not_an_image(own_photos):
    damage(own_photos, "000.jpg", lambda data: b"this is no picture")
    assert len(errors(check(loader_of(own_photos)))) == 2


def test_empty_file(own_photos):
    damage(own_photos, "000.jpg", lambda data: b"")
    assert len(errors(check(loader_of(own_photos)))) == 2


def test_missing_file(own_photos):
    make = loader_of(own_photos)
    os.remove(own_photos / "class0" / "002.jpg")
    assert errors(check(make))[0][0] is FileNotFoundError


def test_class_folder_vanishes_between_epochs(own_photos, tmp_path):
    make = loader_of(own_photos)

    def before(loader, epoch):
        if epoch == 0:
            shutil.copytree(own_photos, tmp_path / "kept", dirs_exist_ok=True)
        else:
            shutil.rmtree(own_photos / "class1")

    def run(loader):
        if not (own_photos / "class1").exists():
            shutil.copytree(tmp_path / "kept" / "class1", own_photos / "class1")
        return make(loader)

    seen = check(run, before=before)
    assert {kind for kind, _ in errors(seen)} == {FileNotFoundError}


def test_two_bad_files_in_one_batch(own_photos):
    damage(own_photos, "001.jpg", lambda data: data[:100])
    damage(own_photos, "002.jpg", lambda data: data[:100])
    damage(own_photos, "005.jpg", lambda data: data[: len(data) - 40])
    check(loader_of(own_photos, persistent_workers=True), epochs=3)


@pytest.mark.parametrize("kind", ["BMP", "WEBP", "PPM", "TIFF", "GIF"])
def test_formats_that_only_pil_reads(own_photos, kind):
    path = own_photos / "class1" / "004.jpg"  # the folder goes by names, PIL by content
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        image.convert("RGB").save(path, kind)
    assert not errors(check(loader_of(own_photos, shuffle=True)))


def test_whole_set_in_a_format_that_only_pil_reads(own_photos):
    for path in own_photos.glob("*/*.jpg"):
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            image.save(path, "WEBP")
    assert not errors(check(loader_of(own_photos), path="python"))


def test_samples_of_different_size(own_photos):
    from torchvision import transforms

    data = datasets.ImageFolder(own_photos, transforms.ToTensor())
    seen = check(lambda loader: loader(data, batch_size=3, num_workers=2), by_trainer=True)
    assert "stack expects each tensor to be equal size" in errors(seen)[0][1]


def test_key_beyond_the_dataset(own_photos):
    data = datasets.ImageFolder(own_photos, train_v1())
    seen = check(
        lambda loader: loader(data, batch_size=2, sampler=[0, 1, 2, 99, 4, 5], num_workers=1)
    )
    assert errors(seen)[0][0] is IndexError


def test_error_of_user_code(seam):
    check(lambda loader: loader(Failing(), batch_size=3, num_workers=2), path="python")
    loader = torch.utils.data.DataLoader(Failing(), batch_size=3, num_workers=2)
    with pytest.raises(FailedRow, match="row 7 is bad"):
        list(loader)


def test_sampler_raises(own_photos):
    class Bad:
        def __iter__(self):
            yield from range(9)
            raise LookupError("no more keys")

        def __len__(self):
            return 9

    data = datasets.ImageFolder(own_photos, train_v1())
    seen = check(lambda loader: loader(data, batch_size=2, sampler=Bad(), num_workers=1), epochs=1)
    assert errors(seen)[0][0] is LookupError
