"""What a call cost, where that is known."""

from __future__ import annotations

import pytest

from claude_mem.providers import price
from claude_mem.providers.registry import CHEAP_CLAUDE


def test_a_call_costs_what_claude_code_computes_for_it() -> None:
    """The same usage, priced by Claude Code 2.1.325 (`total_cost_usd`)."""
    usage = {"input": 1000, "cache_write": 100, "cached": 200, "output": 50}
    assert price.cost("claude-sonnet-5", **usage) == pytest.approx(0.00279)
    assert price.cost("claude-haiku-4-5", **usage) == pytest.approx(0.001395)
    assert price.cost("claude-haiku-5-5", **usage) == pytest.approx(0.0001395)


@pytest.mark.parametrize("model", ["llama3.2", "gpt-5", "claude-nonesuch-9", "claude-opus-4-55", ""])
def test_an_unknown_model_has_no_price_rather_than_a_guessed_one(model: str) -> None:
    assert price.cost(model, input=1000, output=10) is None


def test_past_the_length_a_price_holds_for_there_is_none() -> None:
    assert price.cost("claude-haiku-5-5", input=90_000, cached=20_000, output=10) is None
    assert price.cost("claude-haiku-4-5", input=90_000, cached=20_000, output=10) is not None


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("anthropic/claude-haiku-4.5", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-4.5:beta", "claude-sonnet-4-5"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-0", "claude-opus-4"),
    ],
)
def test_a_model_is_known_by_its_family(model: str, family: str) -> None:
    assert price.family(model) == family
    assert family in price.PRICES


def test_the_default_models_have_a_price() -> None:
    assert CHEAP_CLAUDE in price.PRICES
