"""Whether a memory is one of those asked about. Pure."""

from __future__ import annotations

from claude_mem.model.refs import Card, Filters, is_of_file


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
        and (filters.wrong is None or card.wrong == filters.wrong)
        and (not filters.pinned or card.pinned)
    )
