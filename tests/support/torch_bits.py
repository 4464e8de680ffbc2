"""Marks of tests that compare native operators with bits that torch has on some machines alone."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
import torch
from headrace.capture import augment

needs_vectors = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="tensors are native for torch's AVX2 and AVX512 builds",
)
# Affine transforms of tensors and AugMix multiply matrices. torch's libraries choose their kernels
# for that by the CPU, so the bits that are native are not those of every machine.
needs_products = pytest.mark.skipif(
    not augment.products_are_known(),
    reason="torch's products of matrices have other bits on this CPU",
)


def with_products(values: Iterable[Any], of_products: Collection[Any]) -> list[Any]:
    """Values for `parametrize`: those in `of_products` carry the mark `needs_products`."""
    return [
        pytest.param(value, marks=needs_products) if value in of_products else value
        for value in values
    ]
