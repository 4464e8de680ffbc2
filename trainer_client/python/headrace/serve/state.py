"""What state_dict() says and load_state_dict() reads.

The state is what the trainer has received, not what was prefetched. It is JSON, and a few hundred
bytes unless the program's own generators must be kept (7 kB each), or those of the lanes of a Python
stage (17 kB each).
"""

import base64
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ..errors import StateError

VERSION = 1


@dataclass
class LoaderPlace:
    """Where a loader is: in the middle of an epoch, or between two."""

    headrace: int = VERSION
    num_workers: int = 0
    mid_epoch: bool = False
    batches: int = 0  # received in this epoch, after `taken`
    # Keys in a batch, and ranks of a DistributedSampler; None: not known.
    batch_size: int | None = None
    replicas: int | None = None
    # The epoch began with other numbers of these: keys that all ranks together took until then.
    taken: int = 0
    lanes_from: int = 0  # the batch at which lanes are as they were seeded, or as in lane_states
    # The values of this epoch; between epochs only for persistent workers, whose lanes go on.
    base_seed: int | None = None
    drew_base_seed: bool = True  # persistent workers draw it in their first epoch only
    rng: str = "none"
    lane_draws: list[int] | None = None
    # A Python stage: the lanes' generators after `batches` or, between epochs of persistent
    # workers, where the next one begins. Empty: a lane that has made nothing.
    lane_states: list[str] | None = None
    # Random state from which the sampler started, or will start.
    sampler_seed: int | None = None  # RandomSampler(generator=None)
    generator: str | None = None  # the loader's own
    sampler_generator: str | None = None  # the sampler's own
    global_rng: str | None = None  # torch's, for other samplers that draw from it

    def as_dict(self) -> dict[str, Any]:
        entries = asdict(self)
        for name in ("taken", "lanes_from"):
            entries[name] = entries[name] or None
        return {name: value for name, value in entries.items() if value is not None}


def seed_behind(base_seed: int) -> int:
    """The base seed of an epoch for which persistent workers draw none, where their lanes do not go
    on. Source: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators)."""
    word = (base_seed + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return (word ^ word >> 31) >> 1


def parse(loaded: Any) -> LoaderPlace:
    """Raises StateError where it is no state."""
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
    return LoaderPlace(**loaded)


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
