"""What a prompt, or a look at a file, is answered with from memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, new_events
from tests.unit.recall.cards import DAY, NOW, hit
from tests.unit.recall.recall_store import ELSEWHERE, House

from claude_mem.model.events import Kind, Origin, ToolCall
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref
from claude_mem.model.structs import replace
from claude_mem.recall import reminders
from claude_mem.recall.fence import fenced
from claude_mem.recall.inject import Injector
from claude_mem.recall.label import gist
from claude_mem.recall.reminders import MOST_FILE_LINES, MOST_HITS, file_lessons, render_file, render_prompt
from claude_mem.recall.session_start import (
    length,
)

# What a prompt is answered with from memory.


WORDY = (
    "pump.py, retry.py\n"
    "The pump was looked at for a long while with the debugger. "
    "It spun because a Retry-After of 0 was taken for no wait at all. "
    "Then lunch was had by everybody who was there that day."
)


def test_no_hits_are_no_words() -> None:
    assert render_prompt([], now=NOW).text == ""
    assert render_prompt([hit(1, superseded_by=2)], now=NOW).text == "", "it is no longer true"


def test_a_hit_is_one_dated_line_with_its_id_its_reason_and_its_marks() -> None:
    told = render_prompt(
        [
            hit(
                412,
                "The pump spun",
                text=WORDY,
                files=("q/pump.py",),
                source="external",
                marks=("files changed since",),
            )
        ],
        now=NOW,
    )
    assert told.text.splitlines()[3:-1] == [
        "- #412 2026-11-15 (yesterday) bugfix: The pump spun. The pump was looked at for a long while with "
        "the debugger. It spun because a Retry-After of 0 was taken for no wait at all. [pump.py] "
        "(files changed since; read, not verified)",
        "Full text: MCP tool get_observations (by id), or `claude-mem show 412`.",
    ]


def test_few_are_injected_and_each_is_short() -> None:
    told = render_prompt([hit(n, "T" * 500, text=f"{n} " + WORDY * 50) for n in range(1, 20)], now=NOW)
    assert [ref.id for ref in told.refs] == list(range(1, MOST_HITS + 1))
    assert all(len(line) < 400 for line in told.text.splitlines())


def test_it_keeps_to_its_budget_by_leaving_out_the_last() -> None:
    hits = [hit(n, "A title of some length for this test", text=WORDY) for n in range(1, 6)]
    for budget in range(0, 2_000, 50):
        told = render_prompt(hits, now=NOW, budget=budget)
        assert length(told.text) <= budget
        assert [ref.id for ref in told.refs] == list(range(1, len(told.refs) + 1))


def test_sentences_that_speak_of_what_was_asked_are_preferred() -> None:
    asked = gist("The pump spun", WORDY, 90, ["lunch", "everybody"])
    assert asked == "The pump spun. Then lunch was had by everybody who was there that day."


def test_a_title_that_was_cut_is_shown_whole_where_there_is_room() -> None:
    text = "Rule: a stop must resolve to a hex colour before it is used. More of it."
    assert gist("Rule: a stop must resolve…", text, 300).startswith(
        "Rule: a stop must resolve to a hex colour before"
    )
    assert gist("Rule: a stop must…", text, 300).count("Rule") == 1


def test_a_title_that_begins_the_best_sentence_is_not_said_twice() -> None:
    sentence = "The pump waits as told; the new test failed before the change and passes after it."
    assert gist("The pump waits as told", sentence, 300) == sentence
    assert gist("The pump wait", sentence, 300) == f"The pump wait. {sentence}"


def test_what_repeats_the_title_or_only_counts_is_left_out() -> None:
    assert gist("The pump waits as told", "+18 −1, docs\na.py, b.py\nThe pump waits, as told.", 300) == (
        "The pump waits as told"
    )


def test_a_memory_without_a_title_is_told_by_its_text() -> None:
    assert "It spun because a Retry-After" in render_prompt([hit(1, "", text=WORDY)], now=NOW).text
    assert "(untitled)" in render_prompt([hit(1, "", text="")], now=NOW).text


# What is told of a file before it is touched.


PATH = "src/queue/pump.py"
HERE: dict[str, Any] = {"files": (PATH,), "files_modified": (PATH,)}


def test_lessons_come_before_changes_and_the_newest_before_the_older() -> None:
    hits = [
        hit(1, "A change", type="change", created_at=NOW - DAY, **HERE),
        hit(2, "A bug", type="bugfix", created_at=NOW - 5 * DAY, **HERE),
        hit(3, "A feature", type="feature", created_at=NOW - 2 * DAY, **HERE),
        hit(4, "A decision", type="decision", created_at=NOW - 4 * DAY, files=(PATH,)),
        hit(5, "Stale", type="discovery", created_at=NOW, files=(PATH,), marks=("files changed since",)),
    ]
    assert [one.card.ref.id for one in file_lessons(hits, PATH, NOW)] == [4, 2, 5, 1, 3]
    text = render_file(PATH, hits, NOW).text
    assert "History of src/queue/pump.py. Quoted evidence" in text
    assert "- #4 2026-11-12 (4 days ago) decision: A decision\n" in text
    assert "- #5 2026-11-16 (today) discovery: Stale (files changed since)\n" in text


def test_why_is_told_with_what() -> None:
    told = render_file(
        PATH, [hit(1, "Waits are capped", text="Because a provider once said a year.", **HERE)], NOW
    )
    assert "Waits are capped. Because a provider once said a year." in told.text


def test_at_most_six_lines() -> None:
    told = render_file(PATH, [hit(n, f"Bug {n}", **HERE) for n in range(1, 30)], NOW)
    assert len(told.refs) == MOST_FILE_LINES
    assert sum(line.startswith("- ") for line in told.text.splitlines()) == MOST_FILE_LINES


def test_silence_when_there_is_nothing_worth_saying() -> None:
    noise = [
        hit(1, ref=Ref("evidence", 1), type=None, files=(PATH,)),
        hit(2, ref=Ref("prompt", 2), type=None, files=(PATH,)),
        hit(3, "Looked around", type="discovery", files=(PATH, "a", "b", "c", "d")),
        hit(4, "Only read it for a change elsewhere", type="change", files=(PATH,), files_modified=("x.py",)),
        hit(5, "Long ago", type="change", created_at=NOW - 200 * DAY, **HERE),
        hit(6, "No longer true", superseded_by=9, **HERE),
    ]
    assert file_lessons(noise, PATH, NOW) == ()
    assert render_file(PATH, noise, NOW).text == ""
    assert render_file(PATH, [], NOW).text == ""


def test_a_discovery_among_many_files_counts_if_it_names_this_one() -> None:
    named = hit(3, "pump.py leases twice", type="discovery", files=(PATH, "a", "b", "c", "d"))
    assert file_lessons([named], PATH, NOW) == (named,)


def test_what_the_user_asked_to_keep_is_always_told_first_if_pinned() -> None:
    kept = hit(
        1,
        "Ask before touching",
        type=None,
        created_at=NOW - 900 * DAY,
        source="user",
        pinned=True,
        files=(PATH,),
    )
    assert file_lessons([hit(2, **HERE), kept], PATH, NOW)[0] is kept


CWD = "/home/a/shop"
COMMAND = "npm run build --workspace heron"
ERROR = "Exit code 1\n> heron@1.0 build\nError: Cannot find module 'wingspan' (line 12)\n    at Object"


class Shell:
    """Runs of commands, as hooks report them."""

    def __init__(self, memory: House) -> None:
        self.memory, self.events, self._uses = memory, Events(), 0

    def ran(
        self,
        session: str,
        error: str | None = None,
        *,
        command: str = COMMAND,
        at: int = NOON,
        origin: Origin | None = None,
    ) -> None:
        self._uses += 1
        given = json.dumps({"command": command, "description": "Build it"})
        call = ToolCall("Bash", given, error or json.dumps({"stdout": "ok"}), f"toolu_{session}_{self._uses}")
        kind = Kind.TOOL_FAILURE if error else Kind.TOOL_USE
        event = self.events.make(kind, session, tool=call, at=at, cwd=CWD, id=f"{session}-{self._uses}")
        place = {"origin": origin} if origin else {}
        self.memory.store.events.accept(new_events(event, **place))

    def before(self, session: str = "now", command: str = COMMAND, injector: Injector | None = None) -> str:
        self.memory.indexing.catch_up()
        payload = {"session_id": session, "cwd": CWD, "tool_name": "Bash", "command": command}
        asked = injector or self.memory.injector
        return asked.answer({"event": "PreToolUse", "payload": payload})


@pytest.fixture
def shell(memory: House) -> Shell:
    memory.clock.now = NOON + DAY
    return Shell(memory)


def test_a_command_that_failed_twice_in_the_same_way_is_injected_with_its_error(shell: Shell) -> None:
    shell.ran("first", ERROR)
    assert shell.before() == "", "once may be chance"
    shell.ran("second", ERROR.replace("12", "40"), at=NOON + HOUR)
    told = shell.before()
    assert told.startswith(fenced("x").splitlines()[0])
    assert "failed 2 times" in told
    assert "Cannot find module 'wingspan'" in told
    assert "has not succeeded" in told
    assert len(told) < 1_000


def test_what_was_observed_when_it_passed_again_is_told_as_what_helped(shell: Shell) -> None:
    for number in range(2):
        shell.ran("first", ERROR, at=NOON + number)
    shell.ran("first", at=NOON + HOUR)
    fix = Observation("bugfix", "wingspan is listed in the heron workspace's package.json")
    shell.memory.turn("mend it", session="first", observed=[fix], at=NOON + 2 * HOUR)
    told = shell.before()
    assert "succeeded afterwards" in told
    assert "wingspan is listed" in told


def test_it_is_told_once_for_a_session(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before()
    assert shell.before() == ""
    assert shell.before("another") != ""


@pytest.mark.parametrize("session", ["now", "first"])
def test_what_a_session_saw_itself_it_is_not_injected(shell: Shell, session: str) -> None:
    for _ in range(2):
        shell.ran(session, ERROR)
    assert shell.before(session) == ""


def test_nothing_is_said_where_nothing_is_clear(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before(command="npm run build --workspace stork") == "", "another command"
    assert shell.before(command=f"{COMMAND} --force") == ""
    for session, error in (("first", "Error: a is missing"), ("second", "Error: b is missing")):
        shell.ran(session, error, command="make errors differ")
    assert shell.before(command="make errors differ") == ""
    for session in ("first", "second"):
        shell.ran(session, "Exit code 1", command="grep -q heron nests.txt")
    assert shell.before(command="grep -q heron nests.txt") == "", "no line says what is wrong"
    for _ in range(reminders.PASSED_SINCE):
        shell.ran("third", at=NOON + HOUR)
    assert shell.before() == "", "it is over"


def test_other_projects_and_long_ago_do_not_count(shell: Shell) -> None:
    for session in ("there-1", "there-2"):
        shell.ran(session, ERROR, origin=ELSEWHERE)
    for session in ("old-1", "old-2"):
        shell.ran(session, ERROR, at=NOON - 100 * DAY)
    shell.ran("here", at=NOON - 99 * DAY)
    assert shell.before() == ""


def test_it_can_be_switched_off(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before(injector=replace(shell.memory.injector, command_hints=False)) == ""
    assert shell.before() != ""
