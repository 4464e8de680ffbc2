"""The functions that make arrays and tensors of an answer check what it says of them."""

import pickle

import numpy as np
import pytest
import torch
from headrace.stage import arrays, made_tensors
from headrace.stage.randomness import read_state

_STORAGE = object()
WRONG = {
    "a longer tensor": (made_tensors.rebuild_tensor, (bytearray(8), "float32", (3,))),
    "a negative tensor": (made_tensors.rebuild_tensor, (bytearray(8), "float32", (-1, -2))),
    "no dtype": (made_tensors.rebuild_tensor, (bytearray(8), "load", (2,))),
    "quantized": (made_tensors.rebuild_tensor, (bytearray(8), "qint8", (8,))),
    "an empty one that is none": (made_tensors.rebuild_empty, ("float32", (1 << 40,), (1,))),
    "a view beyond": (made_tensors.rebuild_view, (_STORAGE, "float32", 0, (3,), (1,))),
    "a view by strides": (made_tensors.rebuild_view, (_STORAGE, "float32", 0, (2,), (1 << 40,))),
    "a view before": (made_tensors.rebuild_view, (_STORAGE, "float32", -1, (1,), (1,))),
    "a view backwards": (made_tensors.rebuild_view, (_STORAGE, "float32", 1, (2,), (-1,))),
    "a longer array": ("rebuild_array", (b"12345678", "<f4", (3,), "C")),
    "a negative array": ("rebuild_array", (b"12345678", "<f4", (-1, -2), "C")),
    "an array of pointers": ("rebuild_array", (b"12345678", "|O", (1,), "C")),
    "a structure of pointers": (
        "rebuild_array",
        (b"12345678", (("a",), ("|O",), (0,), 8, False), (1,), "C"),
    ),
    "a union": ("rebuild_dtype", (("<i8", {"a": ("|O", 0)}),)),
    "elements for an old array": ("fill_objects", (np.arange(3), ((1,), [1]))),
    "too few elements": ("fill_objects", (np.empty(0, object), ((1 << 40,), [1]))),
    "a longer scalar": ("rebuild_scalar", ("<f8", b"1234")),
}


@pytest.mark.parametrize("name", WRONG)
def test_claims_beyond_the_bytes_are_errors(name):
    function, arguments = WRONG[name]
    if isinstance(function, str):
        function = getattr(arrays, function)
    storage = torch.frombuffer(bytearray(8), dtype=torch.uint8).untyped_storage()
    given = [storage if part is _STORAGE else part for part in arguments]
    with pytest.raises((ValueError, TypeError)):
        function(*given)


def test_an_empty_storage_does_not_grow():
    storage = made_tensors.rebuild_storage(b"")
    with pytest.raises(RuntimeError):
        torch.empty(0).set_(storage, 0, (1 << 30,), (1,))


def test_a_dtype_in_the_state_of_generators_is_not_believed():
    kinds = np.array([1, 2], np.uint32)
    assert read_state(pickle.dumps((kinds, kinds[:0]), 5))[0].tolist() == [1, 2]
    dtype = np.dtype([("a", object)])
    with pytest.raises((pickle.UnpicklingError, ValueError, TypeError)):
        read_state(pickle.dumps(np.zeros(1, dtype), 5))
    forged = pickle.dumps((np._core.numeric._frombuffer, kinds), 5)
    assert read_state(forged)[1].tolist() == [1, 2]
