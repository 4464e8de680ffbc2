"""Writes by statements and operators.

This file is long because each case is a class.
"""

import collections

from .base import Rows


class Attribute(Rows):
    def __getitem__(self, i):
        self.n = self.n + 1
        return self.n


class Augmented(Rows):
    def __getitem__(self, i):
        self.n += 1
        return self.n


class Match(Rows):
    def __getitem__(self, i):
        match self.mode:
            case "plain":
                self.n += 1
            case _:
                pass
        return self.n


class MatchClass(Rows):
    def __getitem__(self, i):
        match self:
            case Rows(log=log):
                log.append(i)
        return len(self.log)


class MatchMapping(Rows):
    def __getitem__(self, i):
        match {"log": self.log}:
            case {"log": found}:
                found.append(i)
        return len(self.log)


class MatchSequence(Rows):
    def __getitem__(self, i):
        match [1, self.log]:
            case [_, *others]:
                others[0].append(i)
        return len(self.log)


class MatchAs(Rows):
    def __getitem__(self, i):
        match self.log:
            case list() as found:
                found.append(i)
        return len(self.log)


class Walrus(Rows):
    def __getitem__(self, i):
        if (log := self.log) is not None:
            log.append(i)
        return len(self.log)


class WalrusInPart(Rows):
    def __getitem__(self, i):
        x = self.log
        i < 0 and (x := [])
        x.append(i)
        return len(self.log)


class WalrusInComprehension(Rows):
    def __getitem__(self, i):
        [log := self.log for _ in range(1)]
        log.append(i)
        return len(self.log)


class TupleTarget(Rows):
    def __getitem__(self, i):
        old, self.n = self.n, i
        return old


class StarredTarget(Rows):
    def __getitem__(self, i):
        first, *self.log = [len(self.log), i, i, i]
        return first


class LoopTarget(Rows):
    def __getitem__(self, i):
        before = self.n
        for self.n in range(i + 1):
            pass
        return before


class WithTarget(Rows):
    def __getitem__(self, i):
        import contextlib

        before = self.n
        with contextlib.nullcontext(i) as self.n:
            return before


class ItemOfDict(Rows):
    def __getitem__(self, i):
        before = self.seen.get("last")
        self.seen["last"] = i
        return before


class SliceOfList(Rows):
    def __getitem__(self, i):
        self.log[len(self.log) :] = [i]
        return len(self.log)


class DeleteItem(Rows):
    def __getitem__(self, i):
        if len(self.rows) > 1:
            del self.rows[0]
        return len(self.rows)


class DeleteAttribute(Rows):
    def __getitem__(self, i):
        had = hasattr(self, "mode")
        if had:
            del self.mode
        return had


class ExtendByOperator(Rows):
    def __getitem__(self, i):
        self.log += [i]
        return len(self.log)


class ExtendAlias(Rows):
    def __getitem__(self, i):
        log = self.log
        log += [i]
        return len(self.log)


class UnionByOperator(Rows):
    def __getitem__(self, i):
        seen = self.seen
        seen |= {len(seen): i}
        return len(self.seen)


class AliasByBranch(Rows):
    def __getitem__(self, i):
        log = [] if i > 3 else self.log
        log.append(i)
        return len(self.log)


class AliasByOr(Rows):
    def __getitem__(self, i):
        log = None or self.log
        log.append(i)
        return len(self.log)


class AliasByTry(Rows):
    def __getitem__(self, i):
        log = []
        try:
            log = self.log
            raise ValueError
        except ValueError:
            log.append(i)
        return len(self.log)


class AliasByFinally(Rows):
    def __getitem__(self, i):
        try:
            return len(self.log)
        finally:
            self.log.append(i)


class AliasByLoop(Rows):
    def __getitem__(self, i):
        a = b = c = []
        for _ in range(4):
            c.append(i)
            c, b, a = b, a, self.log
        return len(self.log)


class AliasByWhile(Rows):
    def __getitem__(self, i):
        a, b, k = [], [], 0
        while k < 3:
            b.append(i)
            b, a, k = a, self.log, k + 1
        return len(self.log)


class AliasByBreak(Rows):
    def __getitem__(self, i):
        log = []
        for _ in range(2):
            log = self.log
            break
        log.append(i)
        return len(self.log)


class AliasByContinue(Rows):
    def __getitem__(self, i):
        log = []
        for k in range(2):
            if k == 0:
                log = self.log
                continue
            log.append(i)
        return len(self.log)


class AliasByElse(Rows):
    def __getitem__(self, i):
        for _ in range(1):
            pass
        else:
            self.log.append(i)
        return len(self.log)


class InAssert(Rows):
    def __getitem__(self, i):
        assert self.log.append(i) is None
        return len(self.log)


class InRaise(Rows):
    def __getitem__(self, i):
        try:
            raise KeyError(self.log.append(i))
        except KeyError:
            return len(self.log)


class InException(Rows):
    def __getitem__(self, i):
        try:
            raise KeyError(self.log)
        except KeyError as error:
            error.args[0].append(i)
        return len(self.log)


class InFormat(Rows):
    def __getitem__(self, i):
        _ = f"{self.log.append(i)}"
        return len(self.log)


class InSlice(Rows):
    def __getitem__(self, i):
        "abc"[: self.log.append(i)]
        return len(self.log)


class InDefault(Rows):
    def __getitem__(self, i, log=[]):  # noqa: B006
        log.append(i)
        return len(log)


class InKeywordDefault(Rows):
    def __getitem__(self, i, *, log={}):  # noqa: B006
        log[len(log)] = i
        return len(log)


class InCondition(Rows):
    def __getitem__(self, i):
        return len(self.log) if self.log.append(i) is None else 0


class InChain(Rows):
    def __getitem__(self, i):
        _ = 0 < 1 < (self.log.append(i) or 2)
        return len(self.log)


class Counted(Rows):
    count = collections.Counter()

    def __getitem__(self, i):
        self.count["all"] += 1
        return self.count["all"]


class DefaultDict(Rows):
    table = collections.defaultdict(list)

    def __getitem__(self, i):
        before = len(self.table)
        self.table[i]
        return before


class Deque(Rows):
    queue = collections.deque([0, 1, 2])

    def __getitem__(self, i):
        self.queue.rotate(1)
        return self.queue[0]


class Pop(Rows):
    def __getitem__(self, i):
        return self.rows.pop() if self.rows else None


class PopItem(Rows):
    def __getitem__(self, i):
        self.seen[i] = len(self.seen)
        return self.seen.popitem()[1] + self.seen.setdefault(i, len(self.log) + i) + len(self.seen)


class SetAdd(Rows):
    def __getitem__(self, i):
        known = i in self.bank
        self.bank.add(i)
        return known


class Nested(Rows):
    def __init__(self):
        super().__init__()
        self.options = {"inner": {"log": []}}

    def __getitem__(self, i):
        self.options["inner"]["log"].append(i)
        return len(self.options["inner"]["log"])


class OfListOfLists(Rows):
    table = [[0] for _ in range(100)]

    def __getitem__(self, i):
        row = self.table[i]
        row[0] += 1
        return row[0]


class ByUnpacking(Rows):
    pair = (1, [])

    def __getitem__(self, i):
        _, log = self.pair
        log.append(i)
        return len(log)


class ByStarredCall(Rows):
    def __getitem__(self, i):
        def put(log):
            log.append(i)

        put(*[self.log])
        return len(self.log)


class ByStarredNames(Rows):
    def __getitem__(self, i):
        def put(log):
            log.append(i)

        put(**{"log": self.log})
        return len(self.log)


class ByList(Rows):
    def __getitem__(self, i):
        [self.log][0].append(i)
        return len(self.log)


class ByDict(Rows):
    def __getitem__(self, i):
        {"log": self.log}["log"].append(i)
        return len(self.log)


class ByUpdatedDict(Rows):
    def __getitem__(self, i):
        held = {"log": []}
        held.update(log=self.log)
        held["log"].append(i)
        return len(self.log)


class ByMergedDict(Rows):
    def __getitem__(self, i):
        held = {"log": [], **{"log": self.log}}
        held["log"].append(i)
        return len(self.log)


class ByZip(Rows):
    def __getitem__(self, i):
        for log, _ in zip([self.log], [1], strict=True):
            log.append(i)
        return len(self.log)


class ByEnumerate(Rows):
    def __getitem__(self, i):
        for _, log in enumerate([self.log]):
            log.append(i)
        return len(self.log)


class BySorted(Rows):
    def __getitem__(self, i):
        sorted([self.log], key=len)[0].append(i)
        return len(self.log)


class ByMax(Rows):
    def __getitem__(self, i):
        max([self.log], key=len).append(i)
        return len(self.log)


class ByNext(Rows):
    def __getitem__(self, i):
        next(iter([self.log])).append(i)
        return len(self.log)


class BySum(Rows):
    def __getitem__(self, i):
        sum([[self.log]], [])[0].append(i)
        return len(self.log)


class ByCopy(Rows):
    held = [[]]

    def __getitem__(self, i):
        self.held.copy()[0].append(i)
        return len(self.held[0])


class BySliced(Rows):
    held = [[]]

    def __getitem__(self, i):
        self.held[:][0].append(i)
        return len(self.held[0])


class ByConcatenation(Rows):
    def __getitem__(self, i):
        ([1] + [self.log])[1].append(i)
        return len(self.log)


class ByRepetition(Rows):
    def __getitem__(self, i):
        ([self.log] * 2)[1].append(i)
        return len(self.log)


class ByFilter(Rows):
    def __getitem__(self, i):
        for log in filter(None, [self.log, [1]]):
            log.append(i)
        for log in [x for x in [self.log] if x is not None]:
            log.append(i)
        return len(self.log)
