"""Trials of OpenCV's functions: drawn pictures, by the program's own cv2 and by the workers.

A program's OpenCV is another build than the workers'. So before a plan with its functions is used, each
call of the plan makes a few rough pictures both ways, beside the samples that are compared anyway.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..native import binding
from ..native.libraries import libraries
from ..native.opencv import Call
from ..native.plan import Array, Field, Leaf, Node, Plan

# Heights and widths: large and small, of which some divide by two and by each other.
_SIZES = ((67, 90), (91, 64), (33, 47), (224, 224), (120, 160), (375, 500), (17, 640), (5, 3))


class Drawn:
    """A data set whose samples are what the calls make of drawn pictures, all of one call first."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls

    def __len__(self) -> int:
        return len(_SIZES) * len(self._calls)

    def __getitem__(self, key: int) -> torch.Tensor:
        call = self._calls[key // len(_SIZES)]
        drawn = _picture(key % len(_SIZES), call.takes)
        made = call.apply(drawn if call.takes > 1 else drawn[:, :, 0])
        whole = made if made.ndim == 3 else made[:, :, None]
        return torch.from_numpy(np.ascontiguousarray(whole))


def plan_of(call: Call) -> tuple[Plan, int]:
    """The plan that makes the same pictures of one call natively, and how many."""
    leaves = []
    for number in range(len(_SIZES)):
        drawn = _picture(number, call.takes)
        row = drawn if call.takes > 1 else drawn[:, :, 0]
        array = Array(binding.Blob(np.ascontiguousarray(row[None])), "uint8", list(row.shape))
        label = Array(binding.Blob(np.zeros(1, np.int64)), "int64", [])
        leaves.append(Leaf("arrays", 1, arrays=[array, label]))
    source = Node("from_array", {"mode": "RGB" if call.takes > 1 else "L"})
    plan = Plan(f"trials of {call.node.label}", leaves, chain=[source, call.node])
    plan.fields, plan.libraries, plan.lanes = [Field("chain")], libraries(), len(_SIZES)
    return plan, len(_SIZES)


def _picture(number: int, channels: int) -> Any:
    """The same in every process. Rough, so that each rounding shows."""
    height, width = _SIZES[number]
    noise = np.random.Generator(np.random.PCG64(number))
    return noise.integers(0, 256, (height, width, channels), np.uint8)
