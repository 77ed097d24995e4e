"""`claude-mem show`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from claude_mem.cli import columns, memories, narrow, say
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, json_flag
from claude_mem.cli.say import Paint
from claude_mem.model.refs import Ref

NOT_KEPT = "A prompt of which nothing is kept: it was private, or is forgotten"


def add(commands: Commands) -> None:
    parser = commands.add(
        "show",
        more=(
            "An id is as `search` shows it: 123 an observation, s4 a summary, p5 a prompt,\n"
            "e6 an event with all that a tool was given and answered.\n"
            "A session is named by the agent's own id, or the beginning of it."
        ),
        example="claude-mem show 123 s4\nclaude-mem show --session 5694c0de",
        run=_run,
    )
    parser.add_argument("refs", nargs="*", metavar="ID", help="memories, or one session")
    parser.add_argument("--session", metavar="ID", help="this session, also if it looks like a memory's id")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    if bool(args.session) == bool(args.refs):
        raise UsageError("say either which memories, or --session.")
    strange = [ref for ref in args.refs if Ref.parse(ref) is None]
    if args.session or (strange and len(args.refs) == 1):
        return _session(args.session or args.refs[0], as_data=args.json)
    if strange:
        raise UsageError(f"{strange[0]!r} is no memory's id such as 123, s4 or p5.")
    return _memories(args.refs, as_data=args.json)


def _memories(refs: list[str], *, as_data: bool) -> int:
    from claude_mem.cli.ask import recall

    found = recall("POST", "/api/observations/batch", body={"ids": refs})
    if as_data:
        say.data(found)
    elif found["results"]:
        print("\n\n".join(_each(map(_with_prompt, found["results"]))))
    if found["missing"]:
        say.talk(f"claude-mem: nothing is remembered as {', '.join(map(str, found['missing']))}.")
        return WRONG
    return OK


def _session(id: str, *, as_data: bool) -> int:
    from claude_mem.cli.ask import part, recall

    found = recall("GET", f"/api/session/{part(id)}")
    if as_data:
        say.data(found)
    else:
        print(session(found, say.Paint(sys.stdout)))
    return OK


def session(found: dict[str, Any], paint: Paint) -> str:
    about = found["session"]
    head = f"Session {about.get('session_id') or about.get('id')}"
    facts = (about.get("project"), about.get("status"), about.get("client"), about.get("created_at"))
    lines = [paint("bold", head), "  " + columns.fit(" · ".join(str(fact) for fact in facts if fact), 76)]
    memories_ = [*found["prompts"], *found["observations"], *found["summaries"]]
    memories_.sort(key=lambda result: (result.get("created_at_epoch") or 0, result["kind"] != "prompt"))
    for text in _each(memories_):
        lines += ["", text]
    for name, label in (("previous", "Before"), ("next", "After")):
        if isinstance(found.get(name), dict):
            other = found[name].get("session_id") or found[name].get("id")
            lines += ["", f"{label} it: claude-mem show --session {shlex.quote(str(other))}"]
    return "\n".join(lines)


def _with_prompt(result: dict[str, Any]) -> dict[str, Any]:
    """An event that was a prompt, with the text of it, which is kept once, as the prompt."""
    if result["kind"] != "evidence" or result.get("type") != "prompt" or result.get("text"):
        return result
    for each in _prompts(str(result["session_id"])):
        if each["prompt_number"] == result["prompt_number"] and each["prompt"]:
            return result | {"title": each["title"], "text": each["prompt"]}
    return result | {"title": NOT_KEPT}


def _prompts(session: str) -> Iterator[dict[str, Any]]:
    from claude_mem.cli.ask import recall

    offset = 0
    while True:
        query = {"session": session, "limit": narrow.MOST, "offset": offset}
        page = recall("GET", "/api/prompts", query)
        yield from page["items"]
        offset += len(page["items"])
        if not page["hasMore"]:
            return


def _each(results: Iterable[dict[str, Any]]) -> list[str]:
    now, paint, wide = time.time(), say.Paint(sys.stdout), columns.terminal()
    return [memories.whole(result, now, wide, paint) for result in results]
