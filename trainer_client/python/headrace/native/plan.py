"""The preprocessing graph as plain data: base/graph.h in Python, with content in place."""

from dataclasses import field, fields, is_dataclass
from typing import Any

import torch

from ..records import dataclass

SOURCE = -1  # in a node's inputs: the sample's source, of which the first node always is
PURE, RANDOM, STATEFUL = "pure", "random", "stateful"
NATIVE, PYTHON = "native", "python"

# Element types by their wire names, which are torch's.
TORCH_DTYPES = {
    name: getattr(torch, name)
    for name in (
        "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool",
        "bfloat16",
    )
}  # fmt: skip
DTYPES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


_OURS = {"ours": True}  # no part of what the client takes


class _Refusal(Exception):
    """The message says which part, and why; `remedy` what would change it, for `headrace explain`.
    It stands where the reason is raised; empty: nothing better is known than what the class says."""

    remedy = ""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy or self.remedy


class NotNative(_Refusal):
    """This part of the pipeline has no native form."""

    remedy = "docs/reference/transforms.md lists what has a native form; else it stays Python code"


class Local(_Refusal):
    """The pipeline must stay in the trainer."""

    remedy = "nothing in the program: it runs as it does without Headrace"


@dataclass
class Node:
    op: str
    args: dict[str, Any] = field(default_factory=dict)
    purity: str = PURE
    label: str = ""
    form: str = NATIVE
    reason: str = ""
    inputs: list[int] = field(default_factory=list)  # nodes, or SOURCE; empty: the node before it
    # The class that it stands for, as native/kinds.py calls it; empty: none, or a gate.
    kind: str = field(default="", metadata=_OURS)
    call: int = field(default=0, metadata=_OURS)  # of several values at once; 0: it is none


@dataclass
class Array:
    blob: Any  # Blob
    dtype: str
    row_shape: list[int]


@dataclass
class Leaf:
    source: str  # a folder of dataworker/source
    rows: int
    table: Any = None  # Blob
    arrays: list[Array] = field(default_factory=list)
    args: dict[str, Any] = field(default_factory=dict)  # of the source


@dataclass
class Field:
    kind: str  # "chain" (the last node's value) | "array" | "value", "list" (of node `index`)
    index: int = 0


def labels_in(fields: list[Field]) -> list[int]:
    """The numbers of those that are Python's int in a sample."""
    computed = any(one.kind != "array" for one in fields)
    return [i for i, one in enumerate(fields) if computed and one.kind == "array"]


@dataclass
class Libraries:
    pillow: str = ""
    torch: str = ""
    torchvision: str = ""
    cpu_capability: str = ""


@dataclass
class PythonStage:
    """Without a bundle the code stays on the trainer's host."""

    bundle: Any = None  # Blob
    executable: str = ""
    version: str = ""
    sys_path: list[str] = field(default_factory=list)
    working_directory: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    hash_seed: str = ""  # PYTHONHASHSEED that it must have been started with; empty: any
    replayed: bool = False  # lanes of an iterable data set, which end by themselves
    # Filling in is proved to be no state. For lanes that are watched; the client does not know it.
    fills: bool = field(default=False, metadata=_OURS)


@dataclass
class Plan:
    name: str = ""
    leaves: list[Leaf] = field(default_factory=list)
    row_map: Any = None  # Blob of int64[]
    chain: list[Node] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    rng: str = "none"
    lanes: int = 1
    libraries: Libraries = field(default_factory=Libraries)
    constants: dict[str, Any] = field(default_factory=dict)
    python: PythonStage | None = None

    def to_dict(self) -> dict[str, Any]:
        """What the client takes: nested dicts with Blob objects in place."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def signature(self) -> str:
        """Equal for plans that make the same batches."""
        return repr(_plain(self, lambda blob: blob.hash))

    @property
    def is_graph(self) -> bool:
        """Whether it is no single chain."""
        return any(node.inputs for node in self.chain) or any(
            made.kind in ("value", "list") for made in self.fields
        )

    @property
    def is_random(self) -> bool:
        return any(node.purity == RANDOM for node in self.chain)

    @property
    def stands_for_timm(self) -> bool:
        """Whether a node stands for code of timm's."""
        return any(node.kind.startswith("timm.") for node in self.chain)

    @property
    def draws_from_python(self) -> bool:
        """Whether a node draws from Python's generator."""
        return any(node.args.get("generator") == "python" for node in self.chain)

    @property
    def draws_from_numpy(self) -> bool:
        """Whether a node draws from NumPy's legacy generator. It draws from Python's, too."""
        return any(node.args.get("choices_from") == "numpy" for node in self.chain)

    @property
    def other_generators(self) -> int:
        """How many there are beside torch's: 1 is Python's, 2 NumPy's as well."""
        return self.draws_from_python + self.draws_from_numpy


def _plain(value: Any, blob: Any = lambda content: content) -> Any:
    if is_dataclass(value):
        theirs = [f.name for f in fields(value) if "ours" not in f.metadata]
        plain = {name: _plain(getattr(value, name), blob) for name in theirs}
        return {name: item for name, item in plain.items() if item is not None}
    if isinstance(value, dict):
        return {name: _plain(item, blob) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, blob) for item in value]
    return blob(value) if hasattr(value, "hash") else value
