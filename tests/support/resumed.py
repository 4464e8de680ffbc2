"""Loaders that are saved and loaded in the middle of an epoch."""

import json
from typing import Any

import headrace
import torch
from headrace.loader.seam import state_of

from .compare import assert_same


def check_it_resumes(data: Any) -> None:
    """A loader that takes another's state goes on natively as that one would have."""

    def loader() -> Any:
        torch.manual_seed(5)
        return headrace.DataLoader(data, 2, shuffle=True, num_workers=2)

    whole = list(loader())
    first = loader()
    iterator = iter(first)
    taken = [next(iterator) for _ in range(3)]
    state = json.loads(json.dumps(first.state_dict()))
    del iterator
    second = loader()
    second.load_state_dict(state)
    rest = list(second)
    assert state_of(second).report.path == "native"
    assert_same([*taken, *rest], whole)
