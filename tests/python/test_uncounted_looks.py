"""Looks at each iter() that write nothing into what they look at. What the trainer shares with a lane is copied when one
of the two writes into it, page by page."""

import contextlib
import functools
import gc
import os
import resource
import sys
from types import ModuleType

import headrace._client
import pytest
from headrace.native import alterations, binding
from support.own_process import in_own_process

EVERYTHING = alterations.BATCHES, alterations.DATASETS, alterations.PICTURES, alterations.TRANSFORMS


@contextlib.contextmanager
def shared_memory():
    """While there is a fork of this process."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    try:
        yield
    finally:
        os.close(ours), os.close(theirs)
        assert os.waitpid(pid, 0)[1] == 0


def pages_written(look):
    look()
    gc.disable()  # a collection writes into all objects
    with shared_memory():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        look()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def whole():
    assert alterations.first_alteration(EVERYTHING) == ""


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="names of modules have no count there, to compare with"
)
@in_own_process
def test_a_look_at_whole_libraries_copies_no_pages_of_them():
    import torchvision  # noqa: F401 - is looked at

    whole()
    counted = pages_written(lambda: list(sys.modules))
    assert counted > 200, "a count in each name of a module"
    assert pages_written(whole) < counted
    for group, seen in alterations._seen.items():
        look = functools.partial(seen.same, alterations._modules_of(group))
        if ".abi3." in headrace._client.__file__:
            look = seen._watch.same  # the stable ABI looks at parts of functions as Python does
        assert 4 * pages_written(look) < counted, f"classes or functions of {group} are counted"


def test_keys():
    table = {"a": 1, "b": 2}
    keys = list(table)
    assert binding.keys_are(table, keys)
    assert not binding.keys_are(table, ["b", "a"]) and not binding.keys_are(table, ["a"])
    assert not binding.keys_are(table, [*keys, "c"]) and not binding.keys_are({}, keys)
    same = "".join(["ab"]) * 2
    assert not binding.keys_are({same: 1}, ["".join(["ab"]) * 2]), "an equal name is another one"

    class Other(dict):
        pass

    assert not binding.keys_are(Other(table), keys), (
        "it may go through its keys in a way of its own"
    )


def test_items():
    one, other = object(), object()
    items = {"a": one, "b": other}
    assert binding.items_are(dict(items), items) and binding.items_are({}, {})
    assert binding.items_are({"b": other, "a": one}, items), "in any order"
    for table in ({"a": one}, {**items, "c": one}, {"a": one, "b": one}, {"a": one, "c": other}):
        assert not binding.items_are(table, items)
    assert not binding.items_are({"a": [1]}, {"a": [1]}), "an equal value is another one"


class Hostile(str):
    """A name whose comparison is code of the program's."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise AssertionError("code of the program's ran")


def test_names_run_no_code():
    name = Hostile("a")
    table = {name: 1, "b": 2}
    assert binding.items_are(table, table)
    assert not binding.names_are(table, (name,), (1,))
    assert not binding.items_are({"b": 2, name: 1}, table), "it is not looked up"


def test_some_names():
    one, other = object(), object()
    table = {"a": one, "b": other}
    assert binding.names_are(table, ("b",), (other,)) and binding.names_are(table, (), ())
    assert not binding.names_are(table, ("b",), (one,))
    assert not binding.names_are(table, ("c",), (None,)), "there is none"
    assert not binding.names_are(table, ("a", "b"), (one,))


def pair():
    def function(a, b=[], *, c=()):  # noqa: B006
        return a, b, c

    def plain():
        return 1

    return [function, plain]


NEW_PARTS = {
    "__code__": (lambda a, b, c: 2).__code__,
    "__defaults__": ([],),  # equal to what it had
    "__kwdefaults__": {"c": ()},
}


@pytest.mark.parametrize("name", NEW_PARTS)
def test_parts_of_functions(name):
    functions = pair()
    parts = [alterations._parts_of(function) for function in functions]
    assert binding.parts_are(functions, parts)
    assert not binding.parts_are(pair(), parts), "others of the same text"
    assert not binding.parts_are(functions[:1], parts)
    with pytest.raises(TypeError):
        binding.parts_are(functions, [(), ()])
    setattr(functions[0], name, NEW_PARTS[name])
    assert not binding.parts_are(functions, parts)


def test_a_class_that_changes_is_seen():
    class Changing:
        def method(self):
            return 1

    module = ModuleType("some_module")
    module.function = lambda: 1
    watch = alterations.Watch([Changing], [module])
    assert watch.same()
    real = Changing.method
    Changing.method = lambda self: 2
    assert not watch.same()
    Changing.method = real
    assert watch.same()
    Changing.other = 1
    assert not watch.same()
    del Changing.other
    assert watch.same()
    module.function = lambda: 1
    assert not watch.same()
    del module.function
    assert not watch.same()
