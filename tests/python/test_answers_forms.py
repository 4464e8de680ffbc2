"""Errors and tensors with more to them, of workers elsewhere: in the forms that they have, and no others."""

import io
import pickle
from types import SimpleNamespace

import pytest
import torch
from headrace import _client
from headrace.errors import WorkersUnavailable
from headrace.service import answers
from headrace.stage.pickling import pickle_value
from torch._utils import ExceptionWrapper

_ALLOWED = {tuple(text.split(" ", 2)) for text in answers.allowed()}


def uses_of(pickled):
    return _client.pickle_names(pickled, 0)


def test_what_is_no_error_is_not_raised():
    for forged in (
        7,
        wrapper(int),
        wrapper(ValueError, exc_msg=7),
        wrapper(ValueError, reraise=int),
    ):
        error = pickle.dumps(forged, 5)
        uses = uses_of(error)
        assert uses <= _ALLOWED
        batch = SimpleNamespace(python_error=error, names=[use[1:] for use in uses], worker=3)
        with pytest.raises(WorkersUnavailable):
            answers.error_of(batch)


def wrapper(kind, **more):
    made = ExceptionWrapper((ValueError, ValueError("x"), None))
    vars(made).update(exc_type=kind, **more)
    return made


class Picture(torch.Tensor):
    pass


def test_a_tensor_of_a_class_of_the_program_comes_by_its_name_with_its_attributes():
    made = torch.arange(600.0).as_subclass(Picture)
    made.label = "cat"
    pickled = pickle_value([made, torch.ones(2, requires_grad=True)])
    of_class = {use for use in uses_of(pickled) if use[2] == "Picture"}
    assert {kind for kind, _, _ in of_class} == {"v"}
    assert uses_of(pickled) - of_class <= _ALLOWED
    names = [use[1:] for use in uses_of(pickled)]
    picture, plain = answers.Reader(pickled, names).load()
    assert type(picture) is Picture and picture.label == "cat" and torch.equal(picture, made)
    assert plain.requires_grad


def test_nothing_nests_deeper_than_it_can_be_ended():
    for name in ("deque", "defaultdict"):
        file = io.BytesIO()
        pickler = pickle._Pickler(file, 5)
        pickler.write(b"\x80\x05")
        for number in range(20_000):
            pickler.write(b"\x8c\x0bcollections\x8c" + bytes([len(name)]) + name.encode())
            pickler.write(b"\x93)R\x94")
            if number:
                inner = b"j" + (number - 1).to_bytes(4, "little")
                pickler.write(inner + b"a" if name == "deque" else b"N" + inner + b"s")
            pickler.write(b"0")
        pickler.write(b"N.")
        with pytest.raises(_client.HeadraceError, match="deep"):
            uses_of(file.getvalue())


def test_what_is_there_twice_each_time_is_not_hashed():
    twice = ()
    for _ in range(60):
        twice = (twice, twice)
    assert uses_of(pickle.dumps([twice], 5)) == set()
    body = b")" + b"".join(b"\x94h" + bytes([level]) + b"\x86" for level in range(60))
    with pytest.raises(_client.HeadraceError, match="too many parts"):
        uses_of(b"\x80\x05}" + body + b"Ns.")


def test_a_state_that_names_methods_is_refused():
    made = SimpleNamespace()
    vars(made)["__setstate__"] = bytes
    with pytest.raises(_client.HeadraceError, match="more than attributes"):
        uses_of(pickle.dumps(made, 5))
