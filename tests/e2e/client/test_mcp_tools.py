"""The model asks memory itself: it searches, reads what the context named, and keeps something for later."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from tests.e2e.client import first_session
from tests.e2e.client.first_session import tool
from tests.harness import workers
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Request, Say, Step, Use
from tests.harness.model_server import ModelServer

KEPT = "Crates above thirty kilos travel by freight, never by van."
TITLE = "Freight above thirty kilos"
OURS = ("search", "get_observations", "remember")

WAYS = {"deferred": "true", "at once": "false"}  # ENABLE_TOOL_SEARCH
"""The client offers our tools by name alone, to be looked up first; or whole, if it is told to."""


@dataclass(frozen=True)
class Asked:
    claude: Claude
    ran: Ran
    requests: list[Request]
    uses: dict[str, Use]
    shown: list[str]
    """The ids that the session's start showed."""
    deferred: bool

    def said(self, name: str) -> str:
        """What a tool of ours returned: text, in one block."""
        (block,) = first_session.results(self.requests[-1])[self.uses[name].id]
        assert block.keys() <= {"type", "text", "cache_control"}
        assert block["type"] == "text"
        return str(block["text"])


@pytest.fixture(scope="module", params=WAYS)
def asked(
    request: pytest.FixtureRequest, installed: Claude, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    claude = Claude(tmp_path_factory.mktemp("asking"), like=installed)
    try:
        prefix = tool(first_session.mended(claude), "")
        uses: dict[str, Use] = {}
        shown: list[str] = []
        with ModelServer(_asking(prefix, uses, shown, deferred=request.param == "deferred")) as server:
            ran = claude.run(server, "Greet.", ENABLE_TOOL_SEARCH=WAYS[request.param])
        assert (ran.code, ran.result, ran.err) == (0, "Hello.", "")
        claude.settle()
        workers.until(lambda: (KEPT,) in claude.rows("SELECT narrative FROM observations"), "it is kept")
        yield Asked(claude, ran, server.requests, uses, shown, request.param == "deferred")
    finally:
        claude.end()


def _asking(
    prefix: str, uses: dict[str, Use], shown: list[str], *, deferred: bool
) -> Callable[[Request], Step]:
    """A model that looks the tools up if it must, searches, reads what its start named, and keeps a thing."""

    def use(name: str, **given: object) -> Step:
        uses[name] = Use(name if name == "ToolSearch" else prefix + name, given)
        return Say("", uses=(uses[name],))

    def script(request: Request) -> Step:
        if deferred and "ToolSearch" not in uses:
            return use("ToolSearch", query="select:" + ",".join(prefix + name for name in OURS))
        if "search" not in uses:
            shown[:] = first_session.refs(read(request))
            return use("search", query="postage of one kilo")
        if "get_observations" not in uses:
            return use("get_observations", ids=shown)
        return use("remember", text=KEPT, title=TITLE) if "remember" not in uses else Say("Hello.")

    return script


def test_our_tools_are_offered(asked: Asked) -> None:
    offered = {each["name"] for each in asked.requests[0].body["tools"]}
    ours = {use.name for name, use in asked.uses.items() if name in OURS}
    assert len(ours) == len(OURS)
    assert bool(offered & ours) is not asked.deferred
    assert all(name in read(asked.requests[0]) for name in ours) or not asked.deferred, "by name"


def test_a_search_answers_with_an_index_of_what_the_context_showed(asked: Asked) -> None:
    said = asked.said("search")
    assert asked.shown == ["s1"]
    assert set(asked.shown) <= set(first_session.refs(said))
    lines = said.splitlines()
    (session,) = (line for line in lines if line.startswith(f"{_today(asked)} {first_session.ASKED[:40]}"))
    assert lines.index("Project parcel") < lines.index(session)
    assert lines[lines.index(session) + 1].startswith(("#s1 summary ", "#1 bugfix "))


def test_the_ids_of_the_context_give_exactly_those_memories_whole(asked: Asked) -> None:
    said = asked.said("get_observations")
    assert re.findall(r"^#(\S+) ", said, re.M) == asked.shown
    assert f"Request: {first_session.ASKED}" in said
    assert f"Session: {_first_session(asked)}" in said


def test_what_memory_answers_is_fenced_as_a_quotation(asked: Asked) -> None:
    for name in ("search", "get_observations"):
        assert asked.said(name).count(first_session.FENCE) == 1
        assert first_session.SAID not in asked.said(name).partition("</claude-mem-context>")[2]
    assert first_session.FENCE not in asked.said("remember")


def test_what_the_model_keeps_is_found_by_another_session(asked: Asked) -> None:
    ((id,),) = asked.claude.rows("SELECT id FROM observations WHERE narrative = ?", KEPT)
    assert asked.said("remember") == f"Saved as #{id}."
    search = Use(asked.uses["search"].name, {"query": "how do heavy crates travel: freight or van"})
    with ModelServer(Playing([Say("", uses=(search,)), Say("By freight.")])) as server:
        asked.claude.run(server, "Greet.")
    (block,) = first_session.results(server.requests[-1])[search.id]
    first = re.findall(r"^#.*", block["text"], re.M)[0]
    assert first.startswith(f"#{id} ")
    assert TITLE in first


def test_that_memory_was_asked_is_an_event_and_what_it_said_is_not_learned_again(asked: Asked) -> None:
    rows = asked.claude.rows(
        "SELECT tool_use_id, tool_input, tool_response FROM pending_messages p"
        " JOIN sdk_sessions s ON s.id = p.session_id"
        " WHERE s.claude_session_id = ? AND tool_name <> 'ToolSearch' ORDER BY event_id",
        asked.ran.session,
    )
    assert rows == [(asked.uses[name].id, None, None) for name in OURS]
    learned = asked.claude.rows("SELECT title FROM observations ORDER BY id")
    assert [title for (title,) in learned[1:]] == [TITLE], "nothing but what it was told to keep"


def test_what_the_model_kept_can_be_forgotten_for_good(asked: Asked) -> None:
    """The last of these tests: it takes away what the others look for."""
    assert any(KEPT.encode() in content for _, content in asked.claude.bytes_of_the_data_directory())
    ((id,),) = asked.claude.rows("SELECT id FROM observations WHERE narrative = ?", KEPT)
    asked.claude.mem("forget", str(id), "--yes")
    assert [
        path for path, content in asked.claude.bytes_of_the_data_directory() if KEPT.encode() in content
    ] == []


def _first_session(asked: Asked) -> str:
    ((session,),) = asked.claude.rows("SELECT claude_session_id FROM sdk_sessions WHERE id = 1")
    return str(session)


def _today(asked: Asked) -> str:
    ((day,),) = asked.claude.rows("SELECT substr(created_at, 1, 10) FROM session_summaries WHERE id = 1")
    return str(day)
