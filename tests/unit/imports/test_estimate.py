"""What a backfill would cost: counted in the files, priced by whoever knows the prices."""

from __future__ import annotations

from pathlib import Path

from tests.unit.agents.transcript_shapes import Fields, answers, says, user, uses, write

from claude_mem.agents.claude_code import transcript_files
from claude_mem.imports import estimate
from claude_mem.imports.estimate import OFFLINE, Asked, Work

LS = {"command": "ls"}
ONE = Work(sessions=1, size=1000, tool_uses=4, turns=2, calls=2)


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
    (seen,) = transcript_files.find(write(tmp_path, shapes, "s.jsonl")).transcripts
    counted = estimate.work(seen)
    assert (counted.tool_uses, counted.turns, counted.calls) == (2, 1, 1)
    assert (counted.sessions, counted.size) == (1, seen.size)


def test_a_file_that_is_gone_counts_as_its_session_only(tmp_path: Path) -> None:
    path = write(tmp_path, [user(1, "go")], "s.jsonl")
    (seen,) = transcript_files.find(path).transcripts
    path.unlink()
    assert estimate.work(seen).tool_uses == 0


def test_offline_is_free_and_always_offered() -> None:
    assert estimate.estimate(ONE, []) == (OFFLINE,)
    assert (OFFLINE.calls, OFFLINE.usd) == (0, 0.0)


def test_each_who_might_be_asked_is_priced_by_the_call() -> None:
    def price(tokens_in: int, tokens_out: int) -> float | None:
        return (tokens_in + 5 * tokens_out) / 1e6 if tokens_in < 50_000 else None

    _, known, unknown = estimate.estimate(
        ONE, [Asked("anthropic", "small", price), Asked("openai", "other", lambda _in, _out: None)]
    )
    tokens = 2 * (estimate.INSTRUCTIONS + estimate.PER_TURN) + 4 * estimate.PER_USE
    assert (known.calls, known.input_tokens, known.output_tokens) == (2, tokens, 2 * estimate.PER_REPLY)
    assert known.usd is not None
    assert abs(known.usd - (tokens + 5 * known.output_tokens) / 1e6) < 1e-6
    assert (unknown.calls, unknown.usd) == (2, None)


def test_a_call_is_told_no_more_than_fits_it() -> None:
    _, huge = estimate.estimate(
        Work(sessions=1, tool_uses=100_000, turns=1, calls=10), [Asked("x", None, lambda _in, _out: 0.0)]
    )
    assert huge.input_tokens == 10 * (estimate.INSTRUCTIONS + estimate.MOST_TOKENS)


def test_nothing_found_costs_nothing() -> None:
    _, none = estimate.estimate(estimate.total([]), [Asked("x", None, lambda _in, _out: 1.0)])
    assert (none.calls, none.input_tokens, none.usd) == (0, 0, 0.0)


def test_works_add_up() -> None:
    assert estimate.total([ONE, ONE]) == Work(sessions=2, size=2000, tool_uses=8, turns=4, calls=4)
