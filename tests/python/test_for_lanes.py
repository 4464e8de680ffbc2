"""What lanes find done by the process that forks them, and do not do again at each iteration."""

import importlib.util
import linecache
import multiprocessing
import sys
from types import SimpleNamespace

import pytest
import torch
from headrace.serve import lanes
from headrace.stage import functions
from support.own_process import in_own_process

needs_opencv = pytest.mark.skipif(
    importlib.util.find_spec("cv2") is None, reason="./dev test installs OpenCV"
)


def seed(results):
    real, read = linecache.updatecache, []
    linecache.updatecache = lambda name, *rest: read.append(name) or real(name, *rest)
    torch.manual_seed(3)
    results.send([name for name in read if not name.startswith("<")])


def read_by_a_fork_that_seeds():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=seed, args=(theirs,))
    process.start()
    theirs.close()
    read = ours.recv()
    process.join()
    return read


def test_a_lane_that_seeds_torch_reads_no_source_files():
    linecache.clearcache()
    assert len(read_by_a_fork_that_seeds()) > 5, "torch keeps no text of the stack any more"
    lanes.prepare_forks()
    assert read_by_a_fork_that_seeds() == []


@in_own_process
def test_a_lane_makes_no_class_for_the_c_library():
    import ctypes

    from headrace.stage import memory

    memory.libc.cache_clear()
    lanes.prepare_forks()
    ctypes.CDLL = lambda name: pytest.fail("it is looked for in each lane")
    memory.Buffers()


class ByName(dict):
    """Raises where somebody goes through it."""

    def __iter__(self):
        raise AssertionError("a count was written into each module's name")

    keys = values = items = copy = __iter__


def test_a_look_for_libraries_that_came_since_goes_through_no_modules(monkeypatch):
    monkeypatch.setattr(functions, "sys", SimpleNamespace(modules=ByName(sys.modules)))
    monkeypatch.setattr(functions.leaves, "possible", True)
    monkeypatch.setattr(functions, "_met", {one for one in functions.KEPT if one in sys.modules})
    monkeypatch.setattr(functions, "_looked", 0)
    functions.look_again()
    assert functions._looked == len(sys.modules)


@needs_opencv
@in_own_process
def test_a_lane_takes_the_entries_that_were_made_before_the_fork():
    import cv2
    from headrace.stage import functions

    functions.prepare()
    real, made = cv2.imdecode, functions._entries
    cv2.imread = own = lambda *args: None
    functions._entries = lambda: pytest.fail("they are made again in each lane")
    functions.enable(by_value=False, as_prepared=True)
    functions._entries = made
    assert cv2.imread is own, "which the program has put there since"
    assert type(cv2.imdecode).__name__ == "Replaced" and cv2.imdecode == real


@needs_opencv
@in_own_process
def test_a_library_that_came_after_the_fork_is_served_too():
    from headrace.stage import functions

    functions.prepare()
    import cv2

    functions.enable(by_value=False, as_prepared=True)
    assert type(cv2.imdecode).__name__ == "Replaced"
