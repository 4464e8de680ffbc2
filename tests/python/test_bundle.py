"""What of a program is in a bundle: as it was, once, and in the same bytes each time."""

import multiprocessing
import re
import sys
import types
import warnings
from multiprocessing import shared_memory
from pathlib import Path

import pytest
from headrace.capture import Local, python_stage
from support.extent import some
from support.programs import run_program
from torch.utils.data import DataLoader, Dataset

# Each is a program: its code is __main__'s, and another host must make what it makes itself.
BEGINNING = """
import sys
sys.path[:0] = sys.argv[1:3]
import functools
from torch.utils.data import Dataset
from support.other_interpreter import Elsewhere

place = Elsewhere()

class Data(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return self.read(index)
"""
END = """
with place:
    data = Data()
    there = place.samples(data, [0, 1])
    here = [data[0], data[1]]
    assert there == here, (there, here)
"""
PROGRAMS = {
    "a cached function": """
        @functools.lru_cache(maxsize=7, typed=True)
        def table(n):
            return [n] * n
        table.note = "mine"
        Data.read = lambda self, i: (table(i + 2), table.cache_parameters(), table.note)
        table(3)
    """,
    "a cached method": """
        class Data(Data):
            def __init__(self):
                self.made = 0
            @functools.lru_cache(maxsize=64)
            def load(self, i):
                self.made += 1
                return i * i
            def read(self, i):
                return self.load(i), self.load(i), self.made - i
    """,
    "a cached function that calls itself": """
        @functools.cache
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        Data.read = lambda self, i: (fib(i + 20), fib.cache_info().currsize - i)
    """,
    "a cached property": """
        class Data(Data):
            @functools.cached_property
            def heavy(self):
                return [1, 2]
            def read(self, i):
                return self.heavy, self.heavy is self.heavy
    """,
    "a cached function of a helper": """
        import helper
        Data.read = lambda self, i: helper.cached(i)
    """,
    "a registry of subclasses": """
        class Base:
            kinds, told = {}, []
            def __init_subclass__(cls, **named):
                Base.kinds[cls.__name__] = cls
                Base.told.append(cls)
        class First(Base): pass
        class Second(First): pass
        def read(self, i):
            same = Base.kinds == {"First": First, "Second": Second}
            return same, isinstance(First(), Base.kinds["First"]), len(Base.told)
        Data.read = read
    """,
    "a registry, and its class first": """
        kinds = []
        class Base:
            def __init_subclass__(cls):
                kinds.append(cls)
        class First(Base): pass
        def read(self, i):
            return type(self.held) is First, kinds == [First], issubclass(First, Base)
        class Data(Data):
            def __init__(self):
                self.held, self.kinds = First(), kinds
        Data.read = read
    """,
    "subclasses made there": """
        class Base:
            kinds = []
            def __init_subclass__(cls):
                Base.kinds.append(cls.__name__)
        def read(self, i):
            Base.kinds.clear()
            class New(Base): pass
            return Base.kinds
        Data.read = read
    """,
    "a metaclass with a registry": """
        class Meta(type):
            kinds = []
            def __new__(meta, name, bases, body):
                made = super().__new__(meta, name, bases, body)
                meta.kinds.append(made)
                return made
        class First(metaclass=Meta): pass
        class Second(First):
            __slots__ = ("x",)
        def read(self, i):
            return Meta.kinds == [First, Second], type(Second) is Meta, issubclass(Second, First)
        Data.read = read
    """,
    "an abstract class": """
        import abc
        class Base(abc.ABC):
            @abc.abstractmethod
            def read(self, i): ...
        class Data(Data, Base):
            def read(self, i):
                return isinstance(self, Base), Base.__abstractmethods__
    """,
    "standard error, held by what it logs with": """
        class Sink:
            def __init__(self):
                self.to = sys.stderr
        sink = Sink()
        def read(self, i):
            return sink.to is sys.stderr
        Data.read = read
    """,
    "an open file in a helper, which nobody reads": """
        import helper
        Data.read = lambda self, i: helper.twice(i)
    """,
}
HELPER = """
import functools
LOG = open(__file__)
_aside = LOG
def log(text):
    LOG.write(text)
def twice(n):
    return [n, n]
@functools.lru_cache
def cached(n):
    return [n]
"""


def run(text, folder):
    lines = text.splitlines()
    indent = min((len(x) - len(x.lstrip()) for x in lines if x.strip()), default=0)
    (folder / "helper.py").write_text(HELPER)
    source = BEGINNING + "\n".join(line[indent:] for line in lines) + END
    tests = str(Path(__file__).parents[1])
    environment = {"PYTHONWARNINGS": "ignore"}
    return run_program(source, tests, str(folder), env=environment)


# One of each kind: caches, registries, bases, files. Each starts two interpreters.
USUAL = ["a cached function", "a registry of subclasses", "a metaclass with a registry",
         "an open file in a helper, which nobody reads"]  # fmt: skip


@pytest.mark.parametrize("name", some(PROGRAMS, USUAL))
def test_another_host_makes_what_the_program_makes(name, tmp_path):
    done = run(PROGRAMS[name], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Data.read = lambda self, i: helper.log('x')", "helper.LOG is an open file"),
        ("Data.read = lambda self, i: helper._aside", "helper._aside is an open file"),
        # Two names of one file, and any of them may be read.
        (
            "Data.read = lambda self, i: getattr(helper, 'lo' + 'g')",
            "helper.(LOG|_aside) is an open file",
        ),
        (
            "from helper import log\nData.read = lambda self, i: log('x')",
            "helper.LOG is an open file",
        ),
        (
            "class Held:\n    def __init__(self): self.file = helper.LOG\n"
            "held = Held()\nData.read = lambda self, i: held",
            "__main__.held.file is an open file",
        ),
    ],
)
def test_the_name_of_what_keeps_the_code_here(text, reason, tmp_path):
    done = run("import helper\n" + text, tmp_path)
    assert re.search(f"Local: {reason}", done.stderr), done.stderr


class Plain(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return index


def pack(dataset, **named):
    return python_stage.pack(DataLoader(dataset, **{"num_workers": 1, **named}), [])


def holding(value):
    data = Plain()
    data.held = value
    return data


def test_connections_to_other_processes_stay(request):
    with multiprocessing.Manager() as manager:
        with pytest.raises(
            Local, match=r"dataset.held is a connection to a multiprocessing.Manager"
        ):
            pack(holding(manager.dict()))
    ours, theirs = multiprocessing.Pipe()
    with (
        ours,
        theirs,
        pytest.raises(Local, match="dataset.held is a connection to another process"),
    ):
        pack(holding(ours))
    memory = shared_memory.SharedMemory(create=True, size=8)
    request.addfinalizer(memory.unlink)
    request.addfinalizer(memory.close)
    with pytest.raises(Local, match="dataset.held is memory shared with the trainer"):
        pack(holding(memory))
    with pytest.raises(Local, match="dataset.held.* is a connection to another process"):
        pack(holding(multiprocessing.get_context("fork").Queue()))


class Lazy(types.ModuleType):
    """A module of an optional dependency that is absent."""

    def __getattr__(self, name):
        warnings.warn("careful", DeprecationWarning, stacklevel=2)
        raise ImportError(f"install the optional dependency for {name}")


class Untouched(types.ModuleType):
    def __getattribute__(self, name):
        raise AssertionError(f"imported for its {name}")


def test_modules_that_are_imported_when_they_are_used_stay_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "mine_lazy", Lazy("mine_lazy"))
    monkeypatch.setitem(sys.modules, "mine_untouched", Untouched("mine_untouched"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pack(Plain())


def test_the_same_objects_give_the_same_bytes(tmp_path):
    """However often they are pickled, and whoever else pickles them in between."""
    text = """
        import abc, copy, dataclasses, enum, pickle, typing
        from headrace.capture import python_stage
        from torch.utils.data import DataLoader
        class Slotted:
            __slots__ = ("x",)
        class Base(abc.ABC):
            def __init_subclass__(cls): pass
        @dataclasses.dataclass
        class Point(Base):
            x: int = 1
        class Kind(enum.Enum):
            A = 1
        T = typing.TypeVar("T")
        class Box(typing.Generic[T]):
            pass
        @functools.lru_cache
        def cached(n):
            return n
        class Data(Data):
            def __init__(self):
                self.held = Slotted(), Point(), Kind.A, Box(), cached, functools.partial(cached, 1)
                self.names = {"a", "b", "c"}
            def read(self, i):
                return cached(i), isinstance(self.held[1], Base), "a" in self.names
        data = Data()
        def packed():
            return bytes(python_stage.pack(DataLoader(data, num_workers=1), []).bundle)
        first = packed()
        data[0], isinstance(3, Base), pickle.dumps(data.held[1]), copy.copy(data.held[0])
        pickle.dumps(data.held[0], 2), typing.get_type_hints(Box), Kind.__annotations__
        assert packed() == first and packed() == first
        import logging, warnings
        import numpy.exceptions
        warnings.filterwarnings("ignore", category=numpy.exceptions.ComplexWarning)
        logging.getLogger("numpy").setLevel(7)
        assert packed() == first
        logging.getLogger("of no package").setLevel(7)
        assert packed() != first
        Data.__len__ = lambda self: 9
        assert packed() != first
        Data.read = lambda self, i: 0
    """
    done = run(text, tmp_path)
    assert done.returncode == 0, done.stderr
