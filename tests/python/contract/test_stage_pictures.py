"""Contract: programs whose own code opens and edits pictures, run as Python with native pixels."""

import itertools
import random

import pytest
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from headrace.stage.render import Source
from PIL import Image, ImageOps
from support.compare import batches, check, errors
from support.photos import without_tables
from support.pipelines import MEAN, STD, train_v1, train_v2
from torch.utils.data import DataLoader, Dataset, default_collate
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2


class Photos(Dataset):
    """A data set as people write it."""

    def __init__(self, root, transform, skip=False):
        self.files = sorted(root.glob("*/*.jpg"))
        self.transform = transform
        self.skip = skip

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        try:
            image = Image.open(self.files[index]).convert("RGB")
        except OSError:
            if not self.skip:
                raise
            image = Image.new("RGB", (50, 50), (1, 2, 3))
        return self.transform(image), index


class Pairs(Photos):
    """Several views of one picture, drawn from Python's own generator, and its size."""

    def __getitem__(self, index):
        with open(self.files[index], "rb") as file:
            image = ImageOps.exif_transpose(Image.open(file))
            if image.mode != "RGB":
                image = image.convert("RGB")
        left = random.randint(0, 8)
        view = image.crop((left, 2, left + 30, 32))
        return self.transform(view), self.transform(view.transpose(0)), image.size


def loader_of(make_data, **named):
    return lambda loader: loader(make_data(), batch_size=4, num_workers=2, **named)


def contrastive():
    """Augments like SimCLR."""
    return v1.Compose(
        [
            v1.RandomResizedCrop(32),
            v1.RandomApply([v1.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v1.RandomGrayscale(0.2),
            v1.GaussianBlur(3),
            v1.RandomHorizontalFlip(),
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )


class TwoViews(Photos):
    def __getitem__(self, index):
        if index >= len(self.files):  # a decision by the index, which keeps it Python
            raise IndexError(index)
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), self.transform(image)


class Mixed:
    """torchvision's reference: a collate_fn over default_collate that draws for the whole batch."""

    def __init__(self):
        self.mix = v2.RandomChoice([v2.MixUp(num_classes=3), v2.CutMix(num_classes=3)])

    def __call__(self, batch):
        return self.mix(*default_collate(batch))


@pytest.mark.parametrize(
    "transform",
    [
        train_v1(),
        train_v2(),
        v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor(), v1.Normalize(MEAN, STD)]),
        v1.Compose([v1.RandomRotation(20), v1.RandomCrop(30, 4), v1.ToTensor()]),
        v2.Compose([v2.RandAugment(), v2.RandomResizedCrop(32), v2.PILToTensor()]),
        v1.Compose([v1.FiveCrop(20), v1.Lambda(lambda crops: v1.ToTensor()(crops[3]))]),
        v1.Compose([v1.RandomResizedCrop(32), v1.ColorJitter(0.3, 0.3, 0.3, 0.1), v1.ToTensor()]),
        contrastive(),
    ],
    ids=[
        "train_v1", "train_v2", "evaluate", "rotation", "rand_augment", "five_crop", "jitter",
        "contrastive",
    ],
)  # fmt: skip
def test_own_dataset(photos, transform):
    check(loader_of(lambda: Photos(photos, transform), shuffle=True), "python")


def test_views_of_one_picture(photos):
    check(loader_of(lambda: Pairs(photos, v1.ToTensor())), "python")


def test_pictures_as_they_are(photos):
    """Batches of PIL images: nobody has looked at the pixels before they travel."""
    make = loader_of(lambda: Photos(photos, v1.RandomCrop(30)), collate_fn=list)
    seen = check(make, "python", epochs=1)
    assert all(type(image) is Image.Image for batch in batches(seen) for image, _ in batch)


def native_images(data, **named):
    loader = DataLoader(data, 4, num_workers=2, **named)
    list(loader)
    report = state_of(loader).report
    assert report.path == "python"
    REPORT.as_dict()
    return report.counts["native_images"]


@pytest.mark.parametrize("transform", [contrastive(), train_v1()], ids=["contrastive", "train"])
def test_two_views(photos, transform):
    check(loader_of(lambda: TwoViews(photos, transform), shuffle=True), "python")


@pytest.mark.parametrize("preset", [train_v1(), train_v2()], ids=["v1", "v2"])
def test_mixup_and_cutmix_in_the_collate(photos, preset):
    check(
        loader_of(lambda: datasets.ImageFolder(photos, preset), shuffle=True, collate_fn=Mixed()),
        "python",
    )


def test_pictures_are_made_natively(photos, seam, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
    assert native_images(Photos(photos, train_v1())) == 27
    assert native_images(Pairs(photos, v1.ToTensor())) > 27


def test_whether_all_of_a_picture_is_wanted_is_asked_once(photos, seam, monkeypatch):
    """The answer may be another one the next time (Worth.is_likely)."""
    answers = itertools.cycle((False, True))
    monkeypatch.setattr(Source, "begins_whole", lambda self: next(answers))
    assert not errors(check(loader_of(lambda: Photos(photos, train_v1())), "python", epochs=1))


def truncated(file):
    return file[:-300]


def damage(folder, how, *which):
    files = sorted(folder.glob("*/*.jpg"))
    for index in which:
        files[index].write_bytes(how(files[index].read_bytes()))


@pytest.mark.parametrize("how", [truncated, without_tables])
def test_damaged_file_raises_where_it_does_without_us(own_photos, how):
    damage(own_photos, how, 5)
    seen = check(loader_of(lambda: Photos(own_photos, train_v1())), "python", epochs=1)
    assert len(errors(seen)) == 1


@pytest.mark.parametrize("how", [truncated, without_tables])
def test_program_that_skips_damaged_files(own_photos, how):
    """Its own except clause must see what it would see."""
    damage(own_photos, how, 5, 11)
    seen = check(loader_of(lambda: Photos(own_photos, train_v1(), skip=True)), "python")
    assert errors(seen) == []


class OwnGenerator(Photos):
    """Draws from a generator of its own, whose state nobody else knows."""

    def __init__(self, root, transform, skip=True):
        super().__init__(root, transform, skip)
        self.random = random.Random(5)

    def __getitem__(self, index):
        image, index = super().__getitem__(index)
        return image + self.random.random(), index


def test_truncated_file_does_not_make_code_run_twice(own_photos):
    damage(own_photos, truncated, 5, 11)
    check(loader_of(lambda: OwnGenerator(own_photos, train_v1())), "python")
