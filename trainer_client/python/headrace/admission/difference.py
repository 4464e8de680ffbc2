"""Where two batches differ."""

import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from .tensor_parts import beside_bits, parts_of


class Difference:
    """The first difference. `field`: as the program would write it after the batch. `sample`: its
    place in the batch, if that is known."""

    def __init__(self, field: str, what: str, sample: int | None = None) -> None:
        self.field, self.what, self.sample = field, what, sample


def difference(a: Any, b: Any, field: str = "") -> Difference | None:
    """None: the same types, shapes and bits all the way down, and the same attributes of tensors, but
    for those that torch's queues forget."""
    if type(a) is not type(b):
        return Difference(field, f"{type(a).__name__} and {type(b).__name__}")
    if isinstance(a, torch.Tensor):
        return _tensors(a, b, field)
    if isinstance(a, np.ndarray):
        return _arrays(a, b, field)
    if isinstance(a, Mapping):
        if list(a) != list(b):
            return Difference(field, f"keys {list(a)} and {list(b)}")
        return _first((a[key], b[key], f"{field}[{key!r}]") for key in a)
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return Difference(field, f"{len(a)} and {len(b)} items")
        return _first((x, y, f"{field}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=True)))
    if is_dataclass(a) and not isinstance(a, type):
        names = [f.name for f in fields(a)]
        return _first((getattr(a, n), getattr(b, n), f"{field}.{n}") for n in names)
    return None if _equal(a, b) else Difference(field, f"{_short(a)} and {_short(b)}")


def _first(parts: Any) -> Difference | None:
    for a, b, field in parts:
        found = difference(a, b, field)
        if found is not None:
            return found
    return None


def _tensors(a: torch.Tensor, b: torch.Tensor, field: str) -> Difference | None:
    if _outside(a) != _outside(b):
        return Difference(field, f"{_kind(a)} and {_kind(b)}")
    beside = [dict(beside_bits(tensor)) for tensor in (a, b)]
    if list(beside[0]) != list(beside[1]):
        return Difference(field, f"attributes {list(beside[0])} and {list(beside[1])}")
    found = _first((x, beside[1][name], f"{field}.{name}") for name, x in beside[0].items())
    return found or _elements(a, b, field)


def _elements(a: torch.Tensor, b: torch.Tensor, field: str) -> Difference | None:
    parts, others = parts_of(a), parts_of(b)
    if parts is not None and others is not None:
        pairs = zip(parts, others, strict=True)
        return _first((x, y, f"{field}.{name}") for (name, x), (_, y) in pairs)
    if a.layout != torch.strided:  # a kind of a later torch
        return None if _equal(a, b) else Difference(field, "other elements")
    if a.shape != b.shape:
        return Difference(field, f"{_kind(a)} and {_kind(b)}")
    return _rows(_bits(a), _bits(b), a.shape[0] if a.ndim else 0, field)


def _outside(t: torch.Tensor) -> tuple[Any, ...]:
    return t.dtype, t.device, t.layout, t.is_nested, t.is_quantized


def _kind(t: torch.Tensor) -> str:
    shape = "" if t.is_nested else list(t.shape)
    what = " nested" if t.is_nested else "" if t.layout == torch.strided else f" {t.layout}"
    return f"{str(t.dtype).removeprefix('torch.')}{shape}{what} on {t.device}"


def _bits(tensor: torch.Tensor) -> np.ndarray:
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if not plain.numel():  # whose strides may be anything
        return np.empty(0, np.uint8)
    return plain.reshape(-1).view(torch.uint8).numpy()


def _arrays(a: np.ndarray, b: np.ndarray, field: str) -> Difference | None:
    if a.dtype != b.dtype or a.shape != b.shape:
        return Difference(field, f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}")
    if a.dtype.hasobject:
        return None if _equal(a.tolist(), b.tolist()) else Difference(field, "other elements")
    bits = [np.frombuffer(x.tobytes(), np.uint8) for x in (a, b)]
    return _rows(bits[0], bits[1], len(a) if a.ndim else 0, field)


def _rows(a: np.ndarray, b: np.ndarray, count: int, field: str) -> Difference | None:
    wrong = np.flatnonzero(a != b)
    if not wrong.size:
        return None
    sample = int(wrong[0]) // (a.size // count) if count else None
    return Difference(field, f"{wrong.size} of {a.size} bytes are others", sample)


def _equal(a: Any, b: Any) -> bool:
    try:
        if bool(a == b):
            return True
    except Exception:  # their own comparison may refuse
        pass
    try:
        return pickle.dumps(a) == pickle.dumps(b)
    except Exception:
        return False


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
