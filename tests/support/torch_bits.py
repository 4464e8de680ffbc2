"""Marks of tests that compare native operators with bits that torch has on some machines alone."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
import torch
from headrace.native import augment

needs_vectors = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="tensors are native for torch's AVX2 and AVX512 builds",
)
# Affine transforms of tensors and AugMix multiply matrices. torch's libraries choose their kernels
# for that by the CPU, of which two ways are native: there may be machines with another one.
needs_products = pytest.mark.skipif(
    augment.matrix_products() == augment.UNKNOWN,
    reason="torch's products of matrices have other bits on this CPU",
)


def with_products(values: Iterable[Any], of_products: Collection[Any]) -> list[Any]:
    """Values for `parametrize`: those in `of_products` carry the mark `needs_products`."""
    return [
        pytest.param(value, marks=needs_products) if value in of_products else value
        for value in values
    ]


def multiply_matrices(monkeypatch: pytest.MonkeyPatch, form: int) -> None:
    """Has torch, and capture, multiply matrices in one of the ways that there are; NEVER_FUSED + 1:
    by fused operations where the product is small too, which no CPU is known to do."""

    def bmm(points: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
        x, y, _ = points[0].T
        few = len(x) * 6 < 400
        fused = form > augment.NEVER_FUSED or (form == augment.FUSED_WHERE_LARGE and not few)
        columns = []
        for a, b, c in matrices[0].T:
            # A product of two float32 numbers is exact in float64.
            exact = (x * a).double() + y.double() * b.double()
            columns.append((exact.float() if fused else x * a + y * b) + c)
        return torch.stack(columns, dim=-1).unsqueeze(0)

    monkeypatch.setattr(torch.Tensor, "bmm", bmm)
    monkeypatch.setattr(augment, "matrix_products", augment.matrix_products.__wrapped__)
