"""Finds secrets in sentences: `the password for staging is …`, `密码：…`, `… is the password`.

Such a sentence has a word (`is`, `lautet`, `は`) or a colon between the name and the value, and the value is
not a word. Linear: each name is examined once, within a bounded distance.
"""

from __future__ import annotations

from claude_mem.privacy.credential_names import (
    FOREIGN,
    FOREIGN_KEYS,
    KEY,
    NO_SECRET_BEFORE,
    PASSWORD,
    WEAK_KEY,
)
from claude_mem.privacy.secret_values import (
    DIGITS,
    MARK,
    is_address,
    is_blob,
    is_hex,
    is_password,
    is_placeholder,
    is_random,
    is_wordy,
    past,
    run_end,
)

Span = tuple[int, int]

LOOK = 256  # of a value, before deciding
QUOTES = "\"'`"
HARD_ENDS = (" ", "\t", "\r", "\n", '"', "'", "`", "<", MARK)
ENDS = (*HARD_ENDS, *">\\;&|,），。」』”»、\u200b")
TRAILING = ",.)]}:;"

_LINKS = frozenset(
    """is was to from be now = -> => — – - ist lautet es est é è sei are 是 为 為 は 는 은 هي है هو
    to: är on je jest adalah là""".split()
)
_BETWEEN = " \t:：=→—–是为為は는은«»\"'`*(（）,，-、「『“„”"
_OPENS = "「『“„«"
_TELLS = ":：=→—–是为為は는은" + _OPENS


def foreign_values(text: str, low: str) -> list[Span]:
    """The values after the words for password and key in other languages."""
    spans: list[Span] = []
    for words, kind in ((FOREIGN, PASSWORD), (FOREIGN_KEYS, KEY)):
        for word in words:
            at = low.find(word)
            while at >= 0:
                end = _inflected(text, at + len(word))
                span = secret_after(text, end, kind)
                if span:
                    spans.append(span)
                at = low.find(word, end)
    return spans


def _inflected(text: str, at: int) -> int:
    """The end of a word that may be inflected: şifre, şifresi."""
    end = at
    while text[end : end + 1].isalpha() and text[end] < "\u0600" and end < at + 4:
        end += 1
    return at if text[end : end + 1].isalpha() else end


def secret_after(text: str, end: int, kind: str) -> Span | None:  # noqa: PLR0911, PLR0912 - word by word
    """`password for the staging box is X`, `use this token: X`; or X alone on the next line."""
    if kind == WEAK_KEY:
        return None
    line_end = run_end(text, end, end + 80, ("\n",))
    if not text[end:line_end].strip(" \t:：\r*"):
        return alone_on_next_line(text, line_end, kind)
    if text[end].isascii() and text[end] not in " \t:=\"'`*":
        return None
    at = end
    is_introduced = False
    for turn in range(8):
        while text[at : at + 1] and text[at] in _BETWEEN and at < line_end:
            is_introduced = is_introduced or text[at] in _TELLS or (turn > 0 and text[at] in QUOTES)
            at += 1
        if text.startswith(MARK, at) and at < line_end:  # from X to Y
            at, is_introduced = run_end(text, at, line_end, ("]",)) + 1, False
            continue
        stop = run_end(text, at, min(at + LOOK, line_end + LOOK), (*ENDS, *_OPENS, "："))
        word = text[at:stop].rstrip(TRAILING if is_introduced else TRAILING + "?!")
        word = _ascii_part(word)
        if at >= line_end and is_introduced and text[line_end : line_end + 1] == "\n":
            return alone_on_next_line(text, line_end, kind)
        if not word or at >= line_end or any(sign in word.rstrip("=") for sign in "([{<="):
            return None
        if word.lower() in NO_SECRET_BEFORE:
            return None
        if word.lower() in _LINKS:
            is_introduced = True
        elif not is_placeholder(word) and _is_secret(word, kind, is_introduced or turn == 0):
            return at, value_end(text, at, at + len(word))
        elif kind != PASSWORD and turn > 3:
            return None
        is_introduced = is_introduced or text[stop - 1 : stop] in (":", "：")
        at = stop
        if text[at : at + 1] in (";", "|", "&", "<", ">", "\\"):
            return None
    return None


def _is_secret(word: str, kind: str, is_introduced: bool) -> bool:
    has_digit = any(c in DIGITS for c in word)
    if not is_introduced:  # a long one is recognizable without it, unless it may be a commit
        return len(word) >= 32 and has_digit and is_random(word, 32) and not is_hex(word)
    if kind == PASSWORD:
        is_name = "_" in word and word.islower() and is_wordy(word)
        return is_password(word, 6) and not (is_name or word.startswith(("--", "/")) or is_address(word))
    return has_digit and is_random(word, 16) and ("/" not in word or is_blob(word))


def _ascii_part(word: str) -> str:
    """The ASCII part of a word: the X of `X입니다`, `Xです`."""
    if word.isascii() or not word[:6].isascii():
        return word
    return word[: next(at for at, character in enumerate(word) if not character.isascii())]


def alone_on_next_line(text: str, at: int, kind: str) -> Span | None:
    """A value that is alone on the next non-empty line. YAML marks it with | or >-."""
    start = past(text, at, '\r\n \t|>"-+', at + 48)
    end = run_end(text, start, start + LOOK, ("\n",))
    line = text[start:end].strip()
    if " " in line or line.endswith((":", ";", "{", ",", ")")) or "=" in line.rstrip("="):
        return None
    is_secret = is_password(line, 6) if kind == PASSWORD else is_random(line, 16)
    return (start, start + len(line)) if is_secret and not is_placeholder(line) else None


def secret_before(text: str, at: int, kind: str) -> Span | None:
    """`X is the password`, `log in with X as the password`."""
    lead = text[max(at - 80, 0) : at]
    for link in (" is the ", " as the ", " is my ", " is our ", " as its ", " is its ", " as "):
        if lead.endswith(link):
            word = lead[: -len(link)].replace("\n", " ").rpartition(" ")[2].strip("\"'`,:(")
            if word and kind == PASSWORD and is_password(word, 6) and not is_placeholder(word):
                start = text.rfind(word, max(at - 80, 0), at)
                return start, start + len(word)
    return None


def value_end(text: str, start: int, stop: int) -> int:
    """The end of a value that was examined up to `stop`."""
    return stop if stop < start + LOOK else run_end(text, stop, len(text), HARD_ENDS)
