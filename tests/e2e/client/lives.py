"""What the tests of sessions' lives share: work that leaves a memory, and what of memory a model was sent."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tests.harness import workers
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

from claude_mem.hook import paths

FENCED = re.compile(r"<claude-mem-context>\n.*?\n</claude-mem-context>", re.DOTALL)


def make(claude: Claude, name: str, *more: str, cwd: Path | None = None) -> Ran:
    """A session in which `name`.py is made, to its end, with what it taught."""
    path = (cwd or claude.project) / f"{name}.py"
    write = Use("Write", {"file_path": str(path), "content": source(path.stem)})
    with ModelServer(Playing([Say("Writing.", uses=(write,)), Say("Done.")])) as server:
        ran = claude.run(server, f"Make {name}.py.", *more, cwd=cwd)
    assert (ran.code, ran.result, ran.err) == (0, "Done.", "")
    claude.settle()
    return ran


def source(name: str) -> str:
    return f"def {name}():\n    return 7\n"


def greet(claude: Claude, *more: str, cwd: Path | None = None) -> tuple[Ran, Request]:
    """A turn about nothing at all, and what the model was asked: its memory is what the start told it."""
    with ModelServer([Say("Hello.")]) as server:
        ran = claude.run(server, "Greet.", *more, cwd=cwd)
    assert (ran.code, ran.result, ran.err) == (0, "Hello.", "")
    claude.settle()
    return ran, server.requests[0]


def memories(request: Request) -> list[str]:
    """Each piece of memory among all that the model was sent, fenced as it is."""
    return FENCED.findall(read(request))


def times(request: Request, title: str, claude: Claude) -> int:
    """How often the model was sent an entry of the memory that has this title."""
    ((id,),) = claude.rows("SELECT id FROM observations WHERE title = ?", title)
    return sum(told.count(f"\n- #{id} ") for told in memories(request))


def taught(claude: Claude, session: str) -> list[str]:
    """The titles of what a session's work is remembered as."""
    found = claude.rows(
        "SELECT o.title FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id"
        " WHERE s.claude_session_id = ? ORDER BY o.id",
        session,
    )
    return [title for (title,) in found]


def recorded(claude: Claude, session: str) -> list[tuple[str, str | None, str]]:
    """A session's events in their order: what kind each is of, the id of its tool use, and its state."""
    return claude.rows(
        "SELECT kind, tool_use_id, state FROM pending_messages AS p"
        " JOIN sdk_sessions AS s ON s.id = p.session_id WHERE s.claude_session_id = ? ORDER BY p.id",
        session,
    )


def rendered(claude: Claude, words: str, *, cwd: Path | None = None, session: str | None = None) -> None:
    """Wait until a start in `cwd` (or of a session that was compacted) is told of this."""
    if session is None:
        name = paths.directory_context(os.fsencode(cwd or claude.project))
    else:
        name = paths.session_context(session.encode())
    workers.until(lambda: words in _answer(claude.data / name), f"{words!r} is rendered")


def _answer(file: Path) -> str:
    try:
        _, _, answer = file.read_text().partition("\n")
    except FileNotFoundError:
        return ""
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""
