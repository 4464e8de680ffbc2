"""The state of the generators that a lane of a native plan draws from, as the client's bytes: torch's,
then Python's and NumPy's where the plan draws from these, too. See ops/core/generators.h.

`others`: how many there are beside torch's. 1: Python's; 2: Python's and NumPy's.
"""

import random
import struct

import numpy as np
import torch
from torch.utils.data._utils.worker import _generate_state

from ..capture.known_hooks import NUMPY_OF_WORKER

_OF_TORCH = 5056  # bytes of torch.get_rng_state()
# 624 words and the place in them; whether a normal number is kept, and that number.
_OF_OTHER = struct.Struct("=626Id")
_VERSION = 3  # of random.getstate()
_TWISTER = "MT19937"


def state_bytes(others: int = 0) -> bytes:
    """Where the program's own generators stand. Empty where NumPy's is of another kind: no lane can
    go on from there."""
    state = torch.get_rng_state().numpy().tobytes()
    if others > 0:
        _, words, gauss = random.getstate()
        state += _OF_OTHER.pack(*words, gauss is not None, gauss or 0.0)
    if others > 1:
        kept = np.random.get_state(legacy=False)
        if kept["bit_generator"] != _TWISTER:
            return b""
        words = kept["state"]
        state += _OF_OTHER.pack(
            *words["key"].tolist(), words["pos"], kept["has_gauss"], kept["gauss"]
        )
    return state


def others_in(state: bytes) -> int:
    return max(0, len(state) - _OF_TORCH) // _OF_OTHER.size


def numpy_seed(seed: int | None, base_seed: int, lane: int) -> int | tuple[int, ...]:
    """What np.random.seed takes. `seed`: as IterationOptions::lane_seeds; None: no hook seeds it."""
    if seed is not None and seed != NUMPY_OF_WORKER:
        return seed
    return tuple(_generate_state(base_seed, lane))


def set_state(state: bytes) -> None:
    """Sets those generators of the program that the state is of."""
    torch.set_rng_state(torch.frombuffer(bytearray(state[:_OF_TORCH]), dtype=torch.uint8))
    others = others_in(state)
    if others > 0:
        *words, has_gauss, gauss = _OF_OTHER.unpack_from(state, _OF_TORCH)
        random.setstate((_VERSION, tuple(words), gauss if has_gauss else None))
    if others > 1:
        *words, place, has_gauss, gauss = _OF_OTHER.unpack_from(state, _OF_TORCH + _OF_OTHER.size)
        np.random.set_state((_TWISTER, np.array(words, np.uint32), place, has_gauss, gauss))
