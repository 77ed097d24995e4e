"""A session that is resumed, continued or forked: the client repeats to it all it was told before, so memory
tells it only what is new.

    maker   makes zebra.py, told of nothing
    talker  is told of zebra.py, and does nothing
    other   makes lion.py
    talker  resumed: is told of lion.py; continued: of nothing
    twin    of talker, forked: is told of nothing
    maker   resumed: is told of lion.py
    late    makes tiger.py
    fork    of talker, makes otter.py: is told of tiger.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest
from tests.e2e.client.session_runs import (
    greet,
    made,
    make,
    memories,
    refs,
    rendered_work,
    source,
    taught,
    times,
)
from tests.harness import checker, workers
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

ZEBRA, LION, TIGER, OTTER = (f"{name}.py" for name in ("zebra", "lion", "tiger", "otter"))


@dataclass(frozen=True)
class Story:
    claude: Claude
    sessions: dict[str, Ran]
    requests: dict[str, Request]

    def times(self, who: str, title: str) -> int:
        return times(self.requests[who], title, self.claude)

    def prompts(self, who: str) -> list[tuple[int, str]]:
        return self.claude.rows(
            "SELECT prompt_number, prompt FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = session_id"
            " WHERE claude_session_id = ? ORDER BY u.id",
            self.sessions[who].session,
        )

    def taught(self, who: str) -> list[str]:
        return taught(self.claude, self.sessions[who].session)


@pytest.fixture(scope="module")
def story(house: Claude) -> Story:
    told = Story(house, {}, {})

    def greeted(who: str, *more: str) -> None:
        told.sessions[who], told.requests[who] = greet(house, *more)

    told.sessions["maker"] = make(house, "zebra")
    rendered_work(house, ZEBRA)
    greeted("talker")
    talker = told.sessions["talker"].session
    told.sessions["other"] = make(house, "lion")
    greeted("resumed", "--resume", talker)
    greeted("continued", "--continue")
    answered_at = time.time()
    greeted("twin", "--resume", talker, "--fork-session")
    greeted("maker resumed", "--resume", told.sessions["maker"].session)
    # The client says in whole seconds how long ago a forked session was answered.
    workers.until(lambda: time.time() > answered_at + 2, "the clock goes on")
    told.sessions["late"] = make(house, "tiger")
    _fork(told, talker)
    return told


def _fork(story: Story, talker: str) -> None:
    write = Use("Write", {"file_path": str(story.claude.project / "otter.py"), "content": source("otter")})
    with ModelServer(Playing([Say("Writing.", uses=(write,)), Say(made("otter"))])) as server:
        story.sessions["fork"] = story.claude.run(
            server, "Make otter.py.", "--resume", talker, "--fork-session"
        )
    story.requests["fork"] = server.requests[0]
    story.claude.settle()


def test_a_resumed_or_continued_session_is_the_same_one_and_its_prompts_go_on(story: Story) -> None:
    assert {story.sessions[who].session for who in ("resumed", "continued")} == {
        story.sessions["talker"].session
    }
    assert story.prompts("talker") == [(1, "Greet."), (2, "Greet."), (3, "Greet.")]
    (state,) = story.claude.rows(
        "SELECT prompt_counter, status FROM sdk_sessions WHERE claude_session_id = ?",
        story.sessions["talker"].session,
    )
    assert state == (3, "completed")


def test_a_resumed_session_is_told_what_was_learned_elsewhere_and_has_everything_once(story: Story) -> None:
    assert [story.times("talker", title) for title in (ZEBRA, LION)] == [1, 0]
    assert [story.times("resumed", title) for title in (ZEBRA, LION)] == [1, 1]
    assert len(memories(story.requests["resumed"])) == 2


def test_a_session_that_goes_on_when_nothing_was_learned_is_told_nothing_more(story: Story) -> None:
    assert [story.times("continued", title) for title in (ZEBRA, LION)] == [1, 1]
    assert len(memories(story.requests["continued"])) == 2


def test_a_session_is_never_told_of_its_own_work_when_it_is_resumed(story: Story) -> None:
    assert "def zebra()" in str(story.requests["maker resumed"].body), "the client repeats it"
    assert [story.times("maker resumed", title) for title in (ZEBRA, LION)] == [0, 1]
    assert not any("zebra" in told for told in memories(story.requests["maker resumed"]))


def test_a_fork_has_everything_once_and_is_told_what_was_learned_since(story: Story) -> None:
    assert read(story.requests["fork"]).count("Greet.") == 3, "the client repeats the talker's turns"
    assert [story.times("fork", title) for title in (ZEBRA, LION, TIGER)] == [1, 1, 1]
    assert [story.times("twin", title) for title in (ZEBRA, LION)] == [1, 1]
    assert len(memories(story.requests["twin"])) == len(memories(story.requests["continued"]))


def test_a_fork_is_a_session_of_its_own_and_its_work_is_its_own(story: Story) -> None:
    assert story.sessions["fork"].session not in {
        ran.session for who, ran in story.sessions.items() if who != "fork"
    }
    assert story.prompts("fork") == [(1, "Make otter.py.")]
    assert story.taught("fork") == [OTTER]
    assert story.taught("talker") == []


def test_nothing_that_a_client_repeats_is_recorded_again(story: Story) -> None:
    uses = story.claude.rows("SELECT tool_use_id FROM pending_messages WHERE tool_use_id NOT NULL")
    assert checker.check(story.claude.data, [use for (use,) in uses]) == {"done": 4, "spooled": 0}
    assert story.claude.rows("SELECT count(*) FROM observations") == [(4,)]
    assert all(len(refs(story.claude, file)) == 1 for file in (ZEBRA, LION, TIGER, OTTER))
    assert story.claude.rows("SELECT count(*) FROM user_prompts") == [(9,)]
