"""Text without what may not be kept, by the rules that capture has, and the user's."""

from __future__ import annotations

from claude_mem.capture import careful, exclude, scrub
from claude_mem.settings import Settings


def cleaned(text: str, settings: Settings) -> str:
    kept, _ = scrub.scrub(
        {"text": text},
        field_cap=max(len(text), careful.FIELD_CAP),
        extra_rules=settings.secret_patterns,
        globs=(*exclude.DEFAULT_GLOBS, *settings.exclude_paths),
    )
    return str(kept["text"])
