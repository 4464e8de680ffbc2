"""What lies in pinned memory before torch pins the rest (serve/pinning.py), without a device."""

import ctypes

import pytest
import torch
from headrace.serve import pinning
from torch.utils.data import DataLoader, TensorDataset

LARGE = 1 << 18  # float32 values: as many bytes as a tensor needs to be copied here


class Copies:
    """Copies memory, and plays the pinned memory of a device."""

    def __init__(self) -> None:
        self.made: list[torch.Tensor] = []

    def copy(self, to: int, source: int, count: int) -> None:
        ctypes.memmove(to, source, count)

    def new(self, tensor: torch.Tensor) -> torch.Tensor:
        made = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
        self.made.append(made)
        return made

    def of(self, data: object) -> object:
        return pinning.with_large_pinned(data, self.copy, self.new)


@pytest.fixture
def copies() -> Copies:
    return Copies()


def test_large_tensors_are_copied_with_their_bits_and_strides(copies):
    rows = torch.randn(4, 3, 256, 256)
    for tensor in (rows, rows.contiguous(memory_format=torch.channels_last), rows.bfloat16()):
        copy = copies.of(tensor)
        assert copy is copies.made[-1]
        assert (copy.stride(), copy.dtype) == (tensor.stride(), tensor.dtype)
        assert torch.equal(copy, tensor)


def test_containers_stay_of_their_kinds_and_small_things_the_same(copies):
    images, labels = torch.randn(LARGE), torch.arange(4)
    batch = {"x": [images, labels], "y": (images, "name", None)}
    made = copies.of(batch)
    assert list(made) == ["x", "y"] and type(made["x"]) is list and type(made["y"]) is tuple
    assert made["x"][1] is labels and made["y"][1:] == ("name", None)
    # As with torch's own pinning, each place gets memory of its own.
    assert [made["x"][0] is copies.made[0], made["y"][0] is copies.made[1]] == [True, True]
    assert batch["x"][0] is images


class Own(list):
    pass


@pytest.mark.parametrize(
    "data",
    [
        torch.zeros(LARGE - 1),
        torch.zeros(LARGE * 2)[::2],
        torch.zeros(LARGE).requires_grad_(),
        torch.zeros(LARGE, dtype=torch.complex64).conj(),
        torch.nn.Parameter(torch.zeros(LARGE)),
        torch.zeros(LARGE).to_sparse(),
        torch.zeros(LARGE, device="meta"),
        Own([torch.zeros(LARGE)]),
    ],
    ids=["small", "strided", "grad", "conjugate", "subclass", "sparse", "meta", "own container"],
)
def test_what_is_not_plain_is_left_to_torch(copies, data):
    assert copies.of(data) is data and copies.made == []


def test_batches_of_workers_are_copied_by_the_session(seam, monkeypatch):
    monkeypatch.setattr(torch.utils.data._utils.pin_memory, "pin_memory", lambda data, device: data)
    copies = Copies()
    monkeypatch.setattr(pinning, "_new", copies.new)
    rows = torch.randn(12, LARGE // 2)
    batches = iter(DataLoader(TensorDataset(rows), 4, num_workers=1))
    batches._pin_memory = True
    made = [batch for (batch,) in batches]
    assert torch.equal(torch.cat(made), rows)
    assert [mine is its for mine, its in zip(made, copies.made, strict=True)] == [True] * 3


def test_torch_pins_after_it(monkeypatch):
    seen = []

    def pin(data: object, device: object) -> str:
        seen.append((data, device))
        return "torch's"

    monkeypatch.setattr(torch.utils.data._utils.pin_memory, "pin_memory", pin)
    monkeypatch.setattr(pinning, "_new", lambda tensor: torch.zeros_like(tensor))
    large, small = torch.randn(LARGE), torch.ones(2)
    copied = []

    def copy(to: int, source: int, count: int) -> None:
        copied.append(count)
        ctypes.memmove(to, source, count)

    assert pinning.pinned([large, small], "cuda", copy) == "torch's"
    ((batch, device),) = seen
    assert copied == [large.nbytes] and device == "cuda"
    assert batch[0] is not large and torch.equal(batch[0], large) and batch[1] is small
    assert pinning.pinned([large], "cuda", None) == "torch's"
    assert seen[1][0][0] is large
