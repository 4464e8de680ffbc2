"""Which parts of a shard make a sample, and what their targets are."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import HeadraceError
from ..objects.order import EXTENSIONS
from ..records import dataclass
from .index import Array, Part

IMAGES = ";".join(one[1:] for one in EXTENSIONS)
TARGETS = "cls;json;txt"


@dataclass(frozen=True)
class Rules:
    images: tuple[str, ...]
    targets: tuple[str, ...]  # empty: there are none
    label: Callable[[Any], int] | None = None

    @classmethod
    def of(cls, image: str, target: str | None, label: Callable[[Any], int] | None) -> "Rules":
        """Raises ValueError."""
        images, targets = endings(image), endings(target or "")
        if not images:
            raise ValueError("image= names no ending")
        if label is not None and len(targets) != 1:
            raise ValueError("label= makes labels of one kind of target: target= says of which")
        return cls(images, targets, label)

    @property
    def kept(self) -> str:
        """The ending of targets that become labels."""
        if self.label is not None:
            return self.targets[0]
        return "cls" if "cls" in self.targets else ""

    @property
    def text(self) -> str:
        return f"{';'.join(self.images)}\n{';'.join(self.targets)}\n{self.kept}"


def endings(text: str) -> tuple[str, ...]:
    return tuple(one.strip().lstrip(".").lower() for one in text.split(";") if one.strip())


def target_of(kind: str, data: bytes) -> Any:
    """What the bytes of a target mean. Raises ValueError."""
    if kind == "cls":
        return int(data)
    if kind == "json" or kind.endswith(".json"):
        return json.loads(data)
    if kind in ("txt", "text", "transcript") or kind.endswith(".txt"):
        return data.decode()
    return data


def part_of(shard: str, found: dict[str, bytes], rules: Rules) -> Part:
    """What TarScan found. Raises HeadraceError, which names the shard and the sample."""
    array = np.frombuffer
    firsts = array(found["firsts"], np.uint64)
    numbers = array(found["targets"], np.uint8)
    key_ends = array(found["key_ends"], np.int64)
    keys = array(found["keys"], np.uint8)
    kinds = np.unique(numbers)
    if len(kinds) > 1:
        called = " and ".join("." + rules.targets[kind] for kind in kinds)
        raise HeadraceError(
            f"{shard} has targets of several kinds, {called}: target= says which counts"
        )
    kind = rules.targets[kinds[0]] if rules.targets and len(kinds) else ""
    target_firsts = array(found["target_firsts"], np.uint64)
    target_sizes = array(found["target_sizes"], np.uint32)
    labels: Array = np.empty(0, np.int64)
    if not kind:
        labels = np.zeros(len(firsts), np.int64)
    elif kind == rules.kept:
        labels = _labels(shard, kind, found, keys, key_ends, rules)
    if len(labels) == len(firsts):
        target_firsts, target_sizes = np.empty(0, np.uint64), np.empty(0, np.uint32)
    sizes = array(found["sizes"], np.uint32)
    return Part(keys, key_ends, firsts, sizes, labels, target_firsts, target_sizes, kind)


def _labels(
    shard: str, kind: str, found: dict[str, bytes], keys: Array, key_ends: Array, rules: Rules
) -> Array:
    kept, begin = found["kept"], 0
    labels = np.empty(len(key_ends), np.int64)
    for row, end in enumerate(np.frombuffer(found["kept_ends"], np.int64).tolist()):
        try:
            value = target_of(kind, kept[begin:end])
            labels[row] = value if rules.label is None else rules.label(value)
        except (ValueError, OverflowError, TypeError, KeyError) as error:
            name = (
                keys[key_ends[row - 1] if row else 0 : key_ends[row]]
                .tobytes()
                .decode("utf-8", "replace")
            )
            raise HeadraceError(
                f"{shard}: the target '{name}.{kind}' gives no label, a whole number of 64 bits: {error}"
            ) from error
        begin = end
    return labels
