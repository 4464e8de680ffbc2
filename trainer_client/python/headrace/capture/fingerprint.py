"""Is what was captured still true? Asked at each iter() that would ship the dataset again.

Lists of immutable entries are compared with a shallow copy: entries that are the same object
compare at once, so a million of them take some ten milliseconds. Arrays are hashed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..native import binding


class Fingerprint:
    """What a capture looked at, kept so that it can be looked at again."""

    def __init__(self) -> None:
        self._checks: list[Callable[[], bool]] = []

    def same(self) -> bool:
        return all(check() for check in self._checks)

    def add_check(self, check: Callable[[], bool]) -> None:
        self._checks.append(check)

    def add_identity(self, owner: Any, attribute: str) -> Any:
        """The attribute must stay the very same object (of an immutable type). Returns it."""
        value = getattr(owner, attribute)
        self._checks.append(lambda: getattr(owner, attribute, None) is value)
        return value

    def add_list(self, owner: Any, attribute: str) -> Any:
        """The list must keep its (immutable) entries. Returns it."""
        kept = _entries_of(getattr(owner, attribute))
        self._checks.append(lambda: _same_entries(getattr(owner, attribute, None), kept))
        return getattr(owner, attribute)

    def add_bytes(self, read: Callable[[], np.ndarray]) -> None:
        """The array must keep its content. `read` gets it afresh."""
        before = _digest(read())
        self._checks.append(lambda: _equal(lambda: _digest(read()), before))

    def add_value(self, read: Callable[[], Any]) -> Any:
        """What `read` returns must stay equal. Returns it."""
        before = read()
        self._checks.append(lambda: _equal(read, before))
        return before


def _entries_of(held: Any) -> list[Any]:
    """Copies: the entries of a tensor or an array are views of its memory."""
    if isinstance(held, torch.Tensor | np.ndarray):
        entries: list[Any] = held.tolist()
        return entries
    entries = list(held)
    if any(issubclass(kind, torch.Tensor) for kind in set(map(type, entries))):
        entries = [one.tolist() if isinstance(one, torch.Tensor) else one for one in entries]
    return entries


def _same_entries(now: Any, kept: list[Any]) -> bool:
    try:
        return now is not None and len(now) == len(kept) and _entries_of(now) == kept
    except (TypeError, ValueError):
        return False


def _equal(read: Callable[[], Any], before: Any) -> bool:
    try:
        return bool(read() == before)
    except Exception:  # user objects may refuse to be read or compared: then capture again
        return False


def _digest(array: np.ndarray) -> tuple[Any, ...]:
    # A permuted array (CIFAR's NHWC view of NCHW) is hashed in its memory order, without a copy.
    order = np.argsort([-stride for stride in array.strides], kind="stable")
    memory = np.ascontiguousarray(array.transpose(order))
    return array.shape, array.strides, str(array.dtype), binding.Blob(memory).hash
