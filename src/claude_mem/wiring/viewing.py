"""Puts together what only the viewer asks for: pages, costs, previews."""

from __future__ import annotations

from claude_mem.observe import prompt
from claude_mem.recall.costing import Budget, Costing
from claude_mem.recall.occasions import Occasions
from claude_mem.recall.preview import Preview
from claude_mem.recall.reading import Sources
from claude_mem.recall.tokens import estimate
from claude_mem.recall.viewing import Viewing
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.ledgers import SqliteLedgers
from claude_mem.wiring import observer
from claude_mem.wiring.clock import now


def assemble(settings: Settings, store: SqliteStore, sources: Sources, occasions: Occasions) -> Viewing:
    ledgers = SqliteLedgers(store.readers)
    instructions = prompt.system(observer.mode_in_force(settings)[0], settings.verbosity, settings.language)
    costing = Costing(
        store.spending,
        lambda: store.spent(0, now()),
        ledgers,
        now,
        Budget(settings.daily_tokens, settings.daily_usd, settings.session_tokens, settings.session_usd),
        estimate(instructions),
    )
    return Viewing(sources, ledgers, costing, Preview(sources.questions, occasions))
