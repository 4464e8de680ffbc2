"""The plan's constant "torch_exp": where this torch build's exp is not correctly rounded.

RandomResizedCrop and RandomErasing put a uniform number through torch.exp. About one float32 input
in a hundred differs from the correctly rounded result, and which ones depends on the build, so the
client measures its own torch once and keeps the table.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import torch

from . import binding
from .plan import Plan

_known: dict[str, bytes] = {}
_blobs: dict[str, Any] = {}


def add_torch_exp(plan: Plan) -> None:
    """Measures what the plan's chain needs (about 0.3 s for each range, once per torch build)."""
    ranges = _ranges(plan)
    key = _key(ranges, plan)
    if ranges and key not in _blobs:
        _blobs[key] = binding.Blob(_table(key, ranges))
    if ranges:
        plan.constants["torch_exp"] = _blobs[key]


def torch_exp(plan: Plan) -> bytes:
    """The constant's content, measured as above; empty where the plan needs none."""
    ranges = _ranges(plan)
    key = _key(ranges, plan)
    if ranges and key not in _known:
        _known[key] = _table(key, ranges)
    return _known[key] if ranges else b""


# Low, high, and whether it is drawn by a fused product.
_Range = tuple[float, float, bool]


def _ranges(plan: Plan) -> list[_Range]:
    return sorted(set(binding.exp_ranges(plan.to_dict()))) if plan.is_random else []


def _key(ranges: list[_Range], plan: Plan) -> str:
    spans = "-".join(f"{low:.9g}_{high:.9g}_{fused:d}" for low, high, fused in ranges)
    return f"exp-{plan.libraries.torch}-{plan.libraries.cpu_capability}-{spans}"


def _table(key: str, ranges: list[_Range]) -> bytes:
    return _read(key) or _write(key, bytes(binding.build_torch_exp(_exp, ranges)))


def _exp(values: Any) -> Any:
    return torch.exp(torch.frombuffer(values, dtype=torch.float32)).numpy()


def _directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "headrace"


def _read(key: str) -> bytes | None:
    try:
        return (_directory() / key).read_bytes()
    except OSError:
        return None


def _write(key: str, content: bytes) -> bytes:
    """A full disk or a read-only home only means measuring again next time."""
    directory = _directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
            file.write(content)
        os.replace(file.name, directory / key)
    except OSError:
        pass
    return content
