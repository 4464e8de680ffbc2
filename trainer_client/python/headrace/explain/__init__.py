"""What `headrace explain` and `headrace verify` find out about a program's DataLoaders.

graph.py    a loader's graph as plain data, and its JSON
build.py    the graph of a loader: what is captured, admitted, and split by the coordinator
text.py     the graph for a terminal
svg.py      the graph as a picture
verify.py   the first batches both ways, bit by bit
workers.py  the same by each worker of the pool alone
outcomes.py what next() gave both ways, and where it differs
declared_functions.py  functions that it declares with headrace.cached
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
    from . import declared_functions, svg, text
    from .build import graph_of
    from .graph import to_json
    from .loaders import live_loaders

    loaders = live_loaders(loader)
    graphs = [graph_of(found) for found in loaders]
    functions = declared_functions.told([found.dataset for found in loaders])
    if wanted.svg:
        with open(wanted.svg, "w", encoding="utf-8") as file:
            file.write(svg.render(graphs))
    if wanted.json:
        return 0, to_json(graphs, functions)
    return 0, text.render(graphs) + declared_functions.render(functions)
