"""Contract: a collate_fn that pads samples of many sizes is native, with the stock loader's batches."""

# ruff: noqa: B905 - code as programs have it

import os

import pytest
import torch
from PIL import Image
from support import padding
from support.compare import batches, check
from support.lazily import without_workers
from support.lost_worker import check_with_a_lost_worker
from support.photos import write_jpegs
from support.pipelines import MEAN, STD
from support.segmentation import Pairs, write_pairs
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, tv_tensors
from torchvision import transforms as v1
from torchvision.transforms import v2

COUNT = 22
COLLATE = {
    "references": padding.references,
    "detection": padding.detection,
    "nested tensors": padding.nested_tensors,
    "by hand": padding.by_hand,
    "object": padding.Padder(9),
    "full": padding.full,
    "function": padding.by_function,
}
MAKE = {
    "v1": v1.Compose([v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
    "uint8": v1.PILToTensor(),
    "v2": v2.Compose(
        [
            v2.ColorJitter(0.4),
            v2.ToImage(),
            v2.RandomVerticalFlip(),
            v2.ToDtype(torch.float32, True),
        ]
    ),
    "half": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True), v2.ToPureTensor()]),
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("pictures"), 2, COUNT // 2)


@pytest.mark.parametrize("transform", MAKE)
@pytest.mark.parametrize("kind", COLLATE)
def test_padded_in_two_shuffled_epochs(pictures, kind, transform):
    """Bits, strides, classes and types: check compares them."""
    data = datasets.ImageFolder(pictures, MAKE[transform])
    check(lambda loader: loader(data, 4, shuffle=True, num_workers=2, collate_fn=COLLATE[kind]))


@pytest.mark.parametrize("transform", ["v1", "v2"])
@pytest.mark.parametrize("kind", COLLATE)
def test_padded_with_num_workers_0(pictures, kind, transform):
    data = datasets.ImageFolder(pictures, MAKE[transform])
    made = without_workers(lambda: data, collate_fn=COLLATE[kind]).samples_by_path
    assert made["native"] > made["local"] and made["python"] == 0


def test_each_sample_has_the_value_around_it(pictures):
    data = datasets.ImageFolder(pictures, v1.PILToTensor())

    def make(loader):
        return loader(data, 4, num_workers=2, collate_fn=padding.references, drop_last=True)

    sizes = [image.shape for image, _ in data]
    for number, (images, labels) in enumerate(batches(check(make, epochs=1))):
        assert images.shape[0] == 4 and images.is_contiguous() and type(labels) is tuple
        for image, shape in zip(images, sizes[4 * number :]):
            outside = image.clone()
            outside[:, : shape[1], : shape[2]] = 7
            assert bool((outside == 7).all())


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_segmentation_as_in_torchvisions_references(tmp_path, batch_size, drop_last):
    pairs = Pairs(
        write_pairs(tmp_path / "pairs", 11),
        v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)]),
        v1.PILToTensor(),
    )

    def make(loader):
        named = {"drop_last": drop_last, "num_workers": 2, "collate_fn": padding.segmentation}
        return loader(pairs, batch_size, shuffle=True, **named)

    images, masks = batches(check(make))[0]
    assert images.shape[2:] == masks.shape[2:] and masks.dtype == torch.uint8


class Lines(Dataset):
    """Gray pictures of one width, as sequences of rows."""

    def __init__(self, folder):
        self.paths = sorted(str(folder / name) for name in os.listdir(folder))
        self.make = v1.PILToTensor()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, idx):
        return self.make(Image.open(self.paths[idx]).convert("L")).squeeze(0), idx


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("collate", [padding.sequences, padding.sequences_first])
def test_pad_sequence(tmp_path, collate, num_workers):
    for height in range(5, 16):
        picture = Image.effect_noise((24, height), 40)
        picture.save(tmp_path / f"{height:02}.png")
    data = Lines(tmp_path)
    seen = batches(
        check(lambda loader: loader(data, 3, num_workers=num_workers, collate_fn=collate))
    )
    assert len({(batch if torch.is_tensor(batch) else batch[0]).shape for batch in seen}) > 1


def test_pad_sequence_of_rows_of_tensors():
    data = torch.utils.data.TensorDataset(torch.rand(20, 3, 2), torch.arange(20))

    def collate(batch):
        rows, labels = zip(*batch)
        made = torch.nn.utils.rnn.pad_sequence(rows, True)
        return made, torch.stack(labels)

    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=collate))


def test_what_torch_refuses_to_pad_raises_in_its_place(pictures):
    """Pictures of other widths are no sequences of one kind; one of another height does not fit."""
    data = datasets.ImageFolder(pictures, v1.ToTensor())

    def too_small(batch):
        images, labels = zip(*batch)
        out = images[0].new_zeros(len(images), 3, images[0].shape[1], images[0].shape[2])
        for image, row in zip(images, out):
            row[:, : image.shape[1], : image.shape[2]].copy_(image)
        return out

    for collate in (padding.sequences, too_small, padding.by_mode):
        check(lambda loader, made=collate: loader(data, 4, num_workers=2, collate_fn=made))
        check(lambda loader, made=collate: loader(data, 4, collate_fn=made))


def test_the_batch_is_a_copy(pictures):
    """A program that writes into the padded batch changes no sample beside it."""
    data = datasets.ImageFolder(pictures, v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]))

    def make(loader):
        return loader(data, 4, num_workers=2, collate_fn=padding.by_hand)

    for padded, *_, images in batches(check(make, epochs=1)):
        before = [image.clone() for image in images]
        padded.fill_(3)
        assert all(map(torch.equal, images, before))
        assert all(type(image) is tv_tensors.Image for image in images)


@pytest.mark.parametrize("wire", ["as-made", "uint8"])
def test_padded_over_tcp(pictures, wire, monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORT", "tcp")
    monkeypatch.setenv("HEADRACE_WIRE", wire)
    data = datasets.ImageFolder(pictures, MAKE["v1"])
    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=padding.references))


@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning")
def test_padded_and_pinned(pictures, pin_memory):
    data = datasets.ImageFolder(pictures, MAKE["v1"])
    named = {"num_workers": 2, "pin_memory": pin_memory, "collate_fn": padding.nested_tensors}
    check(lambda loader: loader(data, 4, **named))


def test_a_worker_that_is_killed_in_a_padded_epoch(pictures, two_workers):
    data = datasets.ImageFolder(pictures, MAKE["v2"])

    def make():
        return DataLoader(data, 2, num_workers=2, shuffle=True, collate_fn=padding.nested_tensors)

    check_with_a_lost_worker(make, path="native")


@pytest.mark.parametrize("num_workers", [0, 2])
def test_samples_that_no_worker_makes(tmp_path, num_workers):
    folder = write_jpegs(tmp_path / "mixed", 2, 11)
    with Image.open(folder / "class0" / "005.jpg") as image:
        image.save(folder / "class0" / "005.png.jpg", "BMP")
    os.remove(folder / "class0" / "005.jpg")
    (folder / "class1" / "004.jpg").write_bytes(b"no picture")
    data = datasets.ImageFolder(folder, MAKE["v1"])
    for collate in (padding.references, padding.nested_tensors):

        def make(loader, collate=collate):
            return loader(data, 4, shuffle=True, num_workers=num_workers, collate_fn=collate)

        check(make)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_default_type_is_the_one_of_the_moment(pictures, num_workers):
    data = datasets.ImageFolder(pictures, v1.PILToTensor())

    def make(loader):
        return loader(data, 4, num_workers=num_workers, collate_fn=padding.by_hand)

    def change(loader, number):
        torch.set_default_dtype(torch.float64 if number else torch.float32)

    try:
        seen = batches(check(make, path=None, before=change))
    finally:
        torch.set_default_dtype(torch.float32)
    assert {batch[0].dtype for batch in seen} == {torch.float32, torch.float64}
