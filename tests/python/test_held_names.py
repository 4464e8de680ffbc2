"""What is looked for in a program's modules before lanes are forked."""

import importlib.util
import os
import sys
from types import ModuleType

import pytest
from headrace.process.fork_hooks import LIBRARIES
from headrace.process.module_table import ModuleTable
from headrace.stage.held_names import HeldNames
from support.own_process import in_own_process


def library_function():
    """Stands for a library's."""


WANTED = {id(library_function): "library_function"}


@pytest.fixture
def module(monkeypatch):
    def add(name, file=None, **names):
        made = ModuleType(name)
        if file is not None:
            made.__file__ = file
        vars(made).update(names)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return add


def found(held):
    return {(space["__name__"], name) for space, name, _ in held.look(WANTED)}


def test_a_table_tells_what_is_new_and_whether_something_has_gone(module, monkeypatch):
    table = ModuleTable()
    kept, names = table.news()
    assert not kept and names == list(sys.modules)
    assert table.news() == (True, [])
    module("first_new_one")
    module("second_new_one")
    assert table.news() == (True, ["first_new_one", "second_new_one"])
    monkeypatch.delitem(sys.modules, "first_new_one")
    assert table.news() == (False, list(sys.modules))
    monkeypatch.delitem(sys.modules, "second_new_one")
    module("third_new_one")  # as many as before
    assert table.news() == (False, list(sys.modules))


def test_names_in_modules_of_the_program_and_of_libraries(module):
    held = HeldNames()
    installed = os.path.join(LIBRARIES[-1], "some_library.py")
    module("own", library_function=library_function, alias=library_function, other=len)
    module("some_library", installed, library_function=library_function, alias=library_function)
    module("torch.some_part", installed, library_function=library_function)  # has too many to look
    here = (__name__, "library_function")
    known = {("own", "library_function"), ("own", "alias"), ("some_library", "library_function")}
    assert found(held) - {here} == known
    module("later", again=library_function)
    sys.modules["own"].late = library_function
    assert found(held) - {here} == known | {("later", "again"), ("own", "late")}
    assert ("own", "other") in {
        (space["__name__"], name) for space, name, _ in held.look({id(len): "len"})
    }


@pytest.mark.skipif(importlib.util.find_spec("cv2") is None, reason="./dev test installs OpenCV")
@in_own_process
def test_what_a_lane_has_replaced_since_stays_its_own():
    import cv2
    from headrace.stage import functions

    program = ModuleType("program")
    program.read, program.decode = cv2.imread, cv2.imdecode
    sys.modules["program"] = program
    functions.prepare()
    cv2.imread = own = lambda *args: None
    functions.enable(by_value=False)
    assert cv2.imread is own
    assert type(program.read).__name__ == "builtin_function_or_method"
    assert type(program.decode).__name__ == type(cv2.imdecode).__name__ == "Replaced"
