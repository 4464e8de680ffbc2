"""Contract: num_workers=0 with rng="sample" sees the live data set at every batch, as the stock loader
does, though each sample has random numbers of its own."""

import os
import time

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same
from support.pipelines import evaluate_v1, train_v1
from torchvision import datasets

AT = 1  # batches that are taken before something changes


def batches(data, change=None, keys=None):
    torch.manual_seed(11)
    loader = headrace.DataLoader(data, 4, sampler=keys, rng="sample")
    made, iterator = [], iter(loader)
    while True:
        if len(made) == AT and change is not None:
            change(data)
        try:
            made.append([each.clone() for each in next(iterator)])
        except StopIteration:
            break
    REPORT.as_dict()
    return made, state_of(loader).report


@pytest.fixture
def folder(own_photos):
    for path in own_photos.rglob("*.*"):  # not as if they were being written
        os.utime(path, ns=(0, 0))
    time.sleep(0.06)
    return lambda transform=None: datasets.ImageFolder(own_photos, transform or train_v1())


def test_what_does_not_change_is_made_by_workers(folder):
    made, report = batches(folder())
    assert report.samples_by_path["native"] == 4 * len(made) and report.changed == 0
    again, _ = batches(folder())
    assert_same(again, made)


def test_a_transform_that_is_exchanged_counts_from_the_next_batch(folder):
    first, _ = batches(folder())
    other, _ = batches(folder(evaluate_v1()))
    assert len(first) > AT + 2

    def change(data):
        data.transform = evaluate_v1()

    made, report = batches(folder(), change)
    assert_same(made, first[:AT] + other[AT:])
    assert report.changed == len(made) - AT


def test_labels_and_files_that_change(folder):
    first, _ = batches(folder())

    def relabel(data):
        data.samples[:] = [(path, 7) for path, _ in data.samples]

    made, _ = batches(folder(), relabel)
    assert [set(labels.tolist()) for _, labels in made[AT:]] == [{7}] * (len(made) - AT)
    assert_same([m[0] for m in made], [f[0] for f in first])

    def replace(data):
        path, other = data.samples[4 * AT][0], data.samples[0][0]
        with open(other, "rb") as source, open(path + ".new", "wb") as file:
            file.write(source.read())
        os.replace(path + ".new", path)

    made, _ = batches(folder(), replace)
    assert_same(made[:AT], first[:AT])
    assert not torch.equal(made[AT][0][0], first[AT][0][0])
    assert_same(made[AT + 1 :], first[AT + 1 :])


def test_keys_that_come_again_have_their_own_seeds_after_a_change(folder):
    keys = [2, 2, 1, 0] * 6
    first, _ = batches(folder(), keys=keys)

    def change(data):
        before = data.transform
        data.transform = lambda picture: before(picture)

    made, report = batches(folder(), change, keys=keys)
    assert_same(made, first)
    assert report.changed == len(made) - AT


def test_a_sample_that_raises_after_a_change(folder):
    def change(data):
        data.transform = _raises

    with pytest.raises(ZeroDivisionError):
        batches(folder(), change)


def _raises(picture):
    raise ZeroDivisionError
