"""What an agent said in a turn, from the end of its transcript; and all that is not read."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.unit.agents.transcript_shapes import SESSION, Fields, answers, line, says, user, uses, write

from claude_mem.agents.claude_code import transcript_tail, transcripts
from claude_mem.agents.claude_code.transcript_tail import words_of
from claude_mem.model.events import Event, Kind

LS = {"command": "ls"}
AT = 1784088100000  # after all that the shapes tell


def turn(prompt: str, first: float, *words: str) -> list[Fields]:
    """A turn in which all words but the last are followed by a tool's use."""
    found = [user(first, f"ask {prompt}", promptId=prompt)]
    *during_turn, last = words
    for number, said in enumerate(during_turn):
        at, use = first + 0.1 + number / 10, f"t-{prompt}-{number}"
        found += [
            says(at, said, stop="tool_use"),
            uses(at + 0.02, use, "Bash", LS),
            answers(at + 0.04, use, promptId=prompt),
        ]
    return [*found, says(first + 0.9, last)]


def unnamed(lines: list[Fields]) -> list[Fields]:
    """As a client writes them that names no prompts."""
    return [{key: value for key, value in each.items() if key != "promptId"} for each in lines]


def transcript(folder: Path, *turns: list[Fields], name: str = f"{SESSION}.jsonl") -> Path:
    lines = [each | {"uuid": str(each["uuid"]).replace(".", "-")} for turn in turns for each in turn]
    return write(folder / "projects" / "-home-u-parcel", lines, name)


def stop(path: Path, prompt: str | None = "p-1", **fields: object) -> Event:
    given: dict[str, object] = {"session": SESSION, "at": AT, "prompt_id": prompt} | fields
    return Event(id="e", kind=Kind.STOP, transcript_path=str(path), **given)  # type: ignore[arg-type]


def said(event: Event) -> list[object]:
    return [each.payload["message"] for each in words_of(event).during_turn]


def test_what_was_said_between_tool_calls_and_last_is_read_of_the_turn_that_ended(tmp_path: Path) -> None:
    path = transcript(
        tmp_path, turn("p-0", 1, "Before.", "Over."), turn("p-1", 2, "Looking.", "Found it.", "Done.")
    )
    words = words_of(stop(path))
    assert [each.payload["message"] for each in words.during_turn] == ["Looking.", "Found it."]
    assert words.last == "Done."


def test_each_has_the_id_that_a_backfill_gives_it(tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Found it.", "Done."))
    told = [each.id for each in transcripts.read(path) if each.event == "AgentMessage"]
    assert [each.id for each in words_of(stop(path)).during_turn] == told


def test_a_turn_is_known_by_its_prompt_though_others_have_followed(tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Mine.", "My end."), turn("p-2", 2, "Not mine.", "Its end."))
    words = words_of(stop(path))
    assert ([each.payload["message"] for each in words.during_turn], words.last) == (["Mine."], "My end.")


def test_of_a_client_that_names_no_prompts_the_last_turn_before_the_end_is_read(tmp_path: Path) -> None:
    turns = [unnamed(turn(f"p-{n}", 10 * n, f"Way {n}.", f"End {n}.")) for n in (1, 2, 3)]
    path = transcript(tmp_path, *turns)
    words = words_of(stop(path, None, at=1784088000000 + 21_000))
    assert ([each.payload["message"] for each in words.during_turn], words.last) == (["Way 2."], "End 2.")


def test_lines_of_another_session_or_of_a_subagent_are_not_read(tmp_path: Path) -> None:
    strange = [{**each, "sessionId": "another"} for each in turn("p-1", 2, "Theirs.", "Their end.")]
    aside = [{**each, "isSidechain": True, "agentId": "a1"} for each in turn("p-1", 3, "Its.", "Its end.")]
    path = transcript(tmp_path, turn("p-1", 1, "Mine.", "Done."), strange, aside)
    words = words_of(stop(path))
    assert ([each.payload["message"] for each in words.during_turn], words.last) == (["Mine."], "Done.")


def test_no_more_than_the_end_is_read_and_as_much_of_it_as_the_turn_needs(tmp_path: Path) -> None:
    filler = [line("system", 2, subtype="x", content="y" * 300_000) for _ in range(3)]
    path = transcript(
        tmp_path, turn("p-1", 1, "Early.", "Mid."), filler, turn("p-1", 3, "Late.", "Done.")[1:]
    )
    assert path.stat().st_size > transcript_tail.WINDOWS[0]
    assert said(stop(path)) == ["Early.", "Late."]
    far = [line("system", 2, subtype="x", content="y" * (1 << 20)) for _ in range(9)]
    path = transcript(tmp_path, turn("p-1", 1, "Early.", "Mid."), far, turn("p-1", 3, "Late.", "Done.")[1:])
    assert said(stop(path)) in (["Late."], [])


def test_words_are_bounded_and_the_last_are_kept(tmp_path: Path) -> None:
    long = [f"{number} " + "w" * 30_000 for number in range(5)]
    path = transcript(tmp_path, turn("p-1", 1, *long, "Done."))
    assert said(stop(path)) == long[2:]


def test_past_its_deadline_nothing_more_is_read(tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Done."))
    assert words_of(stop(path), within_s=-1.0).during_turn == ()


@pytest.mark.parametrize("seconds", range(1, 14))
def test_a_deadline_in_the_middle_of_the_file_makes_no_earlier_turn_the_one_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    turns = [turn(f"p-{n}", 10 * n, f"Way {n}.", f"End {n}.") for n in (1, 2, 3)]
    path = transcript(tmp_path, *map(unnamed, turns))
    ticks = itertools.count()  # a second for each look at the clock
    monkeypatch.setattr(transcript_tail, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    words = words_of(stop(path, None), within_s=seconds)
    assert {each.payload["message"] for each in words.during_turn} <= {"Way 3."}
    assert words.last in (None, "End 3.")


def linked_file(path: Path) -> Path:
    real = path.rename(path.with_name("real.jsonl"))
    path.symlink_to(real)
    return path


def linked_folder(path: Path) -> Path:
    real = path.parent.rename(path.parent.with_name("-real"))
    path.parent.symlink_to(real)
    return path


def pipe(path: Path) -> Path:
    path.unlink()
    os.mkfifo(path)
    return path


def elsewhere(path: Path) -> Path:
    (path.parents[2] / "notes").mkdir()
    return path.rename(path.parents[2] / "notes" / path.name)


def beside(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / ".." / path.name


STRANGE: dict[str, Callable[[Path], Path]] = {
    "a link": linked_file,
    "in a folder that is a link": linked_folder,
    "a pipe": pipe,
    "outside of the client's folder": elsewhere,
    "by a way through others": beside,
    "under another name": lambda path: path.rename(path.with_name("other.jsonl")),
    "a folder": lambda path: path.parent,
    "not there": lambda path: path.with_name("gone") / path.name,
    "relative": lambda path: Path(path.name),
}


@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_transcript_of_the_session_is_not_read(tmp_path: Path, strange: str) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Done."))
    assert said(stop(path)) == ["Looking."]
    found = STRANGE[strange](path)
    words = words_of(stop(found))
    assert (words.during_turn, words.last) == ((), None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_not_read(tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Done."))
    os.chown(path, 65534, 65534)
    assert said(stop(path)) == []


def test_a_file_of_garbage_says_nothing(tmp_path: Path) -> None:
    path = transcript(tmp_path, turn("p-1", 1, "Looking.", "Done."))
    path.write_bytes(b"\x00\xff{not json\n" * 1000 + b'{"type":"assistant"}\n[1]\n')
    assert said(stop(path)) == []
