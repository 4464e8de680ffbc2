"""Contract: without persistent workers every iter() takes the dataset as it is now."""

import numpy as np
import pytest
import torch
from support.compare import check
from support.pipelines import Numbers, evaluate_v1, train_v1
from torch.utils.data import ConcatDataset, Subset, TensorDataset
from torchvision import datasets


def loader_of(make_data, **named):
    return lambda loader: loader(make_data(), batch_size=4, num_workers=2, **named)


def test_transform_changes(photos):
    def before(loader, epoch):
        loader.dataset.transform = train_v1() if epoch == 1 else evaluate_v1()

    check(loader_of(lambda: datasets.ImageFolder(photos, train_v1())), before=before, epochs=3)


def test_one_argument_of_a_transform_changes(photos):
    def before(loader, epoch):
        loader.dataset.transform.transforms[1].p = epoch / 2

    check(loader_of(lambda: datasets.ImageFolder(photos, train_v1())), before=before, epochs=3)


def test_samples_change(photos):
    def before(loader, epoch):
        if epoch:
            loader.dataset.samples[3] = loader.dataset.samples[20]
            del loader.dataset.samples[-1]

    check(
        lambda loader: loader(
            datasets.ImageFolder(photos, train_v1()), 4, sampler=range(24), num_workers=2
        ),
        before=before,
        epochs=3,
    )


def test_subset_changes(photos):
    def before(loader, epoch):
        loader.dataset.indices[2] = 20 + epoch

    data = datasets.ImageFolder(photos, train_v1())
    check(loader_of(lambda: Subset(data, list(range(10)))), before=before, epochs=3)


def test_part_of_a_concat_changes(photos):
    def before(loader, epoch):
        loader.dataset.datasets[1].transform = loader.dataset.datasets[0].transform = (
            evaluate_v1() if epoch else train_v1()
        )

    check(
        loader_of(
            lambda: ConcatDataset([datasets.ImageFolder(photos), datasets.ImageFolder(photos)])
        ),
        before=before,
    )


@pytest.mark.parametrize("through_numpy", [False, True])
def test_tensors_change_in_place(through_numpy):
    def before(loader, epoch):
        rows = loader.dataset.tensors[0]
        if through_numpy:
            rows.numpy()[5] = epoch
        else:
            rows[5] = epoch

    check(
        loader_of(lambda: TensorDataset(torch.arange(20.0), torch.arange(20))),
        before=before,
        epochs=3,
    )


def test_arrays_change_in_the_middle_of_an_epoch(seam):
    """A forked worker has its own copy; so has a worker of ours."""
    rows = torch.arange(20.0)
    loader = torch.utils.data.DataLoader(TensorDataset(rows), batch_size=2, num_workers=1)
    seen = []
    for (batch,) in loader:
        rows.fill_(-1)
        seen.append(batch)
    assert torch.cat(seen).tolist() == np.arange(20.0).tolist()


def test_attribute_of_a_user_dataset_changes():
    def before(loader, epoch):
        loader.dataset.epoch = epoch

    check(loader_of(Numbers), path="python", before=before, epochs=3)


def test_persistent_workers_keep_the_dataset_of_the_first_epoch():
    def before(loader, epoch):
        loader.dataset.epoch = epoch

    check(loader_of(Numbers, persistent_workers=True), path="python", before=before, epochs=3)


class OwnFolder(datasets.ImageFolder):
    """The program's own code, which nobody knows."""

    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        return image + 0, label


def _other_transform(loader, epoch):
    if epoch:
        loader.dataset.transform = evaluate_v1()


def _other_argument(loader, epoch):
    loader.dataset.transform.transforms[1].p = 1.0 if epoch else 0.0


def _other_step(loader, epoch):
    if epoch:
        del loader.dataset.transform.transforms[1]


@pytest.mark.parametrize("path", ["native", "python"])
@pytest.mark.parametrize("change", [_other_transform, _other_argument, _other_step])
def test_persistent_workers_keep_the_transform_of_the_first_epoch(photos, path, change):
    """The workers of a stock loader have their own copies, made when they begin."""
    kind = {"native": datasets.ImageFolder, "python": OwnFolder}[path]
    make = loader_of(lambda: kind(photos, train_v1()), persistent_workers=True)
    check(make, path=path, before=change, epochs=3)


def test_persistent_workers_keep_the_samples_of_the_first_epoch(photos):
    def before(loader, epoch):
        if epoch:
            loader.dataset.samples[3] = loader.dataset.samples[20]

    make = loader_of(lambda: datasets.ImageFolder(photos, train_v1()), persistent_workers=True)
    check(make, before=before, epochs=3)


def test_persistent_workers_return_the_same_iterator(photos, seam):
    data = datasets.ImageFolder(photos, train_v1())
    loader = torch.utils.data.DataLoader(data, 4, num_workers=1, persistent_workers=True)
    first = iter(loader)
    list(first)
    assert iter(loader) is first
