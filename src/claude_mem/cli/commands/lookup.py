"""`claude-mem search`, `timeline`, `file`, `show` and `sessions`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

from claude_mem.agents import TITLES, short_id
from claude_mem.cli import filter_flags, memory_text, output
from claude_mem.cli.client import pages, quoted, request
from claude_mem.cli.commands import OK, Commands, UsageError, slash_flag
from claude_mem.cli.output import Paint, fit, pad, width
from claude_mem.hook import notices
from claude_mem.model.refs import NEAREST, Ref
from claude_mem.recall.label import byline

RESULTS = 10
NEAR = 3  # shown to a person, of what no word was found in


def add(commands: Commands) -> None:
    parser = commands.add("search", run=_run_search)
    parser.argument("query", "QUERY", "what to look for", nargs="*")
    filter_flags.flags(parser)
    filter_flags.paging(parser, RESULTS)
    parser.flag("--explain", "show how each score is computed")
    slash_flag(parser)
    parser = commands.add("timeline", run=_run_timeline)
    parser.argument("anchor", "ANCHOR", "an id (123, s4, p5), a session, or a time", nargs="?")
    parser.argument("--query", "Q", "use the best result of this search as the anchor")
    around = filter_flags.up_to(MOST_AROUND, least=0)
    for flag in ("--before", "--after"):
        parser.argument(flag, "N", f"how many (default: {AROUND})", type=around, default=AROUND)
    filter_flags.flags(parser)
    parser = commands.add("file", run=_run_file)
    parser.argument("path", "PATH", "the file's path, or the end of it")
    filter_flags.project(parser)
    filter_flags.limit(parser, FILE_RESULTS)
    parser = commands.add("show", run=_run_show)
    parser.argument("refs", "ID", "memories, or one session", nargs="*")
    parser.argument("--session", "ID", "this session, even if it looks like a memory id")
    parser = commands.add("sessions", run=_run_sessions)
    filter_flags.project(parser)
    filter_flags.people(parser)
    filter_flags.period(parser)
    filter_flags.paging(parser, SESSIONS)


def _run_search(args: argparse.Namespace) -> int:
    """Without a QUERY it lists the newest memories. Starts the worker if it is not running.

    Example:
      claude-mem search why does login fail
      claude-mem search --here --since 'last week' flaky test
      claude-mem search --file src/login.py --type bugfix --json
    """
    query = {"q": " ".join(args.query), "explain": "true" if args.explain else None}
    found = request("GET", "/api/search", query | filter_flags.query(args))
    if args.json:
        output.print_json(output.page(found, "results"))
        return OK
    results, note, more = found["results"], found.get("note"), ""
    if note == NEAREST:
        print(note)  # before them: they look like an answer
        results = results[:NEAR]
    elif found["hasMore"]:
        after = found["offset"] + len(results)
        more = " Add words to narrow the search." if args.slash else f" More: --offset {after}."
    if results and "time" in found["legs"]:
        print(memory_text.table(results))
    elif results:
        print(memory_text.found(results, found["sessions"]))
    if note and note != NEAREST:
        output.message(str(note))
    if not results:
        output.message("No results.")
    else:
        command = "/mem" if args.slash else "claude-mem"
        output.message(f"Read one in full: {command} show {results[0]['ref']}.{more}")
    return OK


AROUND = 5
MOST_AROUND = 50


def _run_timeline(args: argparse.Namespace) -> int:
    """Without an ANCHOR or --query it shows the most recent memories.

    Example:
      claude-mem timeline 123
      claude-mem timeline --here 'last monday'
      claude-mem timeline --query 'login fails' --before 3 --after 10
    """
    query = {"anchor": args.anchor, "q": args.query, "before": args.before, "after": args.after}
    found = request("GET", "/api/timeline", query | filter_flags.query(args))
    anchor = found["anchor"]
    results = [*found["before"], *([anchor] if anchor else []), *found["after"]]
    ref = anchor and anchor["ref"]
    data = output.page({"items": results, "anchor": ref}, "items")
    hint = f"Centered on {ref}. Read one in full: claude-mem show {ref}" if ref else ""
    return output.listing(args, data, results, memory_text.table, "No results.", hint)


FILE_RESULTS = 20


def _run_file(args: argparse.Namespace) -> int:
    """Example:
    claude-mem file src/login.py
    claude-mem file --here login.py --limit 5
    """
    query = {"path": args.path, "limit": args.limit}
    found = request("GET", "/api/file", query | filter_flags.where(args))
    data, results = output.page(found, "results"), found["results"]
    hint = f"Read one in full: claude-mem show {results[0]['ref']}" if results else ""
    return output.listing(args, data, results, memory_text.table, "No results.", hint)


DELETED = "Private or deleted prompt"


def _run_show(args: argparse.Namespace) -> int:
    """Use the ids that `search` shows: 123 is an observation, s4 a summary, p5 a prompt, e6 an event with a
    tool's full input and output. For a session, use the agent's own id, or the start of it, as `sessions`
    shows it.

    Example:
      claude-mem show 123 s4
      claude-mem show --session 5694c0de
    """
    if bool(args.session) == bool(args.refs):
        raise UsageError("Specify either memory ids or --session.")
    strange = [ref for ref in args.refs if Ref.parse(ref) is None]
    if args.session or (strange and len(args.refs) == 1):
        session = request("GET", f"/api/session/{quoted(args.session or args.refs[0])}")
        return output.result(args, session, session_text(session, Paint(sys.stdout)))
    if strange:
        raise UsageError(f"Invalid memory id {strange[0]!r}; expected something like 123, s4 or p5.")
    found = request("POST", "/api/observations/batch", body={"ids": args.refs})
    if args.json:
        output.print_json(output.page(found, "results"))
    elif found["results"]:
        print("\n\n".join(map(memory_text.in_full, map(_with_prompt, found["results"]))))
    return output.missing(found["missing"])


def session_text(found: dict[str, Any], paint: Paint) -> str:
    about = found["session"]
    head = f"Session {about.get('session_id') or about.get('id')}"
    agent = TITLES.get(str(about.get("client")), about.get("client"))
    by = byline(about.get("author"), None, None)
    facts = (about.get("project"), session_state(about), by, agent, about.get("created_at"))
    lines = [paint("bold", head), "  " + output.fit(" · ".join(str(fact) for fact in facts if fact), 76)]
    memories_ = [*found["prompts"], *found["observations"], *found["summaries"]]
    memories_.sort(key=lambda result: (result.get("created_at_epoch") or 0, result["kind"] != "prompt"))
    for each in memories_:
        lines += ["", memory_text.in_full(each)]
    for name, label in (("previous", "Previous session"), ("next", "Next session")):
        if isinstance(found.get(name), dict):
            other = found[name].get("session_id") or found[name].get("id")
            lines += ["", f"{label}: claude-mem show --session {shlex.quote(str(other))}"]
    return "\n".join(lines)


def _with_prompt(result: dict[str, Any]) -> dict[str, Any]:
    """Adds the text to an event that is a prompt; the text is stored only once, with the prompt."""
    if result["kind"] != "evidence" or result.get("type") != "prompt" or result.get("text"):
        return result
    for each in pages("/api/prompts", {"session": result["session_id"]}):
        if each["prompt_number"] == result["prompt_number"] and each["prompt"]:
            return result | {"title": each["title"], "text": each["prompt"]}
    return result | {"title": DELETED}


SESSIONS = 20
HEADS = ("session", "by", "agent", "age", "status", "project")
WIDEST = 16


def _run_sessions(args: argparse.Namespace) -> int:
    """Example:
    claude-mem sessions --here
    claude-mem sessions --project shop --limit 50 --json
    """
    found = request("GET", "/api/sessions", filter_flags.query(args))
    items, hint = found["items"], ""
    if items:
        more = f" More: --offset {found['offset'] + len(items)}." if found["hasMore"] else ""
        hint = f"Read one in full: claude-mem show --session {short_id(_id(items[0]))}.{more}"
    return output.listing(args, found, items, sessions_table, "No sessions yet.", hint)


def sessions_table(items: Sequence[dict[str, Any]]) -> str:
    now = time.time()
    heads, rows = list(HEADS), [[fit(cell, WIDEST) for cell in _cells(item, now)] for item in items]
    if not any(item.get("author") for item in items):  # only one author: it need not be named
        for row in (heads, *rows):
            del row[HEADS.index("by")]
    wide = [max(map(width, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str], last: str) -> str:
        first, *rest = (pad(cell, room) for cell, room in zip(cells, wide, strict=True))
        row = " ".join([f"{first} ", *rest, ""])
        return f"{row}{fit(last, output.terminal() - width(row))}".rstrip()

    titles = [str(item.get("title") or item.get("first_user_prompt") or "") for item in items]
    first = Paint(sys.stdout)("dim", line(heads, "prompt"))
    return "\n".join([first, *map(line, rows, titles)])


def _cells(item: dict[str, Any], now: float) -> tuple[str, ...]:
    at, client = item.get("created_at_epoch"), str(item.get("client") or "")
    age = notices.age(now - at / 1000) if isinstance(at, int | float) else ""
    agent = TITLES.get(client, client)
    author, project = str(item.get("author") or "me"), str(item.get("project") or "")
    return short_id(_id(item)), author, agent, age, session_state(item), project


def session_state(session: dict[str, Any]) -> str:
    """The same words as in the viewer: when a turn ends, it is summarized, and then the session is idle until
    the next prompt. Not every agent reports the end of a session."""
    status = str(session.get("status") or "")
    return "between turns" if status == "summarizing" else status


def _id(item: dict[str, Any]) -> str:
    return str(item.get("session_id") or item.get("id"))
