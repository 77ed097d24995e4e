"""Reads a tool call's JSON, whichever client it came from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

Fields = Mapping[str, object]


PATH_KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file")

_RUN = "[A-Za-z0-9+/_=-]"
# The look-behind keeps a search from starting again inside a run it has just measured.
_BINARY = re.compile(f"(?<!{_RUN}){_RUN}{{400,}}+")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*+[A-Za-z]")
_TEXT_KEYS = (
    "stdout",
    "stderr",
    "output",
    "result",
    "content",
    "text",
    "returnDisplay",
    "llmContent",
    "error",
)


def load(text: str | None) -> object:
    """JSON, or the text as it is."""
    if not text:
        return ""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def fields(value: object) -> Fields:
    return value if isinstance(value, dict) else {}


def word(given: Fields, *keys: str) -> str:
    """The first of these that is text and says something."""
    for key in keys:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def command(given: object) -> str:
    """What was run; Codex gives a list of words, as for exec."""
    if isinstance(given, str):
        return given
    value = fields(given).get("command") or fields(given).get("cmd")
    if isinstance(value, list):
        words = [part for part in value if isinstance(part, str)]
        return words[-1] if len(words) == 3 and words[1].startswith("-") else " ".join(words)
    return value if isinstance(value, str) else ""


def text_of(value: object, depth: int = 4) -> str:
    """What a person would read in a tool's answer: its text, without pictures, binary data and colours."""
    if isinstance(value, str):
        plain = _ESCAPES.sub("", value) if "\x1b" in value else value
        return _BINARY.sub(lambda run: f"[…{len(run[0])} chars of binary data…]", plain).strip()
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (text_of(each, depth - 1) for each in value)))
    if isinstance(value, dict) and depth:
        if value.get("type") == "image" or value.get("isImage") is True:
            return "[image]"
        known = [text_of(value[key], depth - 1) for key in _TEXT_KEYS if value.get(key)]
        return "\n".join(filter(None, known)) if known else compact(value)
    return "" if value is None else compact(value)


def compact(value: object) -> str:
    try:
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return "[…]"
    return _BINARY.sub("[…binary data…]", plain)
