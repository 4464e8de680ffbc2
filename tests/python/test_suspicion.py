"""Two versions of a batch: whether their values differ, and what is done about it."""

import pickle
import random
from types import SimpleNamespace

import pytest
import torch
from headrace.admission.suspicion import differs, judge
from headrace.errors import BatchesDiffer
from headrace.service.report import LoaderReport
from headrace.stage.randomness import get_state
from torch._utils import ExceptionWrapper


def version(value=None, error=None, state=b""):
    raised = b""
    if error is not None:
        try:
            raise error
        except Exception:
            raised = pickle.dumps(ExceptionWrapper(where="in DataLoader worker process 0"))
    return SimpleNamespace(
        pickle=pickle.dumps(value), buffers=[], python_error=raised, lane_state=state, names=None
    )


def state_after(draws):
    random.seed(1)
    for _ in range(draws):
        random.random()
    return get_state({})


def test_pickles_of_equal_values_may_differ():
    text = "".join(["a", "b"])
    twice, once = [text, text], ["".join(["a", "b"]), text]
    a, b = version(twice), version(once)
    assert a.pickle != b.pickle
    assert differs(a, b) is None


def test_the_first_sample_and_field_that_differ_are_known():
    a, b = torch.zeros(4, 3), torch.zeros(4, 3)
    b[2, 1] = 1
    found = differs(version({"image": a}), version({"image": b}))
    assert (found.field, found.sample) == ("['image']", 2)


def test_errors_are_compared_by_type_and_message():
    assert differs(version(error=ValueError("x")), version(error=ValueError("x"))) is None
    assert "KeyError" in differs(version(error=ValueError("x")), version(error=KeyError("x"))).what
    assert "y" in differs(version(error=ValueError("x")), version(error=ValueError("y"))).what
    assert (
        "raised ValueError: x and a batch"
        == differs(version(error=ValueError("x")), version()).what
    )


def test_the_random_state_after_the_batch_is_part_of_it():
    assert differs(version(1, state=state_after(2)), version(1, state=state_after(2))) is None
    found = differs(version(1, state=state_after(2)), version(1, state=state_after(3)))
    assert "random states" in found.what


def test_a_batch_that_does_not_unpickle_is_a_difference():
    broken = version(1)
    broken.pickle = b"no pickle"
    assert "can't be read" in differs(version(1), broken).what


class Session:
    def __init__(self, consumed=(0, [])):
        self.consumed, self.judged = consumed, []

    def judge(self, suspicion, *, equal):
        self.judged.append((suspicion, equal))
        return self.consumed


def suspicion(here, there):
    return SimpleNamespace(id=7, batch=3, worker=2, host="far", here=here, there=there)


def test_equal_values_are_told_and_nothing_is_said(capfd):
    session = Session()
    judge(session, suspicion(version(1), version(1)), LoaderReport("data", 1), "data")
    assert session.judged == [(7, True)]
    assert capfd.readouterr().err == ""


def test_a_difference_of_which_nothing_was_used_is_one_line(capfd):
    session = Session()
    judge(session, suspicion(version([1]), version([2])), LoaderReport("data", 1), "data")
    assert session.judged == [(7, False)]
    said = capfd.readouterr().err
    assert "worker 2 on far makes other batches than this host: batch 3, field [0]: 1 and 2" in said
    assert said.count("\n") == 1


def test_batches_that_were_used_are_named_and_raise(capfd):
    session = Session((3, [5, 9]))
    with pytest.raises(BatchesDiffer, match="3 that it made were used, in this iteration 5, 9"):
        judge(session, suspicion(version(1), version(2)), LoaderReport("data", 1), "data")
    assert "3 that it made were used" in capfd.readouterr().err


def test_with_warn_the_program_goes_on(capfd, monkeypatch):
    monkeypatch.setenv("HEADRACE_ON_DIFFERENCE", "warn")
    session = Session((3, []))
    judge(session, suspicion(version(1), version(2)), LoaderReport("data", 1), "data")
    assert "all in iterations before this one" in capfd.readouterr().err
