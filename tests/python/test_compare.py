"""Where two batches differ."""

import copy
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from headrace.admission.difference import difference

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Boxes:
    boxes: torch.Tensor
    name: str


class Plain:
    """Without a comparison of its own."""

    def __init__(self, value):
        self.value = value


def batch():
    return {
        "image": torch.arange(24, dtype=torch.bfloat16).reshape(2, 3, 4),
        "nested": [Point(1.5, (b"bytes", None)), {"deep": np.arange(6).reshape(3, 2)}],
        "boxes": Boxes(torch.tensor([float("nan"), -0.0]), "a"),
        "plain": Plain(float("nan")),
        "objects": np.array(["a", None], dtype=object),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(3),
    }


def test_equal_batches_do_not_differ():
    made = batch()
    assert difference(made, copy.deepcopy(made)) is None


@pytest.mark.parametrize(
    ("change", "field", "sample"),
    [
        (lambda b: b["image"][1, 2, 3].add_(1), "['image']", 1),
        (lambda b: b.update(image=b["image"].float()), "['image']", None),
        (lambda b: b["nested"].append(1), "['nested']", None),
        (lambda b: b["nested"].__setitem__(0, (1.5, (b"bytes", None))), "['nested'][0]", None),
        (lambda b: b["nested"][1]["deep"].__setitem__((2, 0), 9), "['nested'][1]['deep']", 2),
        (lambda b: b["boxes"].boxes[1:].abs_(), "['boxes'].boxes", 1),
        (lambda b: setattr(b["boxes"], "name", "b"), "['boxes'].name", None),
        (lambda b: setattr(b["plain"], "value", 1.0), "['plain']", None),
        (lambda b: b["objects"].__setitem__(1, 0), "['objects']", None),
        (lambda b: b.update(empty=torch.empty(0, 4)), "['empty']", None),
        (lambda b: b["scalar"].add_(1), "['scalar']", None),
        (lambda b: b.update(more=1), "", None),
    ],
)
def test_the_first_difference_is_named(change, field, sample):
    made, other = batch(), batch()
    change(other)
    found = difference(made, other)
    assert found is not None and (found.field, found.sample) == (field, sample)
    assert found.what and "\n" not in found.what
