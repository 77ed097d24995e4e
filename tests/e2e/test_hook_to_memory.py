"""From a hook to memory: real hooks, a real worker, and a model server that speaks the real protocols."""

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.harness import checker, forked_hooks, hook_process, payloads, workers
from tests.harness.model_script import Hang, Request, Say, Step
from tests.harness.model_server import ModelServer
from tests.security.test_canaries import PRIVATE, canaries, everything_in, session_full_of_secrets

from claude_mem.serve import control

PROTOCOLS = ("anthropic", pytest.param("openai", marks=pytest.mark.prove))  # the rest of it: test_models.py
REPLY = """\
<observation><type>bugfix</type><title>The login survives a restart</title>
<facts><fact>load_key() in src/login.py made a new key at every start.</fact></facts>
<concepts><concept>problem-solution</concept></concepts>
<files_read><file>src/login.py</file></files_read>
<files_modified><file>src/login.py</file><file>src/never_touched.py</file></files_modified></observation>
<observation><type>discovery</type><title>Keys are read by two threads</title>
<facts><fact>The watcher reads KEY_FILE as well.</fact></facts></observation>
<summary><request>Make the login survive a restart</request><completed>It does.</completed></summary>"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a branch of its own."""
    root = tmp_path / "shop"
    root.mkdir()
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q", "-b", "fix/login"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], check=True)
    return root


def edit(use_id: str, path: Path, **fields: object) -> bytes:
    answer = {"filePath": str(path), "oldString": "key = new()", "newString": "key = load(KEY_FILE)"}
    return payloads.payload(
        "PostToolUse",
        payloads.SESSION,
        **({"prompt_id": "p-1"} | fields),
        tool_name="Edit",
        tool_input={
            "file_path": str(path),
            "old_string": "key = new()",
            "new_string": "key = load(KEY_FILE)",
        },
        tool_response=answer,
        tool_use_id=use_id,
    )


def work(
    data: Path,
    *uses: bytes,
    ask: str = "fix the login",
    prompt_id: str = "p-1",
    session: str = payloads.SESSION,
    cwd: Path | str = "/home/u/proj",
) -> None:
    """One turn of an agent, by its hooks, from the user's words to the agent's last."""
    here = {"cwd": str(cwd)}
    said = payloads.payload(
        "Stop", session, prompt_id=prompt_id, last_assistant_message="The login is fixed.", **here
    )
    for event in (payloads.prompt(ask, session, prompt_id, **here), *uses, said):
        assert hook_process.run(data, event).code == 0


def system_of(request: Request) -> str:
    if request.speaks_openai:
        assert request.body["messages"][0]["role"] == "system"
        return str(request.body["messages"][0]["content"])
    return str(request.body["system"][0]["text"])


def told(request: Request) -> str:
    """All but the instructions."""
    last = request.body["messages"][-1]
    assert last["role"] == "user"
    return str(last["content"])


def texts(value: object) -> Iterator[str]:
    """Every text in a JSON value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def rows(data: Path, query: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query)]


def health(data: Path) -> dict[str, Any]:
    found = control.status(data).health
    assert found
    return found


def telling_apart() -> Callable[[Request], Step]:
    """A model that says something new each time, as models do."""
    numbers = count(1)

    def answer(request: Request) -> Step:
        n = next(numbers)
        return Say(
            f"<observation><title>Finding {n}</title><facts><fact>It is {n}.</fact></facts></observation>"
        )

    return answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_turn_becomes_one_call_at_its_stop_and_its_reply_becomes_memory(
    data: Path, project: Path, protocol: str
) -> None:
    login, here = project / "src" / "login.py", str(project)
    with ModelServer([Say(REPLY)]) as server, workers.running(data, **workers.asking(server.url, protocol)):
        assert hook_process.run(data, payloads.start(cwd=here)).code == 0
        work(
            data,
            payloads.read_file("toolu_read", str(login), "def load_key():\n    ...\n", cwd=here),
            edit("toolu_edit", login, cwd=here),
            payloads.bash("toolu_test", "pytest -q", "3 passed in 0.1s", cwd=here),
            ask="make the login survive a restart",
            cwd=project,
        )
        workers.settled(data)
        checker.check(data, ["toolu_read", "toolu_edit", "toolu_test"])

    (request,) = server.requests
    assert request.speaks_openai == (protocol == "openai")
    assert request.body["model"] == "scripted"
    assert "You keep the memory of a project" in system_of(request)
    assert "login" not in system_of(request), "the instructions are the same for all"
    for part in ("make the login survive a restart", "login.py", "key = load(KEY_FILE)", "3 passed"):
        assert part in told(request)
    assert "The login is fixed." in told(request)

    fix, discovery = rows(data, "SELECT * FROM observations ORDER BY id")
    assert (fix["type"], fix["title"]) == ("bugfix", "The login survives a restart")
    assert json.loads(fix["tool_use_ids"]) == ["toolu_read", "toolu_edit", "toolu_test"]
    assert (fix["branch"], fix["prompt_number"]) == ("fix/login", 1)
    assert (fix["provider"], fix["client"]) == (f"{protocol}:scripted", "claude-code")
    assert json.loads(fix["files_modified"]) == ["src/login.py"], "what no tool call touched is not claimed"
    assert json.loads(fix["facts"]) == ["load_key() in src/login.py made a new key at every start."]
    assert discovery["type"] == "discovery"

    (summary,) = rows(data, "SELECT * FROM session_summaries")
    assert (summary["request"], summary["prompt_number"]) == ("Make the login survive a restart", 1)
    assert json.loads(summary["files_edited"]) == ["src/login.py"]
    (session,) = rows(data, "SELECT * FROM sdk_sessions")
    assert (session["title"], session["subtitle"]) == ("Make the login survive a restart", "It does.")

    (spent,) = rows(data, "SELECT * FROM spending")
    assert (spent["provider"], spent["model"]) == (protocol, "scripted")
    assert (spent["input_tokens"], spent["cached_tokens"], spent["output_tokens"]) == (1100, 200, 50)


@dataclass
class Asked:
    """A worker that asks a model, and a session of the test's own. What it was asked before is not told."""

    data: Path
    server: ModelServer
    answer: Callable[[Request], Step]
    session: str = ""
    before: int = 0

    @property
    def requests(self) -> list[Request]:
        return self.server.requests[self.before :]

    def work(self, *ids: str, prompt_id: str = "p-1", **more: Any) -> None:
        uses = [payloads.bash(id, session=self.session, prompt_id=prompt_id) for id in ids]
        work(self.data, *uses, session=self.session, prompt_id=prompt_id, **more)

    def settled(self) -> list[str]:
        """The tool uses of its session, each as often as it is there; nothing of it waits any more."""
        events = self.rows("pending_messages")
        assert {event["state"] for event in events} == {"done"}
        return [event["tool_use_id"] for event in events if event["tool_use_id"]]

    def rows(self, table: str) -> list[dict[str, Any]]:
        known = f"SELECT id FROM sdk_sessions WHERE claude_session_id = '{self.session}'"
        return rows(self.data, f"SELECT * FROM {table} WHERE session_id = ({known}) ORDER BY id")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    made: list[Asked] = []

    def answer(request: Request) -> Step:
        return made[0].answer(request)

    with (
        ModelServer(answer) as server,
        workers.running(tmp_path_factory.mktemp("asked") / "data", **workers.asking(server.url)) as data,
    ):
        made.append(Asked(data, server, telling_apart()))
        yield made[0]


@pytest.fixture
def asked(shared: Asked, request: pytest.FixtureRequest) -> Asked:
    shared.answer, shared.session = telling_apart(), request.node.name
    shared.before = len(shared.server.requests)
    return shared


def test_titles_of_earlier_turns_are_told_so_that_nothing_is_written_twice(asked: Asked) -> None:
    replies = iter([Say(REPLY), Say("<nothing/>")])
    asked.answer = lambda _: next(replies)
    asked.work("toolu_first")
    workers.settled(asked.data)
    asked.work("toolu_second", ask="and now the logout", prompt_id="p-2")
    workers.settled(asked.data)
    first, second = map(told, asked.requests)
    assert "Keys are read by two threads" not in first
    assert "Keys are read by two threads" in second
    assert "and now the logout" in second


def test_an_explicit_nothing_settles_the_turn(asked: Asked) -> None:
    asked.answer = lambda _: Say("<nothing/>")
    paid = len(rows(asked.data, "SELECT * FROM spending"))
    asked.work("toolu_nothing")
    workers.settled(asked.data)
    assert asked.settled() == ["toolu_nothing"]
    assert len(asked.requests) == 1
    assert asked.rows("observations") == []
    assert len(rows(asked.data, "SELECT * FROM spending")) == paid + 1, "it was paid for all the same"


def test_without_a_model_the_offline_observer_remembers_what_was_done(data: Path, project: Path) -> None:
    here = str(project)
    with workers.running(data):
        work(
            data,
            edit("toolu_edit", project / "src" / "login.py", cwd=here),
            payloads.bash(
                "toolu_commit",
                "git commit -am 'Read the key from KEY_FILE'",
                "[fix/login 1a2b3c4] Read the key from KEY_FILE\n 1 file changed, 1 insertion(+)",
                cwd=here,
            ),
            ask="make the login survive a restart",
            cwd=project,
        )
        workers.settled(data)
        checker.check(data, ["toolu_edit", "toolu_commit"])
        assert health(data)["observer"]["provider"] == "offline"
    observed = rows(data, "SELECT * FROM observations")
    assert observed
    assert {each["provider"] for each in observed} == {"offline"}
    assert {each["branch"] for each in observed} == {"fix/login"}
    assert any("Read the key from KEY_FILE" in str(each["title"]) for each in observed)
    assert any("src/login.py" in json.loads(each["files_modified"]) for each in observed)
    (summary,) = rows(data, "SELECT * FROM session_summaries")
    assert "make the login survive a restart" in summary["request"]
    assert rows(data, "SELECT * FROM spending") == []


@pytest.mark.prove  # `make test` has the private turn below, and every canary in tests/security
@pytest.mark.timeout(900)  # some hundred hooks
def test_no_canary_is_found_in_what_the_model_server_received_nor_the_key_in_what_we_keep(data: Path) -> None:
    with ModelServer(telling_apart()) as server:
        with workers.running(data, **workers.asking(server.url)):
            with forked_hooks.Hooks(data) as hooks:
                for event in (*session_full_of_secrets(everywhere=True), payloads.end()):
                    assert hooks.run(event).code == 0
            workers.settled(data)
        received = "\n".join(
            text
            for request in server.requests
            for text in (request.path, *texts(dict(request.headers)), *texts(request.body))
        )
    assert [canary for canary in canaries() if canary.decode() in received] == []
    assert "please use" in received, "the check can fail: what is no secret is there"
    assert workers.API_KEY.encode() not in everything_in(data)


def test_a_private_turn_is_never_sent(asked: Asked) -> None:
    hidden = payloads.bash("toolu_hidden", stdout=PRIVATE, session=asked.session)
    work(asked.data, hidden, ask=f"<private>{PRIVATE}</private>", session=asked.session)
    asked.work("toolu_open", ask="now in the open", prompt_id="p-2")
    workers.settled(asked.data)
    (request,) = asked.requests
    assert "now in the open" in told(request)
    assert PRIVATE not in "\n".join(texts(request.body))
    (observed,) = asked.rows("observations")
    assert json.loads(observed["tool_use_ids"]) == ["toolu_open"]


@pytest.mark.prove  # how a turn is cut into batches: tests/unit/observe
def test_a_hundred_tool_uses_in_a_turn_are_a_handful_of_calls(data: Path) -> None:
    ids = [f"toolu_{n:03d}" for n in range(100)]
    with ModelServer(telling_apart()) as server, workers.running(data, **workers.asking(server.url)):
        work(data, *(payloads.bash(id, f"make step-{id}", f"{id} done") for id in ids))
        workers.settled(data)
        checker.check(data, ids)
    assert len(server.requests) <= 3
    observed = rows(data, "SELECT tool_use_ids FROM observations ORDER BY id")
    assert [id for each in observed for id in json.loads(each["tool_use_ids"])] == ids
    assert all(f"step-{id}" in "".join(map(told, server.requests)) for id in ids)


def test_over_the_daily_budget_the_offline_observer_takes_over_and_the_user_is_told(data: Path) -> None:
    env = {"CLAUDE_MEM_DAILY_TOKENS": "1000"}
    with ModelServer(telling_apart()) as server, workers.running(data, **workers.asking(server.url, **env)):
        work(data, payloads.bash("toolu_1"))
        workers.settled(data)
        for n in (2, 3):
            subject = f"feat: add left-pad-{n}"
            commit = payloads.bash(
                f"toolu_{n}", f"git commit -m '{subject}'", f"[main abcdef{n}] {subject}", prompt_id=f"p-{n}"
            )
            work(data, commit, ask=f"add left-pad-{n}", prompt_id=f"p-{n}")
            workers.settled(data)
        checker.check(data, ["toolu_1", "toolu_2", "toolu_3"])
        assert "budget is spent" in str(health(data)["observer"]["spentUp"])
        first = hook_process.run(data, payloads.start("another")).json
        second = hook_process.run(data, payloads.start("yet-another")).json
    assert len(server.requests) == 1
    providers = [each["provider"] for each in rows(data, "SELECT * FROM observations ORDER BY id")]
    assert providers[0] == "anthropic:scripted"
    assert set(providers[1:]) == {"offline"}
    assert "1,350 of 1,000 tokens" in first["systemMessage"]
    assert "offline observer takes over" in first["systemMessage"]
    assert "systemMessage" not in second, "told once"


def test_deleting_a_session_lets_go_of_its_work_in_time_and_keeps_its_events(data: Path) -> None:
    env = {"CLAUDE_MEM_DELETE_TIMEOUT": "100"}
    with ModelServer([Hang()]) as server, workers.running(data, **workers.asking(server.url, **env)):
        work(data, payloads.bash("toolu_1"))
        server.wait_for_request()
        # The server still hangs when this is answered: nobody waited for it.
        code, answer = control.request(data, "DELETE", f"/sessions/{payloads.SESSION}", deadline_s=30)
        assert (code, answer["status"], answer["stopped"]) == (200, "failed", False)
        assert answer["pendingMessages"] == 3
        assert checker.check(data, ["toolu_1"]) == {"leased": 1, "spooled": 0}
        server.release()
        workers.until(lambda: workers.states(data) == {"ready": 3}, "its events are given back")
        work(data, payloads.bash("toolu_2", session="other"), session="other")
        workers.until(lambda: len(server.requests) == 2, "other sessions go on")
        checker.check(data, ["toolu_1", "toolu_2"])
    assert rows(data, "SELECT * FROM observations") == []
    (failed,) = rows(data, "SELECT * FROM sdk_sessions WHERE status = 'failed'")
    assert failed["claude_session_id"] == payloads.SESSION


def test_a_worker_killed_while_it_asks_leaves_the_batch_to_the_next_which_does_it_once(data: Path) -> None:
    with ModelServer([Hang(), Say(REPLY)]) as server:
        env = workers.asking(server.url)
        with workers.running(data, **env):
            work(data, payloads.bash("toolu_1"), payloads.bash("toolu_2"))
            server.wait_for_request()
            pid = control.status(data).pid
            assert pid
            os.kill(pid, signal.SIGKILL)
        assert checker.check(data, ["toolu_1", "toolu_2"]) == {"leased": 2, "spooled": 0}
        with workers.running(data, **env):
            workers.settled(data)
            assert checker.check(data, ["toolu_1", "toolu_2"]) == {"done": 2, "spooled": 0}
    assert len(server.requests) == 2
    assert told(server.requests[0]) == told(server.requests[1])
    titles = [each["title"] for each in rows(data, "SELECT title FROM observations ORDER BY id")]
    assert titles == ["The login survives a restart", "Keys are read by two threads"]
    assert len(rows(data, "SELECT * FROM session_summaries")) == 1
    assert len(rows(data, "SELECT * FROM spending")) == 1


def test_a_session_that_ends_without_a_stop_is_observed_with_what_there_is(asked: Asked) -> None:
    session = asked.session
    use = payloads.bash("toolu_around", session=session)
    for event in (payloads.prompt("look around", session), use, payloads.end(session)):
        assert hook_process.run(asked.data, event).code == 0
    workers.settled(asked.data)
    assert asked.settled() == ["toolu_around"]
    (request,) = asked.requests
    assert "look around" in told(request)
