"""What holds for every batch: nothing private, nothing endless, no error, the same answer twice."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.harness.growth import LONG, Finish, many_long_runs, repeated
from tests.unit.observe.offline.scripted_session import Acting, everything, observed

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.memory import Batch
from claude_mem.observe import shell
from claude_mem.observe.offline import message, request, steps

CONCEPTS = {
    "how-it-works",
    "what-changed",
    "problem-solution",
    "gotcha",
    "pattern",
    "trade-off",
    "why-it-exists",
}
LINES = st.sampled_from(
    [
        *("Exit code 1", "Traceback (most recent call last)", "a.py:3:1: error: x", "=== 1 failed in 1s ==="),
        *(
            "[main abcdef1] fix: x",
            "--- FAIL: T",
            "## Next",
            "Done. Remaining: nothing; next: x",
            "I decided against a because b.",
            "- **a**: b `c`",
            "```",
            "| a | b |",
            "<<EOF",
            "$(",
        ),
        *(
            "git commit -m 'x",
            "pip install x",
            "*** Begin Patch\n*** Add File: x",
            "“",
            "\\",
            "{",
            "\x1b[31m",
        ),
    ]
)
TEXT = st.one_of(st.text(max_size=200), st.lists(LINES, max_size=12).map("\n".join))
NAMES = """file_path command content old_string new_string edits pattern path url query stdout stderr
structuredPatch lines todos status questions answers plan prompt description filenames file startLine code
interrupted type originalFile oldStart cmd patch"""
KEYS = st.one_of(st.sampled_from(sorted(NAMES.split())), st.text(max_size=8))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=12,
)
JSON = st.one_of(TEXT, VALUE.map(json.dumps))


@st.composite
def events(draw: st.DrawFn) -> Event:
    given_, got = draw(JSON), draw(JSON)
    cut = draw(st.integers(0, max(1, len(got))))
    tool = draw(
        st.one_of(
            st.none(),
            st.just(ToolCall(draw(st.sampled_from(["Bash", "Edit", "Write", "x"])), given_, got[:cut], "t")),
        )
    )
    return Event(
        id=draw(st.text(max_size=4)),
        at=1,
        kind=draw(st.sampled_from(list(Kind))),
        session="s",
        cwd=draw(st.sampled_from([None, "/p", "C:\\p", ""])),
        tool=tool,
        text=draw(st.one_of(st.none(), TEXT)),
        private=draw(st.booleans()),
        agent_id=draw(st.sampled_from([None, "a"])),
    )


@settings(max_examples=3 * settings().max_examples, suppress_health_check=list(HealthCheck))
@given(st.lists(events(), max_size=12), st.one_of(st.none(), TEXT))
def test_any_events_give_a_memory_within_its_bounds_and_the_same_one_twice(
    found: list[Event], request: str | None
) -> None:
    batch = Batch("p", "s", tuple(found), request)
    memory = observed(batch)
    assert memory == observed(batch)
    for seen in memory.observations:
        assert seen.title
        assert len(seen.title) <= 72
        assert not seen.title.endswith("…")
        assert all(len(fact) <= 200 for fact in seen.facts)
        assert len(seen.facts) <= 8
        assert set(seen.concepts) <= CONCEPTS
    for told in memory.summaries:
        for field in (
            told.request,
            told.investigated,
            told.learned,
            told.completed,
            told.next_steps,
            told.notes,
        ):
            assert field is None or len(field) <= 600


def test_nothing_of_a_private_event_is_kept() -> None:
    acted = Acting("secret plan").privately().edit("hidden.py", "+def canary():").privately()
    acted.run("git commit -m 'canary'", "[main abcdef1] canary").privately().stop(
        f"canary {'x' * 300}"
    ).privately()
    memory = acted.memory()
    assert "canary" not in everything(memory)
    assert "secret plan" not in everything(memory)
    assert memory.observations == ()
    assert memory.summaries == ()


def test_a_cut_tool_input_still_names_its_file() -> None:
    cut = '{"file_path": "/home/u/proj/src/a.py", "new_string": "f():\\n \\"1\\"\\n[… 9 characters elided …]'
    event = Event("1", 1, Kind.TOOL_USE, "s", cwd="/home/u/proj", tool=ToolCall("Edit", cut, None, "t"))
    (seen,) = observed(Batch("proj", "s", (event,), "trim the lines")).observations
    assert seen.files_modified == ("src/a.py",)


def test_a_command_without_a_name_that_failed_raises_nothing() -> None:
    told = Acting("fix the hook").fail("\\", "boom: it failed here").stop("It failed.").memory()
    assert [summary.request for summary in told.summaries] == ["fix the hook"]


ENDLESS = ("[", "=", "a.py:1:", "- ", "<<E\n", "'", "**", "[a](", "HTTP ", "A. ", "Next: ")


def observe(text: str) -> None:
    Acting(text).run(text, text).write("a.py", text).stop(text).memory()


def test_deeply_nested_and_endless_text_is_observed() -> None:
    for piece in ENDLESS:
        observe(repeated(piece, 200_000))


@pytest.mark.prove
@many_long_runs
@pytest.mark.parametrize("piece", ENDLESS)
def test_many_thousand_characters_are_observed_without_the_bounds_too(
    finish: Finish, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (message, steps, request, shell):
        monkeypatch.setattr(module, "LONGEST", LONG)
    finish(observe, piece)
