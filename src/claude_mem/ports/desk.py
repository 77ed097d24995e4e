"""What the faces (HTTP, MCP, the command line, hooks) ask of memory. Answers are plain data, ready for JSON:
every face sends on the same, so that they cannot disagree.

A *result*, in every answer that has some: id, ref, kind, session_id (the client's own), project, title, type,
created_at, created_at_epoch, files, branch, score, snippet, tokens, pinned, superseded_by, source, marks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

Data = dict[str, Any]

Changed = Callable[[Collection[int] | None], None]
"""Memory was changed, in these projects (None: in any): what is rendered of them is to be made anew."""


class BadQuestion(ValueError):
    """It cannot be answered as it was asked; `str()` is one sentence that says what to change."""

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        super().__init__(sentence)


class NotThere(LookupError):
    """Nothing goes by that name; `str()` is one sentence."""
