"""Whether code is seen to keep state: each way to keep some is found, and what keeps none is not.

This file is long because each construct of a large table needs what it is made of.
"""

import collections
import functools
import itertools
import random
import re
import threading

import numpy as np
import pytest
import torch
from headrace.stage import watch
from headrace.stage.reach import MOST_PLACES, picture
from headrace.stage.watch import EVERY, FIRST, SHARE, Watch
from torch.utils.data import Subset

COUNTER = 0
LOG = []
NAMES = {"a": 1}


class Base:
    def __init__(self, **given):
        self.__dict__.update(given)


def found(dataset, step, fills=False, **parts):
    """What is seen of one batch."""
    seen = Watch({"dataset": dataset, **parts}, fills)
    seen.before()
    step()
    return seen.after()


# What keeps state.


class ByGetattr(Base):
    def step(self):
        setattr(self, "n" + "umber", getattr(self, "number", 0) + 1)


class ByClass(Base):
    made = 0

    def step(self):
        type(self).made += 1


class ByBase(ByClass):
    def step(self):
        ByClass.made += 1


class ByGlobal(Base):
    def step(self):
        global COUNTER
        COUNTER += 1


class ByGlobals(Base):
    def step(self):
        globals()["COUNTER"] += 1


class ByHelper(Base):
    def step(self):
        helper()


def helper():
    LOG.append(len(LOG))


class BySlots:
    __slots__ = ("number",)

    def __init__(self):
        self.number = 0

    def step(self):
        self.number += 1


class ByDefault(Base):
    def step(self, kept=[]):  # noqa: B006
        kept.append(1)


class ByFunction(Base):
    def step(self):
        marked.calls = getattr(marked, "calls", 0) + 1


def marked():
    pass


class Texts(list):
    pass


def by(change, **given):
    """A data set whose step is `change` of itself."""
    dataset = Base(**given)
    return dataset, lambda: change(dataset)


def closure():
    number = 0

    def step():
        nonlocal number
        number += 1

    return Base(count=step), step


def generator():
    def numbers():
        number = 0
        while True:
            number += 1
            yield number

    made = numbers()
    next(made)
    return Base(numbers=made), lambda: next(made)


def cached():
    log = []

    @functools.lru_cache
    def read(key):
        log.append(key)

    return Base(read=read), lambda: read(1)


def plain(cls):
    def make():
        dataset = cls()
        return dataset, dataset.step

    return make


def add(array):
    array += 1


def inner():
    deep = Base(inner=Base(inner=Base(number=0)))
    return deep, lambda: setattr(deep.inner.inner, "number", 1)


def through_a_library():
    dataset = Base(number=0)
    return Subset(dataset, [0]), lambda: setattr(dataset, "number", 1)


def own_list():
    texts = Texts([1])
    return Base(texts=texts), lambda: setattr(texts, "mark", 1)


LARGE = 3 << 20
KEEPING = {
    "counter behind getattr": (plain(ByGetattr), r"dataset\.number is new: 1"),
    "class attribute": (plain(ByClass), r"dataset\.made was \d and is \d"),
    "attribute of a base": (plain(ByBase), r"dataset\.made was"),
    "global": (plain(ByGlobal), r"test_watch\.COUNTER was \d+ and is \d+"),
    "global by globals()": (plain(ByGlobals), r"test_watch\.COUNTER was"),
    "global of a helper": (plain(ByHelper), r"test_watch\.LOG had 0 items and has 1"),
    "slots": (plain(BySlots), r"dataset\.number was 0 and is 1"),
    "default": (plain(ByDefault), "default 0 had 0 items and has 1"),
    "attribute of a function": (plain(ByFunction), r"marked\.calls is new: 1"),
    "closure cell": (closure, r"dataset\.count\.number was 0 and is 1"),
    "generator object": (generator, r"dataset\.numbers\.number was 1 and is 2"),
    "what an lru_cache calls": (cached, r"\.log had 0 items and has 1"),
    "nested object": (inner, r"dataset\.inner\.inner\.number was 0 and is 1"),
    "in a library's object": (through_a_library, r"dataset\.dataset\.number was 0 and is 1"),
    "attribute of a list": (own_list, r"dataset\.texts\.mark is new: 1"),
    "list": (lambda: by(lambda d: d.log.append(7), log=[1]), r"dataset\.log had 1 items and has 2"),
    "item": (lambda: by(lambda d: d.bank.update(a=2), bank={"a": 1}), r"bank\['a'\] was 1 and is 2"),
    "memory bank": (
        lambda: by(lambda d: d.bank.update(b=torch.ones(3)), bank={"a": torch.ones(3)}),
        r"dataset\.bank had 1 items and has 2",
    ),
    "deque that is full": (
        lambda: by(lambda d: d.last.append(9), last=collections.deque([1, 2], maxlen=2)),
        r"dataset\.last\[0\] was 1 and is 2",
    ),
    "long list": (lambda: by(lambda d: d.log.append(7), log=[0] * 10**5), "had 100000 items"),
    "end of a long list": (
        lambda: by(lambda d: d.log.__setitem__(-1, 7), log=[0] * 10**5),
        r"dataset\.log\[99999\] was 0 and is 7",
    ),
    "set": (lambda: by(lambda d: d.seen.add(2), seen={1}), r"dataset\.seen had 1 items and has 2"),
    "numpy array in place": (
        lambda: by(lambda d: add(d.rows), rows=np.zeros(9)), r"dataset\.rows has other content"
    ),
    "view of a numpy array": (
        lambda: by(lambda d: add(d.rows), rows=np.zeros((9, 9))[:, 3]), "rows has other content"
    ),
    "large numpy array": (
        lambda: by(lambda d: add(d.rows), rows=np.zeros(LARGE)), "rows has other content"
    ),
    "tensor in place": (
        lambda: by(lambda d: add(d.rows), rows=torch.zeros(9)), r"dataset\.rows has other content"
    ),
    "one item of a large tensor": (
        lambda: by(lambda d: d.rows[LARGE // 2 + 77].fill_(1), rows=torch.zeros(LARGE)),
        "rows has other content",
    ),
    "tensor by its array": (
        lambda: by(lambda d: add(d.rows.numpy()), rows=torch.zeros(9)), "has other content"
    ),
    "buffer of a library's module": (
        lambda: by(lambda d: d.norm(torch.ones(2, 3)), norm=torch.nn.BatchNorm1d(3)),
        r"dataset\.norm\S* has other content",
    ),
    "count": (lambda: by(lambda d: next(d.count), count=itertools.count()), r"count was 'count\(0"),
    "iterator": (lambda: by(lambda d: next(d.keys), keys=iter([1, 2])), "keys has other content"),
    "replaced object": (
        lambda: by(lambda d: setattr(d, "now", d.items[1]), items=[Base(), Base()], now=None),
        r"dataset\.now was None",
    ),
    "text": (lambda: by(lambda d: setattr(d, "text", "b" * 999), text="a" * 999), "text has other"),
    "gone": (lambda: by(lambda d: d.__dict__.pop("text"), text="a"), r"text is gone, it was 'a'"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said"), KEEPING.values(), ids=KEEPING)
def test_what_keeps_state_is_seen_and_named(make, said):
    LOG.clear()
    dataset, step = make()
    assert re.search(said, text := found(dataset, step)), text


def test_what_collate_fn_keeps_is_seen():
    seen = []
    text = found(Base(), lambda: seen.append(1), collate_fn=lambda batch: seen or batch)
    assert text == "collate_fn.seen had 0 items and has 1"


# What keeps none.


class Quiet(Base):
    @functools.cached_property
    def size(self):
        return 3

    @functools.lru_cache  # noqa: B019
    def read(self, key):
        return key


def unchanged(**given):
    return lambda: (Quiet(**given), lambda: None)


def drawing(generator, draw):
    return lambda: by(lambda d: draw(d.rng), rng=generator)


def filled():
    dataset = Quiet(number=1)
    return dataset, lambda: (dataset.size, dataset.read(3))


def opened():
    dataset = Base(handle=None)
    return dataset, lambda: setattr(dataset, "handle", threading.Lock())


def with_itself():
    dataset = Base(log=[])
    dataset.me, dataset.log = dataset, [dataset]
    return dataset, lambda: None


class Hostile:
    """Nothing of it may be run."""

    def __init__(self):
        self.number = 1

    def __getattribute__(self, name):
        raise AssertionError(name)

    def __eq__(self, other):
        raise AssertionError("==")

    def __len__(self):
        raise AssertionError("len")

    __hash__ = None


SILENT = {
    "nothing": unchanged(rows=np.ones(4), names={"a": [1, float("nan")]}, text="x" * 999),
    "cached_property and lru_cache": filled,
    "handle that is opened": opened,
    "numpy generator": drawing(np.random.default_rng(1), lambda rng: rng.random()),
    "random.Random": drawing(random.Random(1), lambda rng: rng.random()),
    "torch generator": drawing(torch.Generator(), lambda rng: torch.rand(3, generator=rng)),
    "global generators": lambda: (Base(), lambda: (random.random(), torch.rand(1))),
    "itself": with_itself,
    "hostile": lambda: (Base(odd=Hostile()), lambda: None),
    "object array": unchanged(rows=np.array([{}, 3], object)),
    "empty tensor": unchanged(rows=torch.zeros(0, 3)),
    "bfloat16": unchanged(rows=torch.ones(4, dtype=torch.bfloat16)),
    "sparse": unchanged(rows=torch.eye(3).to_sparse()),
    "expanded": unchanged(rows=torch.ones(1).expand(10**9)),
}


@pytest.mark.parametrize("make", SILENT.values(), ids=SILENT)
def test_what_keeps_no_state_is_not_named(make):
    dataset, step = make()
    assert found(dataset, step) == ""


def test_filling_in_is_a_change_unless_it_is_proved_to_be_none():
    def cases():
        yield by(lambda d: setattr(d, "first", 3), first=None)
        yield by(lambda d: setattr(d, "first", [1]))
        yield by(lambda d: d.cache.update(b=[2]), cache={"a": [1]})

    assert all(found(dataset, step) for dataset, step in cases())
    assert not any(found(dataset, step, fills=True) for dataset, step in cases())


def test_what_was_filled_in_may_not_change_any_more():
    dataset = Base(first=None, cache={})
    seen = Watch({"dataset": dataset}, fills=True)
    for made, said in ((1, ""), (2, "dataset.first was 1 and is 2")):
        seen.before()
        dataset.first = made
        assert seen.after() == said


# When.


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def watched(cost, batch):
    """The batches, from 1, after which a picture was taken."""
    clock, taken = Clock(), []
    made = 0

    def look(parts):
        clock.now += cost
        taken.append(made)
        return picture(parts)

    seen = Watch({"dataset": Base()}, False, clock, look)
    for made in range(1, 2000):  # noqa: B007
        seen.before()
        clock.now += batch
        assert seen.after() == ""
    return taken[1:], clock.now


def test_pictures_are_taken_after_the_first_batches_and_then_seldom():
    taken, _ = watched(cost=0.0, batch=0.1)
    assert taken[:FIRST] == [1, 2, 3]
    assert np.diff(taken[FIRST - 1 :]).tolist() == [EVERY] * 7


def test_pictures_take_a_small_share_of_the_time():
    taken, seconds = watched(cost=0.5, batch=0.1)  # 500 batches' worth of a hundredth
    later = taken[FIRST:]
    assert later and min(np.diff([FIRST, *later])) >= SHARE * 0.5 / 0.1
    assert 0.5 * len(later) <= seconds / SHARE


def test_a_change_between_two_pictures_is_seen_by_the_second_and_told_once():
    dataset = Base(number=0)
    seen = Watch({"dataset": dataset}, False, clock=Clock())
    told = []
    for batch in range(1, 600):
        seen.before()
        dataset.number += batch == 100
        told.append(seen.after())
    assert [i for i, text in enumerate(told, 1) if text] == [FIRST + EVERY]
    assert told[FIRST + EVERY - 1] == "dataset.number was 0 and is 1"


# How much.


def test_a_picture_is_bounded_and_near_things_are_in_it():
    deep = Base(many=[[[[i] for i in range(100)] for _ in range(100)] for _ in range(100)])
    taken = picture({"dataset": deep})
    assert not taken.complete
    assert len(taken.tokens) == MOST_PLACES
    assert found(deep, lambda: setattr(deep, "number", 1)) == "dataset.number is new: 1"


def test_what_lies_beyond_the_bound_is_no_change():
    deep = Base(many=[[[[i] for i in range(100)] for _ in range(100)] for _ in range(100)])
    assert found(deep, lambda: deep.many[99][99][99].append(1)) == ""
    assert watch.change(picture({"dataset": deep}), picture({"dataset": deep}), False) == ""
