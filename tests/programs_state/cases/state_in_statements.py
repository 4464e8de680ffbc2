"""State that a data set keeps in every statement and expression of Python.

Each lane of a loader has its own: the k-th sample of a lane differs from what it were first. Nothing shows
before a lane has made five, so a trial of a few samples finds nothing."""

import contextlib
import functools
import itertools
import operator

from cases import case, main
from keeps import Keeps


@case(workers=2, hosts=2, always=True)
class Plain(Keeps):
    def count(self):
        self.n += 1
        return self.n


@case(workers=2, hosts=2)
class Match(Keeps):
    def count(self):
        match self.n:
            case int():
                self.n += 1
        return self.n


@case(workers=2, always=True)
class MatchCapture(Keeps):
    def count(self):
        match self.log:
            case [*_] as log:
                log.append(1)
        return len(self.log)


@case(workers=2)
class Walrus(Keeps):
    def count(self):
        if (log := self.log) is not None:
            log.append(1)
        return len(log)


@case(workers=2, hosts=2)
class AttributeByName(Keeps):
    def count(self):
        return getattr(self, f"_count_{'up'}")()

    def _count_up(self):
        self.n += 1
        return self.n


@case(workers=2)
class SetAttributeByName(Keeps):
    def count(self):
        setattr(self, "n" + "", self.n + 1)
        return self.n


@case(workers=2)
class ObjectSetAttribute(Keeps):
    def count(self):
        object.__setattr__(self, "n", self.n + 1)
        return self.n


@case(workers=2)
class UpdateOfTheDictionary(Keeps):
    def count(self):
        self.__dict__.update(n=self.n + 1)
        return self.n


@case(workers=2)
class Vars(Keeps):
    def count(self):
        vars(self)["n"] += 1
        return self.n


@case(workers=2)
class ContextManagerMethod(Keeps):
    @contextlib.contextmanager
    def counting(self):
        self.n += 1
        yield self.n

    def count(self):
        with self.counting() as n:
            return n


@case(workers=2)
class ExitStack(Keeps):
    def count(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self.log.append, 1)
        return len(self.log)


@case(workers=2)
class Finally(Keeps):
    def count(self):
        try:
            return self.n
        finally:
            self.n += 1


@case(workers=2, always=True)
class ExceptHandler(Keeps):
    def count(self):
        try:
            raise KeyError
        except KeyError:
            self.n += 1
        return self.n


@case(workers=2)
class GeneratorMethod(Keeps):
    def steps(self):
        self.n += 1
        yield self.n

    def count(self):
        return next(self.steps())


@case(always=True)
class GeneratorKept(Keeps):
    def __init__(self):
        super().__init__()
        self.numbers = (n for n in itertools.count(1))

    def count(self):
        return next(self.numbers)


@case(workers=2)
class CounterOfItertools(Keeps):
    def __init__(self):
        super().__init__()
        self.numbers = itertools.count(1)

    def count(self):
        return next(self.numbers)


@case(workers=2)
class Comprehension(Keeps):
    def count(self):
        [self.log.append(x) for x in (1,)]
        return len(self.log)


@case(workers=2)
class MapOfAppend(Keeps):
    def count(self):
        list(map(self.log.append, (1,)))
        return len(self.log)


@case(workers=2, always=True)
class PartialOfAppend(Keeps):
    def count(self):
        functools.partial(self.log.append, 1)()
        return len(self.log)


@case(workers=2)
class BoundMethodAlias(Keeps):
    def count(self):
        push = self.log.append
        push(1)
        return len(self.log)


@case(workers=2)
class DictionaryAlias(Keeps):
    def count(self):
        {"log": self.log}["log"].append(1)
        return len(self.log)


@case(workers=2)
class StarredAlias(Keeps):
    def count(self):
        _push(*[self.log])
        return len(self.log)


def _push(log):
    log.append(1)


@case(workers=2)
class HelperObject(Keeps):
    def count(self):
        _Helper(self.log).go()
        return len(self.log)


class _Helper:
    def __init__(self, log):
        self.log = log

    def go(self):
        self.log.append(1)


@case(workers=2)
class DefaultArgument(Keeps):
    def count(self, kept=[]):  # noqa: B006
        kept.append(1)
        return len(kept)


@case(workers=2, always=True)
class FunctionAttribute(Keeps):
    def count(self):
        _push.calls = getattr(_push, "calls", 0) + 1
        return _push.calls


@case(workers=2)
class ClassAttribute(Keeps):
    made = 0

    def count(self):
        type(self).made += 1
        return self.made


CALLS = 0
TABLE = {"n": 0}


@case(workers=2)
class Global(Keeps):
    def count(self):
        global CALLS
        CALLS += 1
        return CALLS


@case(workers=2)
class GlobalsFunction(Keeps):
    def count(self):
        globals()["CALLS"] += 1
        return CALLS


@case(workers=2)
class ModuleTable(Keeps):
    def count(self):
        TABLE["n"] = operator.add(TABLE["n"], 1)
        return TABLE["n"]


@case(workers=2)
class Exec(Keeps):
    def count(self):
        exec("self.n += 1", {"self": self})
        return self.n


@case(workers=2)
class Closure(Keeps):
    def __init__(self):
        super().__init__()
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        self.step = step

    def count(self):
        return self.step()


@case(workers=2)
class DeletedItem(Keeps):
    def __init__(self):
        super().__init__()
        self.log = list(range(100))

    def count(self):
        del self.log[0]
        return 100 - len(self.log)


@case(workers=2)
class SliceAssigned(Keeps):
    def count(self):
        self.log[len(self.log) :] = [1]
        return len(self.log)


@case(workers=2)
class OperatorModule(Keeps):
    def count(self):
        operator.iadd(self.log, [1])
        return len(self.log)


@case(workers=2)
class LambdaDefault(Keeps):
    def count(self):
        (lambda log=self.log: log.append(1))()
        return len(self.log)


@case(workers=2)
class LoopTarget(Keeps):
    def count(self):
        for self.n in (self.n + 1,):  # noqa: B020
            pass
        return self.n


@case(workers=2)
class WithTarget(Keeps):
    def count(self):
        with contextlib.nullcontext(self.n + 1) as self.n:
            return self.n


@case(workers=2)
class UnpackedTarget(Keeps):
    def count(self):
        self.n, *_ = self.n + 1, 0
        return self.n


if __name__ == "__main__":
    main()
