"""Caches that samples can see, and other writes by calls."""

import functools
import random
import types

from .base import Rows


@functools.lru_cache
def table_of(name):
    return []


class LruChangedLater(Rows):
    def __getitem__(self, i):
        found = table_of("one")
        found.append(i)
        return len(found)


class LruOfEqual(Rows):
    def __init__(self):
        super().__init__()
        self.text = functools.lru_cache(lambda x, y: repr(x))

    def __getitem__(self, i):
        return self.text(1.0, 0) if i == 0 else self.text(1, 0)


class LruOfMethod(Rows):
    @functools.lru_cache(maxsize=4)  # noqa: B019
    def once(self, name):
        self.n += 1
        return self.n

    def __getitem__(self, i):
        return self.once(self.rows[i][0])


class Bank(Rows):
    def __getitem__(self, i):
        x, y = i * 10, i % 3
        other = self.seen.get(y, x)
        self.seen[y] = x
        return x + other


class BankByIn(Rows):
    def __getitem__(self, i):
        y = i % 3
        if y not in self.seen:
            self.seen[y] = i
        return self.seen[y] + i


class FillAndCount(Rows):
    def __getitem__(self, i):
        if i not in self.seen:
            self.seen[i] = i
        return len(self.seen)


class FillAndFlag(Rows):
    def __getitem__(self, i):
        first = False
        if i not in self.seen:
            self.seen[i] = i
            first = True
        return first


class FillRandom(Rows):
    def __getitem__(self, i):
        if i not in self.seen:
            self.seen[i] = random.random()
        return self.seen[i] + random.random()


class FillOnceByKey(Rows):
    first = None

    def __getitem__(self, i):
        if self.first is None:
            self.first = i
        return self.first * 10 + i


class FillOnceTold(Rows):
    ready = None

    def __getitem__(self, i):
        was = self.ready
        if self.ready is None:
            self.ready = 1
        return was


class FillOnceReturns(Rows):
    ready = None

    def __getitem__(self, i):
        if self.ready is None:
            self.ready = 1
            return "first"
        return i


class FillOnceElse(Rows):
    ready = None

    def __getitem__(self, i):
        x = i
        if self.ready is None:
            self.ready = 1
        else:
            x += 100
        return x


class FillNever(Rows):
    ready = None

    def __getitem__(self, i):
        if self.ready is None:
            self.n = self.n + 1
            self.ready = None
        return self.n


class FillChanged(Rows):
    ready = None

    def __getitem__(self, i):
        if self.ready is None:
            self.ready = []
        self.ready.append(i)
        return len(self.ready)


class FillTwice(Rows):
    ready = None

    def __getitem__(self, i):
        if i > 3:
            if self.ready is None:
                self.ready = "late"
        elif self.ready is None:
            self.ready = "early"
        return self.ready


class SuperMethod(BankByIn):
    def __getitem__(self, i):
        return super().__getitem__(i)


class NamespaceObject(Rows):
    space = types.SimpleNamespace(n=0)

    def __getitem__(self, i):
        self.space.n += 1
        return self.space.n


class Recursion(Rows):
    def __getitem__(self, i, depth=3):
        if depth:
            return self.__getitem__(i, depth - 1)
        self.n += 1
        return self.n


class MutualRecursion(Rows):
    def one(self, log, k):
        return self.two(log, k - 1) if k else log

    def two(self, log, k):
        return self.one(log, k - 1) if k else self.log

    def __getitem__(self, i):
        self.one([], 3).append(i)
        return len(self.log)
