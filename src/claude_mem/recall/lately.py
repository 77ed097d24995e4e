"""Decides which sessions a start tells of: the last one, and the last of which something came."""

from __future__ import annotations

from typing import Any

from claude_mem.model.refs import Card
from claude_mem.recall.context import LastSession


def leading(summaries: list[LastSession]) -> tuple[list[LastSession], list[LastSession]]:
    """The last session; and, if nothing came of that, the last one of which something did."""
    last, earlier = summaries[:1], summaries[1:]
    if not last or last[0].completed or last[0].learned:
        return last, earlier
    done = next((each for each in earlier if each.completed), None)
    return ([*last, done], [each for each in earlier if each is not done]) if done else (last, earlier)


def told_by(card: Card, columns: dict[str, Any]) -> LastSession:
    return LastSession(
        when=card.created_at,
        ref=card.ref,
        branch=card.branch,
        request=columns["request"] or "",
        completed=columns["completed"] or "",
        learned=columns["learned"] or "",
        next_steps=columns["next_steps"] or "",
    )
