"""Contract: several views of a picture, native, as the stock loader nests and makes them."""

import os

import headrace
import pytest
import torch
from headrace.capture import capture
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import check, served, stock
from support.lazily import both_ways, epoch
from support.lost_worker import check_with_a_lost_worker
from support.photos import write_jpegs
from support.pipelines import MEAN, STD
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2


def augment(size, *more):
    return v1.Compose(
        [
            v1.RandomResizedCrop(size),
            v1.RandomHorizontalFlip(),
            *more,
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )


class TwoViews:
    """SimCLR's: one augmentation twice."""

    def __init__(self, base):
        self.base = base

    def __call__(self, x):
        return [self.base(x), self.base(x)]


class MultiCrop:
    """DINO's: large and small crops, in a dict with a tuple."""

    def __init__(self):
        self.large = augment(20, v1.ColorJitter(0.4, 0.4, 0.2, 0.1))
        self.small = augment(8, v1.RandomGrayscale(0.2))

    def __call__(self, image):
        large = (self.large(image), self.large(image))
        return {"large": large, "small": [self.small(image) for _ in range(3)]}


class Shared:
    """A crop that both views are made of, and one of them twice."""

    def __init__(self):
        self.resize = v1.Resize(30)
        self.crop = v1.RandomCrop(24)
        self.flip = v1.Compose([v1.RandomHorizontalFlip(), v1.ToTensor()])
        self.plain = v2.Compose([v2.CenterCrop(16), v2.ToImage()])

    def __call__(self, image):
        crop = self.crop(self.resize(image))
        flipped = self.flip(crop)
        return flipped, self.plain(crop), flipped


def simclr():
    jitter = v1.ColorJitter(0.8, 0.8, 0.8, 0.2)
    solarize = v2.RandomApply([v2.RandomSolarize(128), v2.RandomInvert()], p=0.4)
    shuffled = v2.RandomOrder([v2.RandomAutocontrast(), v2.RandomPosterize(3)])
    steps = [v1.RandomApply([jitter], p=0.8), v1.RandomGrayscale(0.2), solarize, shuffled]
    return TwoViews(augment(16, *steps))


MAKE = {
    "simclr": simclr,
    "dino": MultiCrop,
    "shared": Shared,
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("pictures"), 2, 11)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("kind", MAKE)
def test_views_in_two_shuffled_epochs(pictures, kind, num_workers):
    data = datasets.ImageFolder(pictures, MAKE[kind]())
    seen = check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))
    views, labels = seen[0][1]
    assert labels.shape == (4,)
    if kind == "dino":
        assert type(views) is dict and list(views) == ["large", "small"]
        assert type(views["large"]) is list  # torch makes lists of tuples
        assert [v.shape[-1] for v in views["small"]] == [8, 8, 8]
    if kind == "shared":
        assert torch.equal(views[0], views[2]) and views[0].data_ptr() != views[2].data_ptr()


@pytest.mark.parametrize("kind", MAKE)
def test_views_with_num_workers_0(pictures, kind):
    def program():
        loader = DataLoader(datasets.ImageFolder(pictures, MAKE[kind]()), 4, shuffle=True)
        return [epoch(loader) for _ in range(3)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 66, "python": 0, "local": 0}


def test_a_view_that_changes_shows_in_the_next_batch_with_num_workers_0(pictures):
    def program():
        views = TwoViews(augment(16))
        loader = DataLoader(datasets.ImageFolder(pictures, views), 4)

        def change(number):
            if number == 2:
                views.base = augment(8)

        return [epoch(loader, change), epoch(loader)]

    both_ways(program)


@pytest.mark.parametrize("rng", ["torch", "sample"])
def test_views_from_the_cache(pictures, rng, monkeypatch):
    """The second epoch is made of decoded images."""
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    monkeypatch.setenv("HEADRACE_RNG", rng)
    data = datasets.ImageFolder(pictures, MultiCrop())

    def make(loader):
        return loader(data, batch_size=4, shuffle=True, num_workers=2)

    if rng == "torch":
        check(make, epochs=3)
    else:
        served(make, epochs=3)


def test_a_worker_that_is_killed_in_an_epoch_of_views(pictures, two_workers):
    data = datasets.ImageFolder(pictures, MultiCrop())
    check_with_a_lost_worker(
        lambda: DataLoader(data, batch_size=2, num_workers=2, shuffle=True), path="native"
    )


def broken(root):
    folder = write_jpegs(root / "broken", 2, 11)
    (folder / "class0" / "004.jpg").write_bytes(b"no picture")
    return folder


def test_a_broken_file_raises_in_its_place(tmp_path):
    data = datasets.ImageFolder(broken(tmp_path), MultiCrop())
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2))


def test_a_file_that_only_pil_reads_is_made_in_its_place(tmp_path):
    """The trainer makes the sample, in views that workers made."""
    folder = write_jpegs(tmp_path / "mixed", 2, 11)
    with Image.open(folder / "class0" / "005.jpg") as image:
        image.save(folder / "class0" / "005.png.jpg", "BMP")
    os.remove(folder / "class0" / "005.jpg")
    for kind in MAKE:
        data = datasets.ImageFolder(folder, MAKE[kind]())

        def make(loader, data=data):
            return loader(data, batch_size=4, shuffle=True, num_workers=2)

        check(make)


def test_subsets_and_concatenations_of_views(pictures):
    views = TwoViews(augment(16))
    data = datasets.ImageFolder(pictures, views)
    both = ConcatDataset([Subset(data, [3, 1, 2]), datasets.ImageFolder(pictures, views)])
    check(lambda loader: loader(both, batch_size=4, shuffle=True, num_workers=2))


def test_an_epoch_of_views_goes_on_from_its_state(pictures):
    data = datasets.ImageFolder(pictures, MultiCrop())

    def batches(state=None, stop=None):
        torch.manual_seed(3)
        loader = headrace.DataLoader(data, batch_size=4, shuffle=True, num_workers=2)
        if state is not None:
            loader.load_state_dict(state)
        seen = []
        for batch in loader:
            seen.append(batch)
            if len(seen) == stop:
                return seen, loader.state_dict()
        assert state_of(loader).report.path == "native"
        return seen

    whole = batches()
    begun, state = batches(stop=2)
    rest = batches(state)
    assert len(begun) + len(rest) == len(whole)
    for mine, theirs in zip([*begun, *rest], whole, strict=True):
        assert torch.equal(mine[1], theirs[1])
        for name in ("large", "small"):
            for a, b in zip(mine[0][name], theirs[0][name], strict=True):
                assert torch.equal(a, b)


def plan_of(folder, transform):
    found = capture(DataLoader(datasets.ImageFolder(folder, transform), num_workers=1), "auto")
    assert found.path == "native", found.reason
    return found


def test_what_is_pure_and_the_same_is_one_node(pictures):
    resized = v1.Compose([v1.Resize(20), v1.RandomCrop(16), v1.ToTensor()])
    plan = plan_of(pictures, TwoViews(resized)).plan
    assert [(node.op, node.inputs) for node in plan.chain] == [
        ("decode", []),
        ("resize", []),
        ("random_crop", []),
        ("to_tensor", []),
        ("random_crop", [1]),
        ("to_tensor", []),
    ]
    assert [(field.kind, field.index) for field in plan.fields] == [
        ("value", 3),
        ("value", 5),
        ("array", 1),
    ]


def test_the_nesting_is_part_of_what_is_compared(pictures):
    class AsTuple(TwoViews):
        def __call__(self, x):
            return self.base(x), self.base(x)

    base = augment(16)
    listed, tupled = plan_of(pictures, TwoViews(base)), plan_of(pictures, AsTuple(base))
    assert listed.plan.signature() == tupled.plan.signature()
    assert listed.signature != tupled.signature
    assert (listed.structure, tupled.structure) == (([0, 1], 2), ((0, 1), 2))


def test_a_value_that_is_not_returned_stays_python(pictures):
    class Drops(TwoViews):
        def __call__(self, x):
            self.base(x)
            return [self.base(x)]

    data = datasets.ImageFolder(pictures, Drops(augment(16)))
    assert "no field" in capture(DataLoader(data, num_workers=1), "auto").reason


def test_stock_equals_itself(pictures):
    """The comparison would see another seed."""
    data = datasets.ImageFolder(pictures, TwoViews(augment(16)))

    def make(loader):
        return loader(data, batch_size=4, num_workers=1)

    first = stock(make, epochs=1)[0][1][0][0]
    assert not torch.equal(first[0], first[1])
