"""What a backfill would cost: counted in the files, priced by the model's price list."""

from __future__ import annotations

from pathlib import Path

from tests.unit.agents.transcript_shapes import Fields, answers, says, user, uses, write

from claude_mem.agents.claude_code import transcripts
from claude_mem.providers import price
from claude_mem.providers.price import OFFLINE
from claude_mem.providers.registry import CHEAP_CLAUDE

LS = {"command": "ls"}
ONE = (4, 2)  # tool uses, turns


def test_tool_uses_and_turns_are_counted_as_they_were(tmp_path: Path) -> None:
    shapes: list[Fields] = [
        user(1, "go"),
        says(2, {"type": "thinking", "thinking": "hm"}),
        uses(3, "a", "Bash", LS),
        answers(4, "a", 'it printed {"type":"tool_use"} and "stop_reason":"end_turn"'),
        says(5, "Done."),
        {"type": "api-request", "tail": [{"type": "tool_use", "id": "a"}]},
        user(6, "on"),
        says(7, "Well.", stop=None),
    ]
    write(tmp_path, [uses(3, "b", "Bash", LS), says(4, "Sub.")], "s/subagents/agent-1.jsonl")
    (seen,) = transcripts.find(write(tmp_path, shapes, "s.jsonl")).transcripts
    assert transcripts.count(seen) == (2, 1)


def test_a_file_that_is_gone_counts_as_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [user(1, "go")], "s.jsonl")
    (seen,) = transcripts.find(path).transcripts
    path.unlink()
    assert transcripts.count(seen) == (0, 0)


def test_offline_is_free_and_always_offered() -> None:
    assert price.estimate([ONE], []) == [OFFLINE]
    assert (OFFLINE.calls, OFFLINE.usd) == (0, 0.0)


def test_each_model_is_priced_by_the_call() -> None:
    _, known, unknown = price.estimate([ONE], [("anthropic", CHEAP_CLAUDE), ("openai", "no-such-model")])
    tokens = 2 * (price.INSTRUCTIONS + price.PER_TURN) + 4 * price.PER_USE
    assert (known.calls, known.input_tokens, known.output_tokens) == (2, tokens, 2 * price.PER_REPLY)
    whole = price.cost(CHEAP_CLAUDE, input=tokens, output=known.output_tokens)
    assert known.usd is not None
    assert whole is not None
    assert abs(known.usd - whole) < 1e-6
    assert (unknown.calls, unknown.usd) == (2, None)


def test_nothing_found_costs_nothing() -> None:
    _, none = price.estimate([], [("x", "y")])
    assert (none.calls, none.input_tokens, none.usd) == (0, 0, 0.0)


def test_sessions_add_up() -> None:
    _, two = price.estimate([ONE, (0, 0)], [("x", "y")])
    assert two.calls == 3
