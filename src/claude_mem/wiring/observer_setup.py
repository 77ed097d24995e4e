"""Builds the observing part: the chosen provider, the options, the budget, the pump."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.jobs import SpentSoFar
from claude_mem.model.memory import Batch, Findings
from claude_mem.model.structs import replace
from claude_mem.observe import mode as modes
from claude_mem.observe.observer import Limits, Observer, ObserverOptions
from claude_mem.observe.tool_calls import ParsedEvent
from claude_mem.providers import registry
from claude_mem.providers.registry import Access, Choice, Model
from claude_mem.queue.pump import Pump
from claude_mem.settings import Settings
from claude_mem.store.base import Store

if TYPE_CHECKING:  # commands need only the choice, and no worker
    from claude_mem.serve.services import Observing


def choice(settings: Settings) -> Choice:
    """Which observer is used, and why."""
    return registry.choose(settings.provider, _access(settings))


def model(settings: Settings, provider: str) -> Model | None:
    """The chosen provider's model; None: none is needed."""
    found = registry.BY_NAME.get(provider)
    access = replace(_access(settings), is_chosen=settings.provider == provider)
    return found.build(access) if found else None


def _access(settings: Settings) -> Access:
    return Access(
        model=settings.model,
        summary_model=settings.summary_model,
        base_url=settings.base_url,
        api_key=settings.api_key,
        claude_path=settings.claude_path,
        variables=settings.provider_variables,
    )


def mode_of(settings: Settings) -> modes.Mode:
    """The user's mode. Raises SettingsError, which names the file."""
    return modes.load(settings.mode, [settings.data_path(paths.MODES)])


def mode_in_force(settings: Settings) -> tuple[modes.Mode, str | None]:
    """The user's mode; or the built-in one, and why."""
    return modes.load_or_usual(settings.mode, [settings.data_path(paths.MODES)])


def observe_offline(batch: Batch, seen: Sequence[ParsedEvent]) -> Findings:
    """The offline observer, imported with the first batch it is given: a worker starts sooner without it."""
    from claude_mem.observe.offline import Offline

    return Offline().observe(batch, seen)


def title_of(prompt: str) -> str | None:
    """What a session that begins with it is called; imported with the first prompt."""
    from claude_mem.observe.offline import titles

    return titles.of_prompt(prompt)


def build(
    settings: Settings,
    store: Store,
    *,
    mode: modes.Mode,
    notify: Callable[[str], None],
    clean: Callable[[str], str] = str,
) -> Observing:
    from claude_mem.serve.services import Observing

    observer_choice = choice(settings)
    called = model(settings, observer_choice.provider)
    options = ObserverOptions(
        mode=mode,
        verbosity=settings.verbosity,
        language=settings.language,
        limits=Limits(
            daily_tokens=settings.daily_tokens or None,
            session_tokens=settings.session_tokens or None,
            daily_usd=settings.daily_usd or None,
            session_usd=settings.session_usd or None,
        ),
    )

    def spent(session_id: int) -> SpentSoFar:
        return store.queue.spent(session_id, now())

    observer = Observer(called, observe_offline, options, spent, notify, clean=clean)
    pump = Pump(
        store.queue, observer.observe, observer.fall_back, now, notify, provider=observer_choice.provider
    )
    return Observing(pump, observer, observer_choice, called, store, now)
