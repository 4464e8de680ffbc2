"""A loader's graph as plain data. docs/reference/explain.md has its JSON."""

import json
import sys
from dataclasses import field, fields
from typing import Any

from ..records import dataclass
from ..service.report import rank
from ..version import __version__

SCHEMA = 1

WORKERS, TRAINER = "workers", "trainer"


@dataclass
class GraphNode:
    kind: str  # "sampler", "dataset", "source", "operator", "transform", "collate" or "hook"
    label: str  # as the program wrote it, where that is known
    purity: str  # "pure", "random" or "stateful"; "class" in JSON
    form: str  # "native" or "python"
    runs: str = WORKERS  # or TRAINER, its own worker processes included
    reason: str = ""  # why it is not native, or stays in the trainer
    remedy: str = ""  # what would change that
    evidence: str = ""  # why it is of this class: "FILE:LINE: what it does"
    note: str = ""
    within: str = ""  # id of the node whose code calls this one
    id: str = ""


@dataclass
class Graph:
    name: str
    num_workers: int
    path: str  # "native", "python" or "local"
    rng: str  # "none", "torch" or "sample"; empty for "local"
    rng_reason: str
    nodes: list[GraphNode] = field(default_factory=list)  # in the order of the data
    cut: str = ""  # id of the last node that runs on workers; empty: none does
    cache: str = ""  # id of the node before the cache point; empty: there is none
    wire: str = ""  # id of the node whose uint8 output may cross a network; empty: there is none
    cached: str = "nothing"  # what may be kept there: "nothing", "encoded" or "decoded"
    reasons: list[dict[str, str]] = field(default_factory=list)  # "reason", "remedy" of all of it

    def add(self, node: GraphNode) -> GraphNode:
        node.id = f"n{len(self.nodes)}"
        self.nodes.append(node)
        return node

    def as_dict(self) -> dict[str, Any]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["nodes"] = [_node(node) for node in self.nodes]
        for name in ("cut", "cache", "wire"):
            plain[name] = plain[name] or None
        return plain


def _node(node: GraphNode) -> dict[str, Any]:
    plain = {f.name: getattr(node, f.name) for f in fields(node)}
    plain["class"] = plain.pop("purity")
    plain["within"] = plain["within"] or None
    return plain


def document(**content: Any) -> str:
    """JSON of one answer, with what it is about."""
    head = {"headrace": __version__, "schema": SCHEMA, "program": sys.argv, "rank": rank()}
    return json.dumps({**head, **content}, indent=1) + "\n"


def to_json(graphs: list[Graph], functions: list[dict[str, Any]]) -> str:
    """`functions`: that the program declares (declared_functions.py)."""
    return document(loaders=[graph.as_dict() for graph in graphs], cached_functions=functions)
