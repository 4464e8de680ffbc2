"""Contract: pictures with masks, of programs as people write them, give the stock loader's batches."""

import numpy as np
import pytest
from PIL import Image
from support import segmentation
from support.compare import batches, check, errors
from support.lazily import both_ways, epoch, without_workers
from support.segmentation import NATIVE, Joint, OfNumPy, Pairs, fixed, nearest, write_pairs
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as v1

COUNT = 17


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), COUNT)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_program(pairs, name, num_workers):
    data = NATIVE[name](pairs)
    check(
        lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3
    )


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(pairs, name):
    report = without_workers(lambda: NATIVE[name](pairs))
    assert report.samples_by_path == {"native": 3 * COUNT, "python": 0, "local": 0}


def test_parts_of_it(pairs):
    data = NATIVE["v2: crops"](pairs)
    same = NATIVE["v2: crops"](pairs)
    same.transforms = data.transforms
    both = ConcatDataset([Subset(data, [3, 1, 2]), same])
    check(lambda loader: loader(both, batch_size=4, shuffle=True, num_workers=1))


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("name", ["voc", "pets", "cities"])
def test_data_sets_of_torchvision(tmp_path, name, wrapped, num_workers):
    joint = segmentation.crops() if wrapped else segmentation.of_pil()
    if name == "voc":
        segmentation.write_voc(tmp_path, 9)
        data = datasets.VOCSegmentation(tmp_path, "2011", "train", transforms=joint)
    elif name == "pets":
        segmentation.write_pets(tmp_path, 9)
        data = datasets.OxfordIIITPet(tmp_path, target_types="segmentation", transforms=joint)
    else:
        segmentation.write_cities(tmp_path, 9)
        data = datasets.Cityscapes(str(tmp_path), target_type="semantic", transforms=joint)
    if wrapped:
        data = datasets.wrap_dataset_for_transforms_v2(data)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))


def test_transforms_of_each_alone(tmp_path):
    segmentation.write_voc(tmp_path, 9)
    data = datasets.VOCSegmentation(
        tmp_path,
        "2011",
        "train",
        transform=v1.Compose([v1.RandomHorizontalFlip(), fixed()]),
        target_transform=nearest(v1.PILToTensor()),
    )
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2))


def test_the_cache_holds_both_pictures(pairs, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    data = Joint(pairs, segmentation.crops())
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2), epochs=4)


def test_a_file_that_changes_is_read_again(tmp_path, monkeypatch):
    """The mask alone, which is cached with its picture."""
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    root = write_pairs(tmp_path, 8)
    data = OfNumPy(root, fixed(), nearest())
    first = (root / "masks/003.png").read_bytes()

    def before(loader, epoch):
        with Image.open(root / "images/003.jpg") as image:
            size = image.size
        if epoch == 0:
            (root / "masks/003.png").write_bytes(first)
        else:
            Image.new("L", size, 10 + epoch).save(root / "masks/003.png")

    seen = check(lambda loader: loader(data, 4, num_workers=2), epochs=3, before=before)
    masks = [batch["mask"][3] for batch in batches(seen)[::2]]
    assert [int(mask[0, 0]) for mask in masks[1:]] == [11, 12]


# Masks that no worker makes: the trainer does, with the program's own code.


def _replace_mask(root, kind):
    path = root / "masks/005.png"
    with Image.open(path) as mask:
        size = mask.size
    rng = np.random.default_rng(3)
    if kind == "gone":
        path.unlink()
    elif kind == "damaged":
        path.write_bytes(path.read_bytes()[:60])
    elif kind == "another size":
        segmentation.write_mask(path, size[1] + 7, size[0] - 3, rng, 9)
    elif kind == "I;16":
        Image.fromarray(rng.integers(0, 999, size[::-1], dtype=np.uint16)).save(path)
    else:
        Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), dtype=np.uint8)).convert(kind).save(
            path
        )


KINDS = ["gone", "damaged", "another size", "RGB", "1", "I;16", "RGBA", "LA"]
PROGRAMS = {
    "v1": lambda root: Pairs(root, fixed(), nearest(v1.PILToTensor())),
    "class indices": lambda root: OfNumPy(root, fixed(), nearest()),
    "v2": lambda root: Joint(root, segmentation.crops()),
    "v2: pictures": lambda root: segmentation.JointPictures(root, segmentation.of_pil()),
    "functional": segmentation.Functional,
}


# The program leaves the file open where it raises, and the test runs in its process.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mask_of_another_kind(tmp_path, name, kind, num_workers):
    """Of one sample, which is a batch by itself: stacks of two shapes raise in any case."""
    write_pairs(tmp_path, 10)
    data = PROGRAMS[name](tmp_path)
    _replace_mask(tmp_path, kind)
    seen = check(
        lambda loader: loader(data, batch_size=1, num_workers=num_workers), epochs=1, stop=10
    )
    raises = kind in ("gone", "damaged") or (name == "v2" and kind == "another size")
    assert bool(errors(seen)) >= raises
    assert len(batches(seen)) >= 5


@pytest.mark.parametrize("kind", ["another size", "RGB", "1"])
def test_all_in_one_batch(tmp_path, kind):
    write_pairs(tmp_path, 10)
    data = PROGRAMS["class indices"](tmp_path)
    _replace_mask(tmp_path, kind)
    check(lambda loader: loader(data, batch_size=5, shuffle=True, num_workers=2))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_mask_that_changes_shows(tmp_path, num_workers):
    write_pairs(tmp_path, 8)

    def program():
        data = PROGRAMS["class indices"](tmp_path)
        loader = DataLoader(data, 4, num_workers=num_workers)
        seen = [epoch(loader)]
        data.masks = data.masks[:4] + data.masks[:4]
        return [*seen, epoch(loader)]

    both_ways(program)
