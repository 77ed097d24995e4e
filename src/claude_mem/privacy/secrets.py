"""Replaces secrets with a mark: applies every rule to a text, and to its decoded forms.

The rules are the tables in `secret_rules`, with one row each (name, keywords, pattern, example), and SCANNED
below, which lists the kinds that scanners find: assignments (`assignments`),
private keys, URLs and headers (`secret_scanners`). A test feeds each row its example; another checks that the
work grows in proportion to the text. Redaction is best effort.
"""

from __future__ import annotations

from claude_mem.privacy import credential_names
from claude_mem.privacy.secret_rules import CREDENTIAL_COMMANDS, CREDENTIAL_FILES, VENDOR_TOKENS, Row
from claude_mem.privacy.secret_values import (
    MARK,
    is_address,
    is_password,
    is_placeholder,
    is_random,
    is_wordy,
)

Span = tuple[int, int]

SCANNED: tuple[Row, ...] = (
    (
        "private-key",
        "private key-|private key -|private key block",
        "",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    ),
    ("url-password", r"://|:\/\/", "", "postgresql://app:hunter2hunter2@db.internal:5432/app"),
    (
        "authorization",
        "authorization",
        "",
        "Authorization: Digest username=jo, response=0123456789abcdef0123456789abcdef",
    ),
    ("cookie", "cookie", "", "Set-Cookie: sessionid=0123456789abcdef0123456789abcdef; HttpOnly"),
    ("assignment", "|".join(credential_names.STEMS), "", 'DB_PASSWORD="hunter2hunter2"'),
    (
        "assignment",
        "|".join((*credential_names.FOREIGN, *credential_names.FOREIGN_KEYS)),
        "",
        "Passwort: hunter2hunter2",
    ),
)
RULES: tuple[Row, ...] = tuple(
    (name, keyword, pattern, example)
    for name, keywords, pattern, example in (
        *VENDOR_TOKENS,
        *CREDENTIAL_FILES,
        *CREDENTIAL_COMMANDS,
        *SCANNED,
    )
    for keyword in keywords.split("|")
)
_VENDORS = frozenset(name for name, _, _, _ in VENDOR_TOKENS)

_GUESSED = ("told-login", "call-login", "command-login")  # what they find is a secret if it looks like one
_HEADERS = ("authorization", "cookie")
_ESCAPED = ("%", "&", "\\", "\x1b[", "=3D")
_PASSES = 4  # what a mark replaced may have kept its surroundings from being seen for what they are


def relevant(text: str) -> tuple[Row, ...]:
    """The rules whose keyword occurs in the text; no others need to be tried."""
    low = text.lower()
    return tuple(rule for rule in RULES if rule[1] in low)


def redact(text: str, extra: tuple[tuple[str, str], ...] = (), rules: tuple[Row, ...] = RULES) -> str:
    """Replace every secret by `[redacted:<rule>]`. `extra` are the user's own (name, pattern) pairs."""
    for _ in range(_PASSES):
        before, low = text, text.lower()
        tokens = tuple(rule for rule in rules if rule[0] in _VENDORS and rule[1] in low)
        text = _replace(text, find(text, rules))
        text = _without_extra(text, extra) if extra else text
        if tokens or any(sign in text for sign in _ESCAPED) or _has_long_word(text):
            text = _without_encoded(text, tokens)
        if text == before:
            break
    return text


def _without_encoded(text: str, tokens: tuple[Row, ...]) -> str:
    from claude_mem.privacy import encodings  # as late as `re`, and for the same reason

    view = encodings.decoded(text)
    text = _replace(text, view.in_original(find(view.text, RULES))) if view else text
    if tokens:
        view = encodings.joined(text)
        text = _replace(text, view.in_original(find(view.text, tokens))) if view else text
        text = _continued(text)
    runs = [span for span in encodings.encoded_runs(text) if _is_secret_inside(span, text)]
    return _replace(text, [(start, end, "encoded") for start, end in runs])


def _has_long_word(text: str) -> bool:
    return any(len(word) >= 20 and MARK not in word for word in text.split())


def find(text: str, rules: tuple[Row, ...]) -> list[tuple[int, int, str]]:
    low = text.lower()
    live = {pattern or name: name for name, keyword, pattern, _ in rules if keyword in low}
    found: list[tuple[int, int, str]] = []
    for pattern, name in live.items():
        spans = _scan(text, name) if pattern == name else _matches(text, pattern, name in _GUESSED)
        found += [(start, end, name) for start, end in spans]
    return found


def _scan(text: str, name: str) -> list[Span]:
    """What the scanner with this name finds. It is imported when needed, because imports slow down the
    hook."""
    if name == "assignment":
        from claude_mem.privacy import assignments

        return assignments.values(text)
    from claude_mem.privacy import secret_scanners

    return secret_scanners.SCANNERS[name](text)


def _matches(text: str, pattern: str, is_guessed: bool) -> list[Span]:
    import re  # 6 ms: only when a keyword was found

    spans: list[Span] = []
    for match in re.compile(pattern).finditer(text):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end]
        if is_guessed and not _is_likely(value):
            continue
        if "xxxxxxxx" not in value and not (match.lastindex and is_placeholder(value)):
            spans.append((start, end))
    return spans


def _is_likely(value: str) -> bool:
    if not is_password(value) or "/" in value or is_address(value):
        return False
    return not (value.islower() and ("_" in value or "-" in value) and is_wordy(value))


# Text that continues a token after a line break or a color change is the rest of the token.
_CONTINUATION = (
    r"(\[redacted:[\w-]+\])"
    r"(\\{0,2}\r?\n[ \t]{0,16}|\x1b\[[0-9;]{0,16}[A-Za-z]|[\"'][ \t]{0,4}\+?[ \t]{0,4}\r?\n?[ \t]{0,16}[\"'])"
    r"([\w+/=-]{8,})(?=[\"'\x1b\n\r]|$)"
)


def _continued(text: str) -> str:
    if MARK not in text or not ("\n" in text or "\x1b" in text):
        return text
    import re

    found = [
        (*match.span(3), match.group(1)[len(MARK) : -1])
        for match in re.compile(_CONTINUATION).finditer(text)
        if (match.group(1)[len(MARK) : -1] in _VENDORS or match.group(2).startswith(("\\", '"', "'")))
        and is_random(match.group(3), 8)
    ]
    return _replace(text, found)


def _is_secret_inside(span: Span, text: str) -> bool:
    from claude_mem.privacy import encodings

    inside = encodings.decoded_run(text[span[0] : span[1]])
    if not inside:
        return False
    if find(inside, RULES):
        return True
    return any(_is_secret_inside(deeper, inside) for deeper in encodings.encoded_runs(inside)[:4])


def redact_value(key: str, value: str) -> str:
    """Redacts the value of a parsed mapping; the key alone may show that it is a secret."""
    low = key.lower()
    if is_placeholder(value):
        return value
    kind = credential_names.kind_of(key)
    if kind == credential_names.PASSWORD and len(value) >= 4 and "\n" not in value:
        return MARK + "assignment]"
    if kind == credential_names.KEY and is_random(value, 8):
        return MARK + "assignment]"
    if low.endswith(_HEADERS) and len(value) >= 8:
        return MARK + "authorization]"
    return value


def _without_extra(text: str, extra: tuple[tuple[str, str], ...]) -> str:
    import re

    for name, pattern in extra:
        try:
            rule = re.compile(pattern)
        except re.error:
            continue  # `doctor` names a broken pattern; a hook must not fail by it
        # What is already redacted is left alone, or a pattern such as \w+ would redact the marks.
        parts = re.split(r"(\[redacted:[^\]]*\])", text)
        parts[::2] = [rule.sub(lambda _, name=name: f"{MARK}{name}]", part) for part in parts[::2]]
        text = "".join(parts)
    return text


def _replace(text: str, found: list[tuple[int, int, str]]) -> str:
    if not found:
        return text
    pieces: list[str] = []
    position = 0
    for start, end, name in sorted(found):
        if start >= position and end > start:
            pieces += (text[position:start], f"{MARK}{name}]")
        position = max(position, end)
    return "".join(pieces) + text[position:]
