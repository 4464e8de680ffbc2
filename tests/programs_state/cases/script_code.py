"""Classes and functions of a script that are hard to send by name: registries, caches, samples of one's own."""

import abc
import collections
import dataclasses
import functools
import sys
import typing
from enum import Enum

import attrs
import torch
from bits import epochs, say, show
from cases import case, looked, main
from torch.utils.data import DataLoader, Dataset, Subset


class Table:
    """Its constructor leaves something on the class, which no unpickling does."""

    values: typing.ClassVar[dict] = {}

    def __init__(self):
        type(self).values["filled"] = 9


class Kind:
    kinds: typing.ClassVar[dict] = {}

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        Kind.kinds[cls.__name__] = cls


class Round(Kind):
    pass


@case(workers=2, always=True)
def registry_of_subclasses():
    looked(lambda i: str((Kind.kinds["Round"] is Round, isinstance(Round(), Kind.kinds["Round"]))))


@case()
def registry_of_subclasses_and_a_data_set_in_it():
    class Listed(Dataset, Kind):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return i, str(Kind.kinds["Listed"] is type(self))

    epochs(DataLoader(Listed(), 2, num_workers=2))


@functools.lru_cache
def _table(n):
    return n * n


class Cached(Dataset):
    def __len__(self):
        return 8

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def load(self, i):
        return torch.ones(2) * i

    @functools.cached_property
    def offset(self):
        return 5

    def __getitem__(self, i):
        return self.load(i), _table(i), self.offset


@case(workers=2, hosts=2)
def cache_of_a_method():
    epochs(DataLoader(Cached(), 2, num_workers=2), 2)


@case()
def cache_of_a_function():
    looked(lambda i: _table(i % 3), 2)


@case(always=True)
def counts_of_a_cache():
    looked(lambda i: str((_table(i % 3), _table.cache_info())), 2)


@case()
def cache_filled_by_the_program():
    _table.cache_clear()
    _table(100)
    looked(lambda i: str(_table.cache_info().currsize))


@functools.singledispatch
def _widen(value):
    return f"any {value}"


@case(hosts=2)
def dispatch_registered_at_run_time():
    _widen.register(int, lambda value: f"int {value}")
    looked(lambda i: _widen(i))


@case()
def abstract_class_registered():
    class Sized(abc.ABC):  # noqa: B024
        pass

    Sized.register(Table)
    table = Table()
    looked(lambda i: str(isinstance(table, Sized)))


@dataclasses.dataclass
class Sample:
    index: int
    pixels: torch.Tensor
    note: str = "plain"


@case(workers=2, hosts=2)
def dataclass_samples():
    looked(lambda i: Sample(i, torch.ones(2) * i), collate_fn=list)


@case()
def dataclass_batches():
    def collate(items):
        return Sample(len(items), torch.stack([torch.tensor(i) for i, _ in items]), "batch")

    looked(lambda i: i, collate_fn=collate)


@attrs.define
class Attrs:
    index: int
    pixels: torch.Tensor = attrs.field(factory=lambda: torch.zeros(2))


@case()
def attrs_samples():
    looked(lambda i: attrs.asdict(Attrs(i)))


class Named(typing.NamedTuple):
    index: int
    pixels: torch.Tensor


@case()
def named_tuple_samples():
    looked(lambda i: Named(i, torch.ones(2) * i))


Point = collections.namedtuple("Point", "x y", defaults=[5])


@case()
def named_tuple_made_at_run_time():
    looked(lambda i: Point(i))


class Split(Enum):
    TRAIN = "train"
    TEST = "test"


@case(hosts=2)
def members_of_an_enumeration():
    looked(lambda i: (Split.TRAIN, Split("test")), collate_fn=list)
    show(Split.TRAIN is Split("train"))


@case()
def member_of_an_enumeration_is_the_same():
    looked(
        lambda i: Split.TRAIN, collate_fn=lambda items: [item[1] is Split.TRAIN for item in items]
    )


class Slots(Dataset):
    __slots__ = ("size",)

    def __init__(self):
        self.size = 8

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return torch.ones(2) * i


@case()
def data_set_with_slots():
    epochs(DataLoader(Subset(Slots(), [5, 3, 1, 6]), 2, num_workers=2))


@case()
def lambda_over_a_generator_function():
    squares = (n * n for n in range(100))
    looked(lambda i: next(squares), 2)


@case()
def things_that_no_pickle_takes():
    import threading

    lock, frame = threading.Lock(), sys._getframe()

    def look(i):
        with lock:
            return str(frame is not None)

    looked(look)


@case(always=True)
def class_made_by_exec():
    space = {"Dataset": Dataset, "torch": torch}
    text = "class Made(Dataset):\n def __len__(s): return 8\n def __getitem__(s, i): return torch.ones(2) * i"
    exec(text, space)
    epochs(DataLoader(space["Made"](), 2, num_workers=2))


@case()
def class_defined_again():
    for factor in (2, 3):

        class Again(Dataset):
            factor_of_class = factor

            def __len__(self):
                return 4

            def __getitem__(self, i):
                return self.factor_of_class * i

        epochs(DataLoader(Again(), 2, num_workers=2))


@case()
def method_put_on_the_instance():
    data = Slots.__new__(type("Open", (Slots,), {}))
    data.size = 6
    data.load = lambda i: i + 50
    type(data).__getitem__ = lambda self, i: self.load(i)
    epochs(DataLoader(data, 2, num_workers=2))


@case()
def metaclass_that_counts():
    class Meta(type):
        made = 0

        def __call__(cls, *args):
            Meta.made += 1
            return super().__call__(*args)

    class Item(metaclass=Meta):
        pass

    Item()
    looked(lambda i: Item() and Meta.made)
    say(str(Meta.made))


if __name__ == "__main__":
    main()
