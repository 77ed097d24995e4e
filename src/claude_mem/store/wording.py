"""Whether a text holds some words, however it writes them."""

from __future__ import annotations

import json
import re

_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Wording:
    """Words as they may stand in a text: plainly, in JSON (what went into tools, facts), or in JSON within
    JSON; in any case."""

    def __init__(self, words: str) -> None:
        once = json.dumps(words, ensure_ascii=False)[1:-1]
        twice = json.dumps(once, ensure_ascii=False)[1:-1]
        self._spellings = {_plain(words), _plain(once), _plain(twice)}

    def is_in(self, text: str) -> bool:
        plain = _plain(text)
        return any(spelling in plain for spelling in self._spellings)


def _plain(text: str) -> str:
    """All letters small, and as themselves: not as JSON may write those outside of ASCII."""
    if "\\u" in text:
        text = _SURROGATES.sub(_letter, _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))
    return text.casefold()


def _letter(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
