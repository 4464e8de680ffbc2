"""Python's collection of garbage while the package is imported (process/collection.py)."""

import gc
import os
import weakref

import pytest
from headrace.process import collection
from headrace.stage import settings
from support.programs import run_program


@pytest.fixture
def collected(monkeypatch):
    """The generations that were collected since, and none of it before."""
    monkeypatch.setattr(collection, "_settled", False)
    gc.collect()
    seen = []

    def told(phase, info):
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(told)
    yield seen
    gc.callbacks.remove(told)
    gc.unfreeze()


class _Loop:
    def __init__(self):
        self.me = self


def _made(count):
    return [[] for _ in range(count)]


def test_what_was_made_meanwhile_makes_no_collection_due(collected):
    collection.hold()
    kept = _made(100_000)
    collection.release()
    assert gc.isenabled()
    kept += _made(100)
    assert collected == []


def test_garbage_of_before_is_found_by_the_next_full_collection(collected):
    loop = _Loop()
    mark = weakref.ref(loop)
    collection.hold()
    kept = _made(10_000)
    collection.release()
    del loop
    assert mark() is not None and kept
    gc.collect()
    assert mark() is None


def test_it_is_done_once_so_that_young_garbage_is_found_early(collected):
    kept = []
    for _ in range(2):
        collection.hold()
        kept += _made(100_000)
        collection.release()
    kept += _made(100)
    assert collected


def test_what_the_program_has_frozen_stays_frozen(collected):
    gc.freeze()
    frozen = gc.get_freeze_count()
    collection.hold()
    kept = _made(10_000)
    collection.release()
    assert gc.get_freeze_count() == frozen and kept


def test_nothing_is_switched_on_that_was_off(collected):
    gc.disable()
    try:
        collection.hold()
        collection.release()
        assert not gc.isenabled()
    finally:
        gc.enable()


FIRST = """
import gc
import headrace, torch
from torch.utils.data import DataLoader, Dataset, Sampler

class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index * index, gc.isenabled()

class Forwards(Sampler):
    def __iter__(self):
        print(gc.isenabled())
        return iter(range(8))

headrace.install()
loader = DataLoader(Squares(), 4, sampler=Forwards(), num_workers=1)
gc.collect()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(info["generation"]) if phase == "start" else None)
iterator = iter(loader)
count = len(seen)
print(count < 5, [each[1].tolist() for each in iterator], gc.isenabled())
"""


def test_a_first_iter_collects_little_and_code_of_the_programs_collects():
    """Its sampler runs in the trainer, its data set in a worker."""
    done = run_program(FIRST)
    assert done.stdout == f"True\nTrue {[[True] * 4] * 2} True\n", done.stderr


def _collects():
    (of_collector,) = (one for one in settings.SETTINGS if one.name == "garbage collector")
    return of_collector.read()[0]


def test_settings_that_travel_meanwhile_are_the_program_s(collected):
    collection.hold()
    assert not gc.isenabled() and _collects()
    collection.release()
    assert _collects()
    gc.disable()
    try:
        collection.hold()
        assert not _collects()
    finally:
        collection.release()
        gc.enable()


def test_a_fork_that_another_thread_makes_meanwhile_collects(collected):
    collection.hold()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    collection.release()
    assert os.waitpid(child, 0)[1] == 0
