"""A first session's work, which later ones are told of: the postage of heavy parcels is mended."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.e2e.client import session_runs
from tests.harness.claude import Claude, Playing, Ran
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

ASKED = "Fix the postage of heavy parcels: a parcel of exactly one kilo pays for two."
SAID = "postage() rounds up now: a parcel of exactly 1000 grams paid for two kilos before."
FILE = "postage.py"
FENCE = "<claude-mem-context>"

WRONG = "1 + grams // 1000"
RIGHT = "max(1, -(-grams // 1000))"


def writing(claude: Claude) -> Use:
    given = {"file_path": str(claude.project / FILE), "content": f"def postage(grams):\n    return {WRONG}\n"}
    return Use("Write", given)


def editing(claude: Claude) -> Use:
    path = str(claude.project / FILE)
    return Use("Edit", {"file_path": path, "old_string": WRONG, "new_string": RIGHT})


def reading(claude: Claude, name: str = FILE) -> Use:
    return Use("Read", {"file_path": str(claude.project / name)})


def mended(claude: Claude) -> Ran:
    """The first session, and all that is remembered of it."""
    steps = [Say("", uses=(writing(claude),)), Say("", uses=(editing(claude),)), Say(SAID)]
    with ModelServer(Playing(steps)) as server:
        ran = claude.run(server, ASKED)
    assert (ran.code, ran.result, ran.err) == (0, SAID, "")
    claude.settle()
    session_runs.rendered(claude, ASKED)
    return ran


def told(ran: Ran, event: str) -> list[str]:
    """What the hooks of an event gave to the model; nothing from those that were silent."""
    answers = [json.loads(each["output"]) for each in ran.hooks(event)]
    shown = [answer.get("hookSpecificOutput", {}).get("additionalContext") for answer in answers]
    return [text for text in shown if text]


def refs(context: str) -> list[str]:
    """The ids that a context shows, in order, each once."""
    return list(dict.fromkeys(re.findall(r"#([spe]?\d+)\b", context)))


def tool(ran: Ran, name: str) -> str:
    """Our tool's name in this client: another as a plugin than by its settings."""
    (init, *_) = (line for line in ran.lines if line.get("subtype") == "init")
    (server,) = (each["name"] for each in init["mcp_servers"] if each["name"].endswith("claude-mem"))
    return f"mcp__{server.replace(':', '_')}__{name}"


def results(request: Request) -> dict[str, Any]:
    """What tools returned, by the id of their use, as the model is sent it."""
    blocks = [
        block
        for message in request.body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    return {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}


def words_of(claude: Claude, ran: Ran) -> list[str]:
    """All the text that is kept of a session's events."""
    columns = "p.tool_input, p.tool_response, p.text, u.prompt"
    rows: Sequence[tuple[Any, ...]] = claude.rows(
        f"SELECT {columns} FROM pending_messages p JOIN sdk_sessions s ON s.id = p.session_id"
        " LEFT JOIN user_prompts u ON u.session_id = s.id WHERE s.claude_session_id = ?",
        ran.session,
    )
    return [text for row in rows for text in row if text]
