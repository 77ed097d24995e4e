"""Whether a memory is one of those asked about. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from claude_mem.model.recall import Card, Filters


def fits(card: Card, filters: Filters) -> bool:
    return (
        (filters.project_id is None or card.project_id == filters.project_id)
        and (not filters.kinds or card.ref.kind in filters.kinds)
        and (not filters.types or card.type in filters.types)
        and (not filters.concepts or not set(filters.concepts).isdisjoint(card.concepts))
        and (filters.file is None or any(is_of_file(path, filters.file) for path in card.files))
        and (filters.branch is None or card.branch == filters.branch)
        and (filters.session is None or card.session == filters.session)
        and (filters.client is None or card.client == filters.client)
        and (filters.since is None or card.created_at >= filters.since)
        and (filters.until is None or card.created_at < filters.until)
        and (filters.superseded is None or (card.superseded_by is not None) == filters.superseded)
    )


def is_of_file(path: str, asked: str) -> bool:
    """`asked` is the path or the end of it, a directory above it (`src/`), or a glob (`src/*.py`)."""
    path, asked = f"/{plain(path)}", plain(asked)
    if any(sign in asked for sign in "*?["):
        return fnmatchcase(path, f"*/{asked}")
    if asked.endswith("/"):
        return f"/{asked}" in path
    return path.endswith(f"/{asked}") or f"/{asked}".endswith(path)


def plain(path: str) -> str:
    """One spelling: slashes one way, letters small, for not all file systems tell them apart."""
    return path.replace("\\", "/").strip().removeprefix("./").lstrip("/").lower()
