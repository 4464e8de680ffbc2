"""Graphs as a picture: a column of boxes for each loader, coloured by form, the cut as a dashed line."""

import textwrap
from xml.sax.saxutils import escape

from .graph import TRAINER, Graph, GraphNode

_LEFT, _TOP, _WIDTH, _GAP = 24, 24, 520, 26
_LINE = 16  # height of a line of text
_CHARACTERS = 76  # that fit into a box
_INSET = 28  # of what is called by another node
_COLORS = {"native": "#cfe8d5", "python": "#f7e3b5"}
_IN_TRAINER = "#e3e3e8"
_STYLE = (
    "text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".head{font-size:15px;font-weight:bold}.small{font-size:11px;fill:#555}"
    ".box{stroke:#555;stroke-width:1}.flow{stroke:#555;stroke-width:1.5}"
    ".cut{stroke:#b00020;stroke-width:2;stroke-dasharray:8 5}.cutword{fill:#b00020}"
    ".cache{stroke:#1a5fb4;stroke-width:3}.cacheword{fill:#1a5fb4}"
    ".wire{stroke:#b00020;stroke-width:1;stroke-dasharray:2 4}.wireword{fill:#b00020}"
)
_LEGEND = "green: native; yellow: Python code; grey: in the trainer; dashed: the cut"


class _Page:
    """Shapes from top to bottom."""

    def __init__(self) -> None:
        self.y = _TOP
        self.shapes: list[str] = []

    def text(self, words: str, style: str = "", indent: int = 0) -> None:
        self.y += _LINE
        mark = f' class="{style}"' if style else ""
        self.shapes.append(f'<text x="{_LEFT + indent}" y="{self.y}"{mark}>{_xml(words)}</text>')

    def rule(self, style: str, words: str) -> None:
        self.y += _GAP // 2
        right = _LEFT + _WIDTH
        self.shapes.append(
            f'<line class="{style}" x1="{_LEFT}" y1="{self.y}" x2="{right}" y2="{self.y}"/>'
        )
        self.text(words, f"{style}word")
        self.y += 4

    def arrow(self) -> None:
        middle = _LEFT + _WIDTH // 2
        self.shapes.append(
            f'<line class="flow" x1="{middle}" y1="{self.y}" x2="{middle}" y2="{self.y + _GAP}" '
            'marker-end="url(#tip)"/>'
        )
        self.y += _GAP

    def box(self, node: GraphNode) -> None:
        indent = _INSET if node.within else 0
        lines = [(f"{node.kind}: {node.label}", ""), (f"{node.purity}, {node.form}", "small")]
        for word, said in (
            ("note", node.note),
            ("class", node.evidence),
            ("why", node.reason),
            ("to change it", node.remedy),
        ):
            if said:
                lines.append((f"{word}: {said}", "small"))
        wrapped = [
            (line, style)
            for words, style in lines
            for line in textwrap.wrap(words, _CHARACTERS - indent // 6)
        ]
        color = _IN_TRAINER if node.runs == TRAINER else _COLORS[node.form]
        height = _LINE * len(wrapped) + 12
        self.shapes.append(
            f'<rect class="box {node.form}" x="{_LEFT + indent}" y="{self.y}" '
            f'width="{_WIDTH - indent}" height="{height}" rx="6" fill="{color}"/>'
        )
        bottom = self.y + height
        for words, style in wrapped:
            self.text(words, style, indent + 10)
        self.y = bottom


def render(graphs: list[Graph]) -> str:
    page = _Page()
    for graph in graphs:
        _column(page, graph)
        page.y += _GAP
    page.text(_LEGEND, "small")
    height = page.y + _TOP
    width = _WIDTH + 2 * _LEFT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *page.shapes,
            "</svg>\n",
        ]
    )


def _column(page: _Page, graph: Graph) -> None:
    for line in textwrap.wrap(f"DataLoader({graph.name})", 62):
        page.text(line, "head")
    facts = f"num_workers={graph.num_workers}, {graph.path}, rng {graph.rng or 'stock'}: "
    for line in textwrap.wrap(facts + graph.rng_reason, 90):
        page.text(line, "small")
    page.y += 10
    away = False
    for i, node in enumerate(graph.nodes):
        if away and node.runs == TRAINER:
            page.rule("cut", "cut: batches come back to the trainer")
        elif not away and node.runs != TRAINER:
            page.rule("cut", "cut: row numbers go to the workers")
        elif i > 0:
            page.arrow()
        away = node.runs != TRAINER
        page.box(node)
        if node.id == graph.cache:
            page.rule("cache", f"cache point ({graph.cached})")
        if node.id == graph.wire:
            page.rule("wire", "over a network uint8 may cross here")
    if away:
        page.rule("cut", "cut: batches come back to the trainer")


def _xml(text: str) -> str:
    """Without the control characters that XML has no form for."""
    return escape("".join(c if c.isprintable() else " " for c in text))
