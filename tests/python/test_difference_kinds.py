"""Samples that are equal are found equal, and others are not, whatever kinds of tensors are in them."""

import pytest
import torch
from headrace.admission.difference import difference
from torchvision.tv_tensors import BoundingBoxes, Image

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of what is a prototype

EYE = torch.eye(4)


def quantized(scale, zero=1, dtype=torch.quint8, value=1.0):
    return torch.quantize_per_tensor(torch.arange(4.0) * value, scale, zero, dtype)


def by_channel(scales, axis=0):
    zeros = torch.zeros(2, dtype=torch.int64)
    return torch.quantize_per_channel(
        torch.ones(2, 2), torch.tensor(scales), zeros, axis, torch.qint8
    )


def nested(*sizes, value=1.0, layout=torch.strided):
    parts = [torch.full((size,), value) for size in sizes]
    return torch.nested.nested_tensor(parts, layout=layout)


def of_one(value, *, at=0):
    return torch.sparse_coo_tensor([[at]], [value], (3,))


def boxes(form, size=(8, 9)):
    return BoundingBoxes(torch.ones(2, 4), format=form, canvas_size=size)


class Named(torch.Tensor):
    pass


def named(note, value=1.0):
    tensor = torch.full((3,), value).as_subclass(Named)
    tensor.note = note
    return tensor


# All of these differ.
KINDS = {
    "plain": lambda: EYE,
    "wants a gradient": lambda: torch.eye(4).requires_grad_(),
    "parameter": lambda: torch.nn.Parameter(EYE),
    "parameter without a gradient": lambda: torch.nn.Parameter(EYE, requires_grad=False),
    "corners": lambda: boxes("XYXY"),
    "a corner and sides": lambda: boxes("XYWH"),
    "corners in another picture": lambda: boxes("XYXY", (9, 8)),
    "an image": lambda: Image(torch.ones(2, 4)),
    "named": lambda: named(torch.ones(2)),
    "named, another note": lambda: named(torch.zeros(2)),
    "named, other values": lambda: named(torch.ones(2), 2.0),
    "named, no note": lambda: torch.ones(3).as_subclass(Named),
    "coo": lambda: EYE.to_sparse(),
    "coo, wants a gradient": lambda: EYE.to_sparse().requires_grad_(),
    "coo, other values": lambda: (EYE * 2).to_sparse(),
    "coo, larger": lambda: torch.eye(5).to_sparse(),
    "coo, of one": lambda: of_one(0.0),
    "coo, of one that is -0": lambda: of_one(-0.0),
    "coo, of one elsewhere": lambda: of_one(0.0, at=1),
    "coo, not a number": lambda: of_one(float("nan")),
    "coo, not coalesced": lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 1.0], (3,)),
    "coo, coalesced": lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 1.0], (3,)).coalesce(),
    "csr": lambda: EYE.to_sparse_csr(),
    "csr, other values": lambda: (EYE * 2).to_sparse_csr(),
    "csc": lambda: EYE.to_sparse_csc(),
    "bsr": lambda: EYE.to_sparse_bsr((2, 2)),
    "bsc": lambda: EYE.to_sparse_bsc((2, 2)),
    "bsc, other blocks": lambda: EYE.to_sparse_bsc((1, 2)),
    "quantized": lambda: quantized(0.5),
    "quantized, other scale": lambda: quantized(1.0, value=2.0),
    "quantized, other zero": lambda: quantized(0.5, 2),
    "quantized, other type": lambda: quantized(0.5, 1, torch.qint8),
    "quantized, other values": lambda: quantized(0.5, value=2.0),
    "by channel": lambda: by_channel([0.5, 0.1]),
    "by channel, other scales": lambda: by_channel([0.5, 0.2]),
    "by channel, other axis": lambda: by_channel([0.5, 0.1], 1),
    "meta": lambda: torch.empty(3, device="meta"),
    "meta, larger": lambda: torch.empty(4, device="meta"),
    "meta, turned": lambda: torch.empty(3, 3, device="meta").T,
    "meta, not turned": lambda: torch.empty(3, 3, device="meta"),
    "nested": lambda: nested(2, 3),
    "nested, other sizes": lambda: nested(3, 2),
    "nested, more": lambda: nested(2, 3, 1),
    "nested, other values": lambda: nested(2, 3, value=2.0),
    "jagged": lambda: nested(2, 3, layout=torch.jagged),
    "jagged, other values": lambda: nested(2, 3, value=2.0, layout=torch.jagged),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    for name, make in KINDS.items():
        found = difference({"x": [KINDS[kind]()]}, {"x": [make()]})
        assert (found is None) == (name == kind), name
        assert found is None or found.field.startswith("['x'][0]"), found.field


def test_what_queues_forget_is_no_difference():
    """`headrace verify` compares batches that crossed one with batches that did not."""
    for make in (lambda: torch.ones(3), lambda: torch.nn.Parameter(torch.ones(3))):
        noted = make()
        noted.note = "of the program"
        assert difference(noted, make()) is None


def test_the_order_in_memory_is_no_difference():
    """Collated clips with channels last are contiguous if a worker collates them, and only then."""
    turned = torch.ones(4, 5, 3).permute(2, 0, 1)
    assert difference(turned, turned.contiguous()) is None


def test_the_attribute_that_differs_is_named():
    found = difference([boxes("XYXY")], [boxes("XYWH")])
    assert found.field == "[0].format" and "XYXY" in found.what
