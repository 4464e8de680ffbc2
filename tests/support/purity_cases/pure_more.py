"""Caches that no sample can see, and decorated, generated and compiled code."""

import contextlib
import functools
import itertools

import headrace
import numpy as np
import torch

from .base import Rows

CACHE = {}


class CacheByKey(Rows):
    def __getitem__(self, i):
        if i not in self.seen:
            self.seen[i] = np.arange(i)
        return self.seen[i].sum()


class CacheOfName(Rows):
    def load(self, name):
        if name in self.seen:
            return self.seen[name]
        found = name.upper() * 2
        self.seen[name] = found
        return found

    def __getitem__(self, i):
        return self.load(self.rows[i][0])


class CacheByGet(Rows):
    def __getitem__(self, i):
        found = self.seen.get(i)
        if found is None:
            found = torch.full((3,), float(i))
            self.seen[i] = found
        return found + 1


class CacheByError(Rows):
    def __getitem__(self, i):
        try:
            x = self.seen[i]
        except KeyError:
            x = self.seen[i] = i * 2
        return x


class CacheElse(Rows):
    def __getitem__(self, i):
        if i in self.seen:
            x = self.seen[i]
        else:
            x = i * 2
            self.seen[i] = x
        return x + 1


def cached(name):
    if name not in CACHE:
        CACHE[name] = name * 2
    return CACHE[name]


class CacheOfModule(Rows):
    def __getitem__(self, i):
        return cached(self.rows[i][0])


class FillOnce(Rows):
    table = None

    def __getitem__(self, i):
        if self.table is None:
            self.table = list(range(10))
        return self.table[i]


class FillOnceByMethod(Rows):
    def _open(self):
        self.file = np.arange(10)
        self.length = len(self.file)

    def __getitem__(self, i):
        if not hasattr(self, "file"):
            self._open()
        return self.file[i] + self.length


class FillOnceNot(Rows):
    table = None

    def __getitem__(self, i):
        if not self.table:
            self.table = {k: k for k in range(9)}
        return self.table[i]


class CachedProperty(Rows):
    @functools.cached_property
    def table(self):
        return {name: k for k, (name, _) in enumerate(self.rows)}

    def __getitem__(self, i):
        return self.table[self.rows[i][0]]


@functools.cache
def twice(x):
    return x * 2


class LruCache(Rows):
    def __getitem__(self, i):
        return twice(i) + twice(3)


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Decorated(Rows):
    @logged
    def read(self, i, by=1):
        return i * by

    def __getitem__(self, i):
        return self.read(i, by=2)


class Partial(Rows):
    def __init__(self):
        super().__init__()
        self.scale = functools.partial(np.multiply, 2)

    def __getitem__(self, i):
        return self.scale(i), functools.partial(pow, 2)(i)


class Managed(Rows):
    @contextlib.contextmanager
    def scaled(self):
        yield 2

    def __getitem__(self, i):
        with self.scaled() as by:
            return i * by


class Generates(Rows):
    def steps(self, i):
        for k in range(i):
            yield k * 2
        yield from (1, 2)

    def __getitem__(self, i):
        return list(self.steps(i)), next(self.steps(i + 1)), sum(x for x in self.steps(i))


class OwnOperators:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return OwnOperators(self.x + other.x)

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([self.x])

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return hash(self.x)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Operators(Rows):
    held = OwnOperators(1)

    def __getitem__(self, i):
        total = self.held + OwnOperators(i)
        with total as inside:
            return [x for x in inside], len(total), total == self.held, total in [self.held]


class Slots:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class OfSlots(Rows):
    slots = Slots(2)

    def __getitem__(self, i):
        return self.slots.x + Slots(i).x


@headrace.pure
def declared(table, i):
    exec("x = 1")
    return i


class Declared(Rows):
    def __getitem__(self, i):
        return declared(self.seen, i)


class BuildsUp(Rows):
    def __getitem__(self, i):
        table = {}
        for name, label in self.rows:
            table.setdefault(label, []).append(name)
        return sorted(table.items())


class Stack(Rows):
    def __getitem__(self, i):
        todo, found = [i], []
        while todo:
            x = todo.pop()
            found.append(x)
            if x > 0:
                todo.append(x - 1)
        return found


class Itertools(Rows):
    def __getitem__(self, i):
        return [a + b for a, b in itertools.product(range(i), [1, 2])], list(
            itertools.chain([i], [2])
        )


class Recursive(Rows):
    def depth(self, n):
        return 0 if n <= 0 else 1 + self.depth(n - 1)

    def __getitem__(self, i):
        return self.depth(i)


class CopiesFirst(Rows):
    options = {"names": ["a"], "size": 3}

    def __getitem__(self, i):
        mine = dict(self.options)
        mine["size"] = i
        names = list(self.options["names"])
        names.append(str(i))
        return mine["size"], names


class Frames(Rows):
    def __getitem__(self, i):
        window = self.rows[max(0, i - 2) : i + 1]
        return [label for _, label in window], window[-1], window[::-1][0]
