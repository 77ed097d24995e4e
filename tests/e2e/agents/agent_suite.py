"""What is true of memory in every coding agent: a test file of an agent names it, and inherits this."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

from tests.e2e.agents.two_sessions import BROKEN, HIDDEN, QUESTION, SECRET, TwoSessions
from tests.e2e.client import first_session
from tests.harness.agent_clients.agent_home import AgentHome, internal, sent
from tests.harness.agent_clients.clients import Client
from tests.harness.home_snapshot import picture
from tests.harness.model_script import Request, Say
from tests.harness.model_server import ModelServer

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.observe import tool_calls

TOOL_EVENTS = ("tool_use", "tool_failure")


OFFERED = re.compile(r"claude-mem[-_]+search\"|claude-mem(:|\\n) ?Memory of earlier|Loaded 1 tool")
MOST_STEPS = 200
SESSIONS_ON_A_BUSY_MACHINE = 3


class Searching:
    """A model that searches memory as soon as it is offered that: a server is up a little after its agent."""

    def __init__(self, client: Client) -> None:
        self._client = client
        *self._search_for_it, self._search = client.tool_of_server(
            "claude-mem", "search", {"query": "freight"}
        )
        self._steps = 0
        self.has_searched = False

    def __call__(self, request: Request) -> Say:
        self._steps += 1
        if internal(request) or self.has_searched or self._steps > MOST_STEPS:
            return Say("By freight.")
        self.has_searched = bool(OFFERED.search(json.dumps(request.body)))
        if self.has_searched:
            return Say("", uses=(self._search,))
        is_time_to_look = self._search_for_it and self._steps % 2 == 0
        look = (
            self._search_for_it if is_time_to_look else [self._client.shell(f"sleep 0.1; true {self._steps}")]
        )
        return Say("", uses=tuple(replace(each, id=f"call_{self._steps}") for each in look))


class AgentSuite:
    told_in = 0
    """The request of the second session in which its model is told for the first time: 0 is its start."""

    found_by_search = "Full text: get_observations"

    def test_both_sessions_go_as_they_would_without_memory(self, played: TwoSessions) -> None:
        assert first_session.RIGHT in (played.home.project / first_session.FILE).read_text()
        for session in (played.first, played.second):
            assert len(session.requests) == len(session.uses) + 1

    def test_every_tool_call_is_one_event_although_the_worker_was_killed(self, played: TwoSessions) -> None:
        counts = [sum(kind in TOOL_EVENTS for (kind,) in events) for events in played.events("kind")]
        assert counts == [len(played.first.uses), len(played.second.uses)]
        assert {state for events in played.events("state") for (state,) in events} == {"done"}

    def test_what_a_command_that_failed_said_is_recorded_and_that_no_other_one_failed(
        self, played: TwoSessions
    ) -> None:
        events, _ = played.events("kind", "tool_name", "tool_input", "tool_response")
        calls = [
            tool_calls.parse(Event("e", 1, Kind(kind), "s", tool=ToolCall(name, given, answered)))
            for kind, name, given, answered in events
            if kind in TOOL_EVENTS
        ]
        outcomes = [(BROKEN in (call.tool.input or ""), call.failed) for call in calls if call]
        assert sorted(outcomes) == [(False, False)] * (len(played.first.uses) - 1) + [(True, True)]
        (said,) = (call.tool.response for call in calls if call and call.failed)
        assert "missing.txt" in (said or "")

    def test_the_sessions_are_the_agents_own(self, played: TwoSessions) -> None:
        rows = played.home.rows("SELECT client, cwd FROM sdk_sessions ORDER BY id")
        assert rows == [(played.home.client.name, str(played.home.project))] * 2

    def test_prompts_and_last_answers_are_recorded(self, played: TwoSessions) -> None:
        prompts = [text for (text,) in played.home.rows("SELECT prompt FROM user_prompts ORDER BY id")]
        assert len(prompts) == 2
        assert prompts[0].startswith(first_session.ASKED)
        assert prompts[1] == QUESTION, "without what was injected with it"
        said = [[text for kind, text in events if kind == "stop"] for events in played.events("kind", "text")]
        assert said == [[first_session.SAID], ["Because it was rounded up twice."]]

    def test_the_second_session_is_told_what_the_first_one_did(self, played: TwoSessions) -> None:
        told = [_injected(request) for request in played.second.requests]
        assert [bool(text) for text in told] == [at >= self.told_in for at in range(len(told))]
        assert first_session.ASKED in told[self.told_in]
        assert first_session.SAID.rstrip(".") in told[self.told_in]

    def test_the_first_session_was_told_nothing(self, played: TwoSessions) -> None:
        assert not any("postage" in _injected(request) for request in played.first.requests)

    def test_private_words_and_secrets_are_on_no_disk_and_told_to_nobody(self, played: TwoSessions) -> None:
        later = "\n".join(map(sent, played.second.requests)).lower()
        for canary in (HIDDEN, SECRET):
            assert canary in "\n".join(map(sent, played.first.requests)), "the agent itself knew it"
            assert canary.encode() not in played.on_disk
            assert canary not in later

    def test_after_an_uninstall_the_agents_settings_are_the_users_again(self, played: TwoSessions) -> None:
        client = played.home.client
        assert not [name for name in played.left.keys() - played.before.keys() if "claude-mem" in name]
        for name in client.files(played.home.home, played.home.model_url):
            if name in client.rewrites:
                assert b"claude-mem" not in (played.home.home / name).read_bytes()
            else:
                assert played.left[name] == played.before[name]

    def test_its_model_can_search_memory(self, client: Client, tmp_path: Path) -> None:
        home = AgentHome(tmp_path, client)
        try:
            home.connect("--agent", client.name)
            home.mem("remember", "Crates above thirty kilos travel by freight.")
            # Some clients wait a few seconds for a server, and do without it for the rest of the session.
            for _ in range(SESSIONS_ON_A_BUSY_MACHINE):
                searching = Searching(client)
                with ModelServer(searching, port=home.model_port) as server:
                    ran = home.run("How do heavy crates travel?")
                if searching.has_searched:
                    break
            assert (ran.code, searching.has_searched) == (0, True), ran.out + ran.err
            assert self.found_by_search in sent(server.requests[-1])
        finally:
            home.end()

    def test_an_install_is_taken_back_to_the_byte(self, client: Client, tmp_path: Path) -> None:
        home = AgentHome(tmp_path, client)
        home.commands()
        try:
            before = picture(home.home)
            home.connect("--agent", client.name)
            assert picture(home.home, ".claude-mem") != before
            home.mem("uninstall", "--yes", "--agent", client.name)
            assert picture(home.home, ".claude-mem") == before
        finally:
            home.end()


def _injected(request: Request) -> str:
    """All that stands between our fences. Gemini CLI and Qwen Code escape them."""
    parts = html.unescape(sent(request)).split(first_session.FENCE)[1:]
    return "\n".join(part.partition("</claude-mem-context>")[0] for part in parts)
