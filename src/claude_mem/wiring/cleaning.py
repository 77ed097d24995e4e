"""Text without what may not be kept, by the rules that capture has, and the user's."""

from __future__ import annotations

from claude_mem.privacy import excluded_files, scrub, scrub_payload
from claude_mem.settings import Settings


def cleaned(text: str, settings: Settings) -> str:
    kept, _ = scrub.scrub(
        {"text": text},
        field_cap=max(len(text), scrub_payload.FIELD_CAP),
        extra_rules=settings.secret_patterns,
        globs=(*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths),
    )
    return str(kept["text"])
