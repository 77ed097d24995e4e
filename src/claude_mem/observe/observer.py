"""Observes a batch: with a model, if the budget allows it, otherwise offline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from claude_mem.model.jobs import CallCost, SpentSoFar
from claude_mem.model.memory import Batch, Broken, Findings, Observed, Outcome
from claude_mem.model.structs import map_text, replace
from claude_mem.observe import evidence, prompt, reply, tool_calls
from claude_mem.observe.mode import Mode
from claude_mem.observe.tool_calls import ParsedEvent
from claude_mem.providers.registry import MOST_OUTPUT, Model, Prompt, Reply
from claude_mem.settings.declarations import Verbosity

EVENTS_CHARACTERS = 80_000  # of one prompt: about 20,000 tokens
ASK_WITHIN_S = 180.0
CHARACTERS_PER_TOKEN = 4
DAY_S = 24 * 60 * 60

_WORDS = {"day": "Today's", "session": "This session's"}


class Limits(Struct, frozen=True):
    """None: no limit."""

    daily_tokens: int | None = None
    session_tokens: int | None = None
    daily_usd: float | None = None
    session_usd: float | None = None


class ExhaustedBudget(Struct, frozen=True):
    period: str  # day or session
    message: str  # one sentence


class ObserverOptions(Struct, frozen=True):
    """The user's settings for observing."""

    mode: Mode
    verbosity: Verbosity = "normal"
    language: str | None = None
    limits: Limits = field(default_factory=Limits)


class _Call(Struct, frozen=True):
    """A running call, which is not in the spending table yet."""

    tokens: int  # estimated; once it is answered, as counted
    before: int  # the session's recorded tokens when it began
    answered: bool = False


def _today() -> int:
    """The number of the day in UTC, as in the spending table."""
    return int(time.time() // DAY_S)


class Observer:
    """Any number of threads may use it, each for a different session."""

    def __init__(
        self,
        model: Model | None,
        extract: Callable[[Batch, Sequence[ParsedEvent]], Findings],
        options: ObserverOptions,
        spent: Callable[[int], SpentSoFar],
        notify: Callable[[str], None],
        today: Callable[[], int] = _today,
        clean: Callable[[str], str] = str,
    ) -> None:
        """`extract` observes without a model; `spent` returns the cost of a session and of the day; `notify`
        notifies the user; `clean` removes from a text what must not be stored."""
        self._model, self._extract, self._options = model, extract, options
        self._spent, self._notify, self._today, self._clean = spent, notify, today, clean
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}  # by session
        self._announced: set[tuple[str, int]] = set()
        self.budget_message: str | None = None
        """Which budget is used up, as one sentence, if the last batch was not sent to the model for that
        reason."""

    def observe(self, batch: Batch, session_id: int) -> tuple[Outcome, CallCost | None]:
        seen = tool_calls.parse_all(batch.events)
        outcome, spend = self._observed(batch, seen, session_id)
        if isinstance(outcome, Observed):
            outcome = replace(outcome, findings=evidence.with_provenance(outcome.findings, seen))
        # A model may decode or invent a secret, and the outcome quotes an unreadable reply.
        return map_text(outcome, self._clean), spend

    def fall_back(self, batch: Batch) -> Findings:
        """Observes without a model, after the model's attempts have failed."""
        seen = tool_calls.parse_all(batch.events)
        return map_text(evidence.with_provenance(self._extract(batch, seen), seen), self._clean)

    def _observed(
        self, batch: Batch, seen: Sequence[ParsedEvent], session_id: int
    ) -> tuple[Outcome, CallCost | None]:
        if self._model is None or batch.offline or not evidence.has_evidence(seen):
            return Observed(self._extract(batch, seen)), None
        question = prompt.build(
            batch,
            seen,
            self._options.mode,
            verbosity=self._options.verbosity,
            language=self._options.language,
            budget_chars=EVENTS_CHARACTERS,
        )
        if not self._has_budget(question, session_id):
            return Observed(self._extract(batch, seen)), None
        spend: CallCost | None = None
        try:
            answer = self._model.ask(question, deadline_s=ASK_WITHIN_S)
            spend = answer.spend if isinstance(answer, Reply | Broken) else None
        finally:
            self._answered(session_id, spend)
        if not isinstance(answer, Reply):
            return answer, spend
        outcome = reply.read(answer.text)
        if isinstance(outcome, Observed):
            outcome = replace(outcome, findings=evidence.correct(outcome.findings, seen))
        return outcome, spend

    def _has_budget(self, question: Prompt, session_id: int) -> bool:
        """Whether the budget allows a call, including the calls that are running now."""
        with self._lock:
            spent = self._spent(session_id)
            exhausted = exhausted_budget(spent, self._options.limits, self._pending_calls(session_id, spent))
            self.budget_message = exhausted.message if exhausted else None
            if exhausted is None:
                characters = len(question.system) + len(question.user)
                estimate = characters // CHARACTERS_PER_TOKEN + MOST_OUTPUT
                self._calls[session_id] = _Call(estimate, spent.session_tokens)
            is_first = exhausted is not None and self._is_first_notice(exhausted, session_id)
        if exhausted and is_first:
            self._notify(f"{exhausted.message} The offline observer takes over.")
        return exhausted is None

    def _answered(self, session_id: int, spend: CallCost | None) -> None:
        """The call counts until its cost is recorded, which the caller does together with the outcome."""
        with self._lock:
            call = self._calls.pop(session_id, None)
            if call and spend and spend.tokens:
                self._calls[session_id] = _Call(spend.tokens, call.before, answered=True)

    def _pending_calls(self, session_id: int, spent: SpentSoFar) -> SpentSoFar:
        for id, call in list(self._calls.items()):
            # A session has one call at a time: its previous one is settled.
            if id == session_id or (call.answered and self._spent(id).session_tokens != call.before):
                del self._calls[id]
        return pending_spend(sum(call.tokens for call in self._calls.values()), spent)

    def _is_first_notice(self, exhausted: ExhaustedBudget, session_id: int) -> bool:
        """True once a day, or once per session."""
        key = (exhausted.period, self._today() if exhausted.period == "day" else session_id)
        is_first = key not in self._announced
        self._announced.add(key)
        return is_first


def exhausted_budget(
    spent: SpentSoFar, limits: Limits, under_way: SpentSoFar | None = None
) -> ExhaustedBudget | None:
    """The budget that is spent; None if another call may be made. `under_way`: what calls may cost that are
    not recorded yet."""
    more = under_way or SpentSoFar()
    for unit, words in (("tokens", "{:,} of {:,} tokens"), ("usd", "${:,.2f} of ${:,.2f}")):
        for period, prefix in (("day", "daily"), ("session", "session")):
            used, pending, most = (getattr(each, f"{prefix}_{unit}") for each in (spent, more, limits))
            if most is not None and used + pending >= most:
                due = words.partition(" of ")[0].format(pending)
                waits = f", with {due} for calls under way" if used < most else ""
                message = f"{_WORDS[period]} budget is spent: {words.format(used, most)}{waits}."
                return ExhaustedBudget(period, message)
    return None


def pending_spend(tokens: int, spent: SpentSoFar) -> SpentSoFar:
    """The estimated cost of this many tokens of other sessions, at today's average price."""
    price = spent.daily_usd / spent.daily_tokens if spent.daily_tokens else 0.0
    return SpentSoFar(daily_tokens=tokens, daily_usd=tokens * price)
