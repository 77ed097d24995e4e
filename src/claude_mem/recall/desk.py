"""The one face of memory: what HTTP, MCP, the command line and hooks ask is answered here (`ports.desk`)."""

from __future__ import annotations

from collections.abc import Callable

from claude_mem.api.filters import SearchFilters
from claude_mem.ports.desk import Data
from claude_mem.recall.edit import MemoryWriter
from claude_mem.recall.filters import FilterResolver
from claude_mem.recall.inject import Injector
from claude_mem.recall.service import Reading, Sources
from claude_mem.recall.transfer import Exporter, Importer


class Desk(Reading):
    def __init__(
        self,
        sources: Sources,
        writing: MemoryWriter,
        leaving: Exporter,
        arriving: Importer,
        occasions: Injector,
        figures: Callable[[], Data],
    ) -> None:
        super().__init__(sources)
        self._questions: FilterResolver = sources.questions
        self._occasions, self._figures = occasions, figures
        self.remember, self.pin = writing.remember, writing.pin
        self.forget, self.take_in = writing.forget, writing.take_in
        self.export, self.absorb = leaving.export, arriving.absorb

    def context(self, narrowing: SearchFilters, *, source: str = "startup", session: str = "") -> Data:
        project = self._questions.project(narrowing)
        if project is None:
            name = narrowing.cwd.rstrip("/").rpartition("/")[2] or "this directory"
            return {
                "text": f"No previous sessions found for {name}.",
                "tokens": 0,
                "refs": [],
                "project": None,
            }
        told = self._occasions.start(project, session if source == "compact" else "", plain=True)
        return {
            "text": told.text,
            "tokens": told.tokens,
            "refs": [str(ref) for ref in told.refs],
            "project": project.name,
        }

    def stats(self) -> Data:
        return self._figures()
