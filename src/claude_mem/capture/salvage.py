"""Makes a readable payload of one that was cut off: by our cap, by a deadline, or by whoever sent it.

The head keeps what it holds; the string that was cut is closed and marked. What the client names last, the
tool use's id, is looked for in the tail.
"""

from __future__ import annotations

import re

from claude_mem.capture.payload import parse

MARK = "[… cut off …]"
LONGEST_WORD = 512
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}
_USE_ID = re.compile(r'"tool_use_id"\s*:\s*"([\w.:-]{1,128})"')


def salvage(head: str, tail: str) -> dict[str, object] | None:
    """The payload as far as it came, or None when it never was a JSON object."""
    payload = parse(head) or parse(_closed(head))
    if payload is None:
        return None
    ids = _USE_ID.findall(tail)
    if ids and "tool_use_id" not in payload:
        payload["tool_use_id"] = ids[-1]
    return payload


def _without_last_word(text: str) -> str:
    whole = text[:-LONGEST_WORD]
    return whole + text[-LONGEST_WORD:].rpartition(" ")[0] if len(text) > LONGEST_WORD else text


def _closed(head: str) -> str:
    """The head with its last, unfinished member closed or dropped. One pass."""
    open_brackets: list[str] = []
    end = 0
    for token in _TOKEN.finditer(head):
        end = token.end()
        mark = token.group()
        if mark in _CLOSER:
            open_brackets.append(_CLOSER[mark])
        elif mark in ("}", "]") and open_brackets:
            open_brackets.pop()
    rest, closers = head[end:], "".join(reversed(open_brackets))
    if '"' in rest:  # inside a string: a value if a colon or a comma in a list leads to it
        opening = rest.index('"')
        string = rest[opening + 1 :]
        string = _without_last_word(string)  # half a secret is no longer known for one
        while string.endswith("\\") or re.search(r"\\u[0-9a-fA-F]{0,3}$", string):
            string = string[: string.rindex("\\")]
        is_value = ":" in rest[:opening] or (open_brackets and open_brackets[-1] == "]")
        kept = f'{head[:end]}{rest[:opening]}"{string}{MARK}"'
        return (kept if is_value else f"{kept}:null") + closers
    # Between tokens: a lone key, a half number, a colon or a comma. Null closes each of them.
    rest = rest.rstrip()
    if rest.endswith(":"):
        return head[:end] + rest + "null" + closers
    return head[:end] + re.sub(r"[,\s]*[-+.\w]*$", "", rest) + closers
