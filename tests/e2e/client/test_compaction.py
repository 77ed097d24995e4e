"""A session that is compacted, by its user and by the client: what led to it is understood while it runs, and
comes back to the session as its own memory.

A compaction takes a real model many seconds. The scripted one waits until the worker is ready for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tests.e2e.client.session_runs import (
    make,
    memories,
    rendered,
    rendered_work,
    source,
    taught,
    times,
    titled,
)
from tests.harness.claude import Claude, Playing, Ran, compaction
from tests.harness.model_script import Request, Say, Script, Step, Use
from tests.harness.model_server import ModelServer

ZEBRA = "zebra.py"
SUMMARY = "<summary>zebra.py has seven stripes, because Mara asked for them.</summary>"


@dataclass(frozen=True)
class Compacted:
    claude: Claude
    ran: Ran
    requests: list[Request]

    def events(self, *kinds: str) -> list[tuple[str, str | None, str | None]]:
        return self.claude.rows(
            "SELECT kind, note, text FROM pending_messages AS p JOIN sdk_sessions AS s ON s.id = p.session_id"
            f" WHERE claude_session_id = ? AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY p.id",
            self.ran.session,
            *kinds,
        )


def unhurried(playing: Playing, ready: Callable[[], None]) -> Script:
    def script(request: Request) -> Step:
        if compaction(request):
            ready()
        return playing(request)

    return script


@pytest.fixture(scope="module")
def claude(house: Claude) -> Claude:
    return house


@pytest.fixture(scope="module")
def manual(claude: Claude) -> Compacted:
    """`/compact keep names` in a session that made zebra.py, and a prompt after it."""
    session = make(claude, "zebra").session
    playing = Playing([Say("Hello.")], summary=SUMMARY)
    with ModelServer(
        unhurried(playing, lambda: rendered(claude, "This session so far", session=session))
    ) as server:
        ran = claude.run(server, "/compact keep names", "--resume", session)
        claude.settle()
        claude.run(server, "Greet.", "--resume", session)
    claude.settle()
    assert (ran.code, ran.err, ran.session) == (0, "", session)
    return Compacted(claude, ran, server.requests)


@pytest.fixture(scope="module")
def automatic(claude: Claude, manual: Compacted) -> Compacted:
    """A turn whose context is full half-way: a subagent and heron.py before, ibis.py after it."""
    assert manual.requests, "there is an earlier session, which a start is told of"
    task = {
        "description": "Count",
        "prompt": "Count the herons.",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    before, after = (
        Use("Write", {"file_path": str(claude.project / f"{name}.py"), "content": source(name)})
        for name in ("heron", "ibis")
    )
    steps = [
        Say("", uses=(Use("Agent", task),)),
        Say("", uses=(before,), input_tokens=99_500),
        Say("", uses=(after,)),
        Say("Done."),
    ]
    playing = Playing(steps, subagents={"Count the herons.": [Say("Seven herons.")]}, summary=SUMMARY)

    def ready() -> None:
        ((session,),) = claude.rows("SELECT claude_session_id FROM sdk_sessions ORDER BY id DESC LIMIT 1")
        rendered_work(claude, "heron.py", session=session)

    with ModelServer(unhurried(playing, ready)) as server:
        ran = claude.run(
            server, "Add the birds: each function returns the number seven.", "--autocompact", "100k"
        )
    claude.settle()
    assert (ran.code, ran.result, ran.err) == (0, "Done.", "")
    return Compacted(claude, ran, server.requests)


def test_a_compaction_is_recorded_with_what_the_user_asked_of_it_and_its_summary_is_kept(
    manual: Compacted, claude: Claude
) -> None:
    assert manual.events("pre_compact", "post_compact") == [
        ("pre_compact", "manual", "keep names"),
        ("post_compact", "manual", SUMMARY),
    ]
    assert "Compaction summary" in claude.mem("search", "stripes Mara asked for", "--raw").stdout


def test_the_model_that_compacts_is_given_the_users_words_and_none_of_ours(
    manual: Compacted, automatic: Compacted
) -> None:
    by_the_user, by_the_client = filter(None, map(compaction, (*manual.requests, *automatic.requests)))
    assert "Additional Instructions:\nkeep names\n\nREMINDER" in by_the_user
    assert "Additional Instructions" not in by_the_client


def test_after_it_the_session_is_told_its_own_memory_fenced_and_once(
    manual: Compacted, claude: Claude
) -> None:
    _, after = manual.requests
    (told,) = memories(after)
    assert "This session so far" in told
    assert "Asked: Make zebra.py." in told
    assert times(after, ZEBRA, claude) == 1
    assert "seven stripes" in str(after.body), "the client's own summary"


def test_a_full_context_is_compacted_by_the_client_and_the_same_is_true_of_it(
    automatic: Compacted, claude: Claude
) -> None:
    assert automatic.events("pre_compact", "post_compact") == [
        ("pre_compact", "auto", None),
        ("post_compact", "auto", SUMMARY),
    ]
    (at,) = [number for number, each in enumerate(automatic.requests) if compaction(each)]
    before, after = automatic.requests[at - 1], automatic.requests[at + 1]
    assert "heron.py" not in str(memories(before))
    (told,) = memories(after)
    assert times(after, "heron.py", claude) == 1
    own, other = titled(claude, "heron.py"), titled(claude, ZEBRA)
    assert told.index(own) < told.index(other), "its own work first"


def test_a_turn_that_was_compacted_half_way_is_remembered_whole_and_once(
    automatic: Compacted, claude: Claude
) -> None:
    assert automatic.events("session_start", "stop", "session_end") == [
        ("session_start", "startup", None),
        ("session_start", "compact", None),
        ("stop", None, "Done."),
        ("session_end", "other", None),
    ]
    assert taught(claude, automatic.ran.session) == ["heron.py", "ibis.py"]


def test_the_forks_in_which_a_client_compacts_are_no_subagents(
    automatic: Compacted, manual: Compacted
) -> None:
    assert (len(manual.ran.hooks("SubagentStop")), manual.events("subagent_stop")) == (1, [])
    assert len(automatic.ran.hooks("SubagentStop")) == 2, "a subagent's, and the compaction's"
    assert automatic.events("subagent_stop") == [("subagent_stop", None, "Seven herons.")]
