"""What the tests of the pump share: an observer that follows a script, turns to observe, and how to step."""

from __future__ import annotations

from collections.abc import Callable

from tests.contracts.store_contract import Events, SettableClock, new_events

from claude_mem.model.events import Kind
from claude_mem.model.jobs import CallCost, JobState
from claude_mem.model.memory import (
    Batch,
    Broken,
    Findings,
    Nothing,
    Observation,
    Outcome,
)
from claude_mem.model.refs import Filters
from claude_mem.queue.pump import Pump
from claude_mem.store.sqlite import SqliteStore

SECOND = 1000
DEADLINE_S = 60.0
MINUTE = 60 * SECOND
SPEND = CallCost("anthropic", "haiku", input_tokens=10, output_tokens=1, cost_usd=0.25)
DOWN = Broken("The model server refused the connection.", "provider")

Answer = tuple[Outcome, CallCost | None]
Observe = Callable[[Batch, int], Answer]
Make = Callable[[Observe], Pump]


OFFLINE_TITLE = "As seen offline"


def fall_back(batch: Batch) -> Findings:
    return Findings((Observation("change", title=OFFLINE_TITLE, narrative=batch.session),))


class Script:
    """An observer that answers as it was told to, then with nothing worth keeping; it keeps what it saw."""

    def __init__(self, *answers: Outcome | Exception, spend: CallCost | None = None) -> None:
        self.answers = list(answers)
        self.spend = spend
        self.shown: list[Batch] = []

    def __call__(self, batch: Batch, session_id: int) -> Answer:
        self.shown.append(batch)
        answer = self.answers.pop(0) if self.answers else Nothing()
        if isinstance(answer, Exception):
            raise answer
        return answer, self.spend

    @property
    def sessions(self) -> list[str]:
        return [batch.session for batch in self.shown]


def a_turn(store: SqliteStore, events: Events, session: str = "s1", tools: int = 2) -> list[str]:
    """A prompt, its tool uses and its stop, as they are queued; returns their ids."""
    made = [events.prompt("please", session)]
    made += [events.tool(session) for _ in range(tools)]
    made.append(events.make(Kind.STOP, session, text="done"))
    store.events.accept(new_events(*made))
    return [event.id for event in made]


def pump_dry(pump: Pump, clock: SettableClock) -> int | None:
    """Step until nothing is due."""
    while (when := pump.step()) == clock.now:
        continue
    return when


def why_paused(pump: Pump) -> str | None:
    """Read anew: a type checker takes what was asserted of an attribute for granted from then on."""
    return pump.paused


def waiting(store: SqliteStore, state: JobState = JobState.READY) -> list[tuple[str, int, str | None]]:
    return [(job.event.id, job.attempts, reason) for job, reason in store.queue.jobs(state, 100)]


# When


def titles(store: SqliteStore) -> list[str | None]:
    """Of all observations, by time."""
    found = store.memories.list_cards(Filters(kinds=("observation",)), limit=100, newest_first=False)
    return [card.title for card in found]
