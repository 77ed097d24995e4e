"""What a session start tells the model: a rendered file, or what the worker answers."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e.scripted_worker import (
    CONTINUE,
    CWD,
    SECRET,
    STAMP,
    file,
    render,
    shown,
    stamps,
    telling,
    worker,
)
from tests.harness import hook_process, payloads

from claude_mem.model.refs import Ref
from claude_mem.recall.session_start import LastSession, StartMaterial, render_start

NOON = 1_794_830_400_000


@pytest.fixture
def down(data: Path) -> Iterator[Path]:
    """A data directory without a worker, for which another hook is starting one: none is started."""
    with hook_process.starting_no_worker(data):
        yield data


# A session's start.


@pytest.mark.parametrize("source", ["startup", "clear", "compact", "something new"])
def test_a_start_is_told_what_was_rendered_word_for_word_and_without_a_worker(
    down: Path, source: str
) -> None:
    wanted = render(down, CWD, 'Last time: “the parser” \\ "fixed"\n\tNext: é 𝄞 <fence>')
    answered = hook_process.run(down, payloads.start(source=source))
    assert (answered.code, answered.out, answered.err) == (0, wanted, b"")
    assert stamps(down) == [STAMP]


def test_the_spooled_start_is_as_it_came_but_for_the_stamp(down: Path) -> None:
    render(down, CWD, "memory")
    hook_process.run(down, payloads.start() + b"\n")
    (envelope,) = hook_process.spooled(down)
    assert envelope["payload"] == json.loads(payloads.start())
    assert envelope["context"] == STAMP


STARTED = render_start(
    StartMaterial(
        "shop: 9 memories. Quoted",
        last=(LastSession(when=NOON, ref=Ref("summary", 1), completed="Fixed it", next_steps="measure it"),),
    ),
    now=NOON,
).text


@pytest.mark.parametrize("where", ["settings.json", "environment"])
def test_a_user_who_wants_it_sees_one_line_about_what_a_session_starts_with(down: Path, where: str) -> None:
    answer = json.loads(render(down, CWD, STARTED))
    assert hook_process.run(down, payloads.start()).json == answer
    if where == "environment":
        started = hook_process.run(down, payloads.start(), more={"CLAUDE_MEM_START_LINE": "on"})
    else:
        (down / "settings.json").write_text('{"CLAUDE_MEM_START_LINE": "on"}')
        started = hook_process.run(down, payloads.start())
    assert started.json == answer | {"systemMessage": "mem: 1 memory, 1 open item"}


@pytest.mark.parametrize(
    ("settings", "context"),
    [
        ('{"CLAUDE_MEM_START_LINE": "off"}', STARTED),
        ('{"CLAUDE_MEM_START_LINE": ', STARTED),
        ('["CLAUDE_MEM_START_LINE"]', STARTED),
        ('{"CLAUDE_MEM_START_LINE": "on"}', "not what the worker renders"),
    ],
)
def test_without_the_setting_or_a_count_no_line_is_shown(down: Path, settings: str, context: str) -> None:
    answer = json.loads(render(down, CWD, context))
    (down / "settings.json").write_text(settings)
    assert hook_process.run(down, payloads.start()).json == answer


def test_a_worker_is_woken_and_not_asked_when_there_is_a_rendering(data: Path) -> None:
    with worker(data, telling("too late")) as up:
        wanted = render(data, CWD, "memory")
        assert hook_process.run(data, payloads.start()).out == wanted
    assert [said["type"] for said in up.heard] == ["wake"]


def test_after_a_compaction_the_sessions_own_memory_comes_first(down: Path) -> None:
    render(down, CWD, "the project's")
    wanted = render(down, payloads.SESSION, "the session's own", session=True)
    assert hook_process.run(down, payloads.start(source="compact")).out == wanted
    assert hook_process.run(down, payloads.start()).json == shown("SessionStart", "the project's")


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_what_the_client_replays_is_not_told_again_but_only_what_the_worker_says_is_new(
    data: Path, source: str
) -> None:
    with worker(data, telling("since then")) as up:
        render(data, CWD, "as before")
        answered = up.answering(data, payloads.start(source=source))
    assert answered.json == shown("SessionStart", "since then")
    (said,) = up.heard
    assert (said["type"], said["event"], said["payload"]["source"]) == ("ask", "SessionStart", source)
    assert stamps(data) == [None]


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_resumed_session_is_told_nothing_without_a_worker(down: Path, source: str) -> None:
    render(down, CWD, "as before")
    assert hook_process.run(down, payloads.start(source=source)).json == CONTINUE


def test_in_a_directory_nothing_was_rendered_for_the_worker_is_asked(data: Path) -> None:
    with worker(data, telling("of the project this worktree belongs to")) as up:
        render(data, CWD, "another directory's")
        answered = up.answering(data, payloads.start(cwd="/home/u/worktree"))
    assert answered.json == shown("SessionStart", "of the project this worktree belongs to")
    assert up.asked()[0]["payload"]["cwd"] == "/home/u/worktree"


def test_a_rendering_that_says_nothing_is_an_answer_too(data: Path) -> None:
    with worker(data, telling("not wanted")) as up:
        render(data, CWD, "")
        assert hook_process.run(data, payloads.start()).json == CONTINUE
    assert up.asked() == []
    assert stamps(data) == [None]


@pytest.mark.parametrize("cwd", ["/home/u/ünïcode/项目", '/home/u/a "quoted" one', "/home/u/back\\slash"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_directory_is_the_same_however_its_name_is_spelled(down: Path, cwd: str, ascii_only: bool) -> None:
    wanted = render(down, cwd, "memory")
    fields = json.loads(payloads.start(cwd=cwd))
    spelled = json.dumps(fields, separators=(",", ":"), ensure_ascii=ascii_only).encode()
    assert hook_process.run(down, spelled).out == wanted
    assert (
        hook_process.run(down, json.dumps(fields, indent=2, ensure_ascii=ascii_only).encode(), "context").out
        == wanted
    )


def test_the_careful_way_leads_to_the_same_answer_and_stamp(down: Path) -> None:
    wanted = render(down, CWD, "memory")
    assert hook_process.run(down, payloads.start(model=f"token={SECRET}")).out == wanted
    (envelope,) = hook_process.spooled(down)
    assert envelope["context"] == STAMP
    assert SECRET not in str(envelope)


def test_what_the_user_is_to_be_told_and_what_the_model_is_are_one_answer(down: Path) -> None:
    render(down, CWD, "memory")
    (down / "notice").write_text('the "database" was damaged')
    answered = hook_process.run(down, payloads.start())
    assert answered.json == shown("SessionStart", "memory") | {"systemMessage": 'the "database" was damaged'}
    assert answered.out.count(b"\n") == 1
    assert hook_process.run(down, payloads.start()).json == shown("SessionStart", "memory")


def test_a_start_that_cannot_be_recorded_is_still_told_what_is_remembered(down: Path) -> None:
    render(down, CWD, "memory")
    hook_process.run(down, payloads.bash("toolu_1"))
    ledger = down / "spool" / ".ledger"
    last, files, size, _, most_bytes = ledger.read_text().split()
    ledger.write_text(f"{last} {files} {size} {1:020d} {most_bytes}\n")
    told = hook_process.run(down, payloads.start()).json
    assert "spool is full" in told.pop("systemMessage")
    assert told == shown("SessionStart", "memory")


GOOD = json.dumps(shown("SessionStart", "memory")).encode() + b"\n"
DAMAGED = {
    "empty": b"",
    "only a stamp": STAMP.encode(),
    "no stamp": GOOD,
    "a stamp that is none": b"../../etc/passwd\n" + GOOD,
    "cut off": STAMP.encode() + b"\n" + GOOD[:-20],
    "without its end": STAMP.encode() + b"\n" + GOOD[:-1],
    "two lines": STAMP.encode() + b"\n" + GOOD + GOOD,
    "another event's": STAMP.encode() + b"\n" + GOOD.replace(b"SessionStart", b"Stop"),
    "a decision": STAMP.encode() + b"\n" + b'{"continue": false}\n',
    "bare quotes": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b'", "continue": false, "x": "'),
    "a bad escape": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"\\x"),
    "half an escape": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"\\u12\\\\34"),
    "an escaped end": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"memory\\"),
    "a control character": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"mem\x00ory"),
    "not UTF-8": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"mem\xffory"),
    "huge": STAMP.encode() + b"\n" + GOOD.replace(b"memory", b"m" * 100_000),
    "garbage": os.urandom(3000),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_rendering_is_not_shown_and_the_answer_stays_valid(down: Path, name: str) -> None:
    (down / "context").mkdir(mode=0o700)
    file(down, CWD).write_bytes(DAMAGED[name])
    answered = hook_process.run(down, payloads.start())
    assert (answered.code, answered.json, answered.err) == (0, CONTINUE, b"")
    assert stamps(down) == [None]


def _symlink(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(STAMP.encode() + b"\n" + GOOD)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("make", [_symlink, os.mkfifo, os.mkdir], ids=["symlink", "pipe", "directory"])
def test_what_is_no_regular_file_is_neither_followed_nor_waited_for(
    down: Path, make: Callable[[Path], None]
) -> None:
    (down / "context").mkdir(mode=0o700)
    make(file(down, CWD))
    assert hook_process.run(down, payloads.start()).json == CONTINUE
    assert len(hook_process.spooled(down)) == 1


# A start that somebody types, without a session, as a document has it.


def typed(*, cwd: str) -> bytes:
    return json.dumps({"source": "startup", "cwd": cwd}).encode()


def test_a_start_of_no_session_is_shown_what_was_rendered_and_leaves_nothing(down: Path) -> None:
    wanted = render(down, CWD, "memory")
    answered = hook_process.run(down, typed(cwd=CWD), "context")
    assert (answered.code, answered.out) == (0, wanted)
    assert hook_process.spooled(down) == []


def test_where_nothing_was_rendered_the_worker_is_asked_for_it(data: Path) -> None:
    with worker(data, telling("what it knows")) as up:
        answered = hook_process.run(data, typed(cwd=CWD), "context")
    assert answered.json == shown("SessionStart", "what it knows")
    (said,) = up.heard
    assert said["payload"] == {"source": "startup", "cwd": CWD}


def test_another_verb_without_a_session_is_counted_and_said_to_lack_it(down: Path) -> None:
    hook_process.run(down, b'{"tool_name":"Read"}', "save")
    said = hook_process.run(down, payloads.start()).json["systemMessage"]
    assert "1 event" in said
