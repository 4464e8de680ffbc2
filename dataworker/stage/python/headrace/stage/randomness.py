"""The random generators of a lane: seeded as a stock worker's, and their state as bytes."""

import io
import pickle
import random
from typing import Any

from ..process import generators
from . import arrays


def seed_lane(base_seed: int, lane: int) -> None:
    """Seeds as torch.utils.data._utils.worker._worker_loop does."""
    import torch
    from torch.utils.data._utils.worker import _generate_state

    random.seed(base_seed + lane)
    torch.manual_seed(base_seed + lane)
    if (numpy := _numpy()) is not None:
        numpy.random.seed(_generate_state(base_seed, lane))


def seed_sample(seed: int, roots: dict[str, Any]) -> None:
    """`roots`: what may own generators (generators.py)."""
    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    if (numpy := _numpy()) is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)
    generators.seed(roots, seed)


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def get_state(roots: dict[str, Any]) -> bytes:
    import torch

    numpy = _numpy()
    return pickle.dumps(
        (
            torch.get_rng_state().numpy().tobytes(),
            random.getstate(),
            numpy.random.get_state() if numpy is not None else None,
            generators.states_of(roots),
        ),
        protocol=5,
    )


class _Numbers:
    """The dtype of an array of numbers, as NumPy's own pickles tell it. NumPy's would believe a state
    by which bytes are objects."""

    def __init__(self, text: str, align: bool = False, copy: bool = True) -> None:
        self.text = text

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">"):
            self.text = state[1] + self.text


def _array(buffer: Any, dtype: _Numbers, shape: tuple[int, ...], order: Any, *_: Any) -> Any:
    return arrays.rebuild_array(buffer, dtype.text, shape, order)


class _Reader(pickle.Unpickler):
    """Reads numbers and arrays only: a state may come out of a checkpoint file, or of another host."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in _OF_ARRAYS:
            return _OF_ARRAYS[name]
        raise pickle.UnpicklingError(f"{module}.{name} in the state of a random generator")


_OF_ARRAYS = {"_frombuffer": _array, "dtype": _Numbers}


def read_state(state: bytes) -> Any:
    """What get_state pickled. Empty: None."""
    return _Reader(io.BytesIO(state)).load() if state else None


def set_state(state: bytes, roots: dict[str, Any]) -> None:
    import torch

    # A state of an older release has three parts.
    of_torch, of_random, of_numpy, *of_others = read_state(state)
    torch.set_rng_state(torch.frombuffer(bytearray(of_torch), dtype=torch.uint8))
    random.setstate(of_random)
    if of_numpy is not None and (numpy := _numpy()) is not None:
        numpy.random.set_state(of_numpy)
    for others in of_others:
        generators.set_states(roots, others)
