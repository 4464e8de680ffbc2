"""Errors and signals that come while the first loader's iterator is made, which imports most of the package."""

import pytest
from support.programs import run_program

PROGRAM = """
import functools, signal, sys
from torch.utils.data import DataLoader
import headrace

class Late(Exception):
    pass

def late(number, frame):
    raise Late

def late_with(more, number, frame):
    raise Late

class Limit:
    def __call__(self, number, frame):
        raise Late

    def method(self, number, frame):
        raise Late

class Signals:
    def find_spec(self, name, path=None, target=None):
        if name == "headrace.loader.seam" and not reached:
            reached.append(name)
            signal.raise_signal(signal.SIGALRM)

reached = []
signal.signal(signal.SIGALRM, eval(sys.argv[1]))
sys.meta_path.insert(0, Signals())
headrace.install()
loader = DataLoader(range(8), 4, num_workers=1)
try:
    iter(loader)
except Late:
    print("raised", *reached)
print([batch.tolist() for batch in loader])
"""


@pytest.mark.parametrize(
    "handler", ["late", "functools.partial(late_with, 1)", "Limit()", "Limit().method"]
)
def test_what_a_handler_raises_reaches_the_program(handler):
    done = run_program(PROGRAM, handler)
    assert done.stdout.splitlines() == [
        "raised headrace.loader.seam",
        "[[0, 1, 2, 3], [4, 5, 6, 7]]",
    ], done.stdout + done.stderr
    assert "not used" not in done.stderr


def test_an_error_in_our_place_is_told_once_and_the_loader_is_torchs():
    program = PROGRAM.replace(
        "signal.raise_signal(signal.SIGALRM)", "raise RecursionError('too deep')"
    )
    done = run_program(program, "late")
    assert done.stdout == "[[0, 1, 2, 3], [4, 5, 6, 7]]\n", done.stdout + done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("headrace: ")]
    assert said[0] == "headrace: not used in this program: RecursionError: too deep"
    assert "past DataLoader._get_iterator" not in done.stderr
