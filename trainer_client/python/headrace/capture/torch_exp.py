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

from .. import binding
from .plan import Plan

_known: dict[str, Any] = {}


def add_torch_exp(plan: Plan) -> None:
    """Measures what the plan's chain needs (about 0.3 s for each range, once per torch build)."""
    ranges = binding.exp_ranges(plan.to_dict()) if plan.is_random else []
    if ranges:
        plan.constants["torch_exp"] = _table(sorted(set(ranges)), plan)


def _table(ranges: list[tuple[float, float, bool]], plan: Plan) -> Any:
    spans = "-".join(f"{low:.9g}_{high:.9g}_{fused:d}" for low, high, fused in ranges)
    key = f"exp-{plan.libraries.torch}-{plan.libraries.cpu_capability}-{spans}"
    if key not in _known:
        content = _read(key) or _write(key, bytes(binding.build_torch_exp(_exp, ranges)))
        _known[key] = binding.Blob(content)
    return _known[key]


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
