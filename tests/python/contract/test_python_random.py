"""Contract: programs that draw from Python's random give the stock loader's batches, made by workers."""

import random

import numpy as np
import pytest
import torch
from support import python_random
from support.compare import check
from support.lazily import both_ways, epoch
from support.python_random import NATIVE, Both, references
from support.segmentation import write_pairs
from torch.utils.data import DataLoader

COUNT = 17


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), COUNT)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_program(pairs, name, num_workers):
    data = NATIVE[name](pairs)
    check(
        lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3
    )
