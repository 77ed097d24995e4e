"""Makes a readable payload of one that was cut off: by our cap, by a deadline, or by whoever sent it.

All whole members are kept. A string that was cut is closed and marked; half a number, and half a name, are
left out. What the client names last, the tool use's id, is looked for in the tail.
"""

from __future__ import annotations

import re

from claude_mem.capture.payload import parse
from claude_mem.capture.scrub import IDENTITY_KEYS, PATH_KEYS, RESPONSE_KEYS

MARK = "[… cut off …]"
LONGEST_WORD = 512
DEEPEST = 200  # `json` gives up at some depth, and with it the whole payload; `scrub` does long before
# A string without an end is a token as well, and none gives back what it has taken: whatever the text, each
# character is looked at once.
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[{}\[\]]', re.DOTALL)
_WHOLE_CHARACTERS = re.compile(r'(?:[^\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_CLOSER = {"{": "}", "[": "]"}
_USE_ID = re.compile(r'"tool_use_id"\s*:\s*"([\w.:-]{1,128})"')


def salvage(head: str, tail: str) -> dict[str, object] | None:
    """The payload as far as it came, or None when it never was a JSON object."""
    payload = parse(head) or parse(_closed(head))
    if payload is None:
        return None
    if not _names_its_file(payload):
        for key in ("tool_input", *RESPONSE_KEYS):
            payload.pop(key, None)
    ids = _USE_ID.findall(tail)
    if ids and "tool_use_id" not in payload:
        payload["tool_use_id"] = ids[-1]
    return payload


def _names_its_file(payload: dict[str, object]) -> bool:
    """Whether a tool use has said before the cut which file or command it is about, or has none. Otherwise
    these may be the contents of an excluded file."""
    tool_input = payload.get("tool_input")
    if not isinstance(tool_input, dict):
        return not any(key in payload for key in RESPONSE_KEYS)
    if "command" in tool_input or list(payload)[-1] != "tool_input":  # what follows it shows that it is whole
        return True
    return any(not str(tool_input[key]).endswith(MARK) for key in PATH_KEYS if key in tool_input)


def _closed(head: str) -> str:
    """The head up to the end of its last whole member, with what was cut of a string, and closed."""
    closers: list[str] = []
    whole = end = 0  # where the last whole member ends, and the last token
    key = ""
    for token in TOKEN.finditer(head):
        mark, start = token.group(), token.start()
        if mark in _CLOSER:
            closers.append(_CLOSER[mark])
            whole = token.end()
        elif mark in ("}", "]"):
            if closers:
                closers.pop()
            whole = token.end()
        elif closers[-1:] == ["}"] and not head[end:start].rstrip().endswith(":"):
            whole = max(whole, head.rfind(",", end, start))  # a key; before it, a number may have ended
            key = mark
        elif token.group(1):
            whole = token.end()
        elif not (len(closers) == 1 and key.strip('"') in IDENTITY_KEYS):  # half a name is another name
            return f'{head[:start]}"{_without_last_word(mark[1:])}{MARK}"' + "".join(reversed(closers))
        end = token.end()
        if len(closers) > DEEPEST:
            break
    else:
        whole = max(whole, head.rfind(",", end))  # the numbers before it are whole
    return head[:whole] + "".join(reversed(closers))


def _without_last_word(string: str) -> str:
    """Half a secret is no longer known for one. Escapes are whole."""
    kept = string[:-LONGEST_WORD] + string[-LONGEST_WORD:].rpartition(" ")[0]
    whole = _WHOLE_CHARACTERS.match(kept)
    return whole.group() if whole else ""
