"""Attributes of objects of the program's, after we have looked at them.

Python 3.11 makes a dict of an object's attributes when somebody asks for `__dict__`, as each look at a data set does,
and as pickling does. From then on it specialises no call of the object's methods. Code that calls many of them takes a
fifth longer, in the trainer and in all lanes. So what we looked at is given back before code of the program's runs.
"""

from typing import Any

from . import binding

# Objects. Beyond them are data: 2 ms for all.
_MOST = 16_384


def give_back(*roots: Any) -> int:
    """What these lead to, but for classes, modules and globals. Returns how many objects had a dict of ours."""
    given: int = binding.give_back_attributes(list(roots), _MOST)
    return given


def give_back_of(loader: Any) -> int:
    """give_back() of what makes a DataLoader's batches. Runs no code of the program's."""
    parts = "dataset", "collate_fn", "worker_init_fn", "sampler", "batch_sampler"
    held = vars(loader)
    return give_back(*(held.get(name) for name in parts))


class GiveBack:
    """give_back_of() one loader, as long as there is anything to give."""

    _FEW = 4  # iterations in a row without any

    def __init__(self) -> None:
        self._without = 0

    def __call__(self, loader: Any) -> None:
        if self._without < self._FEW:
            self._without = 0 if give_back_of(loader) else self._without + 1
