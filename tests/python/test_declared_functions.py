"""Declared functions in lanes: what is found is what the function would return, and what looks pure and is not is
found out, or never kept."""

import enum
import functools
import random
import struct
from pathlib import Path

import headrace
import numpy as np
import pytest
import scipy.signal
import torch
from headrace.declared import CACHED
from headrace.stage import cached_calls, reach
from headrace.stage.content_values import ORIGINAL
from PIL import Image
from support.declared_functions import Declared, burn, old

FACTOR = 3
TABLE = [1, 2, 3]
COUNTER = 0
CACHE = {}


def bits(value):
    return struct.pack("<d", value)


# What is kept, and given.


def test_the_next_lane_finds_what_one_has_made(worker):
    def table(n):
        burn("table")
        return np.arange(n) * FACTOR

    served = Declared(worker, table)
    first, second = served.twice(lambda: table(4))
    assert served.runs("table") == 1 and served.hits == 1
    assert first.tolist() == second.tolist() == [0, 3, 6, 9]
    assert first is not second and second.flags.owndata and second.flags.writeable
    second[0] = 7
    assert served.epochs(1, lambda: table(4))[0].tolist() == [0, 3, 6, 9]


def test_without_a_lane_a_declared_function_is_the_function():
    def plain(a, b=2, *, c=3):
        """Says so."""
        return a, b, c

    before = plain.__code__
    assert headrace.cached(plain) is plain and plain.__code__ is before
    assert headrace.never_cached(plain) is plain
    assert headrace.cached(headrace.cached(plain)) is plain, "declared twice is declared"


@pytest.mark.parametrize(
    "what", [len, functools.lru_cache(lambda: 1), functools.partial(len), int, 3]
)
def test_what_is_no_function_is_refused(what):
    with pytest.raises(TypeError, match="declares functions and methods"):
        headrace.cached(what)


def test_in_a_lane_it_looks_as_before(worker):
    import inspect
    import pickle

    signature, text = inspect.signature(module_level), inspect.getsource(module_level)
    served = Declared(worker, module_level)
    worker.lane()
    assert inspect.signature(module_level) == signature
    assert inspect.getsource(module_level) == text
    assert module_level.__doc__ == "Of this module." and module_level.__name__ == "module_level"
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert module_level(2, b=5) == 10 and served.why == ""
    with pytest.raises(TypeError, match="module_level"):
        module_level(1, 2, 3)


def module_level(a, b=2):
    """Of this module."""
    return a * b


@pytest.mark.parametrize("seed", range(4))
def test_results_of_all_kinds_come_back_bit_for_bit(worker, seed):
    rng = random.Random(seed)

    def one(depth):
        kinds = 12 if depth < 3 else 9
        kind = rng.randrange(kinds)
        numbers = np.random.Generator(np.random.PCG64(rng.randrange(1 << 30)))
        shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 4)))
        array = (numbers.normal(size=shape) * 100).astype(
            rng.choice(["f4", "f8", "i2", "u1", "?", "c8"])
        )
        return [
            lambda: None,
            lambda: rng.choice([0, False, 0.0, -0.0, float("nan"), 1 << 90, -1, True, 2j]),
            lambda: rng.choice(["", "ü\udc80", b"\0a", "x" * 1000]),
            lambda: array,
            lambda: array.T,
            lambda: np.asfortranarray(array),
            lambda: (
                torch.from_numpy(array.copy()) if array.dtype != "?" else torch.ones(2, 3).bool()
            ),
            lambda: torch.randn(shape, generator=torch.Generator().manual_seed(1)).permute(
                *reversed(range(len(shape)))
            ),
            lambda: np.float32(rng.random()),
            lambda: [one(depth + 1) for _ in range(rng.randrange(4))],
            lambda: tuple(one(depth + 1) for _ in range(rng.randrange(4))),
            lambda: {rng.choice(["b", "a", 1, b"x"]): one(depth + 1) for _ in range(3)},
        ][kind]()

    for number in range(12):
        state = rng.getstate()

        def made(state=state):
            rng.setstate(state)
            return one(0)

        packed = cached_calls.Packed(made())
        entry = cached_calls.Entry(memoryview(b"".join(map(bytes, packed.parts(([], 1.0))))))
        again = entry.value()
        assert same(again, made()), (seed, number)
        assert cached_calls.Packed(made()).same(entry), (seed, number)


def same(a, b):
    """With all that a program may see of them."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        seen = (a.dtype, a.shape, a.strides, a.flags.owndata, a.flags.writeable, a.tobytes())
        base = (a.base is None) == (b.base is None)
        return base and seen == (
            b.dtype,
            b.shape,
            b.strides,
            b.flags.owndata,
            b.flags.writeable,
            b.tobytes(),
        )
    if isinstance(a, torch.Tensor):
        known = (
            a.dtype,
            a.shape,
            a.stride(),
            a.storage_offset(),
            a._is_view(),
            a.untyped_storage().resizable(),
        )
        theirs = (
            b.dtype,
            b.shape,
            b.stride(),
            b.storage_offset(),
            b._is_view(),
            b.untyped_storage().resizable(),
        )
        return (
            known == theirs and a.contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes()
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return bits(a) == bits(b)
    return a == b


def test_pictures_come_back(worker):
    def picture(size):
        burn("picture")
        made = Image.new("RGB", (size, 2), (1, 2, 3))
        made.info["dpi"] = (72, 72)
        return made

    served = Declared(worker, picture)
    first, second = served.twice(lambda: picture(5))
    assert served.runs("picture") == 1, served.why
    assert (second.tobytes(), second.mode, second.size, second.info) == (
        first.tobytes(), "RGB", (5, 2), {"dpi": (72, 72)})  # fmt: skip
    second.putpixel((0, 0), (9, 9, 9))
    assert served.epochs(1, lambda: picture(5))[0].getpixel((0, 0)) == (1, 2, 3)


def test_a_picture_of_an_open_file_stays_as_it_is(worker, tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (5, 2)).save(path)
    old(path)

    def opened(path):
        burn("opened")
        return Image.open(path)

    def size(picture):
        burn("size")
        return picture.size

    served = Declared(worker, opened)
    other = Declared(worker, size)
    for picture in served.epochs(2, lambda: opened(path)):
        with picture:
            assert picture.fp is not None and size(picture) == (5, 2)
            assert picture.fp is not None, "nobody has loaded it"
    assert worker.entries == 0 and served.why and other.why


def test_what_is_too_much_to_look_at_is_not_kept(worker):
    large, many = np.zeros(1, "u1").repeat(300 << 20), [[i] for i in range(60_000)]

    def of_large(i):
        burn("much")
        return [large[i + 0]]

    def of_many(i):
        burn("much")
        return [many[i + 0][0]]

    for code in (of_large, of_many):
        served = Declared(worker, code)
        served.epochs(2, lambda code=code: code(1))
        assert worker.entries == 0 and "too " in served.why


def test_methods_static_methods_and_class_methods(worker):
    class Own:
        scale = 2

        def __init__(self, size):
            self.size, self.names, self.log = size, [str(i) for i in range(size)], object()

        def made(self, i):
            burn("made")
            return self.names[i] * self.scale

        @staticmethod
        def fixed(i):
            burn("fixed")
            return [i]

        @classmethod
        def of_class(cls, i):
            burn("of_class")
            return [cls.scale * i]

    own = Own(5)
    for name, wanted in (("made", "33"), ("fixed", [3]), ("of_class", [6])):
        served = Declared(worker, vars(Own)[name])
        assert served.twice(lambda name=name: getattr(own, name)(3)) == (wanted, wanted)
        assert served.runs(name) == 1, (name, served.why)


def test_a_method_depends_on_what_it_reads_alone(worker):
    class Own:
        def __init__(self):
            self.names, self.rest = ["a", "b", "c"], 1

        def made(self, i):
            burn("one name")
            return self.names[i] + self.helper()

        def helper(self):
            return str(self.rest)

    served, own = Declared(worker, Own.made), Own()
    assert served.twice(lambda: own.made(1)) == ("b1", "b1")
    own.names[0], own.other = "z", 5
    assert served.epochs(1, lambda: own.made(1)) == ["b1"] and served.runs("one name") == 1
    own.names[1] = "y"
    assert served.epochs(1, lambda: own.made(1)) == ["y1"]
    own.rest = 2
    assert served.epochs(1, lambda: own.made(1)) == ["y2"] and served.runs("one name") == 3


@pytest.mark.parametrize(
    ("function", "args"),
    [(scipy.signal.resample, (150_001,)), (scipy.signal.resample_poly, (160, 147))],
    ids=["resample", "resample_poly"],
)
def test_functions_of_libraries(worker, function, args):
    sound = np.random.Generator(np.random.PCG64(1)).normal(size=200_000)
    before = function.__code__
    served = Declared(worker, function)
    try:
        first, second = served.twice(lambda: function(sound, *args))
    finally:
        function.__code__ = before
        for mark in (ORIGINAL, CACHED, "__wrapped__"):
            vars(function).pop(mark)
    assert same(first, second) and served.hits == 1 and served.kept == 1, served.why


def test_state_that_a_declared_function_keeps_is_still_seen(worker):
    """As a lane is watched whose code may run on other hosts."""
    kept = []

    class Own:
        def made(self, x):
            burn("watched")
            kept.append(x)
            return [x]

    own = Own()
    Declared(worker, Own.made)
    before = reach.picture({"dataset": own})
    assert reach.picture({"dataset": own}) == before
    worker.lane()
    own.made(1)
    assert reach.picture({"dataset": own}) != before


# Names of calls.


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0, False), (0, 0.0), (0.0, -0.0), (1, True), ("a", b"a"), ("a", Path("a")), ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (float("nan"), struct.unpack("<d", bits(float("nan"))[:-2] + b"\xf0\x7f")[0]),
        (np.zeros(3), np.zeros(3, "f4")), (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros((2, 3)), np.zeros((3, 2)).T), (np.zeros(1), np.array([-0.0])), (np.float32(1), 1.0),
        (torch.zeros(3), np.zeros(3, "f4")), (torch.zeros(2, 3), torch.zeros(3, 2).T), (None, ...),
        (Level.LOW, Level.HIGH), ([[]], []), ([1, [2]], [[1], 2]), ("ab", ["a", "b"]), (slice(1), range(1)),
    ],
)  # fmt: skip
def test_what_is_told_apart(worker, first, second):
    def told(value):
        burn("told")
        return repr(type(value))

    served = Declared(worker, told)
    served.believe()
    for _ in range(2):
        assert served.epochs(1, lambda: [told(first), told(second)])
    assert served.runs("told") == 2 and served.hits == 2, served.why
    assert worker.entries == 2, "one for each"
    worker.lane()
    assert [told(first), told(second)] == [repr(type(first)), repr(type(second))]


def test_two_functions_of_one_name_are_two(worker):
    def make(code):
        space = {"burn": burn}
        exec(f"def f(x):\n burn('named')\n return {code}", space)
        return Declared(worker, space["f"]), space["f"]

    (a, f), (b, g) = make("x + 1"), make("x + 2")
    a.believe()
    b.believe()
    for _ in range(3):
        worker.lane()
        assert (f(1), g(1)) == (2, 3)
    assert (a.hits, b.hits) == (2, 2)


def test_code_that_was_edited_between_runs_is_other_code(worker):
    for text, wanted in (("x * 2", 6), ("x * 3", 9), ("x * K", 12), ("x * 2", 6)):
        space = {"burn": burn, "K": 4}
        exec(f"def f(x):\n burn('edited')\n return helper(x)\ndef helper(x): return {text}", space)
        served = Declared(worker, space["f"])
        assert served.twice(lambda space=space: space["f"](3)) == (wanted, wanted)
