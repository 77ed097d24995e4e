"""Turns a batch into an outcome: asks the model within its budget, or does without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from claude_mem.model.batch import Batch
from claude_mem.model.outcome import Observed, Outcome
from claude_mem.model.prompt import Reply, Spend
from claude_mem.observe import budget, evidence, grammar, prompt
from claude_mem.observe.budget import Limits, Spent
from claude_mem.observe.mode import Mode, Verbosity
from claude_mem.ports.observer import Extractor, Model

EVENTS_CHARACTERS = 80_000  # of one prompt: about 20,000 tokens
ASK_WITHIN_S = 180.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How the user wants to be observed."""

    mode: Mode
    verbosity: Verbosity = "normal"
    language: str | None = None
    limits: Limits = field(default_factory=Limits)


class Observer:
    def __init__(
        self,
        model: Model | None,
        extractor: Extractor,
        manner: Manner,
        spent: Callable[[int], Spent],
        tell: Callable[[str], None],
    ) -> None:
        """`spent` knows what a session and the day have cost; `tell` reaches the user."""
        self._model, self._extractor, self._manner = model, extractor, manner
        self._spent, self._tell = spent, tell
        self.spent_up: str | None = None
        """Which budget is spent, as one sentence, when that kept the last batch from the model."""

    def observe(self, batch: Batch, session_id: int) -> tuple[Outcome, Spend | None]:
        if self._model is None:
            return Observed(self._extractor.observe(batch)), None
        spent_up = budget.allows(self._spent(session_id), self._manner.limits)
        told, self.spent_up = self.spent_up, spent_up
        if spent_up:
            if spent_up != told:
                self._tell(f"{spent_up} The offline observer takes over.")
            return Observed(self._extractor.observe(batch)), None
        question = prompt.build(
            batch,
            self._manner.mode,
            verbosity=self._manner.verbosity,
            language=self._manner.language,
            budget_chars=EVENTS_CHARACTERS,
        )
        answer = self._model.ask(question, deadline_s=ASK_WITHIN_S)
        if not isinstance(answer, Reply):
            return answer, None
        outcome = grammar.read(answer.text)
        if isinstance(outcome, Observed):
            outcome = Observed(evidence.correct(outcome.memory, batch.events))
        return outcome, answer.spend
