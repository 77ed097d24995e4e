"""`claude-mem sessions`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from claude_mem.cli import columns, narrow, say
from claude_mem.cli.columns import fit, pad
from claude_mem.cli.commands import OK, Commands, json_flag
from claude_mem.cli.say import Paint
from claude_mem.hook import notices

SESSIONS = 20
ID, AGE, STATUS, PROJECT = 8, 8, 11, 16


def add(commands: Commands) -> None:
    parser = commands.add(
        "sessions",
        example="claude-mem sessions --here\nclaude-mem sessions --project shop --limit 50 --json",
        run=_run,
    )
    narrow.project(parser)
    narrow.period(parser)
    narrow.paging(parser, SESSIONS)
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    found = recall("GET", "/api/sessions", narrow.query(args))
    if args.json:
        say.data(found)
        return OK
    items = found["items"]
    if items:
        print(table(items, time.time(), columns.terminal(), say.Paint(sys.stdout)))
        more = f" More: --offset {found['offset'] + len(items)}." if found["hasMore"] else ""
        say.talk(f"Read one whole: claude-mem show --session {_id(items[0])[:ID]}.{more}")
    else:
        say.talk("No sessions are remembered.")
    return OK


def table(items: Sequence[dict[str, Any]], now: float, wide: int, paint: Paint) -> str:
    margin = ID + AGE + STATUS + PROJECT + 5
    lines = [
        paint("dim", f"{'session':<{ID}}  {'age':<{AGE}} {'status':<{STATUS}} {'project':<{PROJECT}} asked")
    ]
    for item in items:
        at = item.get("created_at_epoch")
        age = notices.age(now - at / 1000) if isinstance(at, int | float) else ""
        cells = (
            pad(fit(_id(item)[:ID], ID), ID) + " ",
            pad(age, AGE),
            pad(fit(str(item.get("status") or ""), STATUS), STATUS),
            pad(fit(str(item.get("project") or ""), PROJECT), PROJECT),
            fit(str(item.get("title") or item.get("first_user_prompt") or ""), wide - margin),
        )
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)


def _id(item: dict[str, Any]) -> str:
    return str(item.get("session_id") or item.get("id"))
