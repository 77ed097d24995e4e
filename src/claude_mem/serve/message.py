"""Reads one JSON object from a stranger, whatever it holds."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from claude_mem.serve.refusal import Refusal

DEEPEST = 100
"""How far lists and objects may nest. What comes after us walks them by recursion."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse(raw: bytes, what: str = "The body") -> dict[str, object]:
    """The object; nothing at all counts as an empty one. Raises Refusal, which calls it `what`."""
    if not raw.strip():
        return {}
    try:
        found: object = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "bad_json", f"{what} is not UTF-8.") from None
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refusal(400, "bad_json", f"{what} is not JSON{where}.") from None
    if not isinstance(found, dict):
        raise Refusal(400, "bad_json", f"{what} is JSON, but not an object.")
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and _depth_exceeds(found, DEEPEST):
        raise _too_deep(what)
    if _SURROGATE.search(raw):
        found = _without_lone_surrogates(found)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are JavaScript, not JSON


def _too_deep(what: str) -> Refusal:
    return Refusal(400, "too_deep", f"{what} nests deeper than {DEEPEST} levels.")


def _depth_exceeds(value: object, most: int) -> bool:
    level: list[object] = [value]
    for _ in range(most):
        deeper: list[object] = []
        for item in level:
            if isinstance(item, dict):
                deeper += [inner for inner in item.values() if isinstance(inner, dict | list)]
            elif isinstance(item, list):
                deeper += [inner for inner in item if isinstance(inner, dict | list)]
        if not deeper:
            return False
        level = deeper
    return True


def _without_lone_surrogates(value: dict[str, object]) -> dict[str, object]:
    """Half a character can be written in JSON, but not in UTF-8, nor in the database."""
    text = json.dumps(value, ensure_ascii=False)
    clean: dict[str, object] = json.loads(text.encode("utf-8", "replace"))
    return clean
