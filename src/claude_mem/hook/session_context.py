"""Reads the pre-rendered context for a session's start, so that no worker has to be running.

    context/<SHA-1 of the working directory>     the context for sessions that start there
    context/s-<SHA-1 of the session's id>        that session's own memory, for after a compaction

    <stamp: 16 hexadecimal digits>
    {"continue": true, …}                        the hook's complete answer; empty if there is nothing to show

The stamp is spooled with the event, so that the worker learns what was shown, even if it was down.
"""

from __future__ import annotations

import posix

from claude_mem.hook import json_text, paths, worker_link

MOST_BYTES = 64 << 10
STAMP = 16
_HEX = b"0123456789abcdef"


def find(payload: bytes, agent: str = paths.CLAUDE_CODE) -> tuple[bytes, bytes | None, bool]:
    """For a session's start: the stamp of the rendered context, the answer that shows it, and whether to
    query the worker. If there is an answer and the worker is to be queried, the worker's reply takes
    precedence."""
    source = json_text.member(payload, b"source")
    directory = json_text.text_of(json_text.member(payload, b"cwd"))
    if source in (b'"resume"', b'"fork"'):
        return b"", None, True  # the client replays what was injected; only the worker knows what is new
    files = [paths.directory_context(directory, agent)] if directory else []
    if source == b'"compact"':
        session = json_text.text_of(json_text.member(payload, b"session_id"))
        files.insert(0, paths.session_context(session))
    for file in files:
        try:
            stamp, shown = _read(file)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return b"", None, False  # damaged, or not ours: the worker will rewrite it
        return stamp if shown else b"", shown, False
    if agent != paths.CLAUDE_CODE and source != b'"compact"':
        # This agent's first session here: only the worker can render for it; without one, use Claude Code's.
        _, shown, queries = find(payload)
        return b"", shown, queries or shown is not None
    return b"", None, bool(directory)


def of_no_session(head: bytes) -> tuple[bytes, bytes | None, bool]:
    """For a command that was typed outside of a session: a payload with only the directory, the answer, and
    whether to query the worker instead."""
    given = json_text.parse(head.decode(errors="replace")) or {}
    cwd = given.get("cwd") or posix.environ.get(b"PWD", b"").decode(errors="replace")
    payload = json_text.dumps({"source": "startup", "cwd": cwd}).encode()
    _, shown, queries = find(payload)
    return payload, shown, queries


def _read(file: str) -> tuple[bytes, bytes | None]:
    """The stamp, and the answer if there is something to inject. Raises ValueError for any other file."""
    stamp, newline, line = paths.content(file, MOST_BYTES, paths.NO_LINKS).partition(b"\n")
    if not newline or len(stamp) != STAMP or stamp.strip(_HEX):
        raise ValueError("not a rendered context")
    return stamp, worker_link.checked_answer(b"SessionStart", line)
