"""Names of calls are cheap: what did not change since the last call is not walked again, and what did is."""

import gc
import os
import random
import weakref

import numpy as np
import pytest
import torch
from headrace.stage import (
    cached_calls,
    call_board,
    fixed_part,
    found_calls,
    found_rules,
    leaf_memory,
)
from headrace.stage import process_part as process
from headrace.stage.leaves import Leaves
from headrace.stage.settings import SETTINGS


class Scale:
    def __init__(self):
        self.factor = 2


class Data:
    def __init__(self):
        self.names = [f"folder/{i}" for i in range(500)]
        self.bank, self.window = np.ones((40, 50)), torch.ones(64)
        self.scale = Scale()

    def made(self, i):
        return np.sum(self.bank) * i + len(self.names) + float(self.window.sum()), self.scale

    def whole(self, i):
        return self.made(i)


def name(data, i=3):
    return cached_calls.content_of_call(
        Data.whole, (data, i), {}, None, found_calls.FoundContent
    ).digest()


def walks(monkeypatch):
    """How often the fixed part was walked."""
    count = []
    walk = found_calls.FoundContent.fixed

    def counted(self, *args):
        count.append(1)
        return walk(self, *args)

    fixed_part.forget()
    monkeypatch.setattr(found_calls.FoundContent, "fixed", counted)
    return count


def test_what_did_not_change_is_not_walked_again(monkeypatch):
    data, count = Data(), walks(monkeypatch)
    first = name(data)
    assert name(data) == first and len(count) == 2, "an owner that comes twice is recorded"
    for i in range(50):
        assert (name(data, i) == first) == (i == 3)
    assert len(count) == 2


CHANGES = {
    "item of a list": lambda data: data.names.__setitem__(250, "other"),
    "length of a list": lambda data: data.names.append("other"),
    "element of an array": lambda data: data.bank.__setitem__((7, 8), 3),
    "element of a tensor": lambda data: data.window.data.__setitem__(9, 3),
    "attribute of an object": lambda data: setattr(data.scale, "factor", 3),
    "its type": lambda data: setattr(data.scale, "factor", 2.0),
    "another array": lambda data: setattr(data, "bank", np.zeros((40, 50))),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_is_another_name(monkeypatch, what):
    data, count = Data(), walks(monkeypatch)
    first = [name(data) for _ in range(5)][-1]
    before = len(count)
    CHANGES[what](data)
    assert name(data) != first and len(count) > before


def test_a_record_that_never_lasts_is_seldom_made(monkeypatch):
    made = []
    guards = fixed_part.Guards
    monkeypatch.setattr(fixed_part, "Guards", lambda *a: made.append(1) or guards(*a))
    data, _ = Data(), walks(monkeypatch)
    for i in range(200):
        data.scale.factor = i
        name(data)
    assert len(made) < 10


def test_an_object_ends_when_it_would(monkeypatch):
    data, _ = Data(), walks(monkeypatch)
    for _ in range(3):
        name(data)
    gc.disable()
    try:
        end = weakref.ref(data.scale)
        data.scale = Scale()
        assert end() is None
        end = weakref.ref(data)
        del data
        assert end() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("one", process.OF_RESULTS, ids=lambda one: one.name)
def test_a_setting_that_changes_is_seen(one):
    import importlib

    if one.module in ("cv2", "torchvision", "torchvision.tv_tensors._torch_function_helpers"):
        pytest.importorskip(one.module)
    importlib.import_module(one.module)
    others = {
        "inference mode": None,  # for good
        "flush of denormal numbers": None,
        "torch's default dtype": torch.float64,
        "deterministic algorithms": (True, True, True),
        "autocast on CPUs": (True, torch.bfloat16, False),
        "precision of float32 products": "medium",
        "anomaly mode": (True, False),
        "numpy.geterr()": {"over": "ignore"},
        "numpy.geterrcall()": print,
        "numpy.getbufsize()": 4096,
        "numpy.get_printoptions()": {"precision": 3},
        "torch's print options": {"precision": 3},
        "torchvision._image_backend": "accimage",
    }
    before = one.read()
    others["cv2.getNumThreads()"] = 2 if before == 1 else 1
    value = others.get(one.name, (not before) if type(before) is bool else 1)
    if value is None:
        pytest.skip("it can't be set back")
    text = process.settings()[0]
    try:
        one.write(value)
        changed = one.read() != before
        assert (process.settings()[0] != text) == changed and changed
    finally:
        one.write(before)
    assert process.settings()[0] == text


def test_a_library_that_comes_with_its_defaults_changes_nothing():
    loaded = process.settings()[1]
    gif = [one for one in SETTINGS if one.module == "PIL.GifImagePlugin"][0]
    import PIL.GifImagePlugin  # noqa: F401

    with_it = process.settings(loaded | {gif.module})[0]
    assert with_it == process.settings(loaded - {gif.module})[0]


def test_lists_are_compared_by_their_items():
    seed = int(os.environ.get("HEADRACE_TEST_SEED", random.randrange(1 << 30)))
    draws = random.Random(seed)
    for size in (0, 1, 63, 64, 65, 1000):
        values = [object() for _ in range(size)]
        kept = leaf_memory.items(values)
        assert leaf_memory.same_list(values, kept), seed
        if not size:
            continue
        at = draws.randrange(size)
        other, values[at] = values[at], object()
        assert not leaf_memory.same_list(values, kept), (seed, size, at)
        values[at] = other
        assert leaf_memory.same_list(values, kept), seed
        assert not leaf_memory.same_list(values[:-1], kept), seed


def test_a_result_that_is_dear_to_copy_is_given_up_before_it_is_found():
    parts = found_rules.Parts()
    assert not parts.is_poor(0.004, 0.003, 0.0008), "two calls have to say so"
    assert parts.is_poor(0.004, 0.003, 0.0008)
    parts = found_rules.Parts()
    assert not any(parts.is_poor(0.004, 0.001, 0.0008) for _ in range(9))
    assert not any(parts.is_poor(0.004, 0.0, 0.1) for _ in range(9)), "nothing else keeps it"


def test_leaves_count_what_is_worth_keeping():
    kept = Leaves(first=True, door=lambda: None)
    assert not kept.keeps(0.004, 1000) and kept.parts == 0.004
    kept.keeps(1e-6, 1000)
    kept.offer(None, 0, 0, (), 0.004)
    assert kept.parts == 0.004


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def made(self, i):
        return len(self.rows) + i

    def __getitem__(self, i):
        return self.made(i)


@pytest.mark.parametrize(
    ("rows", "is_little"),
    [
        (lambda: [str(i) for i in range(20_000)], False),
        (lambda: [[i, i + 1] for i in range(5_000)], False),
        (lambda: {i: i for i in range(20_000)}, False),
        (lambda: [[i, i + 1] for i in range(50)], True),
    ],
    ids=["a long list", "many lists", "a long dict", "little"],
)
def test_much_is_looked_at_only_for_functions_that_somebody_has_timed(monkeypatch, rows, is_little):
    """A short first epoch takes less than such a look."""
    monkeypatch.setattr(call_board, "board", None)
    monkeypatch.setattr(call_board, "found", {})
    looked, real = [], found_calls.part_of

    def part_of(kind, memo, function, *rest, **named):
        part = real(kind, memo, function, *rest, **named)
        looked.append(function.__name__)
        return part

    monkeypatch.setattr(found_calls, "part_of", part_of)
    data = Rows(rows())
    found_calls.prepare(data)
    assert sorted(looked) == (["__getitem__", "made"] if is_little else [])
    number = call_board.found[id(Rows.made)].number
    call_board.board.add(number, call_board.TRIALS, 1)
    looked.clear()
    found_calls.prepare(data)
    assert "made" in looked, "a lane has seen that it takes long"
    looked.clear()
    call_board.board.give_up(number, "it takes 1 \u00b5s")
    found_calls.prepare(data)
    assert "made" not in looked
