"""What a model is asked, and what it cost to ask."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions that never change (so that providers can cache them), then what this call is about."""

    system: str
    user: str
    purpose: str = "observe"  # or "summarize": a setting may give each its own model


@dataclass(frozen=True, slots=True)
class Spend:
    """One call's price. Tokens as the provider counted them; money where it is known."""

    provider: str
    model: str
    input_tokens: int = 0
    cached_tokens: int = 0  # read from the provider's cache; not part of input_tokens
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cached_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's words, not yet read."""

    text: str
    spend: Spend
