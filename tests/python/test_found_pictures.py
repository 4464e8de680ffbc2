"""Functions that open pictures are found: what PIL makes of a file's tiles is a named tuple, whose constructor has no
module of its own (stage/call_trace.py)."""

import random
from collections import namedtuple
from typing import NamedTuple

import numpy as np
from headrace.stage import call_trace
from headrace.stage.call_board import HITS
from PIL import Image
from support.declared_functions import old
from support.found_lanes import own_lanes
from support.own_process import in_own_process


class Photos:
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def load(self, i):
        with Image.open(self.paths[i]) as image:
            return np.asarray(image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC))

    def __getitem__(self, i):
        return self.load(i), random.random()


@in_own_process
def test_a_function_that_opens_pictures_is_kept(tmp_path):
    rng = np.random.default_rng(5)
    paths = [f"{tmp_path}/{number}.jpg" for number in range(4)]
    for path in paths:
        pixels = np.cumsum(rng.integers(-3, 4, (900, 1200, 3)), 1).astype("uint8")
        Image.fromarray(pixels).save(path, quality=95)
    made = own_lanes(Photos([old(path) for path in paths]))
    results = []
    for number in range(5):
        random.seed(1)
        results.append(made.iteration(first=number == 0))
    random.seed(1)
    stock = [made.dataset[i] for i in range(len(paths))]
    for result in results:
        assert all(
            np.array_equal(x[0], y[0]) and x[1] == y[1] for x, y in zip(result, stock, strict=True)
        )
    assert made.count(Photos.load, HITS) > 0, made.why(Photos.load)


class Point(NamedTuple):
    x: int
    y: float = 1.0


def test_constructors_of_named_tuples_are_known():
    for kind in (Point, namedtuple("Q", "a b c", defaults=(1,)), namedtuple("R", "")):  # noqa: PYI024
        new = kind.__new__
        assert call_trace._makes_named_tuple(new.__code__, new.__globals__), kind
    new = Point.__new__
    space = new.__globals__
    for other in (
        {**space, "_tuple_new": lambda cls, values: None},
        {**space, "__builtins__": {"len": len}},
        {**space, "more": 1},
    ):
        assert not call_trace._makes_named_tuple(new.__code__, other)
    for text in ("lambda _cls, x, y: _tuple_new(_cls, (y, x))", "lambda _cls, x, y: x.clock()", "lambda: 1",
                 "lambda _cls, *x: _tuple_new(_cls, x)"):  # fmt: skip
        assert not call_trace._makes_named_tuple(eval(text, dict(space)).__code__, space)
