"""What sessions are told: at their start, at a prompt, before a file; and when they are told nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import HOUR, NOON, new_events
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House, house

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.events import Kind
from claude_mem.model.memory import Observation, Summary
from claude_mem.recall.fence import fenced
from claude_mem.recall.inject import InjectionLimits
from claude_mem.recall.session_start import length
from claude_mem.store.values import Injection, Revision

CWD = "/home/a/shop"
OPENING = fenced("x").partition("x")[0].splitlines()[0]


def ask(memory: House, event: str, session: str = "now", **payload: str | int) -> str:
    return memory.injector.answer({"event": event, "payload": {"session_id": session, "cwd": CWD, **payload}})


QUESTION = "the heron cache had lost updates, which two writers shared it?"


def prompt(memory: House, text: str, session: str = "now") -> str:
    memory.indexing.catch_up()
    return ask(memory, "UserPromptSubmit", session, prompt=text)


def before(memory: House, path: str, session: str = "now") -> str:
    memory.indexing.catch_up()
    return ask(memory, "PreToolUse", session, file_path=f"{CWD}/{path}")


def worked(memory: House, session: str, request: str, at: int, **more: Any) -> None:
    seen = [Observation("bugfix", f"Observed while asked to {request}")]
    memory.turn(request, session=session, observed=seen, summary=Summary(request=request, **more), at=at)


@pytest.fixture
def busy(memory: House) -> House:
    """Two sessions and a pin, then a day's rest."""
    worked(memory, "first", "tame the heron", NOON, next_steps="feed the heron")
    worked(memory, "second", "paint the fence", NOON + HOUR, learned="it rains", next_steps="buy a brush")
    pinned = memory.keep("Never use port 80", type="decision", days_ago=400, session="old")
    memory.keeping.memories.revise([Revision(pinned.id, {"pinned": 1})])
    memory.clock.now = NOON + DAY
    return memory


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_a_start_gets_the_last_session_open_steps_pins_and_what_matters_in_that_order(busy: House) -> None:
    told = busy.injector.start(busy.project())
    assert in_order(told.text, "paint the fence", "buy a brush", "feed the heron", "Never use port 80")
    assert told.text.startswith(OPENING)
    assert {"1", "2", "3"} <= set(map(str, told.refs))
    assert told.tokens > 0


def test_a_session_that_only_greeted_does_not_hide_the_last_work(memory: House) -> None:
    worked(memory, "first", "tame the heron", NOON, completed="The heron is tame")
    worked(memory, "second", "say hello", NOON + HOUR)
    told = memory.injector.start(memory.project()).text
    assert in_order(told, "Last session", "say hello", "Before that", "tame the heron", "The heron is tame")


def test_a_session_that_ended_with_thanks_is_told_by_what_it_did(memory: House) -> None:
    worked(memory, "first", "tame the heron", NOON, completed="The heron is tame")
    worked(memory, "first", "thank you", NOON + HOUR)
    told = memory.injector.start(memory.project()).text
    assert in_order(told, "Last session", "Asked: tame the heron", "The heron is tame")
    assert "Asked: thank you" not in told


def test_however_much_is_remembered_a_start_stays_within_its_budget(memory: House) -> None:
    for number in range(300):
        memory.keep(f"Thing {number} {'about a grey heron ' * 7}", session=f"s{number}", indexed=False)
    worked(memory, "last", "x" * 5_000, NOON, next_steps="y" * 5_000)
    assert 1_000 < length(memory.injector.start(memory.project()).text) <= 9_500


def test_a_start_of_another_project_gets_nothing_of_ours(busy: House) -> None:
    busy.keep("Ground the flour", origin=ELSEWHERE, session="m")
    told = busy.injector.start(busy.project(ELSEWHERE)).text
    assert "flour" in told
    assert "heron" not in told


@pytest.mark.parametrize("source", ["startup", "clear", ""])
def test_a_worker_that_is_asked_tells_a_start_the_same(busy: House, source: str) -> None:
    assert ask(busy, "SessionStart", source=source) == busy.injector.start(busy.project()).text
    (noted,) = busy.told("now")
    assert (noted.event, noted.about, noted.at) == ("SessionStart", None, busy.clock())
    assert noted.tokens > 0
    assert "1" in noted.refs


def test_a_compaction_carries_the_sessions_own_memory_before_all_else(busy: House) -> None:
    worked(busy, "now", "count the eggs", NOON + DAY, completed="counted seven eggs")
    worked(busy, "meanwhile", "hatch the eggs", NOON + DAY + HOUR)
    for told in (
        busy.injector.start(busy.project(), "now").text,
        ask(busy, "SessionStart", source="compact"),
    ):
        assert in_order(told, "count the eggs", "hatch the eggs")
        assert "seven eggs" in told


def test_a_resumed_session_gets_only_what_others_did_since(busy: House) -> None:
    ask(busy, "SessionStart", source="startup")
    busy.clock.now += HOUR
    assert ask(busy, "SessionStart", source="resume") == "", "nothing happened since"
    worked(busy, "now", "count the eggs", busy.clock.now)
    busy.clock.now += HOUR
    assert ask(busy, "SessionStart", source="resume") == "", "its own work it knows"
    worked(busy, "other", "hatch the eggs", busy.clock.now)
    busy.clock.now += HOUR
    told = ask(busy, "SessionStart", source="resume")
    assert "hatch the eggs" in told
    assert not any(old in told for old in ("heron", "fence", "port 80", "count the eggs"))


def test_a_session_that_never_got_anything_gets_everything_when_resumed(busy: House) -> None:
    assert ask(busy, "SessionStart", source="resume") == busy.injector.start(busy.project()).text


def test_but_for_its_own_work_which_the_client_repeats_to_it(memory: House) -> None:
    worked(memory, "now", "count the eggs", NOON, next_steps="hatch the eggs")
    assert ask(memory, "SessionStart", source="resume") == ""
    worked(memory, "other", "tame the heron", NOON + HOUR)
    told = ask(memory, "SessionStart", source="resume")
    assert "tame the heron" in told
    assert "eggs" not in told


def test_a_fork_gets_only_what_was_done_since_the_session_it_continues_was_answered(busy: House) -> None:
    ask(busy, "SessionStart", "parent", source="startup")
    worked(busy, "parent", "count the eggs", busy.clock.now + 100)  # its turn ends just after its last answer
    busy.clock.now += HOUR
    hour: dict[str, str | int] = {"source": "fork", "seconds_since_last_response": HOUR // 1000}
    assert ask(busy, "SessionStart", "forked", **hour) == ""
    worked(busy, "other", "hatch the eggs", busy.clock.now - HOUR // 2)
    told = ask(busy, "SessionStart", "forked", **hour)
    assert "hatch the eggs" in told
    assert not any(old in told for old in ("heron", "fence", "port 80", "count the eggs"))


def test_a_fork_of_a_session_that_was_never_answered_gets_everything(busy: House) -> None:
    assert ask(busy, "SessionStart", "forked", source="fork") == busy.injector.start(busy.project()).text


@pytest.fixture
def herons(memory: House) -> House:
    memory.keep(
        "The heron cache lost updates",
        "Two writers shared one heron.",
        type="bugfix",
        session="then",
        days_ago=3,
    )
    for number, word in enumerate(["alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel"]):
        memory.keep(f"Planted the {word}", session=f"w{number}", days_ago=9)
    return memory


def test_a_prompt_gets_what_bears_on_it(herons: House) -> None:
    told = prompt(herons, QUESTION)
    assert told.startswith(OPENING)
    assert "The heron cache lost updates" in told
    assert "Planted" not in told
    assert [(noted.event, noted.refs) for noted in herons.told("now")] == [("UserPromptSubmit", ("1",))]


@pytest.mark.parametrize("said", ["yes", "go on", "ok", "continue", "", "???", "1", "thanks!", "do it"])
def test_a_prompt_that_says_nothing_gets_nothing(herons: House, said: str) -> None:
    herons.keep("Yes, ok: go on, continue, thanks, do it, 1", session="chatty")
    assert prompt(herons, said) == ""


def test_a_task_that_ended_is_no_question(herons: House) -> None:
    words = QUESTION
    assert prompt(herons, f"<task-notification><result>{words}</result></task-notification>") == ""
    assert prompt(herons, words)


def test_a_prompt_that_only_shares_a_word_gets_nothing(herons: House) -> None:
    shared = (
        "please write a long poem about the sea, its updates of weather, ships, storms, ports and sailors"
    )
    assert prompt(herons, shared) == ""
    assert herons.told("now") == []


def test_a_prompt_whose_words_no_memory_has_together_gets_nothing(memory: House) -> None:
    """Each of them is known, but by another memory."""
    together = "badger otter weasel marten ferret stoat polecat mink sable"
    for word in together.split():
        memory.keep(f"Counted the {word}", session=word)
    assert prompt(memory, f"where are {together}?") == ""
    memory.keep(f"The {together} are asleep", session="asleep")
    assert prompt(memory, f"where are {together}?")


def test_pasted_code_that_shares_ordinary_words_with_each_memory_gets_nothing(memory: House) -> None:
    code = (
        "total value window result index append price count share target holding average report margin "
        "packet header cursor buffer border socket"
    )
    words = code.split()
    for word in words:
        for other in range(3):
            memory.keep(f"Cleaned the {word} of part {other}", session=f"{word}{other}")
    memory.keep("The total value was wrong", "The total value had been rounded.", session="near")
    pasted = "can you review this?\n" + "\n".join(f"{word} = {word}.{word}()" for word in words)
    assert prompt(memory, pasted) == ""


def test_nothing_is_injected_twice(herons: House) -> None:
    assert prompt(herons, QUESTION)
    assert prompt(herons, f"again: {QUESTION}") == ""
    assert prompt(herons, QUESTION, session="another")


def test_a_session_does_not_get_its_own_memory(herons: House) -> None:
    assert prompt(herons, QUESTION, session="then") == ""


def test_what_something_newer_stands_in_for_is_not_injected(herons: House) -> None:
    herons.store.writer.run(
        lambda db: db.execute("UPDATE observations SET superseded_by = 2 WHERE id = 1").rowcount
    )
    assert prompt(herons, QUESTION) == ""


@pytest.fixture
def filed(memory: House) -> House:
    memory.keep(
        "Locks before writing", type="decision", files_modified=("src/store.py",), session="then", days_ago=2
    )
    memory.keep("Looked around", type="change", files_read=("src/read.py",), session="then", days_ago=2)
    return memory


def test_a_file_tells_its_history_once_in_a_session(filed: House) -> None:
    told = before(filed, "src/store.py")
    assert told.startswith(OPENING)
    assert "Locks before writing" in told
    filed.keep("Unlocks after it", type="decision", files_modified=("src/store.py",), session="since")
    assert before(filed, "src/store.py") == "", "once, also if there is news"
    assert before(filed, "src/store.py", session="another")
    (noted,) = filed.told("now")
    assert (noted.event, noted.about, noted.refs) == ("PreToolUse", f"{CWD}/src/store.py", ("1",))


@pytest.mark.parametrize("path", ["src/read.py", "src/unknown.py", "store.py.bak", ""])
def test_a_file_of_which_there_is_nothing_to_say_is_left_alone(filed: House, path: str) -> None:
    assert before(filed, path) == ""


def test_what_a_prompt_got_a_file_does_not_repeat(filed: House) -> None:
    assert prompt(filed, "why locks before writing?")
    assert before(filed, "src/store.py") == ""


def test_a_session_does_not_get_about_a_file_what_it_did_itself(filed: House) -> None:
    assert before(filed, "src/store.py", session="then") == ""


def test_no_characters_mean_nothing_is_injected(tmp_path: Path) -> None:
    with house(tmp_path, size=InjectionLimits(context_characters=0, prompt_characters=0)) as memory:
        worked(memory, "then", "tame the heron cache", NOON)
        memory.clock.now += DAY
        assert ask(memory, "SessionStart", source="startup") == ""
        assert ask(memory, "SessionStart", source="compact") == ""
        assert prompt(memory, "tame the heron cache") == ""
        memory.keeping.injections.note_injection(Injection("now", "SessionStart", (), 0, NOON - DAY))
        assert ask(memory, "SessionStart", source="resume") == ""


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"event": "SessionStart"},
        {"event": "SessionStart", "payload": []},
        {"event": "SessionStart", "payload": {"session_id": 1, "cwd": CWD}},
        {"event": "UserPromptSubmit", "payload": {"session_id": "x", "cwd": "/nowhere"}},
        {"event": "Unheard", "payload": {"session_id": "x", "cwd": CWD}},
        {"event": ["x"], "payload": {"session_id": "x", "cwd": CWD}},
        {"event": "UserPromptSubmit", "payload": {"session_id": "x", "cwd": CWD, "prompt": None}},
        {"event": "PreToolUse", "payload": {"session_id": "x", "cwd": CWD, "file_path": {}}},
    ],
    ids=str,
)
def test_a_question_that_is_none_is_answered_with_nothing(busy: House, question: dict[str, object]) -> None:
    assert busy.injector.answer(question) == ""


def test_a_title_in_the_starts_index_does_not_keep_the_whole_from_being_injected(filed: House) -> None:
    shown = Injection("now", "SessionStart", ("1",), 100, filed.clock())
    filed.keeping.injections.note_injection(shown)
    assert "Locks before writing" in before(filed, "src/store.py")


def test_what_a_compaction_took_away_is_injected_again(filed: House) -> None:
    assert before(filed, "src/store.py")
    compacted = filed.events.make(Kind.PRE_COMPACT, "now", cwd=CWD, at=filed.clock() + 1)
    filed.store.events.accept(new_events(compacted))
    filed.clock.now += 10
    assert "Locks before writing" in before(filed, "src/store.py")


@pytest.mark.parametrize("path", ["store.py", "lib/src/store.py", "/usr/lib/src/store.py"])
def test_a_file_of_the_same_name_elsewhere_has_another_history(filed: House, path: str) -> None:
    filed.indexing.catch_up()
    whole = path if path.startswith("/") else f"{CWD}/{path}"
    assert ask(filed, "PreToolUse", file_path=whole) == ""


def test_a_compaction_in_mid_turn_puts_the_sessions_own_work_before_the_last_sessions(memory: House) -> None:
    worked(memory, "first", "paint the zebra", NOON, completed="The zebra is painted")
    seen = [Observation("bugfix", "The heron is tame")]
    memory.turn("tame the heron", session="now", observed=seen, at=NOON + HOUR)
    told = memory.injector.start(memory.project(), "now").text
    assert "The heron is tame" in told
    assert "The zebra is painted" not in told.partition("The heron is tame")[0]


def test_a_prompts_preview_is_what_is_injected_however_long_the_prompt(memory: House) -> None:
    memory.keep("The heron nests on the roof beside the old chimney", session="s1")
    text = " " * 25_000 + "on which roof, beside which chimney does the heron nest?"
    preview = memory.injector.preview(FilterRequest(project="shop"), text, {})["prompt"]
    injected = prompt(memory, text)
    assert "heron" in injected
    assert preview["text"] == injected


def test_another_agents_memory_is_injected_with_its_name_and_ones_own_without(memory: House) -> None:
    memory.keep("The heron cache loses updates", "Two writers shared the heron cache.", session="past")
    assert "(in Claude Code)" in prompt(memory, QUESTION, "codex:now")
    assert "in Claude Code" not in prompt(memory, QUESTION, "now")


def test_what_a_person_asks_to_see_names_the_other_agents_too(memory: House) -> None:
    shop = FilterRequest(project="shop")
    memory.keep("The heron cache loses updates", session="codex:past", client="codex")
    memory.keep("The crane cache is new", session="past")
    shown = memory.injector.context(shop)
    preview = memory.injector.preview(shop, "", {})["start"]
    for text in (shown["plain"], shown["text"], preview["plain"]):
        assert "in Codex" in text
        assert "in Claude Code" not in text
    found = memory.reading.search("heron cache", shop, Page()).results
    assert [each.client for each in found if "heron" in each.title] == ["codex"]


def test_a_session_that_got_nothing_at_its_start_gets_it_at_its_first_tool_and_once(
    busy: House,
) -> None:
    def tool(session: str, **more: str) -> str:
        return ask(busy, "PreToolUse", session, tool_name="run_commands", source="tool", **more)

    first = tool("cline:now")
    assert "paint the fence" in first
    assert "in Claude Code" in first
    assert tool("cline:now") == ""
    assert tool("cline:later") != ""
    assert ask(busy, "PreToolUse", "codex:now", tool_name="run_commands") == ""
