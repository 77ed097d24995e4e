"""Puts together what only the viewer asks for: pages, costs, previews."""

from __future__ import annotations

from claude_mem.model.clock import now
from claude_mem.observe import prompt
from claude_mem.recall.cost import CostBudget, CostReport
from claude_mem.recall.inject import Injector, Preview
from claude_mem.recall.label import estimate_tokens
from claude_mem.recall.service import Sources
from claude_mem.recall.viewing import Viewing
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.statistics import SqliteStatistics
from claude_mem.wiring import observer


def assemble(settings: Settings, store: SqliteStore, sources: Sources, occasions: Injector) -> Viewing:
    ledgers = SqliteStatistics(store.readers)
    instructions = prompt.system(observer.mode_in_force(settings)[0], settings.verbosity, settings.language)
    costing = CostReport(
        store.spending,
        lambda: store.spent(0, now()),
        ledgers,
        now,
        CostBudget(settings.daily_tokens, settings.daily_usd, settings.session_tokens, settings.session_usd),
        estimate_tokens(instructions),
    )
    return Viewing(sources, ledgers, costing, Preview(sources.questions, occasions))
