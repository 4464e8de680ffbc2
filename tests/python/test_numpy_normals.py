"""numpy.random.normal in a lane: beside its numbers (test_numpy_functions.py), what a program sees of it."""

import copy
import functools
import pickle
import signal
import time

import numpy as np
import numpy.random  # NumPy imports it when it is first asked for
from headrace.stage import functions
from support.own_process import in_own_process


@in_own_process
def test_what_a_handler_of_signals_raises_is_the_programs():
    """And nobody draws a second time."""
    functions.enable()
    np.random.normal(size=2000)

    class Timeout(Exception):
        pass

    def late(*_):
        raise Timeout

    signal.signal(signal.SIGALRM, late)
    kinds = []
    for seconds in (0.001, 0.002, 0.004):
        np.random.seed(5)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            np.random.normal(size=4_000_000)  # some 50 ms
            kinds.append("swallowed")
            time.sleep(10)
        except Timeout:
            kinds.append("late")
    assert kinds == ["late"] * 3 and np.random.normal._on, kinds


@in_own_process
def test_where_no_call_may_be_ours_none_is_looked_at():
    functions.enable()
    normal = np.random.normal
    for size in (2000, None):  # calls that are ours begin the count anew
        for _ in range(functions._MOST_PASSED - 1):
            np.random.normal()
        assert not normal._left
        np.random.normal(size=size)
    assert normal._left and np.random.normal is normal
    assert np.random.normal(size=2000).shape == (2000,)


@in_own_process
def test_a_copy_is_of_a_generator_of_its_own():
    """As of each method of an object: what it draws moves no other generator."""
    reals = {name: getattr(np.random, name) for name in ("normal", "randn", "shuffle")}
    functions.enable()
    for name, real in reals.items():
        ours = getattr(np.random, name)
        assert type(ours) is functions.Replaced
        for made in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            assert type(made) is type(real), name
            assert made.__self__ is not real.__self__ and made.__name__ == name
        assert pickle.dumps(functools.partial(ours, 1.0)) == pickle.dumps(
            functools.partial(real, 1.0)
        )
