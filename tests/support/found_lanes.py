"""Lanes in the process of a test, one after the other, and a data set whose functions are found."""

import random

import numpy as np
from headrace.declared import ORIGINAL
from headrace.stage import call_board, found_calls

from support.leaf_worker import LeafWorker

BASE = np.linspace(0, 1, 20_000)


def slow(factor):
    """Tens of milliseconds of numpy's: whatever a name costs in a process of many tests, it pays."""
    return np.sin(np.outer(BASE[:10_000], BASE[:200]) * factor).sum(axis=0) ** 3


class Sounds:
    """Deterministic up to `mel`, random after it."""

    def __init__(self, count=8):
        self.count = count

    def __len__(self):
        return self.count

    def mel(self, i):
        return slow(i)[:100].copy()

    def short(self, i):
        return i + 1

    def noisy(self, i):
        return slow(i)[:10] + random.random()

    def __getitem__(self, i):
        return self.mel(i) + random.random() + self.short(i), self.noisy(i)


class Lanes:
    """Lanes in this process, one after the other: each is new, and finds what the ones before have kept."""

    def __init__(self, worker, dataset):
        self.worker, self.dataset = worker, dataset

    def iteration(self, first=False, make=None):
        found_calls.prepare(self.dataset)
        self.worker.lane(first=first)
        found_calls.enable(0)
        try:
            return [(make or self.dataset.__getitem__)(i) for i in range(len(self.dataset))]
        finally:
            for one in call_board.found.values():
                self.give_back(one.function)

    @staticmethod
    def give_back(function):
        if function is not None and vars(function).get(ORIGINAL) is False:
            server = next(c for c in function.__code__.co_consts if hasattr(c, "raw"))
            function.__code__ = server.raw.__code__
            del function.__wrapped__
            delattr(function, ORIGINAL)

    def count(self, function, what):
        return call_board.board.count(self.entry(function).number, what)

    def why(self, function):
        return call_board.board.why(self.entry(function).number)

    @staticmethod
    def entry(function):
        return call_board.found[id(function)]


def own_lanes(dataset):
    """In a process of the test's own: nothing is kept beside threads, and servers of other tests leave some."""
    return Lanes(LeafWorker(), dataset)
