"""Which files a key reads: learned from some samples, right for the others, and given up where it is wrong."""

import random
from pathlib import PosixPath

import numpy as np
import pandas
import pytest
import torch
from headrace.stage.ahead_rules import Learner, Rules, held_by
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder

SEED = 20261130
NAMES = [f"c{n % 3}/picture_{n * 37 % 101:03}" for n in range(40)]
IDS = [n * 13 % 997 + 1000 for n in range(40)]


class Held:
    """A data set with these attributes, whose samples open the files that `files` says."""

    def __init__(self, files, **held):
        self.__dict__.update(held)
        self._files = files

    def __getitem__(self, key):
        raise AssertionError("no code of the data set's runs")

    def __len__(self):
        raise AssertionError("no code of the data set's runs")


def pathed(suffix):
    return lambda key: {f"/data/{NAMES[key]}{suffix}"}


SHAPES = {
    "list of paths": Held(pathed(".jpg"), paths=[f"/data/{name}.jpg" for name in NAMES]),
    "path objects": Held(pathed(".jpg"), paths=[PosixPath(f"/data/{name}.jpg") for name in NAMES]),
    "list of pairs": Held(pathed(".jpg"), samples=[(f"/data/{n}.jpg", 1) for n in NAMES]),
    "root and names": Held(pathed(".png"), root="/data", names=tuple(NAMES)),
    "array of texts": Held(pathed(".png"), names=np.array(NAMES)),
    "array of objects": Held(pathed(".png"), names=np.array(NAMES, dtype=object)),
    "columns of an array": Held(pathed(""), rows=np.array([["x", name] for name in NAMES])),
    "table": Held(
        pathed(".png"), frame=pandas.DataFrame({"label": 1, "name": NAMES}, dtype=object)
    ),
    "table of texts": Held(
        pathed(""), frame=pandas.DataFrame({"n": 1, "file": [f"/data/{n}" for n in NAMES]})
    ),
    "column": Held(pathed(".png"), names=pandas.Series(NAMES)),
    "records": Held(pathed(".png"), rows=[{"name": name, "label": 3} for name in NAMES]),
    "records by id": Held(
        pathed(".png"),
        ids=IDS,
        index=Held(None, images={i: {"file": n} for i, n in zip(IDS, NAMES, strict=True)}),
    ),
    "order of another": Held(
        lambda key: {f"/data/{NAMES[39 - key]}.jpg"},
        order=torch.arange(39, -1, -1),
        paths=[f"/data/{name}.jpg" for name in NAMES],
    ),
    "padded number": Held(lambda key: {f"/data/{key:06}.jpg"}),
    "number from one": Held(lambda key: {f"/data/{key + 1}.jpg"}),
    "padded id": Held(lambda key: {f"/data/{IDS[key]:012}.jpg"}, ids=np.array(IDS)),
    "picture and mask": Held(
        lambda key: {f"/data/{NAMES[key]}.jpg", f"/data/{NAMES[key]}_mask.png"}, names=NAMES
    ),
    "with a file for all": Held(
        lambda key: {f"/data/{NAMES[key]}.jpg", "/data/labels.json"}, root="/data", names=NAMES
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(keys=st.permutations(range(40)))
def test_a_rule_is_right_for_keys_that_were_not_seen(shape, keys):
    dataset = SHAPES[shape]
    learner = Learner(dataset)
    at = 0
    while not learner.is_proven:
        learner.learn(keys[at], dataset._files(keys[at]))
        at += 1
        assert at <= 12, "it takes few samples"
    # A number without zeros in front may have been padded; only more samples tell.
    for key in keys[at:]:
        files = dataset._files(key)
        predicted = set(learner.predict(key))
        if "padded" in shape and predicted != files:
            learner.learn(key, files)
            continue
        assert predicted == files - {"/data/labels.json"}
    assert learner.predict(40) in ([], ["/data/000040.jpg"], ["/data/41.jpg"])


def test_torchs_and_torchvisions_own_data_sets(tmp_path):
    for at in range(12):
        folder = tmp_path / f"class{at % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"{at}.jpg").write_bytes(b"")
    whole = ImageFolder(tmp_path)
    shown = ConcatDataset([Subset(whole, [5, 3, 9, 1, 7, 0]), whole])
    paths = [whole.samples[at][0] for at in (5, 3, 9, 1, 7, 0, *range(12))]
    rules = Rules(shown)
    for key in (2, 4, 8):
        rules.learn(key, {paths[key]})
    assert rules.is_proven(0)
    assert [rules.predict(key) for key in range(18)] == [[path] for path in paths]


def test_random_files_are_never_believed():
    draw = random.Random(SEED)
    print("seed", SEED)
    dataset = Held(None, names=NAMES, ids=IDS)
    learner = Learner(dataset)
    for _ in range(200):
        learner.learn(draw.randrange(40), {f"/data/{draw.randrange(10**9)}.jpg"})
        assert not learner.is_proven
    assert learner.has_given_up


def test_a_rule_that_ceases_to_hold_is_given_up():
    dataset = SHAPES["list of paths"]
    learner = Learner(dataset)
    for key in range(3):
        learner.learn(key, dataset._files(key))
    assert learner.is_proven
    for key in range(3, 40):
        learner.learn(key, {"/elsewhere"})
        if not learner.is_proven:
            break
    assert key <= 3 + 16 and learner.predict(5) == []


def test_a_file_of_all_keys_is_no_prediction():
    dataset = Held(None, root="/data/all.bin", names=["/data/all.bin"] * 40)
    learner = Learner(dataset)
    for key in range(40):
        learner.learn(key, {"/data/all.bin"})
    assert not learner.is_proven


def test_the_same_key_again_proves_nothing():
    dataset = SHAPES["list of paths"]
    learner = Learner(dataset)
    for _ in range(10):
        learner.learn(4, dataset._files(4))
    assert not learner.is_proven
    for key in (5, 6):
        learner.learn(key, dataset._files(key))
    assert learner.is_proven, "nor does it cost a trial"


def test_elements_of_the_programs_own_are_not_looked_at():
    class Sly(list):
        def __getitem__(self, at):
            raise AssertionError("the program's code")

        def __len__(self):
            raise AssertionError("the program's code")

    class Text(str):
        def __str__(self):
            raise AssertionError("the program's code")

    dataset = Held(None, own=Sly(NAMES), texts=[Text(name) for name in NAMES])
    texts, numbers = held_by(dataset)
    assert [type(one) for one in texts] == [list] and numbers == []
    learner = Learner(dataset)
    for key in range(3):
        learner.learn(key, {f"/data/{NAMES[key]}"})
    assert learner.predict(7) == [f"/data/{NAMES[7]}"]


def test_a_data_set_that_changes_gives_no_error():
    names = list(NAMES)
    learner = Learner(Held(None, names=names))
    for key in range(3):
        learner.learn(key, {f"/data/{names[key]}.jpg"})
    names.clear()
    assert learner.predict(5) == []
