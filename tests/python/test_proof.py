"""The proof that code is free of state: no data set that keeps state passes."""

import importlib
import importlib.util
import random

import headrace
import numpy as np
import pytest
import torch
from headrace.capture.proof.proof import Code
from headrace.capture.proof.prove import prove, prove_call, prove_parts
from support.purity_cases.base import Rows
from support.stateful import STATEFUL as STATEFUL_DATA
from torchvision import transforms as v1

KINDS = ("plain", "calls", "caches", "objects", "outside", "libraries")
STATEFUL = tuple(f"stateful_{name}" for name in KINDS)
PURE = ("pure_plain", "pure_more", "pure_libraries")


def cases(modules):
    return list(_cases(modules))


def _cases(modules):
    for name in modules:
        module = importlib.import_module(f"support.purity_cases.{name}")
        for title, case in vars(module).items():
            ours = isinstance(case, type) and issubclass(case, Rows) and not title.startswith("_")
            if ours and case.__module__ == module.__name__:
                yield pytest.param(case, id=f"{name}.{title}")


def passes(dataset):
    """What each sample is, four times, each under the same random numbers."""
    found = []
    for _ in range(4):
        samples = []
        for key in range(6):
            random.seed(key)
            np.random.seed(key)
            torch.manual_seed(key)
            samples.append(repr(dataset[key]))
        found.append(samples)
    return found


@pytest.mark.parametrize("case", cases(STATEFUL))
def test_state_is_never_proved_away(case):
    proof = prove_parts(case())
    first, *later = passes(case())
    assert any(samples != first for samples in later) or _by_order(case)
    assert not proof.proved
    assert "is not understood" not in proof.reason  # that would be an error of ours
    assert proof.code not in (Code.CLEAN, Code.DECLARED) and proof.reason and proof.remedy


def _by_order(case):
    """Whether samples differ when they are asked for in another order."""
    one, other = case(), case()
    forward = [repr(one[key]) for key in range(6)]
    backward = [repr(other[key]) for key in reversed(range(6))]
    return forward != backward[::-1]


@pytest.mark.parametrize("case", cases(PURE))
def test_ordinary_code_is_proved(case):
    proof = prove_parts(case())
    assert proof.proved, proof.reason
    first, *later = passes(case())
    assert all(samples == first for samples in later)


def test_the_tables_of_cases_are_large():
    assert len(cases(STATEFUL)) >= 150
    assert len(cases(PURE)) >= 60


class Collates:
    seen = []

    def __call__(self, batch):
        self.seen.append(len(batch))
        return len(self.seen)


def changes_dataset(worker):
    torch.utils.data.get_worker_info().dataset.n = worker


class _Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(3))


class OneByOne(Rows):
    @headrace.pure
    def __getitem__(self, i):
        exec("self.n += 1")
        return self.n


def rows():
    return importlib.import_module("support.purity_cases.pure_plain").Tuples()


def test_what_is_asked_of_a_loader():
    loader = torch.utils.data.DataLoader
    assert prove(loader(rows())).code is Code.CLEAN
    assert prove(loader(rows(), collate_fn=Collates())).code is Code.WRITES_STATE
    assert not prove(loader(rows(), worker_init_fn=changes_dataset)).proved
    assert prove(loader(_Endless())).code is Code.WRITES_STATE


def test_a_reason_names_the_place():
    case = importlib.import_module("support.purity_cases.stateful_plain").Attribute
    proof = prove_parts(case())
    assert "Attribute.__getitem__ (" in proof.reason and "stateful_plain.py:" in proof.reason
    assert "sets self.n" in proof.reason and proof.code is Code.WRITES_STATE


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("WritesFile", Code.OUTSIDE_EFFECT),
        ("Clock", Code.READS_OUTSIDE),
        ("SystemNumbers", Code.READS_OUTSIDE),
        ("ThreadWrites", Code.UNKNOWN_CALL),
        ("Async", Code.UNKNOWN_CONSTRUCT),
        ("TensorInPlace", Code.WRITES_STATE),
    ],
)
def test_codes(case, code):
    module = importlib.import_module("support.purity_cases.stateful_outside")
    assert prove_parts(getattr(module, case)()).code is code


def test_what_is_filled_in_stays_as_it_was():
    module = importlib.import_module("support.purity_cases.stateful_caches")
    assert prove_parts(module.FillChanged()).code is Code.WRITES_STATE


def test_declared_code_is_believed_and_named():
    proof = prove_parts(OneByOne())
    assert proof.proved and proof.code is Code.DECLARED
    assert proof.declared == ("OneByOne.__getitem__",)


def test_a_declaration_is_not_inherited():
    @headrace.pure
    class Parent(Rows):
        def __getitem__(self, i):
            exec("self.n += 1")

    class Child(Parent):
        def __getitem__(self, i):
            exec("self.n += 1")

    assert prove_parts(Parent()).code is Code.DECLARED
    assert not prove_parts(Child()).proved


def test_pure_declares_code_only():
    with pytest.raises(TypeError, match="functions and classes, not int"):
        headrace.pure(3)


def test_trusted_code_is_not_read(monkeypatch):
    loader = torch.utils.data.DataLoader(rows(), collate_fn=Collates())
    monkeypatch.setenv("HEADRACE_TRUST_CODE", "1")
    proof = prove(loader)
    assert proof.proved and proof.declared == ("the whole program",)


def test_the_verdict_is_the_same_each_time():
    loader = torch.utils.data.DataLoader(rows(), collate_fn=Collates())
    assert len({prove(loader) for _ in range(3)}) == 1


def test_a_file_that_was_edited_is_not_believed(tmp_path):
    path = tmp_path / "made_for_proof.py"
    path.write_text("class D:\n    def __getitem__(self, i):\n        return i + 1\n")
    spec = importlib.util.spec_from_file_location("made_for_proof", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert prove_parts(module.D()).proved
    path.write_text("class D:\n    def __getitem__(self, i):\n        return i + 2\n")
    proof = prove_parts(module.D())
    assert not proof.proved and "source can't be read" in proof.reason


@pytest.mark.parametrize("cls", STATEFUL_DATA, ids=lambda cls: cls.__name__)
def test_data_sets_whose_lanes_have_state_are_not_proved(cls):
    assert not prove_parts(cls()).proved


class Augmented(Rows):
    def __init__(self, transform):
        super().__init__()
        self.transform = transform

    def __getitem__(self, i):
        return self.transform(i)


@pytest.mark.parametrize(
    "transform",
    [
        lambda x: x + random.random(),
        lambda x: x + np.random.randint(3),
        lambda x: torch.empty(x).uniform_(),
        lambda x: torch.rand(x),
        v1.Compose([v1.RandomHorizontalFlip()]),
        v1.ColorJitter(0.1),
    ],
)
def test_a_proof_says_where_random_numbers_are_drawn(transform):
    proof = prove_parts(Augmented(transform))
    assert proof.proved, proof.reason
    where, _, line = proof.draws.partition(" (")
    assert where in ("Augmented.__getitem__", "Compose.__call__") and line


@pytest.mark.parametrize(
    "transform", [v1.ToTensor(), v1.Compose([v1.Resize(4), v1.Normalize(0.5, 0.5)]), abs]
)
def test_a_proof_says_that_nothing_is_drawn(transform):
    assert prove_parts(Augmented(transform)).draws == ""


def test_callables_by_themselves():
    assert prove_call(torch.utils.data.default_collate, "collate_fn").proved
    assert prove_call(v1.RandomCrop(3), "transform").draws
    proof = prove_call(Collates(), "collate_fn")
    assert not proof.proved and "Collates.__call__ (" in proof.reason
