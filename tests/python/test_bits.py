"""headrace/admission/bits.py: copies and comparisons on the calling thread alone."""

import ctypes
import pickle
import random
import threading

import numpy as np
import pytest
import torch
from headrace.admission import bits
from headrace.native.plan import TORCH_DTYPES

DTYPES = [*TORCH_DTYPES.values(), torch.complex64]
SHAPES = [(), (1,), (0, 3), (3, 5, 7), (2, 0)]


def drawn(dtype, shape, seed):
    raw = np.random.default_rng(seed).integers(
        0, 2 if dtype is torch.bool else 256, (*shape, torch.empty((), dtype=dtype).element_size())
    )
    return torch.from_numpy(raw.astype(np.uint8)).reshape(-1).view(dtype).reshape(shape).clone()


def flip(tensor, place, bit):
    """Changes bits of one byte."""
    byte = ctypes.c_uint8.from_address(tensor.data_ptr() + place)
    byte.value ^= bit


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_copy_has_the_bits_and_memory_of_its_own(dtype, shape):
    tensor = drawn(dtype, shape, seed=7)
    copy = bits.copy_of(tensor)
    assert bits.same_bits(copy, tensor)
    assert copy.untyped_storage().resizable() and tensor.untyped_storage().resizable()
    if tensor.numel():
        flip(tensor, 0, 1)
        assert not bits.same_bits(copy, tensor)


def test_one_changed_bit_is_seen_wherever_it_is():
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    for _ in range(200):
        tensor = drawn(draw.choice(DTYPES), (draw.randint(1, 40), 3), draw.randrange(2**32))
        other = bits.copy_of(tensor)
        bit = 1 if other.dtype is torch.bool else 1 << draw.randrange(8)
        flip(other, draw.randrange(other.nbytes), bit)
        assert not bits.same_bits(tensor, other)


def test_equal_values_of_other_bits_differ_and_equal_nans_do_not():
    assert not bits.same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert bits.same_bits(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    assert not bits.same_bits(torch.zeros(4), torch.zeros(2, 2))
    assert not bits.same_bits(torch.zeros(4), torch.zeros(4, dtype=torch.int32))


def test_a_strided_tensor_is_compared_in_the_order_of_its_elements():
    tensor = torch.arange(12).reshape(3, 4)
    assert bits.same_bits(tensor.t(), tensor.t().contiguous())
    assert bits.copy_of(tensor.t()).is_contiguous()


class Marked(torch.Tensor):
    pass


def described(value):
    """All that a program could tell two tensors apart by, but their identity."""
    return (
        type(value), value.dtype, value.shape, value.stride(), value.requires_grad, vars(value),
        value.is_conj(), value.is_neg(), value.detach().resolve_conj().resolve_neg().tolist(),
        value.untyped_storage().resizable(),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pickled_tensor_of_every_type_comes_back(dtype, shape):
    tensor = drawn(dtype, shape, seed=8)
    sample = {"image": tensor, "rest": (3, "text", [tensor])}
    back = pickle.loads(bits.dumps(sample))
    assert back["rest"][:2] == (3, "text")
    for one in (back["image"], back["rest"][2][0]):
        assert bits.same_bits(one, tensor) and one.untyped_storage().resizable()
    assert back["image"] is back["rest"][2][0]


def test_what_is_more_than_its_bytes_is_pickled_by_torch():
    named = torch.zeros(3)
    named.note = "kept"
    values = [
        Marked([1.0, 2.0]),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(2, requires_grad=True),
        torch.arange(6).reshape(2, 3).t(),
        torch.zeros(1, 3, 4, 4).contiguous(memory_format=torch.channels_last),
        torch.tensor([1 + 2j]).conj(),
        torch.tensor([1 + 2j]).conj().imag,
        named,
        torch.empty(0, 4),
    ]
    for value in values:
        back = pickle.loads(bits.dumps([value]))[0]
        assert described(back) == described(value)


def test_no_thread_of_torchs_is_begun():
    def threads():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

    found = []

    def work():
        # The pool of a thread that has never divided work is empty: it would be made now.
        torch.set_num_threads(4)
        before = threads()
        big = torch.empty(1 << 20, dtype=torch.uint8)
        other = bits.copy_of(big)
        bits.same_bits(big, other)
        found.append(threads() - before)

    kept = torch.get_num_threads()
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        torch.set_num_threads(kept)
    assert found == [0]
