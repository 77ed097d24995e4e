"""Records tests/fixtures/agents again: what each real agent passes to its hooks, in two sessions.

python -m tests.harness.agent_clients.recorder codex gemini

A session writes a file, changes it, reads it, and runs a command that fails; the next reads it and runs one
that does not. `<event>.json` has the payloads of an event, in order; `sessions.json` the order of all events,
and the variables that the agent adds to the environment of a hook; `transcript.jsonl` what the agent itself
wrote of the first session, long texts cut. Paths of this machine become /home/u. Copilot CLI also runs the
hooks in a project's .claude/settings.json: theirs are `claude.<event>.json`.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness.agent_clients.agent_home import AgentHome
from tests.harness.agent_clients.clients import CLIENTS, Client
from tests.harness.model_script import Say

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "agents"
OWN = ("CLAUDE", "GEMINI", "CODEX", "COPILOT", "QWEN", "FACTORY", "DROID", "CLINE", "OPENCODE")
TRANSCRIPTS = {
    "codex": ".codex/sessions/*/*/*/rollout-*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
    "qwen": ".qwen/projects/*/chats/*.jsonl",
    "droid": ".factory/sessions/*/*.jsonl",
    "cline": ".cline/data/sessions/*/*.messages.json",
}
LONGEST = 1000  # characters of a text in a transcript: they hold the agent's instructions
LIKE_CLAUDE = (
    "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionRequest"
    " PreCompact PostCompact SubagentStart SubagentStop Stop StopFailure Notification"
)
EVENTS = {
    "codex": LIKE_CLAUDE,
    "copilot": "sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse postToolUse"
    " postToolUseFailure permissionRequest agentStop subagentStart subagentStop preCompact errorOccurred"
    " notification",
    "gemini": "SessionStart SessionEnd BeforeAgent AfterAgent BeforeTool AfterTool PreCompress Notification",
    "qwen": LIKE_CLAUDE,
    "droid": LIKE_CLAUDE,
    "cline": "TaskStart TaskResume TaskCancel TaskComplete PreToolUse PostToolUse UserPromptSubmit"
    " PreCompact",
}

HOOK = """#!/bin/sh
exec {python} - "$@" 3<&0 <<'END'
import json, os, sys
payload = os.fdopen(3).read()
names = sorted(name for name in os.environ if name.startswith({own!r}))
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1], json.loads(payload), names]) + "\\n")
END
"""

BUS = ("session.created", "session.idle", "session.error", "session.compacted", "file.edited")
PLUGIN = """import { appendFileSync } from "node:fs"
const record = (event, payload) =>
  appendFileSync(LOG, JSON.stringify([event, payload, []]) + "\\n")
const said = (event) =>
  (event.type === "message.part.updated" && event.properties.part.type === "text") ||
  (event.type === "message.updated" && event.properties.info.time.completed)
export const Recorder = async (context) => {
  record("plugin", { directory: context.directory, worktree: context.worktree })
  const both = (name) => async (input, output) => record(name, { input, output })
  return {
    event: async ({ event }) => (BUS.includes(event.type) || said(event)) && record("event", event),
    "chat.message": both("chat.message"),
    "tool.execute.before": both("tool.execute.before"),
    "tool.execute.after": both("tool.execute.after"),
    "experimental.chat.system.transform": async ({ sessionID, model }) =>
      record("experimental.chat.system.transform", { input: { sessionID, model: { id: model.id } } }),
  }
}
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    sessions: list[list[tuple[str, dict[str, Any]]]]  # event and payload
    variables: list[str]
    transcript: list[Any]  # its lines


def record(client: Client, at: Path) -> Recorded:
    home = AgentHome(at, client)
    log = home.home / "log"
    _hooks(home, log)
    file = home.project / "postage.py"
    write = client.write(file, "def postage(grams):\n    return 1 + grams // 1000\n")
    edit = client.edit(file, "    return 1 + grams // 1000", "    return max(1, -(-grams // 1000))")
    uses = (write, edit, client.read(file), client.shell("echo heavy; ls missing.txt"))
    turns = (
        ("Fix the postage of heavy parcels.", [*uses]),
        ("What does a kilo cost?", [client.read(file), client.shell("echo light")]),
    )
    sessions, variables, transcript = [], set(), list[Any]()
    try:
        for prompt, used in turns:
            log.write_text("")
            steps = [Say("I begin." if use is write else "", uses=(use,)) for use in used]
            with home.model([*steps, Say("It is done.")]) as server:
                ran = home.run(prompt)
            assert ran.code == 0, ran.out + ran.err
            offered = [each for each in server.requests if each.body.get("tools")]
            assert len(offered) == len(steps) + 1, ran.out + ran.err
            lines = [json.loads(line) for line in _scrubbed(log, home).splitlines()]
            sessions.append([(event, payload) for event, payload, _ in lines])
            variables |= {name for *_, names in lines for name in names}
            transcript = transcript or _transcript(home)
    finally:
        home.end()
    return Recorded(sessions, sorted(variables - home.environment().keys()), transcript)


def _scrubbed(file: Path, home: AgentHome) -> str:
    text = file.read_text()
    for mine in (str(home.home), str(home.home).replace("/", "-")):
        text = text.replace(mine, "/home/u".replace("/", mine[0]))
    return text


OPENCODES = {
    "session": "SELECT id, parent_id, directory FROM session",
    "message": "SELECT id, session_id, time_created, data FROM message",
    "part": "SELECT id, message_id, session_id, time_created, time_updated, data FROM part",
}


def _opencodes(home: AgentHome) -> list[Any]:
    """The rows of its database that a backfill reads."""
    database = home.home / ".local/share/opencode/opencode.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        rows = {table: db.execute(query).fetchall() for table, query in OPENCODES.items()}
    return [json.loads(json.dumps(rows).replace(str(home.home), "/home/u"))]


def _transcript(home: AgentHome) -> list[Any]:
    if home.client.name == "opencode":
        return _opencodes(home)
    (file, *_) = [*home.home.glob(TRANSCRIPTS.get(home.client.name, "none")), None]
    if file is None:
        return []
    text = _scrubbed(file, home)
    lines = text.splitlines() if file.suffix == ".jsonl" else [text]
    return [_cut(json.loads(line)) for line in lines]


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:80]} …"
    if isinstance(value, dict):
        return {key: _cut(each) for key, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value


def _hooks(home: AgentHome, log: Path) -> None:
    hook = home.home / "hook"
    hook.write_text(HOOK.format(python=sys.executable, own=OWN, log=str(log)))
    hook.chmod(0o755)
    name = home.client.name
    events = EVENTS.get(name, "").split()

    def entries(timeout: int, events: Sequence[str] = events, prefix: str = "") -> dict[str, Any]:
        command = {"type": "command", "name": "recorder", "timeout": timeout}
        return {each: [{"hooks": [command | {"command": f"{hook} {prefix}{each}"}]}] for each in events}

    match name:
        case "opencode":
            folder = home.home / ".config/opencode/plugin"
            folder.mkdir()
            text = f"const LOG = {json.dumps(str(log))}\nconst BUS = {json.dumps(BUS)}\n{PLUGIN}"
            (folder / "recorder.js").write_text(text)
        case "cline":
            folder = home.home / ".cline/hooks"
            folder.mkdir()
            for each in events:
                (folder / each).write_text(f"#!/bin/sh\nexec {hook} {each}\n")
                (folder / each).chmod(0o755)
        case "copilot":
            folder = home.home / ".copilot/hooks"
            folder.mkdir()
            hooks = {each: [{"type": "command", "bash": f"{hook} {each}"}] for each in events}
            (folder / "recorder.json").write_text(json.dumps({"version": 1, "hooks": hooks}))
            claude = home.project / ".claude/settings.json"  # it runs those of Claude Code there as well
            claude.parent.mkdir()
            claude.write_text(json.dumps({"hooks": entries(10, LIKE_CLAUDE.split(), "claude.")}))
        case "codex":
            (home.home / ".codex/hooks.json").write_text(json.dumps({"hooks": entries(10)}))
        case "gemini" | "qwen" | "droid":
            folder = home.home / {"droid": ".factory"}.get(name, f".{name}")
            settings = json.loads((folder / "settings.json").read_text())
            settings["hooks"] = entries(10 if name == "droid" else 10_000)
            (folder / "settings.json").write_text(json.dumps(settings))


def write(client: Client, recorded: Recorded) -> None:
    folder = FIXTURES / client.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    order = [[event for event, _ in session] for session in recorded.sessions]
    about = {"version": client.version, "sessions": order, "environment": recorded.variables}
    content: dict[str, Any] = {"sessions": about}
    for event, payload in itertools.chain(*recorded.sessions):
        content.setdefault(event, []).append(payload)
    for name, each in content.items():
        (folder / f"{name}.json").write_text(json.dumps(each, indent=1, ensure_ascii=False) + "\n")
    if recorded.transcript:
        lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in recorded.transcript)
        (folder / "transcript.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CLIENTS:
        with tempfile.TemporaryDirectory() as made:
            write(CLIENTS[wanted], record(CLIENTS[wanted], Path(made)))
        print(wanted)
