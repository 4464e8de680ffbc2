"""What state_dict() says and load_state_dict() reads.

The state is what the trainer has received, not what was prefetched. It is JSON, and a few hundred
bytes unless the program's own generators must be kept (7 kB each), or those of a Python stage's
persistent workers from their second epoch on (17 kB each).
"""

import base64
from dataclasses import asdict, dataclass
from typing import Any

import torch

from .errors import StateError

VERSION = 1


@dataclass
class LoaderPlace:
    """Where a loader is: in the middle of an epoch, or between two."""

    headrace: int = VERSION
    num_workers: int = 0
    mid_epoch: bool = False
    batches: int = 0  # received in this epoch
    # Of this epoch; between epochs only for persistent workers, whose lanes go on.
    base_seed: int | None = None
    drew_base_seed: bool = True  # persistent workers draw it in their first epoch only
    rng: str = "none"
    lane_draws: list[int] | None = None
    # Persistent workers of a Python stage: the lanes' generators where the epoch began or, between
    # epochs, where the next one begins. Empty: a lane that has made nothing.
    lane_states: list[str] | None = None
    # Random state from which the sampler started, or will start.
    sampler_seed: int | None = None  # RandomSampler(generator=None)
    generator: str | None = None  # the loader's own
    sampler_generator: str | None = None  # the sampler's own
    global_rng: str | None = None  # torch's, for other samplers that draw from it

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def parse(loaded: Any, loader: Any) -> LoaderPlace:
    """Raises StateError where the state cannot be of this loader."""
    if not isinstance(loaded, dict) or "headrace" not in loaded:
        raise StateError("load_state_dict: this is not the state of a headrace.DataLoader")
    if loaded["headrace"] != VERSION:
        raise StateError(
            f"load_state_dict: the state has version {loaded['headrace']}, this release reads "
            f"version {VERSION}"
        )
    unknown = sorted(set(loaded) - set(LoaderPlace.__dataclass_fields__))
    if unknown:
        raise StateError(f"load_state_dict: unknown entries {unknown}")
    place = LoaderPlace(**loaded)
    if place.num_workers != loader.num_workers and place.rng == "torch":
        raise StateError(
            f"load_state_dict: the state is of num_workers={place.num_workers}, this loader has "
            f"{loader.num_workers}: its random numbers would be others"
        )
    return place


def encode_lanes(states: list[bytes]) -> list[str] | None:
    if not any(states):
        return None
    return [base64.b64encode(state).decode() for state in states]


def decode_lanes(lanes: list[str] | None) -> list[bytes]:
    return [base64.b64decode(lane) for lane in lanes or ()]


def encode(generator: torch.Generator | None) -> str | None:
    if generator is None:
        return None
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def decode(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def set_state(generator: torch.Generator | None, text: str | None) -> None:
    if generator is not None and text is not None:
        generator.set_state(decode(text))
