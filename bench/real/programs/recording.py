"""What every program of this folder prints of itself: one line of JSON with the wall and CPU seconds of
each epoch, and of what comes after its first batch, a hash of each batch, and one of the states of all random
generators after each epoch.

Programs import it as they would a logger. It does not know Headrace.
"""

import argparse
import hashlib
import json
import os
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

try:
    from xxhash import xxh3_64 as Hash
except ImportError:
    Hash = hashlib.blake2b


def parser(description: str, batch_size: int = 16) -> argparse.ArgumentParser:
    """The options that all programs have."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--data", required=True, help="the folder that made_data.py fills")
    made.add_argument("--epochs", type=int, default=3)
    made.add_argument("--batch-size", type=int, default=batch_size)
    made.add_argument("--workers", type=int, default=2)
    return made


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Recorder:
    """One thread. `CPU_USAGE_FILE` in the environment names a file with the CPU time of all processes
    of the program (nanoseconds, or cgroup's cpu.stat); without it CPU seconds are null."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.epochs: list[dict[str, Any]] = []
        self._usage = os.environ.get("CPU_USAGE_FILE")

    def epoch(self, loader: Iterable[Any]) -> Iterator[Any]:
        """The loader's batches, each of them hashed. A loop may break out of it."""
        entry: dict[str, Any] = {"batches": [], "first_batch_s": None}
        self.epochs.append(entry)
        cpu, first, started = self._cpu(), None, time.perf_counter()
        try:
            for batch in loader:
                if entry["first_batch_s"] is None:
                    entry["first_batch_s"] = time.perf_counter() - started
                    first = self._cpu()
                entry["batches"].append(digest(batch))
                yield batch
        finally:
            entry["wall_s"] = time.perf_counter() - started
            after = self._cpu()
            entry["cpu_s"] = None if cpu is None or after is None else after - cpu
            entry["then_s"] = entry["wall_s"] - (entry["first_batch_s"] or 0)
            entry["then_cpu_s"] = None if first is None or after is None else after - first
            entry["random"] = digest(
                [torch.get_rng_state(), np.random.get_state(), random.getstate()]
            )

    def finish(self) -> None:
        print(json.dumps({"epochs": self.epochs}), flush=True)

    def _cpu(self) -> float | None:
        if self._usage is None:
            return None
        with open(self._usage) as file:
            text = file.read().split()
        return int(text[0]) * 1e-9 if len(text) == 1 else int(text[1]) * 1e-6


def digest(value: Any) -> str:
    """Of all that a batch holds, its shapes and kinds too."""
    hashed = Hash()
    _add(value, hashed)
    return hashed.hexdigest()


def _add(value: Any, hashed: Any) -> None:
    if isinstance(value, torch.Tensor):
        hashed.update(f"{type(value).__name__} {value.dtype} {tuple(value.shape)}".encode())
        value = value.detach().contiguous()
        hashed.update(value.view(-1).view(torch.uint8).numpy() if value.numel() else b"")
    elif isinstance(value, np.ndarray):
        hashed.update(f"array {value.dtype} {value.shape}".encode())
        hashed.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        for key, held in value.items():
            hashed.update(repr(key).encode())
            _add(held, hashed)
    elif isinstance(value, list | tuple):
        hashed.update(f"{type(value).__name__} {len(value)}".encode())
        for item in value:
            _add(item, hashed)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        _add([type(value).__name__, vars(value)], hashed)
    else:
        hashed.update(f"{type(value).__name__} {value!r}".encode())
