"""The nine real transcripts: every event of theirs is one the product takes, and none is missing."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcript_files, transcript_lines, transcripts
from claude_mem.model.events import Kind
from claude_mem.privacy import excluded_files, scrub_payload
from claude_mem.providers import price

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts"
pytestmark = pytest.mark.skipif(
    not REAL.is_dir(), reason=f"THE NINE REAL TRANSCRIPTS ARE NOT AT {REAL}: nothing real was read"
)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as file:
        for raw in file:
            yield json.loads(raw)


def test_all_is_read_and_every_event_is_scrubbed_and_parsed_as_a_live_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the scrubber notes which turns are private
    kinds: Counter[Kind] = Counter()
    for path in sorted(REAL.glob("*.gz")):
        reading = transcripts.read(path)
        ids = set()
        for told in reading:
            clean = scrub_payload.clean(told.event, told.payload, (), excluded_files.DEFAULT_GLOBS)
            assert clean is not None
            event = hook_payload.parse(told.event, clean[0], id=told.id, at=told.at)
            assert event is not None
            assert (event.session, told.branch) == (path.name.partition(".")[0], told.branch)
            assert told.id.startswith("past-")
            ids.add(told.id)
            kinds[event.kind] += 1
        assert (reading.tally.unreadable, dict(reading.tally.unknown)) == (0, {})
        assert len(ids) == sum(1 for _ in transcripts.read(path))
    assert kinds[Kind.STOP] == 29  # as many messages say end_turn
    assert (kinds[Kind.PROMPT], kinds[Kind.TASK_END]) == (25, 5)
    # 456 results, three of which say that the tool did not run; no hook fires for those.
    assert kinds[Kind.TOOL_USE] + kinds[Kind.TOOL_FAILURE] == 453


def test_times_and_numbers_are_those_of_the_lines() -> None:
    for path in sorted(REAL.glob("*.gz")):
        stamps = {row.get("uuid"): row.get("timestamp") for row in rows(path)}
        told = list(transcripts.read(path))
        asked = [each for each in told if each.event == "UserPromptSubmit"]
        typed = [each for each in asked if "<task-notification>" not in str(each.payload["prompt"])]
        assert [each.payload["prompt_number"] for each in typed] == list(range(1, len(typed) + 1))
        for each in told[1:-1]:
            uuid = each.id.removeprefix("past-").removesuffix(f"-{each.event}")
            assert transcript_lines.epoch(stamps[uuid]) == each.at


def test_they_are_found_and_their_cost_is_near_what_was_measured() -> None:
    seen = transcript_files.find(REAL)
    assert (len(seen.transcripts), seen.unreadable, seen.others) == (9, (), 0)
    assert {each.cwd for each in seen.transcripts} == {"D:\\oh-my-posh"}
    for each in seen.transcripts:
        *_, end = transcripts.read(each.path)
        assert each.first_at <= end.at <= each.last_at
    counts = list(map(transcripts.count, seen.transcripts))
    _, asked = price.estimate(counts, [("x", "y")])
    # benchmarks/cost.py: 30 calls, 98,714 tokens sent.
    assert tuple(map(sum, zip(*counts, strict=True))) == (456, 29)
    assert abs(asked.calls - 30) <= 3
    assert abs(asked.input_tokens - 98_714) <= 10_000
