"""The state of the generators that a lane of a native plan draws from, as the client's bytes: torch's,
and Python's after it where the plan draws from that, too. See ops/core/generators.h."""

import random
import struct

import torch

_OF_TORCH = 5056  # bytes of torch.get_rng_state()
# 624 words and the place in them; whether a number of random.gauss is kept, and that number.
_OF_PYTHON = struct.Struct("=626Id")
_VERSION = 3  # of random.getstate()


def state_bytes(with_python: bool = False) -> bytes:
    """Where the program's own generators stand."""
    state = torch.get_rng_state().numpy().tobytes()
    if not with_python:
        return state
    _, words, gauss = random.getstate()
    return state + _OF_PYTHON.pack(*words, gauss is not None, gauss or 0.0)


def has_python(state: bytes) -> bool:
    return len(state) > _OF_TORCH


def set_state(state: bytes) -> None:
    """Sets those generators of the program that the state is of."""
    torch.set_rng_state(torch.frombuffer(bytearray(state[:_OF_TORCH]), dtype=torch.uint8))
    if has_python(state):
        *words, has_gauss, gauss = _OF_PYTHON.unpack(state[_OF_TORCH:])
        random.setstate((_VERSION, tuple(words), gauss if has_gauss else None))
