"""Finds which file a tool is about to touch, in a payload that is not parsed: it may hold the whole file.

Only the shape that the client writes is understood. Anything else is answered with silence.
"""

from __future__ import annotations

from claude_mem.capture.literal import member, string_at

MOST_BYTES = 64 << 10  # the path comes early, or not at all
_INPUT = b'"tool_input":{'
_PATHS = (b'"file_path"', b'"notebook_path"')


def question(payload: bytes) -> bytes | None:
    """What the worker is asked, as JSON: of the tool's input, only the path. None where there is none."""
    head, _, given = payload[:MOST_BYTES].partition(_INPUT)
    session, cwd, turn, tool = (
        member(head, key) for key in (b"session_id", b"cwd", b"prompt_id", b"tool_name")
    )
    path = _path(given)
    if not (session and cwd and tool and path):
        return None
    return (b'{"session_id":%s,"cwd":%s,"hook_event_name":"PreToolUse",%s"tool_name":%s,"file_path":%s}') % (
        session,
        cwd,
        b'"prompt_id":%s,' % turn if turn else b"",
        tool,
        path,
    )


def _path(given: bytes) -> bytes:
    """The string that the first of _PATHS has; empty when a list or an object comes before it."""
    at = 0
    while key := string_at(given, at):
        at += len(key) + 1
        value = string_at(given, at)
        if key in _PATHS:
            return value
        rest = at + len(value)
        comma = given.find(b",", rest)
        if comma < 0 or not (comma == rest if value else given[rest:comma].isalnum()):
            break
        at = comma + 1
    return b""
