"""Contract: a collate_fn that keeps samples of many sizes apart is native, as the stock loader makes it."""

# ruff: noqa: B007, B905 - code as programs have it

import os

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from PIL import Image
from support.compare import assert_same, batches, check, served
from support.lazily import both_ways, epoch, without_workers
from support.lost_worker import check_with_a_lost_worker
from support.photos import write_jpegs
from support.pipelines import MEAN, STD
from torch.utils.data import DataLoader, default_collate
from torchvision import datasets, tv_tensors
from torchvision import transforms as v1
from torchvision.transforms import v2

COUNT = 22


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("pictures"), 2, COUNT // 2)


def zipped(batch):
    return tuple(zip(*batch))


def lists_and_tensor(batch):
    images, labels = zip(*batch, strict=True)
    return list(images), torch.tensor(labels)


def comprehensions(batch):
    images = [b[0] for b in batch]
    labels = torch.LongTensor([b[1] for b in batch])
    return {"images": images, "labels": labels}


def looped(batch):
    images, labels = [], []
    for image, label in batch:
        images.append(image)
        labels.append(label)
    return images, torch.as_tensor(labels, dtype=torch.float32)


def unchanged(batch):
    return batch


def detection(batch):
    """Samples that are None are left out, of which there are none."""
    batch = list(filter(lambda sample: sample is not None, batch))
    return list(map(list, zip(*batch)))


def dicts(batch):
    return [{"image": image, "label": [label]} for image, label in batch if image is not None]


class Collator:
    def __init__(self, name):
        self.name = name

    def __call__(self, batch):
        return {self.name: [sample[0] for sample in batch], "labels": [s[1] for s in batch]}


COLLATE = {
    "zipped": zipped,
    "lists_and_tensor": lists_and_tensor,
    "comprehensions": comprehensions,
    "looped": looped,
    "unchanged": unchanged,
    "detection": detection,
    "dicts": dicts,
    "lambda": lambda batch: tuple(zip(*batch)),
    "object": Collator("pictures"),
}
MAKE = {
    "v1": v1.Compose([v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
    "uint8": v1.PILToTensor(),
    "v2": v2.Compose(
        [
            v2.ColorJitter(0.4, 0.4),
            v2.ToImage(),
            v2.RandomVerticalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    ),
    "pure": v2.Compose([v2.ToImage(), v2.ToDtype(torch.float16, scale=True), v2.ToPureTensor()]),
    "erased": v1.Compose([v1.Pad((3, 0)), v1.PILToTensor(), v1.RandomErasing(1.0)]),
}


@pytest.mark.parametrize("kind", COLLATE)
def test_lists_in_two_shuffled_epochs(pictures, kind):
    data = datasets.ImageFolder(pictures, MAKE["v1"])
    check(lambda loader: loader(data, 4, shuffle=True, num_workers=2, collate_fn=COLLATE[kind]))


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("drop_last", [False, True])
def test_tensors_have_the_stock_loaders_memory(pictures, kind, drop_last):
    """Class, strides and bits: check compares them."""
    data = datasets.ImageFolder(pictures, MAKE[kind])

    def make(loader):
        named = {"drop_last": drop_last, "num_workers": 2, "collate_fn": zipped}
        return loader(data, 4, shuffle=True, **named)

    seen = batches(check(make))
    assert len(seen) == 2 * (COUNT // 4 if drop_last else -(-COUNT // 4))
    images, labels = seen[0]
    assert type(images) is tuple and [type(label) for label in labels] == [int] * 4
    assert (type(images[0]) is tv_tensors.Image) == (kind == "v2")
    assert len({image.shape for image in images}) > 1


@pytest.mark.parametrize("kind", ["zipped", "looped", "dicts"])
@pytest.mark.parametrize("transform", ["v1", "v2"])
def test_lists_with_num_workers_0(pictures, kind, transform):
    data = datasets.ImageFolder(pictures, MAKE[transform])
    made = without_workers(lambda: data, collate_fn=COLLATE[kind]).samples_by_path
    assert made["native"] > made["local"] and made["python"] == 0


def test_each_tensor_has_a_storage_of_its_own(pictures):
    """A program that writes into one image, with all bytes of its storage, changes no other."""
    data = datasets.ImageFolder(pictures, v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32)]))

    def make(loader):
        return loader(data, 4, num_workers=2, collate_fn=zipped)

    expected = batches(check(make, epochs=1))
    headrace.install()
    try:
        kept = []
        for images, labels in make(DataLoader):
            assert all(image.storage_offset() == 0 for image in images)
            assert all(image.untyped_storage().nbytes() == image.nbytes for image in images)
            images[1].untyped_storage().fill_(255)
            images[1].fill_(7)
            kept.append((images, labels))
    finally:
        headrace.uninstall()
    for (images, labels), batch in zip(kept, expected, strict=True):
        assert_same((images[0], *images[2:], labels), (batch[0][0], *batch[0][2:], batch[1]))
        assert torch.equal(images[1], torch.full_like(batch[0][1], 7))


def test_an_image_outlives_its_batch_and_its_loader(pictures):
    data = datasets.ImageFolder(pictures, v1.ToTensor())
    kept = []

    def make(loader):
        made = loader(data, 2, num_workers=2, collate_fn=zipped)
        kept.append([images[1] for images, _ in made])
        return made

    expected = [images[1] for images, _ in batches(check(make, epochs=1))]
    for mine in kept:
        assert_same(mine, expected)


@pytest.mark.parametrize("rng", ["torch", "sample"])
def test_lists_from_the_cache(pictures, rng, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    monkeypatch.setenv("HEADRACE_RNG", rng)
    data = datasets.ImageFolder(pictures, MAKE["v2"])

    def make(loader):
        return loader(data, 4, shuffle=True, num_workers=2, collate_fn=zipped)

    if rng == "torch":
        check(make, epochs=3)
    else:
        first = served(make, epochs=3)
        assert len(batches(first)) == 18


@pytest.mark.parametrize("wire", ["as-made", "uint8"])
def test_lists_over_tcp(pictures, wire, monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORT", "tcp")
    monkeypatch.setenv("HEADRACE_WIRE", wire)
    data = datasets.ImageFolder(pictures, MAKE["v1"])
    loaders = []

    def make(loader):
        loaders.append(loader(data, 4, shuffle=True, num_workers=2, collate_fn=zipped))
        return loaders[-1]

    check(make)
    REPORT.as_dict()
    report = state_of(loaders[-1]).report
    assert report.bytes["shm"] == 0 and report.bytes["tcp"] > 0
    assert report.counts["finished_batches"] == 0


def test_a_worker_that_is_killed_in_an_epoch_of_lists(pictures, two_workers):
    data = datasets.ImageFolder(pictures, MAKE["v2"])

    def make():
        return DataLoader(data, 2, num_workers=2, shuffle=True, collate_fn=lists_and_tensor)

    check_with_a_lost_worker(make, path="native")


@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning")
def test_pinned_lists(pictures, pin_memory):
    data = datasets.ImageFolder(pictures, MAKE["v1"])

    def make(loader):
        named = {"num_workers": 2, "pin_memory": pin_memory, "collate_fn": zipped}
        return loader(data, 4, **named)

    check(make)


def test_pictures_of_very_different_sizes(tmp_path):
    """The first batches ask for slots that are too small for the last."""
    folder = tmp_path / "sizes" / "a"
    folder.mkdir(parents=True)
    for i, side in enumerate([8, 8, 8, 8, 40, 40, 300, 20, 1000, 8, 8, 900]):
        picture = Image.effect_noise((side, side + i), 40).convert("RGB")
        picture.save(folder / f"{i:02}.png")
    data = datasets.ImageFolder(folder.parent, v1.ToTensor())
    check(lambda loader: loader(data, 2, num_workers=2, collate_fn=zipped))


@pytest.mark.parametrize("kind", ["zipped", "lists_and_tensor", "unchanged"])
def test_a_file_that_only_pil_reads_is_made_in_its_place(tmp_path, kind):
    folder = write_jpegs(tmp_path / "mixed", 2, 11)
    with Image.open(folder / "class0" / "005.jpg") as image:
        image.save(folder / "class0" / "005.png.jpg", "BMP")
    os.remove(folder / "class0" / "005.jpg")
    for transform in ("v1", "v2", "uint8"):
        data = datasets.ImageFolder(folder, MAKE[transform])

        def make(loader, data=data):
            return loader(data, 4, shuffle=True, num_workers=2, collate_fn=COLLATE[kind])

        check(make)


def test_a_picture_of_one_row_is_made_in_its_place(tmp_path):
    folder = write_jpegs(tmp_path / "thin", 1, 6)
    Image.new("RGB", (30, 1), (9, 8, 7)).save(folder / "class0" / "003b.png")
    data = datasets.ImageFolder(folder, v1.PILToTensor())
    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=zipped))


def test_a_broken_file_raises_in_its_place(tmp_path):
    folder = write_jpegs(tmp_path / "broken", 2, 11)
    (folder / "class0" / "004.jpg").write_bytes(b"no picture")
    data = datasets.ImageFolder(folder, MAKE["v1"])
    check(lambda loader: loader(data, 4, shuffle=True, num_workers=2, collate_fn=zipped))


# What is stacked.


def test_stacked_by_hand(pictures):
    resized = v2.Compose([v2.Resize((24, 20)), v2.ToImage(), v2.ToDtype(torch.float32, True)])
    data = datasets.ImageFolder(pictures, resized)

    def stacked(batch):
        images, labels = zip(*batch)
        return torch.stack(images, dim=0), torch.tensor(labels, dtype=torch.int32), labels

    def named(batch):
        images, labels = default_collate(batch)
        return {"pixel_values": images, "labels": labels}

    for collate in (stacked, named, lambda batch: default_collate(batch)):

        def make(loader, collate=collate):
            return loader(data, 4, shuffle=True, num_workers=2, collate_fn=collate)

        check(make)


def test_a_stack_of_pictures_of_many_sizes_raises(pictures):
    data = datasets.ImageFolder(pictures, v1.ToTensor())

    def stacked(batch):
        images, labels = zip(*batch)
        return torch.stack(images), torch.tensor(labels)

    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=stacked), by_trainer=True)


class TwoViews:
    def __init__(self):
        self.whole = v1.ToTensor()
        self.small = v2.Compose([v2.RandomCrop(16), v2.ToImage()])

    def __call__(self, image):
        return {"whole": self.whole(image), "small": self.small(image)}


def test_a_view_that_is_listed_beside_one_that_is_stacked(pictures):
    data = datasets.ImageFolder(pictures, TwoViews())

    def collate(batch):
        views, labels = zip(*batch)
        whole = [view["whole"] for view in views]
        return whole, torch.stack([view["small"] for view in views]), labels

    def small_alone(batch):
        return [views["small"] for views, label in batch]

    for made in (collate, small_alone):

        def make(loader, made=made):
            return loader(data, 4, shuffle=True, num_workers=2, collate_fn=made)

        check(make)


def test_a_collate_fn_that_changes_between_epochs(pictures):
    data = datasets.ImageFolder(pictures, v1.ToTensor())

    def make(loader):
        return loader(data, 4, num_workers=2, collate_fn=Collator("first"))

    def rename(loader, number):
        loader.collate_fn.name = f"epoch {number}"

    seen = batches(check(make, before=rename))
    assert list(seen[0]) == ["epoch 0", "labels"] and list(seen[-1]) == ["epoch 1", "labels"]


def test_a_collate_fn_that_changes_with_num_workers_0(pictures):
    def program():
        data = datasets.ImageFolder(pictures, v1.ToTensor())
        collate = Collator("before")

        def change(number):
            if number == 2:
                collate.name = "after"

        loader = DataLoader(data, 4, collate_fn=collate)
        return [epoch(loader, change), epoch(loader)]

    both_ways(program)
