"""Declared functions in lanes of one process: each lane is new, and what the one before has made is on the shelf."""

import os
import sys
import threading
import time

import headrace
from headrace import declared
from headrace.stage import cached_calls, call_board
from headrace.stage.cached_rules import Budget
from headrace.stage.call_board import COMPARED, HITS, KEPT
from headrace.stage.leaf_keys import STEP_NS

_runs: dict[str, int] = {}


def _count(event, args):
    if event == "headrace.test.run":
        _runs[args[0]] = _runs.get(args[0], 0) + 1


sys.addaudithook(_count)


def burn(name, seconds=0.004):
    """Counts a run where no code of the function's could see it, and takes long enough to be worth keeping."""
    sys.audit("headrace.test.run", name)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def old(path):
    """As it was some time ago: what is younger than a step of the clock is not kept."""
    while time.time_ns() - os.stat(path).st_ctime_ns < 2 * STEP_NS:
        time.sleep(STEP_NS / 1e9)
    return str(path)


class Declared:
    """A function as a lane has it, from now on. `worker`: a LeafWorker."""

    def __init__(self, worker, function, board=None):
        self.worker, self.function = worker, function
        self.board = board or call_board.Board()
        headrace.cached(function)
        self._served = (
            function.__func__ if isinstance(function, staticmethod | classmethod) else function
        )
        self.number = vars(self._served)[declared.CACHED] % 256
        self.call = cached_calls.CachedCall(self._served, self.number, self.board)
        cached_calls.put(self._served, self.call)
        self._before = dict(_runs)
        cached_calls._started = threading.get_ident(), time.thread_time()
        cached_calls._budget = Budget()

    def epochs(self, count, make):
        """What `make` returns in so many lanes, one after the other."""
        made = []
        for _ in range(count):
            self.worker.lane()
            made.append(make())
        return made

    def runs(self, name):
        return _runs.get(name, 0) - self._before.get(name, 0)

    @property
    def hits(self):
        return self.board.count(self.number, HITS)

    @property
    def compared(self):
        return self.board.count(self.number, COMPARED)

    @property
    def kept(self):
        return self.board.count(self.number, KEPT)

    @property
    def is_over(self):
        return self.board.is_over(self.number)

    @property
    def why(self):
        return self.board.why(self.number)

    def twice(self, make):
        """Of two lanes; the second one's results, of which nothing is made again."""
        self.believe()
        first, second = self.epochs(2, make)
        return first, second

    def believe(self):
        """As after enough comparisons, with no CPU time to spend on more: hits are no longer made again."""
        cached_calls._started = threading.get_ident(), time.thread_time()
        self.board.add(self.number, COMPARED, 32)
