"""The one face of what only the viewer shows (`ports.viewing`)."""

from __future__ import annotations

from claude_mem.ports.viewing import Ledgers
from claude_mem.recall.costing import Costing
from claude_mem.recall.pages import Pages
from claude_mem.recall.preview import Preview
from claude_mem.recall.reading import Sources


class Viewing(Pages):
    def __init__(self, sources: Sources, ledgers: Ledgers, costing: Costing, preview: Preview) -> None:
        super().__init__(sources, ledgers)
        self.cost, self.preview = costing.cost, preview.preview
