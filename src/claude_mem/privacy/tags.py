"""Hides text inside tags, and recognizes the client's own notification that a background task has ended.

A scanner, not a parser: markup in prompts and tool output is rarely well formed, so in case of doubt text is
hidden. An opening tag counts as soon as its name is complete (its attributes would be hidden anyway); a
closing tag counts only if it is complete. Brackets and slashes may be written as HTML, JSON, percent or
hexadecimal escapes or in full width, and zero-width characters may appear anywhere. One pass, no regular
expressions, linear time.
"""

from __future__ import annotations

PRIVATE = "private"

# Lower-case. The first is the user's; the others are injected by us and by the client.
HIDDEN_TAGS: tuple[str, ...] = (
    PRIVATE,
    "claude-mem-context",
    "system-reminder",
    "system_instruction",
    "system-instruction",
    "persisted-output",
    # The tags in which Gemini and Copilot show what hooks have injected.
    "hook_context",
    "system_reminder",
)

_OPENING = (
    "<",
    "&lt;",
    "&amp;lt;",
    "%3c",
    "%253c",
    *(f"{amp}#{code};" for amp in ("&", "&amp;") for code in ("60", "060", "0060", "x3c", "x03c", "x003c")),
)
_CLOSING = (
    ">",
    "&gt;",
    "&amp;gt;",
    "%3e",
    "%253e",
    *(f"{amp}#{code};" for amp in ("&", "&amp;") for code in ("62", "062", "0062", "x3e", "x03e", "x003e")),
)
_SLASH = ("&#47;", "&#047;", "&#x2f;", "&sol;", "%2f", "%252f", "&amp;#47;", "&amp;#x2f;")
_NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
FULL_WIDTH = {0xFF01 + n: 0x21 + n for n in range(94)}

# Joins the kept pieces when joining them directly would spell a new tag: <pri<private>x</private>vate>.
_SEAM = "…"


def strip(text: str, inside: str | None = None) -> tuple[str, str | None, bool]:
    """Return (remaining text, the tag still open at its end, whether private text was removed)."""
    stripped, still, _, private = strip_nested(text, inside, 1 if inside else 0)
    return stripped, still, private


def strip_nested(text: str, inside: str | None, depth: int) -> tuple[str, str | None, int, bool]:
    """Like strip, for text that begins depth levels inside a tag and may end so."""
    private = inside == PRIVATE
    low = lowered(text)
    at: range | list[int] = range(len(text) + 1)  # where in the text each character of low stands
    plain = _without_no_width(low)
    if plain is not low and _tags(plain):
        at = [index for index, char in enumerate(low) if char not in _NO_WIDTH] + [len(text)]
        low = plain
    pieces: list[str] = []
    position = 0
    for start, end, name, closing in _tags(low):
        if inside is None and not closing:
            pieces.append(text[position : at[start]])
            inside, depth = name, 1
            private = private or name == PRIVATE
        elif inside is None:
            if name == PRIVATE:
                # An orphan: this text began inside a private block, as part of a file may.
                pieces.clear()
                private = True
                position = at[max(end, _closed_at(low, end)) - 1] + 1
        elif name == inside and not closing:
            depth += 1
        elif name == inside:
            resume = _closed_at(low, end)
            if resume > 0:
                depth -= 1
            if depth == 0:
                inside, position = None, at[resume - 1] + 1
    if inside is None:
        pieces.append(text[position:])
    return _join(pieces), inside, depth, private


def _join(pieces: list[str]) -> str:
    joined = "".join(pieces)
    if len(pieces) < 2:
        return joined
    low = lowered(joined)
    found = _tags(low) + _tags(_without_no_width(low))
    hides = any(not closing or name == PRIVATE for _, _, name, closing in found)
    return _SEAM.join(pieces) if hides else joined


def may_hide(text: str) -> bool:
    """Whether any of the tags is named in the text, however its letters are encoded."""
    low = _without_no_width(lowered(text))
    return any(tag in low for tag in HIDDEN_TAGS)


def _without_no_width(low: str) -> str:
    """The text without zero-width characters; the same object if it has none."""
    return low.translate(dict.fromkeys(map(ord, _NO_WIDTH))) if any(c in low for c in _NO_WIDTH) else low


def lowered(text: str) -> str:
    """The text in lower case and normal width, with the same length."""
    if not text.isascii():
        text = text.translate(FULL_WIDTH)
    # U+0130 is the one character whose lower case is longer, which would shift every later position.
    return text.replace("\u0130", "_").lower()


def _tags(low: str) -> list[tuple[int, int, str, bool]]:
    """Every hidden tag as (start, end of its name, name, is it a closing tag), in order."""
    found: list[tuple[int, int, str, bool]] = []
    for name in HIDDEN_TAGS:
        at = low.find(name)
        while at >= 0:
            end = at + len(name)
            if end == len(low) or not (low[end].isalnum() or low[end] in "_-.:"):
                slash = _slash_before(low, at)
                start = _bracket_before(low, slash)
                # < private >, </ private>
                if start < 0 and low[at - 1 : at] == " " and _closed_at(low, end) > 0:
                    back = _without_spaces(low, at)
                    slash = _slash_before(low, back)
                    start = _bracket_before(low, _without_spaces(low, slash))
                    slash = at if slash == back else slash
                if start >= 0:
                    found.append((start, end, name, slash < at))
            at = low.find(name, end)
    found.sort()
    return found


def _without_spaces(low: str, at: int) -> int:
    least = max(at - 4, 0)
    while at > least and low[at - 1] == " ":
        at -= 1
    return at


def _slash_before(low: str, at: int) -> int:
    """Where the slash that ends at `at` begins (/, \\/ or \\u002f), or `at` if there is none."""
    if low.endswith("/", 0, at):
        return _backslashes_before(low, at - 1)
    found = _spelling_before(low, at, _SLASH, ("u002f", "x2f"))
    return found if found >= 0 else at


def _bracket_before(low: str, at: int) -> int:
    """Where the < that ends at `at` begins, in plain, HTML or JSON spelling, or -1."""
    return _spelling_before(low, at, _OPENING, ("u003c", "x3c"))


def _spelling_before(low: str, at: int, spellings: tuple[str, ...], escapes: tuple[str, ...]) -> int:
    """Where the spelling or escape that ends at `at` begins, or -1. Nested JSON doubles an escape's
    backslashes."""
    for spelling in spellings:
        if low.endswith(spelling, 0, at):
            return at - len(spelling)
    for escape in escapes:
        end = at - len(escape)
        if low.endswith(escape, 0, at) and (start := _backslashes_before(low, end)) < end:
            return start
    return -1


def _backslashes_before(low: str, at: int) -> int:
    while at > 0 and low[at - 1] == "\\":
        at -= 1
    return at


def _closed_at(low: str, at: int) -> int:
    """The position after the > that completes a closing tag, or -1 if it is not complete."""
    while at < len(low) and low[at].isspace():
        at += 1
    for spelling in _CLOSING:
        if low.startswith(spelling, at):
            return at + len(spelling)
    digits = at
    while digits < len(low) and low[digits] == "\\":
        digits += 1
    if digits > at and low.startswith("x3e", digits):
        return digits + 3
    return digits + 5 if digits > at and low.startswith("u003e", digits) else -1


# Subagents and background commands may outlive the turn that started them. Their end begins a new turn, with
# a prompt that no user wrote and that may contain all the task's findings.

_TASK_NOTIFICATION = "<task-notification>"


def is_task_notification(prompt: str) -> bool:
    return prompt.lstrip().startswith(_TASK_NOTIFICATION)


def notification_summary(prompt: str) -> str:
    """What ended and how; otherwise the whole text. A subagent's findings are in its own stop event."""
    _, _, rest = prompt.partition("<summary>")
    summary, closed, _ = rest.partition("</summary>")
    return summary.strip() if closed and summary.strip() else prompt
