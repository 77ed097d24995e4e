"""Keeps memory quick to find and ready to inject: the text index, the rendered contexts, the vectors,
in steps."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from claude_mem.model.errors import StoreUnavailable

MOST_STEPS = 16
"""Of the index, while somebody waits: some two thousand memories."""

log = logging.getLogger("claude_mem")


class BackgroundWork:
    """Each of `index`, `render` and `embed` does some of its work and tells whether there was any."""

    def __init__(
        self,
        *,
        index: Callable[[], int],
        render: Callable[[], bool],
        embed: Callable[[], int] | None,
    ) -> None:
        self._index, self._render, self._embed = index, render, embed
        self._indexing, self._embedding = threading.Lock(), threading.Lock()

    def catch_up(self) -> None:
        """What was added a moment ago is found; nobody waits until a whole index is made anew. Where nothing
        can be written, as on a full disk, what is indexed already has to do: reading needs no writing."""
        with self._indexing, suppress(StoreUnavailable):
            for _ in range(MOST_STEPS):
                if not self._index():
                    break

    def without_embedding(self, work: Callable[[], int]) -> int:
        """Runs something while nobody makes vectors, which are of places in the index."""
        with self._embedding:
            return work()

    def step(self) -> bool:
        """Some of what is most urgent; False: all is done."""
        with self._indexing:
            indexed = self._index()
        return bool(indexed) or self._rendered() or self._embedded()

    def _rendered(self) -> bool:
        try:
            return self._render()
        except OSError as error:  # it is tried again; searching and asking go on meanwhile
            log.warning("context/ cannot be written: %s", error.strerror)
            return False

    def _embedded(self) -> bool:
        return self._embed is not None and bool(self.without_embedding(self._embed))
