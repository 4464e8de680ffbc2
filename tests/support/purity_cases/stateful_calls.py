"""Writes by functions, methods and what Python calls by itself.

This file is long because each case is a class.
"""

import contextlib
import functools
import itertools
import operator

from .base import Rows

COUNT = 0
LOG = []
TABLE = {}


class BoundMethod(Rows):
    def __getitem__(self, i):
        push = self.log.append
        push(i)
        return len(self.log)


class HeldMethod(Rows):
    def __init__(self):
        super().__init__()
        self.push = self.log.append

    def __getitem__(self, i):
        self.push(i)
        return len(self.log)


class UnboundMethod(Rows):
    def __getitem__(self, i):
        list.append(self.log, i)
        return len(self.log)


class ByGetattr(Rows):
    def _step_plain(self):
        self.n += 1

    def __getitem__(self, i):
        getattr(self, f"_step_{self.mode}")()
        return self.n


class ByGetattrOfKey(Rows):
    def _step_0(self):
        self.n += 1

    def __getitem__(self, i):
        getattr(self, f"_step_{i * 0}")()
        return self.n


class BySetattr(Rows):
    def __getitem__(self, i):
        setattr(self, "n", self.n + 1)  # noqa: B010
        return self.n


class ByObjectSetattr(Rows):
    def __getitem__(self, i):
        object.__setattr__(self, "n", self.n + 1)
        return self.n


class ByDict(Rows):
    def __getitem__(self, i):
        self.__dict__.update(n=self.n + 1)
        return self.n


class ByVars(Rows):
    def __getitem__(self, i):
        vars(self)["n"] += 1
        return self.n


class BySetItem(Rows):
    def __getitem__(self, i):
        self.seen.__setitem__(len(self.seen), i)
        return len(self.seen)


class ByOperator(Rows):
    def __getitem__(self, i):
        operator.setitem(self.seen, len(self.seen), i)
        return len(self.seen)


class ByMethodCaller(Rows):
    def __getitem__(self, i):
        operator.methodcaller("append", i)(self.log)
        return len(self.log)


class ByAttrGetter(Rows):
    def __getitem__(self, i):
        operator.attrgetter("log")(self).append(i)
        return len(self.log)


class ByMap(Rows):
    def __getitem__(self, i):
        list(map(self.log.append, [i]))
        return len(self.log)


class ByPartial(Rows):
    def __getitem__(self, i):
        functools.partial(self.log.append, i)()
        return len(self.log)


class ByReduce(Rows):
    def __getitem__(self, i):
        functools.reduce(lambda a, b: self.log.append(b), [1, 2], 0)
        return len(self.log)


class BySortKey(Rows):
    def __getitem__(self, i):
        sorted([2, 1], key=self.log.append) if False else sorted([1], key=lambda x: self.note(x))
        return len(self.log)

    def note(self, x):
        self.log.append(x)
        return x


class ByAny(Rows):
    def __getitem__(self, i):
        any(self.log.append(k) for k in range(2))
        return len(self.log)


class ByChain(Rows):
    def __getitem__(self, i):
        for log in itertools.chain([self.log]):
            log.append(i)
        return len(self.log)


class ByProduct(Rows):
    def __getitem__(self, i):
        for log, _ in itertools.product([self.log], [1]):
            log.append(i)
        return len(self.log)


class Cycle(Rows):
    def __init__(self):
        super().__init__()
        self.turns = itertools.cycle([1, 2, 3])

    def __getitem__(self, i):
        return next(self.turns)


class Count(Rows):
    counter = itertools.count()

    def __getitem__(self, i):
        return next(self.counter)


class HeldIterator(Rows):
    def __init__(self):
        super().__init__()
        self.turns = iter(list(range(1000)))

    def __getitem__(self, i):
        for found in self.turns:
            return found


class HeldGenerator(Rows):
    def __init__(self):
        super().__init__()
        self.turns = (k for k in range(1000))

    def __getitem__(self, i):
        return next(self.turns)


class InGenerator(Rows):
    def steps(self):
        self.n += 1
        yield self.n

    def __getitem__(self, i):
        return list(self.steps())


class YieldFrom(Rows):
    def inner(self):
        yield self.log

    def outer(self):
        yield from self.inner()

    def __getitem__(self, i):
        for log in self.outer():
            log.append(i)
        return len(self.log)


class LateGenerator(Rows):
    def __getitem__(self, i):
        x = []
        later = (x.append(i) for _ in range(1))
        x = self.log
        list(later)
        return len(self.log)


class LateClosure(Rows):
    def __getitem__(self, i):
        x = []

        def put():
            x.append(i)

        x = self.log
        put()
        return len(self.log)


class LambdaInComprehension(Rows):
    def __getitem__(self, i):
        puts = [lambda x=x: x.append(i) for x in [self.log]]
        puts[0]()
        return len(self.log)


class LambdaOfName(Rows):
    def __getitem__(self, i):
        puts = [lambda: x.append(i) for x in [self.log]]  # noqa: B023
        puts[0]()
        return len(self.log)


class ContextManager(Rows):
    @contextlib.contextmanager
    def counted(self):
        self.n += 1
        yield

    def __getitem__(self, i):
        with self.counted():
            return self.n


class ContextManagerAfter(Rows):
    @contextlib.contextmanager
    def counted(self):
        yield self.n
        self.n += 1

    def __getitem__(self, i):
        with self.counted() as n:
            return n


class ExitStack(Rows):
    def __getitem__(self, i):
        with contextlib.ExitStack() as stack:
            stack.callback(self.log.append, i)
        return len(self.log)


class Setter(Rows):
    @property
    def step(self):
        return self._step

    @step.setter
    def step(self, value):
        self.n += value

    def __getitem__(self, i):
        self.step = 1
        return self.n


class Getter(Rows):
    @property
    def step(self):
        self.n += 1
        return self.n

    def __getitem__(self, i):
        return self.step


class CachedProperty(Rows):
    @functools.cached_property
    def first(self):
        return self.log

    def __getitem__(self, i):
        self.first.append(i)
        return len(self.log)


class GlobalName(Rows):
    def __getitem__(self, i):
        global COUNT
        COUNT += 1
        return COUNT


class GlobalsItem(Rows):
    def __getitem__(self, i):
        globals()["COUNT"] = globals()["COUNT"] + 1
        return COUNT


class GlobalList(Rows):
    def __getitem__(self, i):
        LOG.append(i)
        return len(LOG)


class ByExec(Rows):
    def __getitem__(self, i):
        exec("self.n += 1")
        return self.n


class ByEval(Rows):
    def __getitem__(self, i):
        eval("self.log.append(i)")
        return len(self.log)


class ClassAttribute(Rows):
    total = 0

    def __getitem__(self, i):
        type(self).total += 1
        return self.total


class ClassByName(Rows):
    total = 0

    def __getitem__(self, i):
        ClassByName.total += 1
        return self.total


class ClassMethod(Rows):
    total = 0

    @classmethod
    def step(cls):
        cls.total += 1

    def __getitem__(self, i):
        self.step()
        return self.total


class StaticMethod(Rows):
    @staticmethod
    def step():
        LOG.append(0)

    def __getitem__(self, i):
        self.step()
        return len(LOG)


class FunctionAttribute(Rows):
    def __getitem__(self, i):
        step.calls = getattr(step, "calls", 0) + 1
        return step.calls


def step():
    pass


def _counter():
    total = 0

    def count():
        nonlocal total
        total += 1
        return total

    return count


class Nonlocal(Rows):
    def __init__(self):
        super().__init__()
        self.count = _counter()

    def __getitem__(self, i):
        return self.count()


def counted(function):
    calls = []

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs), len(calls)

    return wrapper


class Decorated(Rows):
    @counted
    def __getitem__(self, i):
        return i


class DecoratorClass:
    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args), self.calls


@DecoratorClass
def plain_read(i):
    return i


class DecoratedByClass(Rows):
    def __getitem__(self, i):
        return plain_read(i)


class NestedDecorator(Rows):
    def __getitem__(self, i):
        def noted(function):
            self.log.append(i)
            return function

        @noted
        def inner():
            return len(self.log)

        return inner()


class SingleDispatch(Rows):
    def __getitem__(self, i):
        return dispatched(i)


@functools.singledispatch
def dispatched(i):
    LOG.append(i)
    return len(LOG)
