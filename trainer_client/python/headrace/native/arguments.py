"""Arguments of transforms as a plan writes them. Each function raises NotNative for a value that has
no native form."""

from collections.abc import Sequence
from typing import Any

import torch

from .plan import NotNative

_PIL_MODES = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def interpolation(value: Any) -> str:
    if isinstance(value, int):
        value = _PIL_MODES.get(value, value)
    text = getattr(value, "value", value)
    if not isinstance(text, str):
        raise NotNative(f"interpolation={value!r} has no native form")
    return text


def ints(value: Any) -> Any:
    if value is None or type(value) is int:
        return value
    if isinstance(value, Sequence) and value and all(type(v) is int for v in value):
        return list(value)
    raise NotNative(f"{value!r} is not a list of integers")


def floats(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return [float(v) for v in value]
    except (TypeError, ValueError):
        raise NotNative(f"{value!r} is not a list of numbers") from None


def log_ratio(ratio: Any) -> list[float]:
    """The bounds that uniform_ is given: torch's logarithm is not always rounded correctly."""
    return torch.log(torch.tensor(ratio)).tolist()


def dtype(value: Any) -> str:
    if not isinstance(value, torch.dtype):
        raise NotNative(f"dtype={value!r} has no native form")
    return str(value).removeprefix("torch.")


def probability(t: Any) -> float:
    """Compared with what is drawn as Python's number. A tensor is compared in a type of its own."""
    if not isinstance(t.p, int | float):
        raise NotNative(f"p={t.p!r} has no native form")
    return float(t.p)
