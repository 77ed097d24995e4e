"""Puts the observing half together: the chosen provider, the manner, the budget, the pump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from claude_mem.capture import places
from claude_mem.model.batch import Batch, Gathered
from claude_mem.model.errors import SettingsError, StoreError
from claude_mem.model.observation import Memory
from claude_mem.observe import mode, policy
from claude_mem.observe.budget import Limits
from claude_mem.observe.observer import Manner, Observer
from claude_mem.ports.observer import Model
from claude_mem.ports.pumping import Spent
from claude_mem.providers import claude_cli
from claude_mem.providers.choice import Choice, There, choose
from claude_mem.queue.pump import Pump
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.wiring.clock import now

OPENAI_URL = "https://api.openai.com/v1"
USUAL_MODE = "code"


def choice(settings: Settings) -> Choice:
    """Who observes, and why."""
    return choose(
        settings.provider,
        There(
            claude=claude_cli.available(settings.claude_path),
            anthropic_key=bool(settings.api_key or settings.anthropic_api_key),
            openai_key=bool(settings.openai_api_key),
            base_url=bool(settings.base_url or settings.openai_base_url),
            model=bool(settings.model),
        ),
    )


def mode_of(settings: Settings) -> mode.Mode:
    """What is worth remembering, as the user has it. Raises SettingsError, naming the file."""
    return mode.load(settings.mode, [settings.place(places.MODES)])


def mode_in_force(settings: Settings) -> tuple[mode.Mode, str | None]:
    """The user's; or the one that ships, and why."""
    try:
        return mode_of(settings), None
    except SettingsError as error:
        return mode.load(USUAL_MODE, []), f"{error} Used instead: {USUAL_MODE}."


def model(settings: Settings, provider: str) -> Model | None:
    """The chosen provider's model; None: none is needed. Only that provider is imported."""
    match provider:
        case "claude":
            from claude_mem.providers import claude_agent_sdk

            return claude_agent_sdk.ClaudeModel(
                cli_path=settings.claude_path,
                model=settings.model or claude_agent_sdk.OBSERVE_MODEL,
                summary_model=settings.summary_model,
            )
        case "anthropic":
            from claude_mem.providers import anthropic_api

            return anthropic_api.AnthropicModel(
                api_key=settings.api_key or settings.anthropic_api_key or "",
                base_url=settings.base_url or settings.anthropic_base_url or anthropic_api.BASE_URL,
                model=settings.model or anthropic_api.OBSERVE_MODEL,
                summary_model=settings.summary_model,
            )
        case "openai":
            from claude_mem.providers import openai_compatible

            return openai_compatible.OpenAiModel(
                base_url=settings.base_url or settings.openai_base_url or OPENAI_URL,
                api_key=settings.api_key or settings.openai_api_key,
                model=settings.model or "",
                summary_model=settings.summary_model,
            )
    return None


class Offline:
    """The offline observer, imported with the first batch it is given: a worker starts sooner without it."""

    def observe(self, batch: Batch) -> Memory:
        from claude_mem.providers import offline

        return offline.Offline().observe(batch)


@dataclass(frozen=True, slots=True)
class Observing:
    """The observing half, put together."""

    pump: Pump
    observer: Observer
    chosen: Choice
    asked: Model | None
    store: SqliteStore

    def shown(self) -> dict[str, object]:
        return {
            "provider": self.chosen.provider,
            "why": self.chosen.why,
            "paused": self.pump.paused,
            "spentUp": self.observer.spent_up,
            "spentToday": self._spent_today(),
        }

    def _spent_today(self) -> dict[str, object] | None:
        """None: it cannot be read now."""
        with suppress(StoreError, OSError):
            spent = self.store.spent(0, now())
            return {"tokens": spent.daily_tokens, "usd": spent.daily_usd}
        return None

    def resume(self, job_ids: Sequence[int] | None) -> int:
        resumed = self.store.resume(job_ids)
        self.pump.release()  # after: whoever steps next must find what was resumed
        return resumed

    def let_go(self) -> None:
        """End calls that are under way; their batches go back to the queue."""
        if self.asked is not None:
            self.asked.close()


def assemble(settings: Settings, store: SqliteStore, tell: Callable[[str], None]) -> Observing:
    chosen = choice(settings)
    asked = model(settings, chosen.provider)
    manner = Manner(
        mode=mode_in_force(settings)[0],
        verbosity=settings.verbosity,
        language=settings.language,
        limits=Limits(
            daily_tokens=settings.daily_tokens or None,
            session_tokens=settings.session_tokens or None,
            daily_usd=settings.daily_usd or None,
            session_usd=settings.session_usd or None,
        ),
    )

    def spent(session_id: int) -> Spent:
        return store.spent(session_id, now())

    observer = Observer(asked, Offline(), manner, spent, tell)
    pump = Pump(store, observer.observe, due_at, now, tell)
    return Observing(pump, observer, chosen, asked, store)


def due_at(gathered: Gathered, at: int) -> int:
    decision = policy.decide(gathered, at)
    return decision.at if isinstance(decision, policy.Later) else at
