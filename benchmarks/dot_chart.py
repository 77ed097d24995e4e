"""Draws a dot chart that compares several methods on several tasks, as SVG for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 776
LEFT, RIGHT, TOP, BOTTOM = 188, 136, 96, 58
DOT, RING = 5, 7.5
ROW, APART = 20, 20
STEP = 5  # between two lines of the grid

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .name { font-weight: 600 }
  .note { fill: #59636e; font-size: 12px }
  .grid { stroke: #8c959f; stroke-opacity: .35 }
  .target { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 5 3 }
  .s0 { stroke: #9a6700 } .f0 { fill: #9a6700 }
  .s1 { stroke: #1a7f37 } .f1 { fill: #1a7f37 }
  .s2 { stroke: #0969da } .f2 { fill: #0969da }
  .ring { fill: none; stroke-width: 2 }
  .between { stroke-width: 2; stroke-opacity: .45 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .target { stroke: #e6edf3 }
    .s0 { stroke: #d29922 } .f0 { fill: #d29922 }
    .s1 { stroke: #3fb950 } .f1 { fill: #3fb950 }
    .s2 { stroke: #58a6ff } .f2 { fill: #58a6ff }
  }
"""


@dataclass(frozen=True, slots=True)
class Dot:
    """One way's figure of a task: a filled dot, and a ring for its figure of a part of the task."""

    whole: float
    part: float


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    note: str
    target: float
    dots: Sequence[Dot]  # one for each way


def drawn(title: str, *, ways: Sequence[str], whole: str, part: str, tasks: Sequence[Task]) -> str:
    """At most three ways; figures up to 100."""
    figures = [value for task in tasks for dot in task.dots for value in (dot.whole, dot.part, task.target)]
    low = STEP * math.floor(min(figures) / STEP)
    tall = len(ways) * ROW
    bottom = TOP + len(tasks) * (tall + APART)

    def at(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (100 - low)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        _text(16, 24, title, "title"),
        *_legend(ways, whole, part),
        _text(WIDTH - 72, TOP - 6, whole, "note", "end"),
        _text(WIDTH - 16, TOP - 6, part, "note", "end"),
    ]
    for tick in range(low, 101, STEP):
        lines.append(_line("grid", at(tick), TOP, at(tick), bottom))
        lines.append(_text(at(tick), bottom + 18, str(tick), anchor="middle"))
    lines.append(_text((at(low) + at(100)) / 2, bottom + 42, "questions answered, %", anchor="middle"))
    for nth, task in enumerate(tasks):
        lines += _task(task, TOP + APART / 2 + nth * (tall + APART), tall, at)
    return "\n".join([*lines, "</svg>", ""])


def _legend(ways: Sequence[str], whole: str, part: str) -> list[str]:
    """The ways by colour, then what the marks mean."""
    lines, x = [], 22
    for nth, way in enumerate(ways):
        lines += [_circle(f"f{nth}", x, 46, DOT), _text(x + 12, 50, way)]
        x += 38 + round(6.6 * len(way))
    lines += [_circle(f"f{nth}", 22 + 12 * nth, 68, DOT) for nth in range(len(ways))]
    x = 22 + 12 * len(ways)
    lines.append(_text(x, 72, whole))
    x += 38 + round(6.6 * len(whole))
    lines += [_circle(f"ring s{len(ways) - 1}", x, 68, RING), _text(x + 14, 72, part)]
    x += 50 + round(6.6 * len(part))
    return [*lines, _line("target", x, 60, x, 76), _text(x + 8, 72, "target")]


def _task(task: Task, top: float, tall: int, at: Callable[[float], float]) -> list[str]:
    lines = [
        _text(16, top + tall / 2 - 4, task.name, "name"),
        _text(16, top + tall / 2 + 13, f"{task.note}, target {task.target:g}", "note"),
        _line("target", at(task.target), top - 3, at(task.target), top + tall + 3),
    ]
    for nth, dot in enumerate(task.dots):
        y = top + (nth + 0.5) * ROW
        edge = at(dot.part) - math.copysign(RING, dot.part - dot.whole)
        if abs(at(dot.part) - at(dot.whole)) > RING:
            lines.append(_line(f"between s{nth}", at(dot.whole), y, edge, y))
        lines += [_circle(f"f{nth}", at(dot.whole), y, DOT), _circle(f"ring s{nth}", at(dot.part), y, RING)]
        lines.append(_text(WIDTH - 72, y + 4, f"{dot.whole:.1f}", anchor="end"))
        lines.append(_text(WIDTH - 16, y + 4, f"{dot.part:.1f}", anchor="end"))
    return lines


def _circle(kind: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
