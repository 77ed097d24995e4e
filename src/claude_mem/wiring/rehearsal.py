"""Puts together an import that is only tried: on a copy of the database, doing all that a real one does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from claude_mem.model.clock import now
from claude_mem.model.errors import ClaudeMemError, InvalidInput
from claude_mem.privacy.scrub import scrub_text
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.transfer import Importer
from claude_mem.serve.http.routes.memories import absorbed
from claude_mem.settings import Settings
from claude_mem.store.sqlite.transfer import scratch


@contextmanager
def rehearsing(settings: Settings, *, own: bool) -> Iterator[Callable[[bytes], dict[str, Any]]]:
    """Answers lines as `POST /api/import` does."""
    with scratch(settings.database, now) as copy:
        arriving = Importer(
            into=copy.absorb,
            clock=now,
            clean=partial(
                scrub_text, extra_rules=settings.secret_patterns, extra_globs=settings.exclude_paths
            ),
            import_observations=_counted,
            catch_up=_nothing,
        )

        def absorb(lines: bytes) -> dict[str, Any]:
            try:
                return absorbed(lines, partial(arriving.absorb, own=own))
            except InvalidInput as error:
                raise ClaudeMemError(str(error)) from None

        yield absorb


def _counted(records: Sequence[Mapping[str, object]]) -> Json:
    """What other tools wrote is looked at more closely when it is taken in."""
    return {"imported": len(records), "skipped": 0, "errors": []}


def _nothing() -> None:
    pass
