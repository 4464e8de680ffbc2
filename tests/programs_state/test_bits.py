"""The lines of tests/support/in_programs/bits.py: what a program could see, they tell."""

import subprocess
import sys

import pytest
from support.both_cases import CASES, cases
from support.both_ways import IN_PROGRAMS

# Pairs that a program can tell apart, as expressions.
DIFFERENT = {
    "dtype": ("torch.zeros(2)", "torch.zeros(2, dtype=torch.int32)"),
    "shape": ("torch.zeros(2, 3)", "torch.zeros(3, 2)"),
    "stride": ("torch.zeros(2, 2)", "torch.zeros(2, 2).t()"),
    "stride of nothing": ("torch.empty(0, 5)", "torch.empty(5, 0).t()"),
    "bits of nan": ("torch.tensor([float('nan')])", "-torch.tensor([float('nan')])"),
    "sign of zero": ("torch.tensor([0.0])", "torch.tensor([-0.0])"),
    "container": ("[torch.ones(1)]", "(torch.ones(1),)"),
    "order of keys": ("dict(a=1, b=2)", "dict(b=2, a=1)"),
    "kind of number": ("1", "1.0"),
    "bool and int": ("True", "1"),
    "numpy scalar": ("np.float64(1)", "1.0"),
    "byte order": ("np.zeros(2, '<i4')", "np.zeros(2, '>i4')"),
    "layout of an array": ("np.zeros((2, 2))", "np.zeros((2, 2), order='F')"),
    "array that cannot be written": ("np.zeros(2)", "np.broadcast_to(0.0, 2)"),
    "shared memory": ("[x, x[1:]]", "[x, x[1:].clone()]"),
    "memory of tensor and array": ("[x, x.numpy()]", "[x, x.numpy().copy()]"),
    "one object": ("[y, y]", "[y, list(y)]"),
    "subclass": ("torch.ones(1)", "torch.nn.Parameter(torch.ones(1), False)"),
    "attribute of a tensor": ("torch.ones(1)", "noted"),
    "gradient": ("torch.ones(1)", "torch.ones(1).requires_grad_()"),
    "bytes": ("b'a'", "bytearray(b'a')"),
    "the end of a long tree": ("list(range(999))", "[*range(998), 0]"),
}

_PROGRAM = """
import sys, numpy as np, torch, bits
x, y, noted = torch.ones(3), [1, 2], torch.ones(1)
noted.note = "here"
for text in sys.argv[1:]:
    bits.show(eval(text))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    texts = list(dict.fromkeys(text for pair in DIFFERENT.values() for text in pair))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *texts],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(IN_PROGRAMS)},
    )
    return dict(zip(texts, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_a_program_can_tell_apart_has_other_lines(what, told):
    one, other = (told[text] for text in DIFFERENT[what])
    assert one != other


def test_there_are_at_least_200_programs():
    themes = [file.stem for file in CASES.glob("*.py")]
    found = cases(themes)
    names = {(case.theme, case.name) for case in found}
    assert len(names) >= 200
    assert sum(case.way == "two workers" for case in found) >= 80
    assert len(cases(themes, ["both hosts"], hosts=2)) >= 40
