"""Decides what a prompt is answered with from memory: few hits, each short, none when there are none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo

from claude_mem.model.refs import Hit
from claude_mem.recall import label
from claude_mem.recall.fence import fenced
from claude_mem.recall.packing import Budget, Rendered, as_many_as_fit, rendered
from claude_mem.recall.telling import gist

MOST_HITS = 5
DEFAULT_CHARACTERS = 2_400
_LONGEST_SAID = 300
_ABOUT = "Memory that may bear on this prompt."
_MORE = "In full: MCP tool get_observations (by id), or `claude-mem show {}`."


def render_prompted(
    hits: Sequence[Hit],
    *,
    now: int,
    budget: int = DEFAULT_CHARACTERS,
    tz: tzinfo = UTC,
    words: Collection[str] = (),
) -> Rendered:
    """The best first. `words`: the prompt's, in lower case; sentences that hold some are preferred."""
    best = [hit for hit in hits if hit.card.superseded_by is None or hit.card.pinned][:MOST_HITS]
    lines = [_line(hit, now, tz, words) for hit in best]

    def render(count: int) -> Rendered:
        text = "\n".join([*lines[:count], _MORE.format(best[0].card.ref)])
        return rendered(fenced(text, about=_ABOUT), tuple(hit.card.ref for hit in best[:count]))

    return as_many_as_fit(len(lines), render, Budget(budget, budget))


def _line(hit: Hit, now: int, tz: tzinfo, words: Collection[str]) -> str:
    card = hit.card
    said = gist(card.title, card.text, _LONGEST_SAID, words) or label.title(card)
    files = label.files(card, said)
    head = f"- {label.name(card.ref)} {label.dated(card.created_at, now, tz)} {label.kind(card)}"
    return f"{head}: {said}{f' {files}' if files else ''}{label.marks(hit)}"
