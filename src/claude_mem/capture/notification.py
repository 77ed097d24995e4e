"""Decides whether a prompt is the client's own, which tells its model that a task in the background ended.

A subagent outlives the turn that sent it, and commands may. Their end begins a turn of its own, with a prompt
that no user wrote and that may hold all the task found.
"""

from __future__ import annotations

_OPENING = "<task-notification>"


def is_one(prompt: str) -> bool:
    return prompt.lstrip().startswith(_OPENING)


def summary(prompt: str) -> str:
    """What ended and how; else all of it. What a subagent found is told by its own stop."""
    _, _, rest = prompt.partition("<summary>")
    said, closed, _ = rest.partition("</summary>")
    return said.strip() if closed and said.strip() else prompt
