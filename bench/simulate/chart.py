"""Line charts as self-contained SVG, in the style of `headrace simulate --plot`."""

from __future__ import annotations

import html

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 70, 150, 40, 55
COLOURS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#b8423f", "#787774", "#c19a2e", "#3d3d3d")


def lines(
    title: str, x_label: str, y_label: str, curves: dict[str, list[tuple[float, float]]], top: float
) -> str:
    """`curves`: name -> points, x rising. What is above `top` is cut off: it would hide the rest."""
    xs = [x for points in curves.values() for x, _ in points]
    low, high = min(xs), max(xs)

    def at_x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def at_y(value: float) -> float:
        return HEIGHT - BOTTOM - min(value, top) / top * (HEIGHT - TOP - BOTTOM)

    def text(x: float, y: float, anchor: str, words: str, more: str = "") -> str:
        safe = html.escape(words, quote=False)
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{safe}</text>\n'

    def line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>\n'

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
    ) + text(LEFT, 22, "start", title, ' font-size="15"')
    for k in range(6):
        value = top * k / 5
        svg += line(LEFT, at_y(value), WIDTH - RIGHT, at_y(value), "#e4e4e4")
        svg += text(LEFT - 8, at_y(value) + 4, "end", f"{value:g}")
    for value in sorted(set(xs)):
        svg += line(at_x(value), HEIGHT - BOTTOM, at_x(value), HEIGHT - BOTTOM + 5, "#666")
        svg += text(at_x(value), HEIGHT - BOTTOM + 19, "middle", f"{value:g}")
    svg += line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "#666")
    svg += text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "middle", x_label)
    middle = (TOP + HEIGHT - BOTTOM) / 2
    svg += text(16, middle, "middle", y_label, f' transform="rotate(-90 16 {middle:.1f})"')
    for n, (name, points) in enumerate(curves.items()):
        colour = COLOURS[n % len(COLOURS)]
        dashed = ' stroke-dasharray="5 3"' if n >= len(COLOURS) else ""
        path = " ".join(
            f"{'ML'[i > 0]}{at_x(x):.1f} {at_y(y):.1f}" for i, (x, y) in enumerate(points)
        )
        svg += f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dashed}/>\n'
        y = TOP + 10 + 18 * n
        svg += line(WIDTH - RIGHT + 10, y, WIDTH - RIGHT + 30, y, colour, dashed)
        svg += text(WIDTH - RIGHT + 36, y + 4, "start", name)
    return svg + "</svg>\n"
