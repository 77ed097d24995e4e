"""Every door through which text comes in: what may not be kept is kept behind none of them.

The doors are read from the route table, the tool table and the command table, so that a new one is not
forgotten: until it is named here, with a request that it takes, a test fails.
"""

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect
from tests.contracts.worker_client import Worker
from tests.e2e import transcripts
from tests.harness import claude_mem_ts_data, hook_process, payloads, workers
from tests.harness.commands import Mem
from tests.harness.model_script import Say
from tests.harness.model_server import ModelServer
from tests.security.test_canaries import everything_in

from claude_mem.cli.commands import COMMANDS
from claude_mem.model.clock import now
from claude_mem.serve import mcp_tools
from claude_mem.serve.http.app import TABLE
from claude_mem.serve.http.router import Endpoint

SECRET, PRIVATE = "ghp_0123456789abcdefghijABCDEFGHIJ012345", "canaryprivate77"
CANARY = f"note {SECRET} <private>{PRIVATE}</private> end"

NAMES = frozenset(
    (
        *("claude_session_id", "session", "session_id", "cwd"),
        *("tool_name", "tool_use_id", "id", "event", "story"),
    )
)
"""Which say what something is, and stay as they are (docs/privacy.md): redacted, it would be another."""

NAMED = {"claudeSessionId": "door", "cwd": "/home/u/work"}
BODIES: dict[str, dict[str, Any] | None] = {
    "POST /api/sessions/init": NAMED | {"prompt": "begin"},
    "POST /api/sessions/observations": NAMED | {"tool_name": "Read", "tool_response": "read"},
    "POST /api/sessions/summarize": NAMED | {"last_assistant_message": "done"},
    "POST /api/sessions/complete": NAMED,
    "POST /sessions/{id}/init": {"prompt": "begin"},
    "POST /sessions/{id}/observations": {"tool_name": "Read", "tool_response": "read"},
    "POST /sessions/{id}/summarize": {"last_assistant_message": "done"},
    "DELETE /sessions/{id}": None,
    "POST /sessions/init": NAMED | {"prompt": "begin"},
    "POST /sessions/observations": NAMED | {"tool_name": "Read", "tool_response": "read"},
    "POST /sessions/summarize": NAMED | {"last_assistant_message": "done"},
    "POST /sessions/complete": NAMED,
    "POST /api/observations/batch": {"ids": [1]},
    "POST /api/memory/save": {"text": "remember the flux", "project": "door"},
    "POST /api/memory/pin": {"ids": [1]},
    "POST /api/memory/wrong": {"ids": [1], "wrong": False},
    "POST /api/memory/edit": {"id": 1, "title": "the flux"},
    "POST /api/memory/merge": {"into": 1, "ids": [2]},
    "POST /api/undo/{id}": None,
    "POST /api/memory/select": {"project": "door"},
    "POST /api/memory/forget": {"text": "no such text", "dry_run": True},
    "POST /api/import": {"records": [{"title": "a record", "narrative": "of others", "project": "door"}]},
    "POST /api/context/preview": {"project": "door"},
    "POST /api/projects/rename": {"project": "name:shed", "name": "shed"},
    "POST /api/projects/merge": {"from": "name:shed", "into": "name:gate", "dry_run": True},
    "POST /api/gc": {"dry_run": True},
    "POST /api/signin": None,
    "POST /api/signout": {},
    "POST /api/settings": {"changes": {"CLAUDE_MEM_LANGUAGE": "German"}},
    "POST /api/admin/shutdown": None,
    "POST /api/restart": None,
    "POST /api/queue/retry": {},
    "POST /api/queue/drop": {"ids": [10_000]},
    "POST /api/processing": {"isProcessing": True, "project": "door"},
    "POST /api/recording": {"paused": False},
    "POST /api/backfill": {
        "id": "past-1",
        "at": 1_790_000_000_000,
        "event": "UserPromptSubmit",
        "branch": "main",
        "payload": {"session_id": "past", "cwd": "/home/u/door", "prompt": "begin"},
    },
    "POST /api/backfill/known": {"sessions": ["past"]},
    "POST /api/sharing/join": None,
    "POST /api/sharing/leave": None,
    "POST /api/sharing/share": None,
    "POST /api/sharing/unshare": {"all": True},
    "POST /api/sharing/consent": None,
    "POST /api/sharing/now": None,
    "POST /api/sharing/exchange": {},
    "POST /api/sharing/pin": None,
    "POST /api/team/members": None,
    "POST /api/team/members/remove": None,
    "POST /api/team/keys": None,
    "POST /api/team/keys/revoke": None,
    "POST /api/team/projects": None,
    "POST /mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
}
"""For every route that changes something, a body it takes; None: it has none, ends the worker, or needs a
team (tests/e2e/test_team.py)."""

WRITING_TOOLS = {"remember", "forget"}
WRITING_COMMANDS = {
    *("remember", "import", "adopt", "backfill", "projects", "config"),
    *("context", "new", "save", "summary", "cleanup", "hook", "mcp", "slash"),
}
OTHER_COMMANDS = {
    *(
        "install",
        "repair",
        "uninstall",
        "search",
        "timeline",
        "show",
        "sessions",
        "file",
        "pin",
        "forget",
        "open",
        "off",
    ),
    *("on", "doctor", "stats", "export", "backup", "restore", "gc", "worker", "queue", "demo", "version"),
    *("hooks", "statusline", "token", "embedder", "help", "completion", "server"),
    *("join", "share", "unshare", "team", "leave"),
}
"""They take no text that is stored."""


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with workers.running(tmp_path_factory.mktemp("doors") / "data") as data:
        worker = Worker(data)
        for project in ("door", "door", "gate", "shed"):
            at = len(worker.get("/api/observations")["items"])
            worker.post("/api/memory/save", text=f"memory {at} of the {project}", project=project)
        worker.settle()
        yield worker


def leaked(worker: Worker) -> list[str]:
    held = everything_in(worker.data)
    return [canary for canary in (SECRET, PRIVATE) if canary.encode() in held]


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


CHANGING = {named(row): row for row in TABLE if row.method != "GET"}


def test_every_route_that_changes_something_is_a_door_that_is_tried() -> None:
    assert BODIES.keys() == CHANGING.keys()


def variants(row: Endpoint, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The body with the canary in one place after the other, where any text may stand."""
    yield body
    if row.body is None:
        return
    shape = inspect.type_info(row.body)
    assert isinstance(shape, inspect.StructType)
    for field in shape.fields:
        if field.name in NAMES:
            continue
        given = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
        kinds = given.types if isinstance(given, inspect.UnionType) else (given,)
        for kind in kinds:
            inner = kind.type if isinstance(kind, inspect.Metadata) else kind
            if isinstance(inner, inspect.StrType):
                yield body | {field.encode_name: CANARY}
            elif isinstance(inner, inspect.VarTupleType):
                yield body | {field.encode_name: [CANARY]}
            elif isinstance(inner, inspect.AnyType):
                yield body | {field.encode_name: {"said": CANARY, CANARY: "a name"}}
            elif isinstance(inner, inspect.DictType):
                yield body | {field.encode_name: {CANARY: CANARY}}
    for key, value in body.items():  # and inside what has a shape of its own
        if isinstance(value, dict):
            for name in value:
                if name not in NAMES:
                    yield body | {key: value | {name: CANARY}}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for name in value[0]:
                yield body | {key: [value[0] | {name: CANARY}]}


@pytest.mark.parametrize("door", [name for name, body in BODIES.items() if body is not None])
def test_no_route_keeps_it(worker: Worker, door: str) -> None:
    row, body = CHANGING[door], BODIES[door]
    assert body is not None
    path = row.path.replace("{id}", "door")
    first, *others = variants(row, body)
    status, answer = worker.ask(row.method, path, first)
    assert status < 400, f"a body that it takes is to be named here: {answer}"
    for each in others:
        status, answer = worker.ask(row.method, path, each)
        assert status < 500, answer
        assert leaked(worker) == []  # now: the next may overwrite it


def test_a_correction_keeps_none_of_it(worker: Worker) -> None:
    ref = worker.post("/api/memory/save", text="the gate is red", project="door")["ref"]
    given = {
        "title": CANARY,
        "subtitle": CANARY,
        "narrative": CANARY,
        "facts": [CANARY],
        "concepts": [CANARY],
    }
    worker.post("/api/memory/edit", id=int(ref), **given)
    assert leaked(worker) == []


def test_an_import_of_ones_own_is_scrubbed_as_well(worker: Worker) -> None:
    at = now()
    of = {"session_id": "own", "at": at}
    records = [
        {"kind": "claude-mem", "version": 1},
        {"kind": "project", "key": "name:own", "name": f"own {CANARY}"},
        {"kind": "session", "session_id": "own", "project": "name:own", "created_at": at, "branch": CANARY},
        {"kind": "prompt", "number": 1, "text": CANARY, **of},
        {"kind": "event", "event_id": "e", "event_kind": "stop", "text": CANARY, "branch": CANARY, **of},
        {"kind": "observation", "type": "change", "title": "t", "facts": [CANARY], "narrative": CANARY, **of},
        {"kind": "summary", "request": "ask", "next_steps": CANARY, "notes": CANARY, **of},
    ]
    given = "".join(json.dumps(record) + "\n" for record in records).encode()
    assert "1 observation" in Mem(worker.data)("import", "--own", "-", given=given).stdout
    assert leaked(worker) == []


def test_every_tool_is_named_here_as_one_that_writes_or_one_that_reads() -> None:
    assert {name for name, tool in mcp_tools.TOOLS.items() if not tool.only_reads} == WRITING_TOOLS


@pytest.mark.parametrize("tool", sorted(mcp_tools.TOOLS))
def test_no_tool_keeps_it(worker: Worker, tool: str) -> None:
    shape = mcp_tools.TOOLS[tool].arguments
    given: dict[str, object] = {}
    for field in msgspec.structs.fields(shape):
        given[field.name] = [CANARY] if "tuple" in str(field.type) else CANARY
    for number in range(len(given) + 1):
        arguments = given if not number else {list(given)[number - 1]: list(given.values())[number - 1]}
        if tool == "remember":
            arguments = {"text": "remember the gate", "project": "gate"} | arguments
            arguments.pop("type", None)
        call = {"name": tool, "arguments": arguments}
        status, answer = worker.ask(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        )
        assert status == 200, answer
    assert leaked(worker) == []


def test_every_command_is_named_here_as_one_that_writes_or_one_that_does_not() -> None:
    assert COMMANDS.keys() == WRITING_COMMANDS | OTHER_COMMANDS
    assert not WRITING_COMMANDS & OTHER_COMMANDS


def test_no_command_keeps_it(worker: Worker, tmp_path: Path) -> None:
    mem = Mem(worker.data, cwd=tmp_path)
    mem.env |= transcripts.environment(worker.data)
    mem("remember", CANARY, "--project", "door")
    mem("projects", "rename", "shed", CANARY, code=None)
    mem("settings", "set", "CLAUDE_MEM_LANGUAGE", CANARY, code=2)
    mem("slash", "remember", CANARY, code=None)
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text(json.dumps({"title": CANARY, "narrative": CANARY, "project": CANARY}) + "\n")
    mem("import", foreign)
    mem("adopt", foreign, "--yes", code=None)
    with claude_mem_ts_data.made(tmp_path / "ts.db") as theirs:
        theirs.session(project=CANARY)
        theirs.observation(CANARY, narrative=CANARY)
    mem("adopt", tmp_path / "ts.db", "--yes", code=None)
    transcripts.session(tmp_path / "logs", "told", said=[CANARY])
    repository = tmp_path / "repo"
    repository.mkdir()
    git = ["git", "-C", str(repository), "-c", "user.name=u", "-c", "user.email=u@example.com"]
    for words in (["init", "-q", "-b", f"b-{SECRET}"], ["commit", "-q", "--allow-empty", "-m", CANARY]):
        subprocess.run([*git, *words], check=True)
    mem("backfill", tmp_path / "logs", "--git", repository, "--yes", code=None)
    assert leaked(worker) == []


def test_no_hook_keeps_it_nor_a_branch_of_that_name(worker: Worker, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", f"b-{SECRET}", str(tmp_path)], check=True)
    for event in (
        payloads.start("hooked", cwd=str(tmp_path)),
        payloads.prompt(CANARY, "hooked", cwd=str(tmp_path)),
        payloads.bash("u-1", command=f"echo {CANARY}", stdout=CANARY, session="hooked", cwd=str(tmp_path)),
        payloads.stop(CANARY, "hooked"),
        payloads.end("hooked", CANARY),
    ):
        assert hook_process.run(worker.data, event).code == 0
    workers.drained(worker.data)
    assert leaked(worker) == []


ANSWER = (
    "<observation><type>change</type><title>{0}</title><subtitle>{0}</subtitle><narrative>{0}</narrative>"
    "<facts><fact>{0}</fact></facts><concepts><concept>{0}</concept></concepts>"
    "<files_read><file>{0}</file></files_read></observation>"
    "<summary><request>{0}</request><investigated>{0}</investigated><learned>{0}</learned>"
    "<completed>{0}</completed><next_steps>{0}</next_steps><notes>{0}</notes></summary>"
)


@pytest.mark.parametrize("answer", [ANSWER, "No grammar of ours, but {0}"], ids=["memory", "unreadable"])
def test_nothing_that_a_model_answers_keeps_it(data: Path, answer: str) -> None:
    with (
        ModelServer([Say(answer.format(CANARY))]) as server,
        workers.running(data, **workers.asking(server.url)),
    ):
        worker = Worker(data)
        worker.works("asked", "look into it", "a.py")
        server.wait_for_request()
        workers.until(
            lambda: "leased" not in workers.states(data) and bool(_outcomes(data)), "something came of it"
        )
        assert leaked(worker) == []
    assert leaked(worker) == []


def _outcomes(data: Path) -> list[object]:
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT title FROM observations UNION SELECT reason FROM pending_messages")
        return [each for (each,) in rows if each]
