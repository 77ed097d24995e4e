"""Vectors for a team's server: held by project, for whoever may read that project.

What is held is read for the server itself, and answers each member's query: only of projects that the member
reads, and the table is asked, as that member, whether each that is found is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from heapq import nlargest
from typing import TYPE_CHECKING

from claude_mem.store.base import VectorTable
from claude_mem.vectors.builtin import (
    MOST,
    ROWS,
    Blocks,
    Builtin,
    Scope,
    agree,
    closest,
    size,
    translated_errors,
    uniform,
)

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

MOST_HELD = 400_000
"""Vectors of all projects together: about 100 MB."""


class ProjectVectors(Builtin):
    """`visible`: the projects that the acting member reads."""

    def __init__(
        self,
        table: VectorTable,
        *,
        as_service: Callable[[], AbstractContextManager[None]],
        visible: Callable[[], Sequence[int]],
        most: int = MOST,
        most_held: int = MOST_HELD,
    ) -> None:
        super().__init__(table, most)
        self._as_service, self._visible, self._most_held = as_service, visible, most_held

    def nearest(self, vector: Vector, project_id: Scope, limit: int) -> list[tuple[int, float]]:
        compared = self._compared_there(vector, project_id, limit)
        if compared is not None:
            return compared
        with translated_errors():
            scopes = self._visible() if project_id is None else [project_id]
            with self._as_service():
                self._follow()
                blocks = [self._held.get(scope) or self._read(scope) for scope in scopes]
        agree({vector.size}.union(one.rows.shape[1] for held in blocks for one in held[:1]))
        found = [pair for held in blocks for pair in closest(held, vector, limit)]
        best = nlargest(limit, found, key=lambda pair: (pair[1], pair[0]))
        with translated_errors():
            there = self._table.existing([memory_key for memory_key, _ in best])
        return [(memory_key, cosine) for memory_key, cosine in best if memory_key in there]

    def _read(self, scope: Scope) -> Blocks:
        """The projects that were read first make room."""
        with self._changing, translated_errors():
            if scope not in self._held:
                found = tuple(uniform(self._table.newest(scope, self._most, ROWS)))
                others = dict(self._held)
                while others and size(found) + sum(map(size, others.values())) > self._most_held:
                    del others[next(iter(others))]
                self._held = others | {scope: found}
            return self._held[scope]
