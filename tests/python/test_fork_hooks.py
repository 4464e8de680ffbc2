"""What runs at each fork: a library's own, or the program's."""

import sys
import types

import pytest
import torch
from headrace.process import fork_hooks
from headrace.process.fork_hooks import _is_librarys
from support.own_process import in_own_process


@pytest.fixture
def module(monkeypatch):
    def add(name, file):
        made = types.ModuleType(name)
        made.__file__ = file
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return add


def compiled(module_name):
    """As Cython makes a function: its code names a source that is not here."""

    class cython_function_or_method:
        __code__ = types.SimpleNamespace(co_filename="some/_objects.pyx")

        def __call__(self):
            pass

    made = cython_function_or_method()
    made.__module__ = module_name
    return made


def test_compiled_functions_are_their_modules(module):
    import numpy

    module("some._objects", numpy.__file__)
    module("own_objects", "/some/where/own_objects.so")
    assert _is_librarys(compiled("some._objects"))
    assert not _is_librarys(compiled("own_objects"))
    assert not _is_librarys(compiled("not_there"))


def test_functions_are_in_the_file_of_their_code():
    def own():
        pass

    own.__module__ = "threading"
    assert not _is_librarys(own)
    beside_torch = own.__code__.replace(co_filename=sys.modules["torch"].__file__)
    assert _is_librarys(types.FunctionType(beside_torch, {}))


@in_own_process
def test_the_import_of_h5py_keeps_nothing_here():
    import h5py

    assert h5py.__name__ and fork_hooks.in_children() == "" and fork_hooks.around_forks() == ""


def hook_of(file: str) -> object:
    names: dict = {}
    exec(compile("def hook(): pass", file, "exec"), names)
    return names["hook"]


@pytest.mark.parametrize(
    "file",
    [
        "/somebody/.local/lib/python3.12/site-packages/library/forks.py",
        "/usr/lib/python3/dist-packages/library.py",
    ],
)
def test_libraries_of_other_places_than_this_environments(file):
    assert fork_hooks._first_own([hook_of(file)]) == ""


@pytest.mark.parametrize("file", ["/somebody/train.py", "/somebody/my-site-packages/train.py"])
def test_the_programs_own(file):
    assert "hook runs at each fork" in fork_hooks._first_own([hook_of(file)])


def test_torchs_wherever_it_lies(monkeypatch):
    """It registers this at its import."""
    monkeypatch.setattr(fork_hooks, "LIBRARIES", ())
    monkeypatch.setattr(fork_hooks, "_SITES", frozenset())
    assert fork_hooks._first_own([torch.get_num_threads]) == ""
