"""Draws lines on logarithmic axes, as SVG for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 84, 120, 50, 60

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .grid { stroke: #8c959f; stroke-opacity: .35 }
  .line { fill: none; stroke-width: 2.5 }
  .s0 { stroke: #9a6700 } .f0 { fill: #9a6700 }
  .s1 { stroke: #0969da } .f1 { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .s0 { stroke: #d29922 } .f0 { fill: #d29922 }
    .s1 { stroke: #58a6ff } .f1 { fill: #58a6ff }
  }
"""


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]


def drawn(title: str, across: str, up: str, lines: Sequence[Line]) -> str:
    """At most two lines."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))

    def at(x: float, y: float) -> tuple[float, float]:
        wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (
            LEFT + wide * math.log(x / min(xs)) / (math.log(max(xs) / min(xs)) or 1),
            HEIGHT - BOTTOM - tall * math.log(y / low) / math.log(high / low),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
    ]
    tick = low
    while tick <= high:
        _, y = at(min(xs), tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_figure(tick)}</text>')
        tick *= 10
    for size in sorted(set(xs)):
        x, _ = at(size, low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size:,.0f}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{across}</text>'
    )
    parts.append(f'<text x="4" y="{TOP - 10}">{up}</text>')
    points = [at(*point) for line in lines for point in line.points]
    for nth, line in enumerate(lines):
        placed = [at(*point) for point in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline class="line s{nth}" points="{path}"/>')
        parts += [f'<circle class="f{nth}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in placed]
        parts += [
            f'<text x="{x:.1f}" y="{y + _beside(x, y, points):.1f}" text-anchor="middle">{value:,.0f}</text>'
            for (x, y), (_, value) in zip(placed, line.points, strict=True)
        ]
        x, y = placed[-1]
        parts.append(f'<text x="{x + 12:.1f}" y="{y + 4:.1f}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _beside(x: float, y: float, points: Sequence[tuple[float, float]]) -> float:
    """Above its point, or below it where another stands just above."""
    crowded = any(x == other_x and 0 < y - other_y < 24 for other_x, other_y in points)
    return 20 if crowded else -10


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
