"""Contract: with num_workers=0 each batch is what the stock loader would make at that very next(),
whatever the program does in between, and every generator is where the stock loader leaves it."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from PIL import Image, UnidentifiedImageError
from support.lazily import both_ways, epoch, folder, generators, told_by
from support.photos import write_jpegs
from support.pipelines import MEAN, STD, evaluate_v1, train_tensors, train_v1, train_v2
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torchvision import datasets
from torchvision import transforms as v1

# The program's own draws.


def test_a_program_that_draws_nothing_gets_batches_that_were_made_ahead(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 4, shuffle=True)
        return [epoch(loader) for _ in range(3)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 81, "python": 0, "local": 0}
    assert report.rng == "torch" and report.mispredicted == 0
    assert report.made_ahead == 3 * 6  # all but the first of each epoch


def test_a_program_that_draws_at_each_batch_gets_them_made_then(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v2()), 4, shuffle=True)
        return [epoch(loader, lambda number: torch.rand(3)) for _ in range(3)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 81, "python": 0, "local": 0}
    assert report.made_ahead == 0 and report.mispredicted == 3  # then it was no more tried


def test_other_generators_of_the_program_are_not_in_the_way(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 4, shuffle=True)
        return epoch(loader, lambda number: (random.random(), np.random.rand()))

    _, report = both_ways(program)
    assert report.made_ahead == 6 and report.mispredicted == 0


def test_a_program_that_seeds_anew_before_each_batch(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 4)
        return epoch(loader, lambda number: torch.manual_seed(number % 2))

    both_ways(program)


def test_a_break_leaves_the_generator_where_the_stock_loader_does(photos):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 4, shuffle=True)
        told = []
        for stop in (1, 3, 2):
            iterator = iter(loader)
            told += [[part.clone() for part in next(iterator)] for _ in range(stop)]
            del iterator
            told.append(generators())
        return told

    both_ways(program)


# Changes of the live data set.


def test_a_transform_that_is_exchanged_in_the_middle_of_an_epoch(photos):
    def program() -> list[Any]:
        data = folder(photos, train_v1())
        loader = DataLoader(data, 2)

        def between(number: int) -> None:
            if number == 2:
                data.transform = evaluate_v1()
            if number == 9:
                data.transform = train_tensors()

        return epoch(loader, between)

    _, report = both_ways(program)
    assert report.changed == 2
    assert report.samples_by_path["native"] > report.samples_by_path["local"] > 0


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a number of a transform": lambda data: data.transform.transforms[1].__setattr__("p", 0.9),
    "an entry of a transform": lambda data: data.transform.transforms[3].__setattr__("mean", [0, 0, 0]),
    "a transform more": lambda data: data.transform.transforms.append(v1.RandomErasing(0.5)),
    "a hook": lambda data: data.transform.transforms[3].register_forward_hook(
        lambda module, given, result: -result
    ),
    "a label": lambda data: data.samples.__setitem__(5, (data.samples[5][0], 7)),
    "a path": lambda data: data.samples.__setitem__(9, (data.samples[3][0], 0)),
    "all samples": lambda data: setattr(data, "samples", data.samples[::-1]),
    "target_transform": lambda data: setattr(data, "target_transform", lambda label: label + 1),
    "the loader": lambda data: setattr(
        data, "loader", lambda path: Image.open(path).convert("RGB").rotate(90)
    ),
    "the class": lambda data: setattr(
        data, "__class__", type("Mine", (datasets.ImageFolder,), {"__getitem__": lambda *a: (torch.zeros(2), 1)})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_shows_in_the_next_batch(photos, name):
    def program() -> list[Any]:
        data = folder(photos, train_v1())
        loader = DataLoader(data, 3)
        return epoch(loader, lambda number: CHANGES[name](data) if number == 0 else None)

    _, report = both_ways(program)
    assert report.changed >= 1 and report.samples_by_path["native"] >= 3


LIBRARY: dict[str, Callable[[Any], Any]] = {
    "Image.open": lambda patch: patch.setattr(Image, "open", _upside_down(Image.open)),
    "a method": lambda patch: patch.setattr(v1.Normalize, "forward", lambda self, tensor: -tensor),
    "a function": lambda patch: patch.setattr(
        v1.functional, "hflip", lambda image: v1.functional.vflip(image)
    ),
    "the default dtype": lambda patch: torch.set_default_dtype(torch.float64),
    "a limit of PIL's": lambda patch: patch.setattr(Image, "MAX_IMAGE_PIXELS", 100),
}


def _upside_down(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: original(*args).transpose(Image.Transpose.FLIP_TOP_BOTTOM)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("name", LIBRARY)
def test_a_library_that_is_changed_in_the_middle_of_an_epoch(photos, name):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 3)
        told = []
        with pytest.MonkeyPatch.context() as patch:
            iterator = iter(loader)
            for number in range(9):
                try:
                    told.append(next(iterator))
                except Exception as error:
                    told.append((type(error), str(error)))
                told.append(generators())
                if number == 1:
                    LIBRARY[name](patch)
        torch.set_default_dtype(torch.float32)
        return told

    both_ways(program)


def test_files_that_are_replaced(tmp_path):
    places = iter([tmp_path / "a", tmp_path / "b"])

    def program() -> list[Any]:
        place = write_jpegs(next(places), classes=2, count=9)
        data = folder(place, evaluate_v1())

        def between(number: int) -> None:
            for path, _ in data.samples[number + 4 : number + 7]:
                Image.open(path).convert("RGB").rotate(180).save(path, quality=90)

        return epoch(DataLoader(data, 2), between)

    both_ways(program)


def test_subsets_and_concatenations_are_live(photos):
    def program() -> list[Any]:
        first, second = folder(photos, train_v1()), folder(photos, train_v1())
        inner = Subset(first, list(range(0, 20, 2)))
        data = ConcatDataset([inner, Subset(second, [3, -1, 5, 7])])

        def between(number: int) -> None:
            if number == 1:
                inner.indices[8] = 1
            if number == 5:
                data.datasets[1] = Subset(second, [1, 2, 3, 4])

        return epoch(DataLoader(data, 1), between) + epoch(DataLoader(data, 3, shuffle=True))

    both_ways(program)


def test_images_in_arrays_are_live(cifar_root, mnist_root, monkeypatch):
    monkeypatch.setattr(datasets.CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr(datasets.cifar, "check_integrity", lambda *args: True)

    def program() -> list[Any]:
        crop = v1.Compose([v1.RandomCrop(28, 2), v1.ToTensor()])
        cifar = datasets.CIFAR10(cifar_root, transform=crop)
        digits = datasets.MNIST(mnist_root, transform=crop)

        def between(number: int) -> None:
            image, label = min(29, 4 * number + 9), min(29, 4 * number + 10)
            cifar.data[image], cifar.targets[label] = 7, 3
            digits.data[image], digits.targets[label] = 7, 3

        return [epoch(DataLoader(data, 4), between) for data in (cifar, digits)]

    both_ways(program)


def test_labels_of_tensors_that_are_corrected_in_place():
    def program() -> list[Any]:
        labels = torch.arange(64)
        data = TensorDataset(torch.arange(64.0), labels)
        loader = DataLoader(data, 4, shuffle=True)
        return epoch(loader, lambda number: labels.mul_(2))

    _, report = both_ways(program)
    assert report.path == "local"  # nothing could be faster than to index a tensor


# The sampler.


def test_a_sampler_is_asked_when_the_stock_loader_would_ask_it(photos):
    class Told:
        def __init__(self) -> None:
            self.weights, self.asked = list(range(27)), []

        def __iter__(self):
            for place in range(27):
                self.asked.append(place)
                yield self.weights[place]

    def program() -> list[Any]:
        sampler = Told()
        loader = DataLoader(folder(photos, train_v1()), 4, sampler=sampler)

        def between(number: int) -> None:
            told.append(list(sampler.asked))
            sampler.weights.reverse()

        told: list[Any] = []
        return [epoch(loader, between), told]

    _, report = both_ways(program)
    assert report.samples_by_path["native"] == 27 and report.made_ahead == 0


@pytest.mark.parametrize("kind", ["files", "arrays"])
def test_a_batch_size_that_grows_in_the_middle_of_an_epoch(photos, mnist_root, kind):
    def program() -> list[Any]:
        data = folder(photos, train_v1())
        if kind == "arrays":  # with nothing but their keys to tell one batch from another
            data = Subset(datasets.MNIST(mnist_root, transform=v1.ToTensor()), range(27))
        loader = DataLoader(data, 2, shuffle=True)
        return epoch(loader, lambda number: setattr(loader.batch_sampler, "batch_size", 2 + number))

    _, report = both_ways(program)
    assert report.samples_by_path["native"] == 27


def test_keys_of_numpy_are_served_too(photos):
    class Permuted:
        def __iter__(self):
            return iter(np.random.permutation(27))

    def program() -> list[Any]:
        return epoch(DataLoader(folder(photos, train_v1()), 4, sampler=Permuted()))

    _, report = both_ways(program)
    assert report.samples_by_path["native"] == 27


def test_keys_that_are_not_plain_integers(photos):
    def program() -> list[Any]:
        data = folder(photos, train_v1())
        keys = [[1, np.int64(2)], [-1, 3], [True, 0], [4, 5], [99]]
        return told_by(DataLoader(data, batch_sampler=keys), 6)

    both_ways(program)


# Errors, threads, forks.


def test_an_error_comes_at_its_place_and_the_epoch_goes_on(tmp_path):
    place = write_jpegs(tmp_path / "photos", classes=2, count=9)
    files = sorted(place.glob("*/*.jpg"))
    files[7].write_bytes(b"no picture")  # it has no size
    files[13].write_bytes(files[13].read_bytes()[: files[13].stat().st_size // 2])

    def program() -> list[Any]:
        return told_by(DataLoader(folder(place, train_v1()), 3), 8)

    told, report = both_ways(program)
    assert [entry[0] for entry in told if type(entry) is tuple] == [UnidentifiedImageError, OSError]
    assert report.samples_by_path["native"] == 12


def test_pictures_that_only_pil_reads_are_made_in_their_batch(tmp_path):
    place = write_jpegs(tmp_path / "photos", classes=2, count=9)
    for path in sorted(place.glob("*/*.jpg"))[4::6]:
        Image.open(path).convert("CMYK").save(path)
        (path.parent / "z.gif").unlink(missing_ok=True)
        Image.open(path).convert("RGB").save(path.with_suffix(".bmp"))

    both_ways(lambda: epoch(DataLoader(folder(place, train_v1()), 3, shuffle=True)))


def test_what_rng_sample_would_gain_is_offered_once_and_not_taken(photos, capfd):
    def program() -> list[Any]:
        loader = DataLoader(folder(photos, train_v1()), 9)
        return [epoch(loader), epoch(loader)]

    both_ways(program)
    (line,) = capfd.readouterr().err.splitlines()
    assert "draws the program's own random numbers" in line and "--rng sample" in line


def test_who_asks_for_stocks_numbers_is_offered_nothing(photos, capfd, monkeypatch):
    monkeypatch.setenv("HEADRACE_RNG", "torch")
    _, report = both_ways(lambda: epoch(DataLoader(folder(photos, train_v1()), 9)))
    assert report.path == "native" and capfd.readouterr().err == ""


def test_images_that_are_normalised_in_place_do_not_reach_the_next_batch(photos):
    """What the program does to a batch is not seen by others."""

    def program() -> list[Any]:
        told: list[Any] = []
        for images, labels in DataLoader(folder(photos, train_v1()), 4):
            told += [images.clone(), labels.clone()]
            images.mul_(torch.tensor(STD)[:, None, None]).add_(torch.tensor(MEAN)[:, None, None])
            labels.fill_(-1)
        return told

    both_ways(program)


def test_a_loaders_state_does_not_outlive_it(photos, seam):
    loader = DataLoader(folder(photos, train_v1()), 4)
    next(iter(loader))
    assert state_of(loader).idle is None
