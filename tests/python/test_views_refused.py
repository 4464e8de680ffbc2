"""Programs that do more than to apply torchvision's transforms are refused, and not run."""

import builtins
import re

import pytest
from headrace.capture.views import views_of
from headrace.native.plan import NotNative
from support.view_cases import CASES, RAN, Base, objects
from support.view_cases.base import END
from support.view_cases.chance import OwnBlur


def range_of_ours(n):
    RAN.append(n)
    yield from (0, 1)


@pytest.mark.parametrize("name", CASES)
def test_more_than_transforms_is_refused(name):
    make, text = CASES[name]
    transform = make()
    RAN.clear()
    with pytest.raises(NotNative, match="has no native form|hooks|replaced") as refused:
        views_of(transform)
    assert re.search(text, str(refused.value)), str(refused.value)
    assert refused.value.remedy
    assert not RAN


def test_the_cases_differ_from_what_is_native():
    assert views_of(Base()).result == [0, 1] and views_of(objects.Module()).result == 0


def test_a_reason_names_the_transform_and_the_place():
    with pytest.raises(NotNative) as refused:
        views_of(CASES["DrawsInItsOwnTransform"][0]())
    line = OwnBlur.__call__.__code__.co_firstlineno + 1
    assert f"OwnBlur.__call__ (chance.py:{line}) decides" in str(refused.value)
    assert "DrawsInItsOwnTransform has no native form" in str(refused.value)


@pytest.mark.parametrize("name", ["range", "list", "map"])
def test_a_builtin_that_the_module_hides_is_the_modules(monkeypatch, name):
    monkeypatch.setitem(globals(), name, range_of_ours)
    shown = {"range": HidesRange, "list": HidesList, "map": HidesMap}[name]
    with pytest.raises(NotNative, match="range_of_ours, which is a generator"):
        views_of(shown())


class HidesRange(Base):
    def __call__(self, x):
        return [END(x) for _ in range(2)]


class HidesList(Base):
    def __call__(self, x):
        return list([END(x)])  # noqa: C410


class HidesMap(Base):
    def __call__(self, x):
        return [*map(END, [x])]


@pytest.mark.parametrize("name", ["range", "list", "map"])
def test_a_builtin_that_is_replaced_is_not_the_builtin(monkeypatch, name):
    shown = {"range": HidesRange, "list": HidesList, "map": HidesMap}[name]
    assert views_of(shown())
    other = type(name, (), {"__module__": "builtins"})
    monkeypatch.setattr(builtins, name, other)
    try:
        views_of(shown())
    except NotNative as refused:
        reason = str(refused)
    monkeypatch.undo()
    assert f"builtins.{name}, which the program has replaced" in reason
