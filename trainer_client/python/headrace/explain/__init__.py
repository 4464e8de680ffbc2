"""What `headrace explain` and `headrace verify` find out about a program's DataLoaders.

graph.py    a loader's graph as plain data, and its JSON
build.py    the graph of a loader: what is captured, admitted, and split by the coordinator
text.py     the graph for a terminal
svg.py      the graph as a picture
verify.py   the first batches both ways, bit by bit
workers.py  the same by each worker of the pool alone
outcomes.py what next() gave both ways, and where it differs
loaders.py  which loaders a program has
"""

from typing import Any

from ..loader.inspection import Inspection


def look(loader: Any, wanted: Inspection) -> tuple[int, str]:
    """The exit code, and what to print. `loader`: the one that is being iterated."""
    if wanted.what == "verify":
        from .verify import verify

        return verify(loader, wanted)
    return _explain(loader, wanted)


def _explain(loader: Any, wanted: Inspection) -> tuple[int, str]:
    from . import svg, text
    from .build import graph_of
    from .graph import to_json
    from .loaders import live_loaders

    graphs = [graph_of(found) for found in live_loaders(loader)]
    if wanted.svg:
        with open(wanted.svg, "w", encoding="utf-8") as file:
            file.write(svg.render(graphs))
    return 0, to_json(graphs) if wanted.json else text.render(graphs)
