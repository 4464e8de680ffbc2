"""numpy.random.normal in a lane: beside its numbers (test_numpy_functions.py), what a program sees of it."""

import signal
import time

import numpy as np
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
def test_a_program_of_single_numbers_has_numpys_function_again():
    real = np.random.normal
    functions.enable()
    ours = np.random.normal
    for size in (2000, None):  # calls that are ours begin the count anew
        for _ in range(functions._MOST_PASSED - 1):
            np.random.normal()
        assert np.random.normal is ours is not real
        np.random.normal(size=size)
    assert np.random.normal is real
    assert ours(size=2000).shape == (2000,)  # as one that a module holds
