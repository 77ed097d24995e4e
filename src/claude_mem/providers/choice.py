"""Decides who observes: the user's choice, or the best that is there. `doctor` shows it and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class There:
    """What a choice can be made of."""

    claude: str | None  # why Claude Code cannot be asked; None: it can
    anthropic_key: bool
    openai_key: bool
    base_url: bool
    model: bool


@dataclass(frozen=True, slots=True)
class Choice:
    provider: str  # claude, anthropic, openai or offline
    why: str


def choose(wanted: str, there: There) -> Choice:
    if wanted != "auto":
        return Choice(wanted, "chosen by the setting CLAUDE_MEM_PROVIDER")
    if there.claude is None:
        return Choice("claude", "Claude Code is installed and logged in")
    if there.base_url or there.openai_key:
        source = "CLAUDE_MEM_BASE_URL" if there.base_url else "OPENAI_API_KEY"
        if there.model:
            return Choice("openai", f"{source} is set")
        if not there.anthropic_key:
            return Choice("offline", f"{source} is set, but CLAUDE_MEM_MODEL does not say which model to ask")
    if there.anthropic_key:
        return Choice("anthropic", "an Anthropic API key is set")
    return Choice("offline", f"no model is set up. {there.claude}")
