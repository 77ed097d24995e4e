"""The one face of what only the viewer shows (`ports.viewing`)."""

from __future__ import annotations

from claude_mem.recall.cost import CostReport
from claude_mem.recall.inject import Preview
from claude_mem.recall.service import Sources
from claude_mem.recall.viewer import Pages
from claude_mem.store.values import Ledgers


class Viewing(Pages):
    def __init__(self, sources: Sources, ledgers: Ledgers, costing: CostReport, preview: Preview) -> None:
        super().__init__(sources, ledgers)
        self.cost, self.preview = costing.cost, preview.preview
