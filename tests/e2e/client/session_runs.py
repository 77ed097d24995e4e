"""What the tests of sessions' lives share: work that leaves a memory, and what of memory a model was sent."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tests.harness import workers
from tests.harness.claude import Claude, Playing, Ran, read
from tests.harness.homes import Home
from tests.harness.model_script import Request, Say, Use
from tests.harness.model_server import ModelServer

from claude_mem.hook import paths

FENCED = re.compile(r"<claude-mem-context>\n.*?\n</claude-mem-context>", re.DOTALL)


def make(claude: Claude, name: str, *more: str, cwd: Path | None = None) -> Ran:
    """A session in which `name`.py is made, to its end, with what it taught."""
    path = (cwd or claude.project) / f"{name}.py"
    write = Use("Write", {"file_path": str(path), "content": source(path.stem)})
    with ModelServer(Playing([Say("Writing.", uses=(write,)), Say(made(path.stem))])) as server:
        ran = claude.run(server, f"Make {name}.py.", *more, cwd=cwd)
    assert (ran.code, ran.result, ran.err) == (0, made(path.stem), "")
    claude.settle()
    return ran


def source(name: str) -> str:
    return f"def {name}():\n    return 7\n"


def made(name: str) -> str:
    """What the agent says it did."""
    return f"Added {name}.py: {name}() returns the number seven."


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


def refs(claude: Claude, files: str) -> list[str]:
    """What the work on just these files is remembered as."""
    rows = claude.rows("SELECT id, files_modified FROM observations ORDER BY id")
    return [f"#{id}" for id, changed in rows if ", ".join(json.loads(changed)) == files]


def times(request: Request, files: str, claude: Claude) -> int:
    """How often the model was told of the work on these files, by itself or as what a session did."""
    title = titled(claude, files)
    lines = [line for told in memories(request) for line in told.splitlines()]
    return sum(title in line for line in lines if not line.startswith("- Asked: "))


def titled(claude: Claude, files: str) -> str:
    (ref,) = refs(claude, files)
    ((title,),) = claude.rows("SELECT title FROM observations WHERE id = ?", int(ref[1:]))
    return str(title)


def taught(claude: Claude, session: str) -> list[str]:
    """The files that each memory of a session's work is about."""
    found = claude.rows(
        "SELECT o.files_modified FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id"
        " WHERE s.claude_session_id = ? ORDER BY o.id",
        session,
    )
    return [", ".join(json.loads(files)) for (files,) in found]


def recorded(claude: Claude, session: str) -> list[tuple[str, str | None, str]]:
    """What hooks reported of a session, in order: what kind each is of, the id of its tool use, its state."""
    return claude.rows(
        "SELECT kind, tool_use_id, state FROM pending_messages AS p"
        " JOIN sdk_sessions AS s ON s.id = p.session_id"
        " WHERE s.claude_session_id = ? AND kind <> 'said' ORDER BY p.id",
        session,
    )


def rendered(home: Home, words: str, *, cwd: Path | None = None, session: str | None = None) -> None:
    """Wait until a start in `cwd` (or of a session that was compacted) is told of this."""
    if session is None:
        name = paths.directory_context(os.fsencode(cwd or home.project))
    else:
        name = paths.session_context(session.encode())
    workers.until(lambda: words in _answer(home.data / name), f"{words!r} is rendered")


def rendered_work(claude: Claude, files: str, *, cwd: Path | None = None, session: str | None = None) -> None:
    """Likewise, of the work on these files."""
    workers.until(lambda: bool(refs(claude, files)), f"the work on {files} is remembered")
    rendered(claude, titled(claude, files), cwd=cwd, session=session)


def _answer(file: Path) -> str:
    try:
        _, _, answer = file.read_text().partition("\n")
    except FileNotFoundError:
        return ""
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""
