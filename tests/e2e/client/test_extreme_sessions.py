"""Sessions at the edge: a prompt of a megabyte, other people's alphabets, two hundred tools in one turn."""

from __future__ import annotations

import json

import pytest
from tests.e2e.client.session_runs import (
    greet,
    made,
    memories,
    recorded,
    refs,
    rendered,
    rendered_work,
    source,
    taught,
    times,
)
from tests.harness import checker
from tests.harness.claude import Claude, Playing, read
from tests.harness.model_script import Say, Use
from tests.harness.model_server import ModelServer

MOST_KEPT = 64 << 10  # characters of one field


@pytest.fixture(scope="module")
def claude(house: Claude) -> Claude:
    return house


def test_of_a_prompt_of_a_megabyte_the_model_gets_all_and_memory_keeps_both_ends(claude: Claude) -> None:
    prompt = f"Tame the héron 鷺 🦩. {'All of its feathers count. ' * 40_000}Then feed it."
    with ModelServer([Say("Tamed.")]) as server:
        ran = claude.piped(server, prompt)
    assert (ran.code, ran.result, ran.err) == (0, "Tamed.", "")
    assert prompt in read(server.requests[0])
    assert {hook["outcome"] for hook in ran.hooks("UserPromptSubmit")} == {"success"}
    claude.settle()
    ((kept,),) = claude.rows("SELECT prompt FROM user_prompts")
    assert kept.startswith("Tame the héron 鷺 🦩. All")
    assert kept.endswith("count. Then feed it.")
    assert len(kept) <= MOST_KEPT < len(prompt)
    rendered(claude, "Asked: Tame the héron 鷺 🦩. All")
    _, request = greet(claude)
    assert len("".join(memories(request))) < 2_000, "a start names it, and no more"


def test_names_words_and_output_in_any_alphabet_come_back_as_they_were(claude: Claude) -> None:
    place = claude.repository(claude.home / "Größeres Projekt 日本語 🦩")
    claude.git("checkout", "-q", "-b", "zweig/größe-日本-🦩", cwd=place)
    file = place / "src" / "höhe 鷺 🦩.py"
    steps = [
        Use("Write", {"file_path": str(file), "content": source("höhe")}),
        Use("Bash", {"command": r"echo 'Äpfel 林檎 🍎'; printf 'kaputt \xff\n'"}),
        Use("Bash", {"command": "cat 'gibt es nicht 無い'"}),
    ]
    playing = Playing([*(Say("Ja, schön 😀", uses=(use,)) for use in steps), Say("Fertig: süß 甘い 🍯.")])
    with ModelServer(playing) as server:
        ran = claude.run(server, "Mach „höhe 鷺 🦩.py“ – 「全部」 bitte", cwd=place)
    assert (ran.code, ran.result, ran.err) == (0, "Fertig: süß 甘い 🍯.", "")
    claude.settle()
    assert claude.rows(
        "SELECT project, branch, first_user_prompt FROM sdk_sessions WHERE claude_session_id = ?", ran.session
    ) == [(place.name, "zweig/größe-日本-🦩", "Mach „höhe 鷺 🦩.py“ – 「全部」 bitte")]
    found = claude.rows("SELECT tool_use_id, tool_response FROM pending_messages WHERE tool_use_id NOT NULL")
    responses = dict(found)
    assert json.loads(responses[steps[1].id])["stdout"] == "Äpfel 林檎 🍎\nkaputt \N{REPLACEMENT CHARACTER}"
    assert "gibt es nicht 無い" in responses[steps[2].id]
    assert taught(claude, ran.session) == ["src/höhe 鷺 🦩.py"]

    rendered_work(claude, "src/höhe 鷺 🦩.py", cwd=place)
    look = Use("Read", {"file_path": str(file)})
    with ModelServer(Playing([Say("", uses=(look,)), Say("Gelesen.")])) as server:
        claude.run(server, "Lies.", cwd=place)
    start, history = memories(server.requests[-1])
    assert f"Memory of {place.name}, as of" in start
    assert "on branch zweig/größe-日本-🦩" in start
    assert "Asked: Mach „höhe 鷺 🦩.py“ – 「全部」 bitte" in start
    assert "History of src/höhe 鷺 🦩.py." in history
    assert f"- {refs(claude, 'src/höhe 鷺 🦩.py')[0]} " in history


def test_two_hundred_tools_in_one_turn_ten_at_a_time_are_each_an_event_once(claude: Claude) -> None:
    place = claude.repository(claude.home / "busy")
    last = Use("Write", {"file_path": str(place / "zebra.py"), "content": source("zebra")})
    steps = [
        [
            Use("Bash", {"command": f"echo {step} {each}"}, f"toolu_{step:02}_{each}")
            for each in range(10 if step < 19 else 9)
        ]
        for step in range(20)
    ]
    steps[-1].append(last)
    playing = Playing([*(Say("", uses=tuple(uses)) for uses in steps), Say(made("zebra"))])
    with ModelServer(playing) as server:
        ran = claude.run(server, "Do two hundred things.", cwd=place)
    assert (ran.code, ran.result, ran.err) == (0, made("zebra"), "")
    assert [hook["outcome"] for hook in ran.hooks("PostToolUse")] == ["success"] * 200
    claude.settle()
    kinds = [kind for kind, _, _ in recorded(claude, ran.session)]
    assert kinds == ["session_start", "prompt", *["tool_use"] * 200, "stop", "session_end"]
    uses = [use for kind, use, _ in recorded(claude, ran.session) if kind == "tool_use"]
    for step, wanted in enumerate(steps):  # those that run side by side end in any order
        assert sorted(filter(None, uses[step * 10 : step * 10 + 10])) == sorted(use.id for use in wanted)
    assert taught(claude, ran.session) == ["zebra.py"]
    rendered_work(claude, "zebra.py", cwd=place)
    assert times(greet(claude, cwd=place)[1], "zebra.py", claude) == 1


def test_after_all_that_nothing_is_lost_or_doubled(claude: Claude) -> None:
    uses = claude.rows("SELECT tool_use_id FROM pending_messages WHERE tool_use_id NOT NULL")
    where = checker.check(claude.data, [use for (use,) in uses])
    assert where == {"done": len(uses), "spooled": 0}
