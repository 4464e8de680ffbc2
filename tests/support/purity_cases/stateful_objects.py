"""Writes by objects of the program's own."""

import operator
from dataclasses import dataclass, field

import numpy as np
import torch

from .base import Rows


class Tally:
    """Counts each special method that Python asks it for."""

    def __init__(self):
        self.n = 0

    def step(self, *args):
        self.n += 1
        return self.n

    def __contains__(self, x):
        self.n += 1
        return False

    def __iter__(self):
        self.n += 1
        return iter([1])

    def __len__(self):
        self.n += 1
        return 1

    def __bool__(self):
        self.n += 1
        return True

    def __add__(self, x):
        self.n += 1
        return x

    __radd__ = __neg__ = __matmul__ = __getitem__ = __call__ = step

    def __enter__(self):
        self.n += 1

    def __exit__(self, *error):
        self.n += 1

    def __eq__(self, x):
        self.n += 1
        return False

    def __hash__(self):
        self.n += 1
        return 1

    def __lt__(self, x):
        self.n += 1
        return False

    def __format__(self, x):
        self.n += 1
        return ""

    def __str__(self):
        self.n += 1
        return ""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.n += 1
        return 0

    def __int__(self):
        self.n += 1
        return 1

    __index__ = __int__

    def __float__(self):
        self.n += 1
        return 1.0

    def __iadd__(self, x):
        self.n += 1
        return self

    def __setitem__(self, key, x):
        self.n += 1

    def __array__(self, dtype=None, copy=None):
        self.n += 1
        return np.zeros(1)


class _Counts(Rows):
    def __init__(self):
        super().__init__()
        self.tally = Tally()

    def __getitem__(self, i):
        self.use(self.tally)
        return self.tally.n


def using(function):
    return type(function.__name__, (_Counts,), {"use": staticmethod(function),
                                               "__module__": __name__})  # fmt: skip


In = using(lambda t: 1 in t)
Iterates = using(lambda t: [x for x in t])
Unpacks = using(lambda t: [*t])
Length = using(lambda t: len(t))
Truth = using(lambda t: 1 if t else 0)
NotTruth = using(lambda t: not t)
AndTruth = using(lambda t: t and 1)
BoolOf = using(lambda t: bool(t))
AllOf = using(lambda t: all([t]))
Adds = using(lambda t: t + 1)
AddsRight = using(lambda t: 1 + t)
Negates = using(lambda t: -t)
Multiplies = using(lambda t: t @ 1)
TakesItem = using(lambda t: t[0])
Calls = using(lambda t: t())
Equal = using(lambda t: t == 1)
EqualRight = using(lambda t: 1 == t)
EqualInList = using(lambda t: 1 in [t])
Less = using(lambda t: t < 1)
LessInMax = using(lambda t: max([t, t]))
LessInSorted = using(lambda t: sorted([t, t]))
Hashes = using(lambda t: {t: 1})
HashesInSet = using(lambda t: {t})
HashOf = using(lambda t: hash(t))
Formats = using(lambda t: f"{t}")
FormatsOld = using(lambda t: "%s" % t)  # noqa: UP031
FormatsCall = using(lambda t: "{}".format(t))  # noqa: UP032
StrOf = using(lambda t: str(t))
Missing = using(lambda t: t.anything)
IntOf = using(lambda t: int(t))
FloatOf = using(lambda t: float(t))
IndexOf = using(lambda t: [1, 2][t])
RangeOf = using(lambda t: range(t))
InPlace = using(lambda t: operator.iadd(t, 1))
SetsItem = using(lambda t: t.__setitem__(0, 1))
AsArray = using(lambda t: np.asarray(t))
SumOf = using(lambda t: sum([t]))
MapOf = using(lambda t: list(map(t, [1])))
ArrayOfList = using(lambda t: np.array([t]))
Compares = using(lambda t: [t] == [1])
Counted = using(lambda t: [t].count(1))
TensorOf = using(lambda t: torch.tensor(t))


class With(_Counts):
    @staticmethod
    def use(t):
        with t:
            pass


class Descriptor:
    def __get__(self, owner, cls=None):
        owner.n += 1
        return owner.n

    def __set__(self, owner, value):
        owner.n += 1


class ReadsDescriptor(Rows):
    held = Descriptor()

    def __getitem__(self, i):
        return self.held


class WritesDescriptor(Rows):
    held = Descriptor()

    def __getitem__(self, i):
        self.held = 1
        return self.n


class Holder:
    def __init__(self, log):
        self.log = log

    def put(self, x):
        self.log.append(x)


class HelperHolds(Rows):
    def __getitem__(self, i):
        Holder(self.log).put(i)
        return len(self.log)


class MakesDel(Rows):
    def __getitem__(self, i):
        Ending(self.log)
        return len(self.log)


class Ending(Holder):
    def __del__(self):
        self.log.append(1)


@dataclass
class Record:
    log: list
    more: list = field(default_factory=list)

    def __post_init__(self):
        self.log.append(1)


class DataclassInit(Rows):
    def __getitem__(self, i):
        Record(self.log)
        return len(self.log)


@dataclass(frozen=True)
class Frozen:
    log: list


class FrozenHolds(Rows):
    def __getitem__(self, i):
        Frozen(self.log).log.append(i)
        return len(self.log)


class Meta(type):
    calls = 0

    def __call__(cls, *args):
        Meta.calls += 1
        return Meta.calls

    def __getitem__(cls, i):
        Meta.calls += 1
        return Meta.calls


class OfMeta(metaclass=Meta):
    pass


class Metaclass(Rows):
    def __getitem__(self, i):
        return OfMeta()


class MetaItem(Rows):
    def __getitem__(self, i):
        return OfMeta[i]


class ClassItem:
    calls = []

    def __class_getitem__(cls, i):
        cls.calls.append(i)
        return len(cls.calls)


class ClassGetItem(Rows):
    def __getitem__(self, i):
        return ClassItem[i]


class Registry:
    kinds = []

    def __init_subclass__(cls):
        Registry.kinds.append(cls)


class InitSubclass(Rows):
    def __getitem__(self, i):
        class New(Registry):
            pass

        return len(Registry.kinds)


class New:
    made = []

    def __new__(cls):
        cls.made.append(1)
        return super().__new__(cls)


class CountsNew(Rows):
    def __getitem__(self, i):
        New()
        return len(New.made)


class Slots:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


class OfSlots(Rows):
    slots = Slots()

    def __getitem__(self, i):
        self.slots.n += 1
        return self.slots.n


class GetAttribute(Rows):
    def __getattribute__(self, name):
        if name == "mode":
            object.__getattribute__(self, "log").append(1)
        return object.__getattribute__(self, name)

    def __getitem__(self, i):
        self.mode  # noqa: B018
        return len(self.log)


class SetAttr(Rows):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def __getitem__(self, i):
        self.n = self.n + 1
        return self.n


class ListOfOwn(list):
    def append(self, x):
        super().append(x)


class OwnList(Rows):
    def __init__(self):
        super().__init__()
        self.own = ListOfOwn()

    def __getitem__(self, i):
        self.own.append(i)
        return len(self.own)


class MissingKey(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


class OwnMissing(Rows):
    table = MissingKey()

    def __getitem__(self, i):
        return self.table[(i * 5) % 7 if not self.table else i + len(self.table)]
