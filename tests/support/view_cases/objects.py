"""Attributes that are code, objects that were altered, classes that derive from a library's."""

import enum
import functools
import random

from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

from .base import END, PAD, RAN, Base, case

# Attributes that are code.


@case("uses .views of .*APropertyThatDraws, which is a property")
class APropertyThatDraws(Base):
    @property
    def views(self):
        RAN.append("views")
        return random.choice([1, 2])

    def __call__(self, x):
        return [END(x) for _ in range(self.views)]


@case("uses .count of .*APropertyBeforeTheObjectsOwn, which is a property")
class APropertyBeforeTheObjectsOwn(Base):
    def __init__(self):
        super().__init__()
        self.__dict__["count"] = 2

    @property
    def count(self):
        RAN.append("count")
        return 3

    def __call__(self, x):
        return [END(x) for _ in range(self.count)]


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


@case("objects.AMetaclass has no native form$")
class AMetaclass(Base, metaclass=Meta):
    pass


class LookedAt(type):
    def __getattribute__(cls, name):
        if name == "__mro__":
            RAN.append(name)
        return super().__getattribute__(name)


class Settings(metaclass=LookedAt):
    def __init__(self):
        self.n = 2


class Lengths(enum.Enum):
    """One that compares by code of its own is not followed as InterpolationMode is."""

    SHORT = 2

    def __eq__(self, other):
        RAN.append("eq")
        return self is other

    __hash__ = None


@case("Lengths, which has a metaclass")
class AnEnumWithCode(Base):
    def __call__(self, x):
        return [END(x), Lengths.SHORT][:1]


@case("computes with 1 and 0: division by zero")
class AQuotientThatRaises(Base):
    def __call__(self, x):
        return [END(x)] * int(1 / 0)


@case("too large")
class AQuotientThatOverflows(Base):
    def __call__(self, x):
        return [END(x)] * int(self.huge / 2)

    huge = 10**400


@case("Settings, which has a metaclass")
class AMetaclassOfWhatItHolds(Base):
    def __init__(self):
        super().__init__()
        self.settings = Settings()

    def __call__(self, x):
        return [END(x) for _ in range(self.settings.n)]


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


class Sized:
    def __len__(self):
        RAN.append("len")
        return 0


@case("decides by .*Sized")
class ALengthOfItsOwn(Base):
    def __init__(self):
        super().__init__()
        self.sized = Sized()

    def __call__(self, x):
        return END(x) if self.sized else END(PAD(x))


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


@case("whose modules are not numbered")
class ModulesWithOtherNames(Base):
    def __init__(self):
        super().__init__()
        self.ts = nn.ModuleList([v2.ToImage(), v2.ToImage()])
        self.ts._modules = {"1": self.ts[0], "0": self.ts[1]}

    def __call__(self, x):
        return self.ts[0](x)


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
