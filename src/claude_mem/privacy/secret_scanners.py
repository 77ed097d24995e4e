"""Scanners for private-key blocks, passwords in URLs, `Authorization` headers and cookies.

A regular expression would be slow or wrong here, because the end of such a value depends on how it begins.
"""

from __future__ import annotations

from claude_mem.privacy.secret_values import (
    DIGITS,
    MARK,
    is_code,
    is_placeholder,
    is_random,
    is_wordy,
    past,
    run_end,
)

Span = tuple[int, int]

_LOOK = 256
_LONGEST_HEADER = 8192
_QUOTES = "\"'`"
_URL_ENDS = (" ", "\t", "\r", "\n", '"', "'", "`", "<", ">", MARK)


def key_blocks(text: str) -> list[Span]:
    """Private-key blocks. One without its end hides the rest; one without its start, what precedes it."""
    low = text.replace("\u0130", "_").lower()
    spans: list[Span] = []
    position = 0
    at = low.find("private key")
    while at >= 0:
        begin = low.rfind("begin ", max(position, at - 40), at)
        end = low.rfind("end ", max(position, at - 40), at)
        after = _dashes_end(low, at)
        at = low.find("private key", at + 1)
        if after < 0:
            continue
        if begin >= 0 and _has_dashes_before(low, begin):
            if _is_mention(text, after):
                continue
            start, position = begin - 5, len(text)
            while at >= 0:
                closes = low.rfind("end ", max(after, at - 40), at) >= 0
                closed = _dashes_end(low, at)
                at = low.find("private key", at + 1)
                if closes and closed >= 0:
                    position = closed
                    break
            spans.append((start, position))
        elif end >= 0 and _has_dashes_before(low, end) and _has_run(text[max(end - 105, 0) : end - 5]):
            spans, position = [(0, after)], after
    return spans


def _dashes_end(low: str, at: int) -> int:
    """Where the dashes after `private key` (or `private key block`) end, or -1 without any."""
    at += len("private key")
    at += len(" block") if low.startswith(" block", at) else 0
    at += 1 if low.startswith(" ", at) else 0
    end = at
    while low.startswith("-", end) and end < at + 5:
        end += 1
    return end if end >= at + 4 else -1


def _is_mention(text: str, at: int) -> bool:
    """Whether the header is only mentioned, as in `if "-----BEGIN PRIVATE KEY-----" in line`."""
    after = text[at : at + 200]
    return after.lstrip("\\")[:1] in ('"', "'", "`", ")", "/") and not _has_run(after)


def _has_dashes_before(low: str, at: int) -> bool:
    return low.endswith(("-----", "---- "), 0, at)


def _has_run(text: str) -> bool:
    """Whether the text contains 16 characters of base64 in a row."""
    run = 0
    for character in text:
        run = run + 1 if character.isalnum() or character in "+/=" else 0
        if run == 16:
            return True
    return False


def url_passwords(text: str) -> list[Span]:
    spans: list[Span] = []
    for mark in ("://", ":\\/\\/"):
        at = text.find(mark)
        while at >= 0:
            start = at + len(mark)
            span = _password_in(text, start)
            if span:
                spans.append(span)
            at = text.find(mark, span[1] if span else start)
    return spans


def _password_in(text: str, start: int) -> Span | None:
    """The password of user:password@host at the start of a URL, or a token in the user's place."""
    window = text[start : run_end(text, start, start + _LOOK, _URL_ENDS)]
    colon = window.find(":")
    slash = window.find("/")
    at_sign = window.rfind("@", 0, slash) if slash >= 0 else window.rfind("@")
    if 0 <= colon < slash and at_sign < 0 and not window[colon + 1 : slash].rstrip("\\").isdigit():
        at_sign = window.find("@")  # not a port: a password with an unescaped slash
    user = window[: max(at_sign, 0)].partition(":")[0]
    if is_random(user, 20) and any(c in DIGITS for c in user) and not is_placeholder(user):
        return start, start + at_sign
    if not 0 <= colon < at_sign:
        return None
    if 0 <= slash < colon:
        return None
    password = window[colon + 1 : at_sign]
    if not password or is_placeholder(password):
        return None
    return start + colon + 1, start + at_sign


# Schemes whose value is one word; for others, everything that follows is hidden.
_ONE_WORD = frozenset(
    """bearer basic token negotiate ntlm bot apikey api-key key sso-key ssws geniekey splunk jwt
    digest-token hawk-token zoho-oauthtoken klaviyo-api-key discogs kerberos""".split()
)


def authorizations(text: str) -> list[Span]:
    """The value of an `Authorization` header after its scheme, whatever that is."""
    low = text.replace("\u0130", "_").lower()
    spans: list[Span] = []
    at = low.find("authorization")
    while at >= 0:
        end = at + len("authorization")
        following = low.find("authorization", end, end + _LONGEST_HEADER)
        span = _header_value(text, at, end, following)
        credential = _credential(text, *span) if span else None
        if credential:
            spans.append(credential)
        at = low.find("authorization", max(credential[1] if credential else end, following))
    return spans


def cookies(text: str) -> list[Span]:
    """The values of cookies that are random or belong to a session."""
    low = text.replace("\u0130", "_").lower()
    spans: list[Span] = []
    at = low.find("cookie")
    while at >= 0:
        end = at + len("cookie") + low.startswith("s", at + 6)
        span = _header_value(text, at, end, low.find("cookie", end, end + _LONGEST_HEADER))
        if span:
            spans += _cookie_values(text, *span)
        at = low.find("cookie", span[1] if span else end)
    return spans


def _header_value(text: str, at: int, end: int, following: int) -> Span | None:
    """Where the value of this header starts and ends: with its quote, its line, or the next header."""
    start = past(text, end, "\\\"'`])", end + 9)
    start = past(text, start, " ", end + 12)
    separator = text[start : start + 1]
    if separator in (":", "=", ",", "(") and separator:
        start += 1
    elif not (start > end and text[end - 6 : end].lower() == "cookie" and text[max(at - 2, 0) : at] == "--"):
        return None
    opened = past(text, start, " >=", end + 24)
    start = past(text, opened, "\\\"'`{", opened + 9)
    quote = text[start - 1 : start] if start > opened else ""
    if not quote:
        before = text[max(at - 40, 0) : at].rpartition(" ")[2]
        quote = next((character for character in before if character in _QUOTES), "")
    limit = min(len(text), start + _LONGEST_HEADER) if following < 0 else following
    for stop in ("\n", "\r", "\\n", "\\r", quote if quote in ("", *_QUOTES) else ""):
        found = text.find(stop, start, limit) if stop else -1
        limit = found if found >= 0 else limit
    return (start, limit) if limit > start else None


def _credential(text: str, start: int, end: int) -> Span | None:
    value = text[start:end].rstrip(" \\")
    scheme, blank, rest = value.partition(" ")
    is_word = len(scheme) <= 24 and scheme.replace("-", "").isalnum()
    is_scheme = bool(blank) and is_word and not is_random(scheme, 12)
    if is_scheme:
        start += len(scheme) + 1
        value = rest
    if not is_scheme or scheme.lower() in _ONE_WORD:
        value = value.lstrip(" ")
        start += len(rest) - len(value) if is_scheme else 0
        head = value.partition(" ")[0]
        value = head if "=" not in head.rstrip("=") or head.count("=") == 1 else value
    value = value.rstrip(",;)]}")
    inner = value.partition("=")[2] if value.lower().startswith(("key=", "token=")) else value
    if not inner or inner[0] in "${<+" or MARK in value[:40] or is_placeholder(inner) or is_code(inner):
        return None
    pieces = inner.replace(",", " ").replace("=", " ").replace("&", " ").replace('"', " ").split()
    if is_scheme and len(pieces) == 1 and scheme.lower() in _ONE_WORD and scheme.lower() != "key":
        return (start, start + len(value)) if len(inner) >= 6 and not is_wordy(inner) else None
    if not any(is_random(piece, 12) for piece in pieces):
        return None
    return start, start + len(value)


def _cookie_values(text: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    at = start
    while at < end:
        stop = text.find(";", at, end)
        stop = end if stop < 0 else stop
        equals = text.find("=", at, stop)
        if equals >= 0:
            name, value = text[at:equals].strip().lower(), text[equals + 1 : stop].strip(" \"'")
            begin = equals + 1 + text[equals + 1 : stop].find(value) if value else stop
            if value and not is_placeholder(value) and _is_session(name, value):
                spans.append((begin, begin + len(value)))
        at = stop + 1
    return spans


_SESSION_NAMES = ("sess", "sid", "token", "auth", "csrf", "jwt", "login", "remember")


def _is_session(name: str, value: str) -> bool:
    if name in ("path", "domain", "expires", "max-age", "samesite", "priority", "version"):
        return False
    if any(part in name for part in _SESSION_NAMES) and is_random(value, 8):
        return True
    return is_random(value, 16) and any(c in DIGITS for c in value)


SCANNERS = {
    "private-key": key_blocks,
    "url-password": url_passwords,
    "authorization": authorizations,
    "cookie": cookies,
}
