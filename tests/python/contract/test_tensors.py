"""Contract: tensors of any kind in a batch are what the stock loader's worker makes of them.

That is not always what the worker had: torch's queues forget attributes, quantizers and lazy conjugation.
"""

import re

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from torch.utils.data import DataLoader, Dataset

pytestmark = pytest.mark.filterwarnings(
    "ignore:The PyTorch API of nested tensors is in prototype:UserWarning",
    "ignore:Sparse .* tensor support is in beta:UserWarning",
    "ignore:torch.quantize_per_tensor.* deprecated:UserWarning",
    "ignore:Sparse invariant checks are implicitly disabled:UserWarning",
)


def with_a_note(tensor):
    tensor.note = "of the program"
    return tensor


def nested():
    return torch.nested.nested_tensor([torch.arange(3.0), torch.arange(400.0)])


def thrice():
    rows = torch.arange(500.0)
    return [rows, rows[1:], rows]


def nested_twice():
    tensor = nested()
    return [tensor, tensor.values(), tensor]


class Named(torch.Tensor):
    pass


KINDS = {
    "plain": lambda: torch.arange(600.0).view(20, 30),
    "small": lambda: torch.arange(6).view(2, 3),
    "scalar": lambda: torch.tensor(3),
    "empty": lambda: torch.empty(0, 3),
    "transposed": lambda: torch.arange(600.0).view(20, 30).t(),
    "expanded": lambda: torch.arange(300.0).expand(2, 300),
    "nested": nested,
    "jagged": lambda: torch.nested.nested_tensor([torch.arange(3.0)], layout=torch.jagged),
    "attribute": lambda: with_a_note(torch.arange(300.0)),
    "parameter": lambda: with_a_note(torch.nn.Parameter(torch.arange(300.0))),
    "wants-a-gradient": lambda: torch.arange(300.0).requires_grad_(),
    "conjugate": lambda: torch.tensor([1 + 2j, 3 - 1j]).conj(),
    "negated": lambda: torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
    "coo": lambda: torch.eye(30).to_sparse(),
    "csr": lambda: torch.eye(30).to_sparse_csr(),
    "bsc": lambda: torch.eye(30).to_sparse_bsc((2, 2)),
    "quantized": lambda: torch.quantize_per_tensor(torch.arange(4.0), 0.5, 1, torch.quint8),
    "meta": lambda: torch.empty(3, device="meta"),
    "subclass": lambda: torch.arange(300.0).as_subclass(Named),
    "float8": lambda: torch.arange(4.0).to(torch.float8_e4m3fn),
    "thrice": thrice,
    "nested-twice": nested_twice,
}


class Of(Dataset):
    def __init__(self, kind):
        self.kind = kind

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return KINDS[self.kind]()


def as_it_is(sample):
    return sample


def attempt(ask):
    try:
        return re.sub(r"\bj\d+\b", "j", str(ask()))  # sizes that the process counts
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def seen(value):
    """All that a program can ask of it, and whether it can be used in place."""
    if isinstance(value, list):
        same = [first is second for first in value for second in value]
        return [seen(item) for item in value], same
    asked = [
        lambda: type(value).__name__,
        lambda: (value.dtype, value.layout, value.device, value.requires_grad, value.is_leaf),
        lambda: (value.is_nested, value.is_quantized, value.is_conj(), value.is_neg()),
        lambda: sorted(vars(value)),
        lambda: (value._is_view(), value._version),
        lambda: tuple(value.shape),
        lambda: (value.stride(), value.storage_offset()),
        lambda: value.untyped_storage().nbytes(),
        lambda: value.tolist(),
        lambda: value,
        lambda: value.detach_().requires_grad,
        lambda: value.add_(1),
    ]
    return [attempt(ask) for ask in asked]


@pytest.mark.parametrize("kind", KINDS)
def test_of_any_kind(kind):
    def run():
        loader = DataLoader(Of(kind), batch_size=None, num_workers=1, collate_fn=as_it_is)
        (value,) = loader
        return seen(value), loader

    expected, _ = run()
    headrace.install()
    try:
        found, loader = run()
    finally:
        headrace.uninstall()
    assert state_of(loader).report.path == "python"
    assert found == expected
