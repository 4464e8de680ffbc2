"""The functions that make arrays and tensors of an answer check what it says of them."""

import pickle

import numpy as np
import pytest
import torch
from headrace.stage import arrays, made_tensors, pickling
from headrace.stage.randomness import read_state

_STORAGE = object()
_VIEW = (torch.frombuffer(bytearray(8), dtype=torch.uint8).untyped_storage(), "int8", 0, (8,), (1,))
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
    "a text of a size": ("rebuild_array", (b"12345678", "<f4", (2.0,), "C")),
    "a text with pointers": ("rebuild_dtype", ("T",)),
    "the memory of objects": ("rebuild_array", (np.array([1, "a"], object), "<i8", (2,), "C")),
    "the memory of an array": ("rebuild_array", (np.zeros(2), "<i8", (2,), "C")),
    "other memory": ("rebuild_array", (memoryview(bytes(16)).cast("q"), "<i8", (2,), "C")),
    "a tensor of objects": (
        made_tensors.rebuild_tensor,
        (np.array([1, "a"], object), "int64", (2,)),
    ),
    "a storage of objects": (made_tensors.rebuild_storage, (np.array([1, "a"], object),)),
    "a storage of a tensor": (made_tensors.rebuild_storage, (torch.zeros(8, dtype=torch.uint8),)),
    "a view of no storage": (made_tensors.rebuild_view, (torch.zeros(2), "float32", 0, (2,), (1,))),
    "elements of no storage": (made_tensors.rebuild_typed, (torch.zeros(2), "float32")),
    "a special one of no kind": (made_tensors.rebuild_special, ("call", _VIEW, False, bytes)),
    "a subclass of none": (made_tensors.rebuild_special, ("subclass", _VIEW, False, bytes)),
    "a meaning for Python": (
        made_tensors.rebuild_special,
        ("subclass", _VIEW, False, torch.Tensor, {"__class__": int}),
    ),
    "attributes that are called": (
        made_tensors.rebuild_special,
        ("subclass", _VIEW, False, torch.Tensor, 7),
    ),
    "gradients by chance": (made_tensors.rebuild_special, ("tensor", _VIEW, 1)),
    "a special one beyond": (
        made_tensors.rebuild_special,
        ("tensor", (_STORAGE, "float32", 0, (3,), (1,)), False),
    ),
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


def test_attributes_of_a_tensor_set_no_property():
    own, other = bytearray(8), torch.ones(1)
    storage = made_tensors.rebuild_storage(own)
    view = storage, "complex64", 0, (1,), (1,)
    made = made_tensors.rebuild_special(
        "subclass", view, False, torch.Tensor, {"real": other, "data": other}
    )
    assert made.item() == 0 and not any(own)


def test_a_tensor_does_not_change_the_bytes_of_the_interpreter():
    made = made_tensors.rebuild_tensor(bytes([65]), "uint8", (1,))
    made.add_(1)
    assert bytes([65]) == b"A"


def test_arrays_without_bytes_take_none_and_stride_as_stocks():
    assert arrays.rebuild_array(b"", "S0", (1 << 40,), "C").nbytes == 0
    for made in (np.empty((0, 3)), np.empty((3, 0, 2), order="F"), np.empty((0,), "S1")):
        again = pickle.loads(pickling.pickle_value(made))
        stock = pickle.loads(pickle.dumps(made))
        assert (again.strides, again.dtype) == (stock.strides, stock.dtype)
        assert again.flags.writeable


def test_records_stay_records():
    made = np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    again = pickle.loads(pickling.pickle_value(made))
    assert again.dtype.type is np.record and again[0].a == 1


def test_a_dtype_in_the_state_of_generators_is_not_believed():
    kinds = np.array([1, 2], np.uint32)
    assert read_state(pickle.dumps((kinds, kinds[:0]), 5))[0].tolist() == [1, 2]
    dtype = np.dtype([("a", object)])
    with pytest.raises((pickle.UnpicklingError, ValueError, TypeError)):
        read_state(pickle.dumps(np.zeros(1, dtype), 5))
    forged = pickle.dumps((np._core.numeric._frombuffer, kinds), 5)
    assert read_state(forged)[1].tolist() == [1, 2]
