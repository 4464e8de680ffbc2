"""What Unchanged and Definitions see, and that they see it of everything that a transform holds."""

import copy
import types

import numpy as np
import pytest
import torch
from headrace.capture.unchanged import Definitions, Unchanged
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2


class Held:
    def __init__(self) -> None:
        self.number = 0.5
        self.numbers = [0.1, 0.2]
        self.named = {"a": [1, 2]}
        self.tensor = torch.zeros(3)
        self.array = np.zeros(3)
        self.inner = v1.Compose([v1.RandomHorizontalFlip(0.5), v2.Normalize([0.5], [0.5])])
        self.function = len


def put(owner, name, value):
    setattr(owner, name, value)


CHANGES = {
    "a number": lambda held: put(held, "number", 0.6),
    "its type": lambda held: put(held, "number", np.float64(0.5)),
    "an entry": lambda held: held.numbers.__setitem__(1, 0.3),
    "a longer list": lambda held: held.numbers.append(0.3),
    "a nested entry": lambda held: held.named["a"].reverse(),
    "a new name": lambda held: held.named.update(b=1),
    "an attribute more": lambda held: put(held, "other", 1),
    "an attribute less": lambda held: delattr(held, "number"),
    "a tensor in place": lambda held: held.tensor.add_(1),
    "another tensor": lambda held: put(held, "tensor", torch.zeros(3)),
    "a tensor's memory": lambda held: put(held.tensor, "data", torch.ones(3)),
    "an array in place": lambda held: held.array.__setitem__(0, 1),
    "a function": lambda held: put(held, "function", max),
    "the class": lambda held: put(held, "__class__", type("Other", (Held,), {})),
    "a transform's number": lambda held: put(held.inner.transforms[0], "p", 0.6),
    "a transform's entry": lambda held: held.inner.transforms[1].mean.__setitem__(0, 0.4),
    "a transform less": lambda held: held.inner.transforms.pop(),
    "a transform exchanged": lambda held: held.inner.transforms.__setitem__(0, nn.Identity()),
    "a hook": lambda held: held.inner.transforms[1].register_forward_hook(print),
    "all of them": lambda held: put(held, "__dict__", {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name):
    held, unchanged = Held(), Unchanged()
    unchanged.watch(held)
    assert unchanged.same()
    CHANGES[name](held)
    assert not unchanged.same()


def test_what_is_equal_is_unchanged():
    held, unchanged = Held(), Unchanged()
    unchanged.watch(held)
    held.number, held.numbers[0] = float("0.5"), float("0.1")
    assert unchanged.same()


def test_of_some_attributes_only_those():
    held, unchanged = Held(), Unchanged()
    unchanged.watch_attributes(held, ("numbers", "absent"))
    held.number, held.new = 3, 4
    assert unchanged.same()
    held.absent = 1
    assert not unchanged.same()


@pytest.fixture
def library() -> types.ModuleType:
    module = types.ModuleType("library")
    module.function, module.LIMIT, module._private = len, 3, 0
    return module


def test_definitions_are_functions_classes_and_settings(library):
    definitions = Definitions([library])
    library._private, library.added = 1, max
    assert definitions.same() and definitions.same()
    library.LIMIT = 4
    assert not definitions.same()
    library.LIMIT = 3
    assert definitions.same()
    library.function = max
    assert not definitions.same()


def test_a_method_of_a_class_is_a_definition(monkeypatch):
    definitions = Definitions([v1.Normalize])
    assert definitions.same()
    monkeypatch.setattr(v1.Normalize, "forward", lambda self, tensor: tensor)
    assert not definitions.same()


def test_a_method_that_hides_that_of_a_base_is_a_definition(monkeypatch):
    definitions = Definitions([v1.Normalize])
    monkeypatch.setattr(v1.Normalize, "__call__", lambda self, tensor: tensor, raising=False)
    assert "__call__" in vars(v1.Normalize) and not definitions.same()


def test_a_name_that_hides_a_builtin_is_a_definition(library):
    definitions = Definitions([library])
    library.len = max
    assert not definitions.same()


def test_what_pickling_leaves_on_a_class_is_none():
    class Held:
        pass

    definitions = Definitions([Held])
    copy.copy(Held())
    assert "__slotnames__" in vars(Held) and definitions.same()
