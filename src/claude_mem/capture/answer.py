"""Decides what a hook prints to show the model something: one line of JSON, made without parsing any.

What is shown comes as a JSON string that somebody else has written. It is looked through before it is put
into the answer: whatever a damaged file or a confused worker holds, what the client reads is valid.
"""

from __future__ import annotations

from claude_mem.capture import literal

MOST_BYTES = 60 << 10  # 10,000 characters, all that the client takes, each spelled \uXXXX
_OPENING = b'{"continue": true, "suppressOutput": true, "hookSpecificOutput": {"hookEventName": "%s", '
_CONTEXT = b'"additionalContext": %s}}\n'


def showing(event: bytes, string: bytes) -> bytes | None:
    """A hook's answer that shows the model what the JSON string says; None when there is nothing to show."""
    if string == b'""' or not literal.is_string(string, MOST_BYTES):
        return None
    return _OPENING % event + _CONTEXT % string


def rendered(event: bytes, line: bytes) -> bytes | None:
    """The line, if it is what `showing` would have made."""
    string = line.removeprefix(_OPENING % event + b'"additionalContext": ').removesuffix(b"}}\n")
    return line if showing(event, string) == line else None
