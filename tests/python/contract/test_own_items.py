"""Contract: data sets of the program's own that are followed give the stock loader's batches."""

import pytest
from support.compare import check
from support.lazily import both_ways, epoch
from support.own_datasets import NATIVE, augment
from torch.utils.data import ConcatDataset, DataLoader, Subset


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_data_set_of_its_own(photos, name, num_workers):
    data = NATIVE[name](photos)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(photos, name):
    def program():
        loader = DataLoader(NATIVE[name](photos), 4, shuffle=True)
        return [epoch(loader) for _ in range(3)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 81, "python": 0, "local": 0}


def test_parts_of_it(photos):
    data = NATIVE["joined"](photos)
    both = ConcatDataset([Subset(data, [3, 1, 2]), NATIVE["joined"](photos)])
    for one in (Subset(data, [5, -1, 0]), Subset(Subset(data, [7, 8, 9]), [2, 0])):
        check(lambda loader, one=one: loader(one, batch_size=2, num_workers=1))
    data.transform = both.datasets[1].transform
    check(lambda loader: loader(both, batch_size=4, shuffle=True, num_workers=1))


def change_of(name):
    def change(data):
        if name == "transform":
            data.transform = augment()
            data.transform.transforms[0].size = (8, 8)
        elif name == "entry":
            data.names[20] = data.names[3]
        elif name == "label":
            data.labels[20] = 77
        else:
            data.labels = [label + 5 for label in data.labels]

    return change


@pytest.mark.parametrize("what", ["transform", "entry", "label", "list"])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_change_shows(photos, what, num_workers):
    """With workers at the next iter(), without them in the next batch."""

    def program():
        data = NATIVE["joined"](photos)
        loader = DataLoader(data, 4, num_workers=num_workers)
        change = change_of(what)
        return [
            epoch(loader, lambda number: change(data) if number == 2 else None),
            epoch(loader),
        ]

    both_ways(program)
