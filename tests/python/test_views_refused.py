"""Programs that do more than to apply torchvision's transforms are refused, and not run."""

import abc
import builtins
import functools
import random
import re

import numpy as np
import pytest
import torch
from headrace.capture.views import views_of
from headrace.native.plan import NotNative
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import functional as F
from torchvision.transforms import v2

END = v1.ToTensor()
PAD = v1.Pad(1)
COUNT = 2
RAN = []  # what was run of the code below


def range_of_ours(n):
    RAN.append(n)
    yield from (0, 1)


class Base:
    """A view that is native; each case below differs from it in one thing."""

    def __init__(self):
        self.t, self.n, self.ts, self.named = END, 2, [END, END], {"a": END}

    def __call__(self, x):
        return [self.t(x) for _ in range(self.n)]


CASES = {}


def case(text, name=""):
    """`text`: what the reason says."""

    def note(made):
        CASES[name or made.__name__] = (made, text)
        return made

    return note


# Random numbers of other generators than torchvision's transforms draw from.


class OwnBlur:
    def __call__(self, x):
        return END(x) if random.random() < 0.5 else x


@case(r"OwnBlur.__call__ \(test_views_refused.py:\d+\) calls random.random, which")
class DrawsInItsOwnTransform(Base):
    def __init__(self):
        super().__init__()
        self.t = v1.Compose([OwnBlur(), END])


@case("calls np.random.uniform, which")
class DrawsWithNumpy(Base):
    def __call__(self, x):
        return END(x) if np.random.uniform() < 0.5 else PAD(x)


@case("calls torch.rand, which")
class DrawsWithTorch(Base):
    def __call__(self, x):
        return [END(x), torch.rand(1)]


@case("decides by what was made of the picture")
class DecidesByThePicture(Base):
    def __call__(self, x):
        y = END(x)
        return y if y else PAD(x)


@case("uses .size of the picture")
class LooksAtThePicture(Base):
    def __call__(self, x):
        return END(x) if x.size[0] > 3 else PAD(x)


@case("calls isinstance")
class AsksForTheType(Base):
    def __call__(self, x):
        return END(x) if isinstance(x, int) else PAD(x)


# Attributes that are code.


@case("uses .views of .*APropertyThatDraws, which is a property")
class APropertyThatDraws(Base):
    @property
    def views(self):
        RAN.append("views")
        return random.choice([1, 2])

    def __call__(self, x):
        return [END(x) for _ in range(self.views)]


@case("which its __getattr__ makes")
class GetattrOfItsOwn(Base):
    def __getattr__(self, name):
        RAN.append(name)
        return 2

    def __call__(self, x):
        return [END(x) for _ in range(self.views)]


@case("has a __getattribute__ of its own")
class GetattributeOfItsOwn(Base):
    def __getattribute__(self, name):
        if name == "n":
            RAN.append(name)
        return object.__getattribute__(self, name)


@case("which is a member_descriptor")
class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 2

    def __call__(self, x):
        return [END(x) for _ in range(self.n)]


class Descriptor:
    def __get__(self, owner, cls):
        RAN.append("get")
        return 2


@case("which is a Descriptor")
class ADescriptor(Base):
    count = Descriptor()

    def __call__(self, x):
        return [END(x) for _ in range(self.count)]


@case("which is a cached_property")
class ACachedProperty(Base):
    @functools.cached_property
    def count(self):
        RAN.append("count")
        return 2

    def __call__(self, x):
        return [END(x) for _ in range(self.count)]


@case("which is a classmethod")
class AClassMethod(Base):
    @classmethod
    def view(cls, x):
        RAN.append("view")
        return END(x)

    def __call__(self, x):
        return self.view(x)


class Meta(type):
    def __getattribute__(cls, name):
        if name == "__call__":
            RAN.append(name)
        return super().__getattribute__(name)


@case("which is not followed")
class AMetaclass(Base, metaclass=Meta):
    pass


@case("uses __n, whose name a class changes")
class APrivateName(Base):
    def __call__(self, x):
        return [END(x) for _ in range(self.__n)]


@case("whose __dict__ is its own affair")
class ADictOfItsOwn(Base):
    @property
    def __dict__(self):
        RAN.append("dict")
        return {"n": 3}


@case("uses .absent of .*, which is not there")
class AnAttributeThatIsNotThere(Base):
    def __call__(self, x):
        return self.absent(x)


# Objects that were altered, and classes that derive from a library's.


@case("its forward was replaced")
class AnAlteredTransform(Base):
    def __init__(self):
        super().__init__()
        self.t = v1.Pad(1)
        self.t.forward = RAN.append


@case("whose class derives from torchvision's Pad")
class ADerivedTransform(Base):
    class Mine(v1.Pad):
        def forward(self, image):
            RAN.append("forward")
            return super().forward(image)

    def __init__(self):
        super().__init__()
        self.t = self.Mine(1)


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = v2.ToImage()

    def forward(self, x):
        return self.t(x)


@case("which has hooks")
class AHook(Module):
    def __init__(self):
        super().__init__()
        self.register_forward_hook(lambda *_: RAN.append("hook"))


@case("has forward hooks")
class AHookOfATransform(Module):
    def __init__(self):
        super().__init__()
        self.t.register_forward_pre_hook(lambda *_: RAN.append("hook"))


@case("which is compiled")
class ACompiledModule(Module):
    def __init__(self):
        super().__init__()
        self._compiled_call_impl = RAN.append


class OwnList(list):
    def __iter__(self):
        RAN.append("iter")
        return iter([END])


@case("goes through .*OwnList")
class ASubclassOfList(Base):
    def __init__(self):
        super().__init__()
        self.ts = OwnList([END, END])

    def __call__(self, x):
        return [t(x) for t in self.ts]


class OwnDict(dict):
    def __getitem__(self, key):
        RAN.append(key)
        return END


@case("takes an entry of .*OwnDict")
class ASubclassOfDict(Base):
    def __init__(self):
        super().__init__()
        self.named = OwnDict(a=PAD)

    def __call__(self, x):
        return self.named["a"](x)


class Appends(list):
    def append(self, value):
        RAN.append(value)


@case("calls .*Appends, which is not followed")
class AnAppendOfItsOwn(Base):
    def __call__(self, x):
        crops = Appends()
        crops.append(END(x))
        return crops


class Key:
    def __hash__(self):
        RAN.append("hash")
        return hash("a")


@case("a dict whose keys are objects")
class KeysThatAreObjects(Base):
    def __init__(self):
        super().__init__()
        self.named = {"a": END, Key(): PAD}
        RAN.clear()

    def __call__(self, x):
        return self.named["a"](x)


# State.


@case("sets an attribute")
class ACounter(Base):
    def __call__(self, x):
        self.n = self.n + 1
        return END(x)


@case("has an assignment to an attribute")
class ACounterInPlace(Base):
    def __call__(self, x):
        self.n += 1
        return END(x)


@case("uses .append of a list that is kept")
class KeepsThePicture(Base):
    def __call__(self, x):
        self.ts.append(x)
        return END(x)


@case("changes a kept list in place")
class GrowsAListUnderAnotherName(Base):
    def __call__(self, x):
        ts = self.ts
        ts += [END]
        return [t(x) for t in ts]


@case("uses .append of a list that is kept")
class KeepsInADefault(Base):
    def __call__(self, x, kept=[]):  # noqa: B006
        kept.append(x)
        return END(x)


@case("has a global statement")
class AGlobal(Base):
    def __call__(self, x):
        global COUNT
        COUNT = COUNT + 1
        return END(x)


@case("sets an entry of")
class SetsAnEntryOfItsDict(Base):
    def __call__(self, x):
        self.named["last"] = END(x)
        return END(x)


def counting():
    n = 0

    def views(x):
        nonlocal n
        n = n + 1
        return END(x)

    return views


case("has a nonlocal statement", "a nonlocal")(counting)


# Statements and expressions that are not followed.


@case("has an assignment inside an expression")
class AWalrus(Base):
    def __call__(self, x):
        return [(y := END(x)), y]


@case("which is a generator or a coroutine")
class AGenerator(Base):
    def __call__(self, x):
        yield END(x)


@case("which is a generator or a coroutine")
class ACoroutine(Base):
    async def __call__(self, x):
        return END(x)


@case("has a generator")
class AGeneratorInside(Base):
    def __call__(self, x):
        def views():
            yield END(x)

        return list(views())


@case("has a decorator")
class ADecoratorInside(Base):
    def __call__(self, x):
        @functools.cache
        def view():
            return END(x)

        return view()


@case("returns an iterator")
class ReturnsAnIterator(Base):
    def __call__(self, x):
        return (t(x) for t in self.ts)


@case("has a try statement")
class ATry(Base):
    def __call__(self, x):
        try:
            return END(x)
        except ValueError:
            return PAD(x)


@case("has a with statement")
class AWith(Base):
    def __call__(self, x):
        with torch.no_grad():
            return END(x)


@case("has a raise")
class ARaise(Base):
    def __call__(self, x):
        if self.n == 2:
            raise ValueError("two")
        return END(x)


@case("has a while loop")
class AWhile(Base):
    def __call__(self, x):
        views = []
        while len(views) < 2:
            views.append(END(x))
        return views


@case("has an import")
class AnImport(Base):
    def __call__(self, x):
        import random as chance

        return END(x) if chance.random() else x


@case("calls super")
class Super(Base):
    def __call__(self, x):
        return super().__call__(x)


@case("starred argument")
class AStarredArgument(Base):
    def __call__(self, x):
        return END(*[x])


@case("which takes any arguments")
class AnyArguments(Base):
    def __call__(self, *args):
        return END(args[0])


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        RAN.append(args)
        return function(*args)

    return wrapper


@case("which is wrapped by a decorator")
class ADecorator(Base):
    @logged
    def __call__(self, x):
        return END(x)


def logged_plainly(function):
    def wrapper(self, x):
        RAN.append(x)
        return function(self, x)

    return wrapper


@case("uses .append of a list that is kept")
class ADecoratorThatHides(Base):
    @logged_plainly
    def __call__(self, x):
        return END(x)


@case("uses y before it is set")
class BeforeItIsSet(Base):
    def __call__(self, x):
        if not self.n:
            y = x
        return END(y)


@case("unpacks 2 values to 3 names")
class UnpacksWrongly(Base):
    def __call__(self, x):
        a, b, c = [END(x), END(x)]
        return a, b, c


# Calls.


@case("calls torch.stack, which")
class Stacks(Base):
    def __call__(self, x):
        return torch.stack([END(x), END(x)])


@case("calls torchvision.transforms.functional.hflip")
class CallsAFunctionOfTorchvision(Base):
    def __call__(self, x):
        return END(F.hflip(x))


@case("calls print")
class Prints(Base):
    def __call__(self, x):
        print("a sample")
        return END(x)


@case("calls getattr")
class GetsByName(Base):
    def __call__(self, x):
        return getattr(self, "t")(x)  # noqa: B009


@case("uses .copy of the picture")
class CallsAMethodOfThePicture(Base):
    def __call__(self, x):
        return END(x.copy())


@case("applies .*ToTensor to a list, not to a picture")
class AppliesToAList(Base):
    def __call__(self, x):
        return END([x, x])


@case("applies .*ToTensor to 3, not to a picture")
class AppliesToANumber(Base):
    def __call__(self, x):
        return END(3)


@case("with other than one picture")
class AppliesToTwo(Base):
    def __call__(self, x):
        return v2_image(x, x)


v2_image = v2.ToImage()


@case("makes several pictures at once")
class Crops(Base):
    def __call__(self, x):
        return [END(crop) for crop in FIVE(x)]


FIVE = v1.FiveCrop(4)


@case("without x")
class CallsWithoutAnArgument(Base):
    def one(self, x):
        return END(x)

    def __call__(self, x):
        return self.one()


@case("in each other, more than")
class CallsItself(Base):
    def __call__(self, x):
        return self(x)


@case("goes on for too long")
class GoesOnForLong(Base):
    def __call__(self, x):
        for _ in range(1_000_000_000):
            y = END
        return y(x)


@case("goes on for too long|makes over")
class ExtendsAListByItself(Base):
    def __call__(self, x):
        views = [END(x)]
        views.extend(view for view in views)
        return views


@case("makes over")
class Doubles(Base):
    def __call__(self, x):
        views = [END(x)]
        for _ in range(60):
            views = views + views
        return views


@case("goes on for too long")
class Nests(Base):
    def __call__(self, x):
        views = [END(x)]
        for _ in range(60):
            views = [views, views]
        return views


@case("applies over 1,000 transforms")
class AppliesForever(Base):
    def __call__(self, x):
        for _ in range(2000):
            x = PAD(x)
        return END(x)


@case(r"applies Normalize\(inplace=True\) to a tensor that it uses elsewhere")
class ChangesASharedValue(Base):
    def __call__(self, x):
        y = v2_image(x)
        return y, IN_PLACE(IDENTITY(y))


IN_PLACE, IDENTITY = v1.Normalize([0.5], [0.5], inplace=True), nn.Identity()


# What is returned.


@case("returns the picture itself, a PIL image")
class ReturnsThePicture(Base):
    def __call__(self, x):
        return x, END(x)


@case("returns a PIL image, not a tensor")
class ReturnsPil(Base):
    def __call__(self, x):
        return PAD(x), END(x)


@case("returns no picture")
class ReturnsNothing(Base):
    def __call__(self, x):
        return [[END(x)][1:], {}]


@case("returns None, which is no picture")
class ForgetsToReturn(Base):
    def __call__(self, x):
        END(x)


@case("returns 1, which is no picture")
class ReturnsANumberToo(Base):
    def __call__(self, x):
        return END(x), 1


@case("returns .*ToTensor")
class ReturnsATransform(Base):
    def __call__(self, x):
        return END(x), END


@case("keys are neither texts nor integers")
class ReturnsOddKeys(Base):
    def __call__(self, x):
        return {None: END(x)}


@case("has a set")
class ReturnsASet(Base):
    def __call__(self, x):
        return {END(x)}


two = lambda x: END(x), lambda x: PAD(x)  # noqa: E731
case("shares its line with another lambda", "two lambdas")(lambda: two[0])
case("is not what its file says", "no text")(lambda: eval("lambda x: END(x)", globals()))
case("has no native form", "an uncallable")(lambda: 3)
case("abs has no native form: it calls abs, which", "a builtin")(lambda: abs)
case("ABC has no native form: it is no code that can be followed", "an abstract object")(abc.ABC)


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
    assert views_of(Base()).result == [0, 1] and views_of(Module()).result == 0


def test_a_reason_names_the_transform_and_the_place():
    with pytest.raises(NotNative) as refused:
        views_of(CASES["DrawsInItsOwnTransform"][0]())
    line = OwnBlur.__call__.__code__.co_firstlineno + 1
    assert f"OwnBlur.__call__ (test_views_refused.py:{line}) calls" in str(refused.value)
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
