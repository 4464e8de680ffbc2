"""Graphs for a terminal."""

from .graph import TRAINER, Graph, GraphNode

_WIDTH = 100
_PATHS = {
    "native": "made natively on the workers",
    "python": "made by the program's own code on the workers",
    "local": "stays in the trainer",
}
_CACHES = {
    "encoded": "cache point: encoded samples may be kept here (--cache)",
    "decoded": "cache point: what comes out here may be kept (--cache)",
}
_WIRE = "over a network uint8 may cross here: fewer bytes, the same batches (--wire)"


def render(graphs: list[Graph]) -> str:
    return "\n".join(_graph(graph) for graph in graphs)


def _graph(graph: Graph) -> str:
    lines = [
        f"DataLoader({graph.name}), num_workers={graph.num_workers}: {_PATHS[graph.path]}",
        f"  random numbers: {graph.rng or 'stock'} ({graph.rng_reason})",
    ]
    for entry in graph.reasons:
        lines.append(f"  why: {_line(entry['reason'])}")
        if entry["remedy"]:
            lines.append(f"  to change it: {_line(entry['remedy'])}")
    lines += ["", f"  {'RUNS':8} {'FORM':7} {'CLASS':9} NODE"]
    away = False
    for node in graph.nodes:
        if away and node.runs == TRAINER:
            lines.append(_rule("-", "cut: batches come back to the trainer"))
        if not away and node.runs != TRAINER:
            lines.append(_rule("-", "cut: row numbers go to the workers"))
        away = node.runs != TRAINER
        lines += _node(node)
        if node.id == graph.cache:
            lines.append(_rule("=", _CACHES[graph.cached]))
        if node.id == graph.wire:
            lines.append(_rule("~", _WIRE))
    if away:
        lines.append(_rule("-", "cut: batches come back to the trainer"))
    return "\n".join(lines) + "\n"


def _node(node: GraphNode) -> list[str]:
    inside = "  " if node.within else ""
    lines = [
        f"  {node.runs:8} {node.form:7} {node.purity:9} {inside}{node.kind}: {_line(node.label)}"
    ]
    for word, text in (
        ("note", node.note),
        ("class", node.evidence),
        ("why", node.reason),
        ("to change it", node.remedy),
    ):
        if text:
            lines.append(f"{'':30}{inside}{word}: {_line(text)}")
    return lines


def _line(text: str) -> str:
    return " ".join(text.split())


def _rule(character: str, text: str) -> str:
    return f"  {character * 4} {text} ".ljust(_WIDTH, character)
