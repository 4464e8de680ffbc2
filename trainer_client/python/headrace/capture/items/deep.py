"""A container of the program's with anything plain in it, as deep as it goes: annotations.

Lists, tuples and dicts of numbers, texts, tensors and arrays. It is copied when code is followed, and
compared at each iter(): a worker of the stock loader has it as it was when it was forked.
"""

import itertools
import marshal
from collections.abc import Collection
from typing import Any

import numpy as np
import torch

from ...native.targets import bytes_of, copy_of_array
from ..views.values import Stop, is_constant

_FORM = 2  # of marshal: without references, so equal values have equal bytes
_DEEPEST = 16
_PARTED, _ROWS = {dict, torch.Tensor, np.ndarray}, {list, tuple}
_DEEP = _PARTED | _ROWS


class Deep:
    """Raises Stop where it holds something else."""

    def __init__(self, container: Any) -> None:
        self._container = container
        self._bytes = _marshalled(container)
        if self._bytes is not None:
            self.copied = marshal.loads(self._bytes)
        else:
            self.copied = _copied(container, 0)

    @property
    def has_tensors(self) -> bool:
        return self._bytes is None and _has_tensors(self.copied)

    def same(self) -> bool:
        if self._bytes is not None:
            try:
                return marshal.dumps(self._container, _FORM) == self._bytes
            except ValueError:
                return False
        return _alike(self._container, self.copied)


def holds_deep(entries: Collection[Any]) -> bool:
    """Whether an entry that an index takes is more than a number, a text or a short list of these. There may be many
    entries, and the code may not be followed to its end: Python's own loops look at them."""
    kinds = set(map(type, entries))
    if not _PARTED.isdisjoint(kinds):
        return True
    if _ROWS.isdisjoint(kinds):
        return False
    rows = entries if kinds <= _ROWS else [one for one in entries if type(one) in _ROWS]
    return not _DEEP.isdisjoint(map(type, itertools.chain.from_iterable(rows)))


def _marshalled(container: Any) -> bytes | None:
    """None: it holds more than Python's own numbers and texts. marshal writes an array as its bytes,
    which are no equal."""
    try:
        written = marshal.dumps(container, _FORM)
        read = marshal.loads(written)
        return written if type(read) is type(container) and bool(read == container) else None
    except Exception:
        return None


def _copied(value: Any, deep: int) -> Any:
    if deep > _DEEPEST:
        raise Stop("takes entries by the index that hold each other too deep")
    kind = type(value)
    if is_constant(value):
        return value
    if kind is list or kind is tuple:
        return kind([_copied(one, deep + 1) for one in value])
    if kind is dict and all(map(is_constant, value)):
        return {key: _copied(one, deep + 1) for key, one in value.items()}
    if kind is torch.Tensor and _is_plain(value):
        made = value.clone()
        if made.stride() == value.stride():
            return made
    if kind is np.ndarray and not value.dtype.hasobject and value.dtype.names is None:
        copied = copy_of_array(value)
        if copied.strides == value.strides:
            return copied
    if issubclass(kind, np.number):
        return value
    raise Stop(f"takes entries by the index that hold a {kind.__name__}")


def _has_tensors(value: Any) -> bool:
    if type(value) in (list, tuple, dict):
        return any(map(_has_tensors, value.values() if type(value) is dict else value))
    return isinstance(value, torch.Tensor)


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.is_shared()
        and not vars(tensor)
    )


def _alike(now: Any, then: Any) -> bool:
    kind = type(now)
    if kind is not type(then):
        return False
    if kind is list or kind is tuple:
        return len(now) == len(then) and all(map(_alike, now, then))
    if kind is dict:
        return list(now) == list(then) and all(map(_alike, now.values(), then.values()))
    if kind is torch.Tensor:
        return (
            _is_plain(now)
            and now.dtype == then.dtype
            and now.shape == then.shape
            and now.stride() == then.stride()
            and bytes_of(now) == bytes_of(then)
        )
    if kind is np.ndarray:
        alike = now.dtype == then.dtype and now.shape == then.shape
        return bool(alike and now.strides == then.strides and now.tobytes() == then.tobytes())
    return bool(repr(now) == repr(then))
