"""Finds the values assigned to names of secrets, in the syntax of a dozen languages and in prose.

What follows a name decides: NAME=value, "name": "value", define('NAME', 'value'), {"name": "NAME", "value":
"…"}, ENV NAME value, name: Type = Some("value"), <name>value<, a value on the next line, `the password is …`.

Everything is looked at once, a bounded distance around each name: linear.
"""

from __future__ import annotations

from claude_mem.privacy.credential_names import (
    FOREIGN,
    KEY,
    KEY_AFTER,
    NO_KEY_AFTER,
    NO_SECRET_BEFORE,
    PASSWORD,
    PASSWORD_ENDS,
    STEMS,
    WEAK_KEY,
    kind_of,
)
from claude_mem.privacy.secret_values import (
    DIGITS,
    MARK,
    is_code,
    is_password,
    is_placeholder,
    is_random,
    is_uuid,
    is_wordy,
)

_SENTENCE = frozenset(
    """is was to be now = -> => — – - ist lautet es est é è sei are 是 为 為 は 는 은 هي है هو
    to: är on je jest adalah là""".split()
)

_QUOTES = "\"'`"
_SPACE = " \t"
_LOOK = 256  # of a value, before deciding
_NAME_LOOK = 40
_NAME_MARKS = "_-.$"
_HARD_ENDS = (" ", "\t", "\r", "\n", '"', "'", "`", "<", MARK)
_ENDS = (*_HARD_ENDS, ">", "\\", ";", "&", "|", ",", "）", "，", "。", "\u200b")
_ENV_ENDS = tuple(end for end in _ENDS if end != ",")
_TRAILING = ",.)]}:;"

Span = tuple[int, int]


def values(text: str) -> list[Span]:
    low = text.replace("\u0130", "_").lower()
    spans: list[Span] = []
    seen = 0  # what is in a value is not a name
    for name_start, name_end in _names(text, low):
        kind = kind_of(text[name_start:name_end]) if name_start >= seen else None
        span = _value(text, low, name_start, name_end, kind) if kind else None
        if span:
            spans.append(span)
            seen = span[1]
    for word in FOREIGN:
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            span = _in_sentence(text, end, PASSWORD)
            if span:
                spans.append(span)
            at = low.find(word, end)
    return spans


def _names(text: str, low: str) -> list[Span]:
    """Where the identifiers are that hold a stem."""
    found: dict[int, int] = {}
    for stem in STEMS:
        at = low.find(stem)
        while at >= 0:
            start, end = at, at + len(stem)
            while start > at - _NAME_LOOK and start > 0 and _is_name(text[start - 1]):
                start -= 1
            if text[start - 1 : start] == "\\" and text[start] in "nrt" and start < at:
                start += 1  # a line break that nested JSON spells as \n
            while end < at + _NAME_LOOK and end < len(text) and _is_name(text[end]):
                end += 1
            while text[end - 1] in ".-$" and end > at + len(stem):
                end -= 1
            found[start] = max(end, found.get(start, 0))
            at = low.find(stem, end)
    return sorted(found.items())


def _is_name(character: str) -> bool:
    return (character.isalnum() and character.isascii()) or character in _NAME_MARKS


def _value(text: str, low: str, at: int, end: int, kind: str) -> Span | None:
    name = text[at:end]
    if kind == WEAK_KEY:
        word = text[max(at - 16, 0) : at].rstrip(" ").replace("\n", " ").rpartition(" ")[2].lower()
        if word in NO_KEY_AFTER:
            return None
        kind = KEY if word in KEY_AFTER and text[at - 1 : at] == " " else kind
    if text[at - 1 : at] == ":" == text[end : end + 1]:  # arn:aws:secretsmanager:eu-west-1:1234:secret:name
        return None
    if "::" in text[max(at - 40, 0) : at].rpartition('"')[2] and text[at - 1 : at] == ":":
        return None
    after = end
    while text.startswith("\\", after):
        after += 1
    is_quoted = text[after : after + 1] in _QUOTES and after < len(text)
    if is_quoted:
        after += 1
        while text[after : after + 1] in ("]", ")") and after < end + 16:
            after += 1
    else:
        after = end
        if text.startswith(("]", "*", "?"), after):
            after += 1
        if text.startswith("</", after):  # <key>ApiSecret</key>⏎<string>X</string>
            return _in_next_element(text, after, kind)
    space = _skip(text, after)
    separator = _separator(text, space)
    if separator:
        is_tight = (
            space == end and separator == "=" and text[space + 1 : space + 2] not in (" ", "\t", "\n", "\r")
        )
        start = _skip(text, space + len(separator))
        if text[start : start + 1] in ("\r", "\n", "|", ">") and not is_tight:
            return _on_next_line(text, start, kind)
        return _assigned(text, at, start, kind, name, is_tight)
    if is_quoted:
        return _after_quoted_name(text, low, after, kind)
    if text.startswith(("(", "( "), after) and kind == PASSWORD:
        start = _skip(text, after + 1)
        return _quoted(text, start, kind) if _opens_quote(text, start) else None
    if text.startswith(">", after) and space == after:
        return _assigned(text, at, after + 1, kind, name, False)
    if text.startswith("|", space) and text[max(at - 3, 0) : at].strip() in ("|", "| "):
        return _assigned(text, at, _skip(text, space + 1), kind, name, False)
    if space > after:
        before = text[max(at - 24, 0) : at]
        if before.endswith(
            ("ENV ", "setenv ", "setx ", "set -gx ", "set -x ", "set -Ux ", "-x ", "SET ", "env:")
        ) or (before.endswith("-") or name.startswith("-")):
            return _assigned(text, at, space, kind, name, True)
        if kind == PASSWORD and _opens_quote(text, space):
            return _quoted(text, space, kind)
    return _in_sentence(text, end, kind) or _before(text, at, kind)


def _skip(text: str, at: int) -> int:
    start = at
    while text[at : at + 1] in (" ", "\t") and at < start + 32:
        at += 1
    return at


def _separator(text: str, at: int) -> str:
    if text.startswith(("==", "::", "=~", "!=")):
        return ""
    for separator in (":=", "=>", "?=", "+=", "->", "=", ":", "：", "＝"):
        if text.startswith(separator, at):
            return "" if text.startswith(("==", "::", "=~"), at) else separator
    return ""


def _opens_quote(text: str, at: int) -> bool:
    return text[at : at + 20].lstrip("\\")[:1] in ('"', "'", "`")


def _assigned(text: str, at: int, start: int, kind: str, name: str, is_tight: bool) -> Span | None:
    """The value after a separator."""
    start += _literal_prefix(text, start)
    if _opens_quote(text, start):
        return _quoted(text, start, kind)
    is_env = is_tight and (name.isupper() or text[at - 1 : at] in ("?", "&", "-", "#"))
    stop = _env_line_end(text, at, start) if is_tight else -1
    if stop < 0:
        stop = _run_end(text, start, start + _LOOK, _ENV_ENDS if is_env else _ENDS)
        value = text[start:stop].rstrip(_TRAILING)
    else:
        value = text[start:stop]
    if text.startswith("{", start):
        return _sibling(text, start + 1, kind)
    wrapped = _wrapped(text, start, kind)
    if wrapped:
        return wrapped
    if text[start + len(value) : start + len(value) + 1] == "\\" and not value:
        return None
    if _is_secret(value, kind, is_env=is_env, is_tight=is_tight, is_name_of_secret=name.endswith("SECRET")):
        return start, _whole(text, start, start + len(value))
    if text.startswith(": ", at + len(name)) or text.startswith("：", at + len(name)):
        return _in_sentence(text, at + len(name), kind)
    return None


def _literal_prefix(text: str, at: int) -> int:
    """Of b"…", r'…', N'…', @"…", $"…", &"…"; base64: in front of a key; an opening brace of ODBC."""
    for prefix in ("base64:", "Bearer ", "bearer "):
        if text.startswith(prefix, at):
            return len(prefix)
    if text[at : at + 1] in tuple("brfuNL@$&") and text[at + 1 : at + 2] in ('"', "'", "`"):
        return 1
    inner = text[at + 1 : at + 64].partition("}")[0]
    return (
        1 if text.startswith("{", at) and is_password(inner) and not any(c in inner for c in "\"': ,{") else 0
    )


def _env_line_end(text: str, at: int, start: int) -> int:
    """The end of a line that is NAME=value and nothing else, or -1. There the value ends with the line."""
    begin = max(text.rfind("\n", max(at - 40, 0), at) + 1, at - 40, 0)
    if begin and text[begin - 1] != "\n":
        return -1
    if text[begin:at].strip() not in (
        "",
        "export",
        "set",
        "ENV",
        "ARG",
        "-",
        "declare -x",
        "typeset -x",
        "+",
        "setx",
    ):
        return -1
    stop = _run_end(text, start, start + 4 * _LOOK, (" ", "\t", "\r", "\n", MARK))
    if any(quote in text[start:stop] for quote in ('",', '"}', '\\"', "\\n")):
        return -1  # a line of nested JSON
    return stop if text[stop : stop + 1] in ("", "\r", "\n") else -1


def _wrapped(text: str, start: int, kind: str) -> Span | None:
    """`Type = "value"`, `Some("value")`, `String::from("value")`, `env('NAME', 'value')`."""
    window = text[start : start + 64]
    line = window.partition("\n")[0]
    quote = min((line.find(q) for q in _QUOTES if q in line), default=-1)
    if quote < 1:
        return None
    lead = line[:quote].rstrip("\\&brfuN@")
    if not all(c.isalnum() or c in "_.:<>&()[]?!= -" for c in lead):
        return None
    if lead.rstrip().endswith(("=", ",")):
        return _quoted(text, start + quote, kind)
    if lead.rstrip().endswith(("(", "SecureString", "new String")) and "==" not in lead:
        return _quoted(
            text,
            start + quote,
            KEY if kind == PASSWORD and not lead.startswith(("Some", "new", "String", "Convert")) else kind,
        )
    return None


def _quoted(text: str, start: int, kind: str) -> Span | None:
    """The whole of a quoted value, whatever is in it."""
    begin = start + 1
    while text[begin - 1] == "\\":
        begin += 1
    closing = text[start:begin]  # nested JSON writes \\" at both ends
    stop = text.find(closing, begin, begin + _LOOK)
    while len(closing) == 1 and stop > 0 and text[stop - 1] == "\\":
        stop = text.find(closing, stop + 1, begin + _LOOK)
    if stop < 0:  # longer than we look, or never closed: a value all the same
        stop = _run_end(text, begin, begin + _LOOK, _HARD_ENDS)
    value = text[begin:stop].partition(MARK)[0]
    for lead in ("Bearer ", "Basic ", "base64:"):
        if value.startswith(lead):
            begin, value = begin + len(lead), value[len(lead) :]
    stop = begin + len(value)
    if "\n" in value:
        return None
    if _is_secret(value, kind, is_quoted=True):
        return begin, _whole(text, begin, stop)
    return None


def _is_secret(
    value: str,
    kind: str,
    *,
    is_env: bool = False,
    is_tight: bool = False,
    is_quoted: bool = False,
    is_name_of_secret: bool = False,
) -> bool:
    if len(value) < 4 or is_placeholder(value) or not any(c.isalnum() for c in value):
        return False
    low = value.lower()
    if kind == PASSWORD:
        if is_quoted:
            return _is_quoted_password(value, low)
        if (
            low.startswith(("/", "./", "~/", "../"))
            or value.startswith(("$(", "`"))
            or is_code(value, is_env)
        ):
            return False
        if is_env:
            return not (value.isdigit() and len(value) < 4)
        if is_tight:
            return is_password(value, 4) or (len(value) >= 8 and not is_wordy(value))
        return is_password(value, 5) and not value.startswith("!vault")
    if is_quoted and " " in value:
        return kind == KEY and value.count(" ") < 6 and is_random(value.replace(" ", ""), 16)
    has_digit = any(c in DIGITS for c in value)
    if kind == WEAK_KEY and (not (is_tight or is_quoted) or (is_uuid(value) and not is_env)):
        return False
    if (
        kind == KEY
        and len(value) >= 8
        and has_digit
        and any(c in "!@#%^*" for c in value[1:])
        and not is_code(value)
    ):
        return "://" not in value
    if is_env and is_name_of_secret and has_digit and value.isalnum() and len(value) >= 8:
        return True
    least = 8 if kind == KEY else 16
    if is_env and is_code(value, True):
        return False
    if (
        value.isdigit()
        or (not is_env and is_code(value))
        or value.startswith(("ssh-", "SHA256:", "sha256:", "sha512-"))
    ):
        return False
    if is_env and kind == KEY and len(value) >= 12 and "." in value and any(c in DIGITS for c in value):
        return not is_wordy(value)
    return is_random(value, least) and (any(c in DIGITS for c in value) or len(value) >= 12)


def _is_quoted_password(value: str, low: str) -> bool:
    if "://" in low or low.startswith("arn:"):
        return False
    if " " in value:
        return (
            value.count(" ") < 5
            and any(c in DIGITS for c in value)
            and not low.endswith((".", ":", "?", "!"))
        )
    if low.endswith(PASSWORD_ENDS) and ("_" in low or "-" in low or "." in low):
        return False  # a field's name
    if value.isupper() and "_" in value and is_wordy(value):
        return False
    return (
        len(value) >= 6
        and not (value.startswith((".", "#")) and value[1:].isidentifier() and value.islower())
        and not is_code(value)
    )


def _after_quoted_name(text: str, low: str, at: int, kind: str) -> Span | None:
    """After "NAME": a call's next argument, a sibling "value", a block's default, an element's text."""
    at = _skip(text, at)
    if text.startswith(",", at):
        start = _skip(text, at + 1)
        if _opens_quote(text, start):
            quote_end = start + 1 + text[start : start + 20].find(text[start : start + 20].lstrip("\\")[:1])
            follows = low[quote_end : quote_end + 12].lstrip("\\\"'")
            if not low.startswith("value", quote_end):
                return _quoted(text, start, kind)
            del follows
        at = start
    if text.startswith(">", at):
        return _assigned(text, at, at + 1, kind, "x", False)
    if text.startswith(("\n\n", "\r\n\r\n"), at):
        return _on_next_line(text, at, kind)
    return _sibling(text, at, kind)


def _sibling(text: str, at: int, kind: str) -> Span | None:
    """The "value" or "default" that follows within the same braces."""
    window = text[at : at + 80].lower()
    for word in ("value", "default"):
        found = window.find(word)
        if found >= 0 and window[:found].count("\n") < 4 and "}" not in window[:found]:
            end = at + found + len(word)
            while text[end : end + 1] in ("\\", '"', "'"):
                end += 1
            end = _skip(text, end)
            separator = _separator(text, end)
            if separator:
                return _assigned(text, at, _skip(text, end + len(separator)), kind, "x", False)
    return None


def _in_next_element(text: str, at: int, kind: str) -> Span | None:
    close = text.find(">", at, at + 40)
    opening = text.find("<string>", close, close + 40) if close >= 0 else -1
    return _assigned(text, at, opening + 8, kind, "x", False) if opening >= 0 else None


def _on_next_line(text: str, at: int, kind: str) -> Span | None:
    """A value that stands alone on the next line that is not empty; or `value: …` does."""
    start = at
    while text[start : start + 1] in ("\r", "\n", " ", "\t", "|", ">") and start < at + 48:
        start += 1
    end = _run_end(text, start, start + _LOOK, ("\n",))
    line = text[start:end].strip()
    name, colon, rest = line.partition(":")
    if colon and name.strip("\"' ").lower() == "value":
        start += line.find(rest.strip()) if rest.strip() else 0
        return _assigned(text, start, start, kind, "x", False)
    if _opens_quote(text, start):
        return _quoted(text, start, kind)
    if " " in line or line.endswith((":", ";", "{", ",", ")")) or "=" in line.rstrip("="):
        return None
    is_secret = is_password(line, 6) if kind == PASSWORD else is_random(line, 16)
    return (start, start + len(line)) if is_secret and not is_placeholder(line) else None


def _in_sentence(text: str, end: int, kind: str) -> Span | None:
    """`password for the staging box is X`, `密码：X`, `use this token: X`; or alone on the next line."""
    if kind == WEAK_KEY:
        return None
    line_end = _run_end(text, end, end + 80, ("\n",))
    if not text[end:line_end].strip(" \t:：\r"):
        return _on_next_line(text, line_end, kind)
    if text[end].isascii() and text[end] not in " \t:=\"'`*":
        return None
    at = end
    is_told = False
    for turn in range(8):
        while text[at : at + 1] and text[at] in " \t:：=—–«»\"'`*(（）,，-、" and at < line_end:
            is_told = is_told or text[at] in ":：=—–" or (turn > 0 and text[at] in _QUOTES)
            at += 1
        stop = _run_end(text, at, min(at + _LOOK, line_end + _LOOK), (*_ENDS, "："))
        word = text[at:stop].rstrip(_TRAILING + "?!" if not is_told else _TRAILING)
        if not word or at >= line_end or any(sign in word.rstrip("=") for sign in "([{<="):
            return None
        if word.lower() in NO_SECRET_BEFORE:
            return None
        if word.lower() in _SENTENCE:
            is_told = True
        elif (is_told or turn == 0) and not is_placeholder(word) and _is_told(word, kind):
            return at, _whole(text, at, at + len(word))
        elif kind != PASSWORD and turn > 3:
            return None
        is_told = is_told or text[stop - 1 : stop] in (":", "：")
        at = stop
        if text[at : at + 1] in (";", "|", "&", "<", ">", "\\"):
            return None
    return None


def _is_told(word: str, kind: str) -> bool:
    return (
        is_password(word, 6) and not word.startswith(("--", "/")) and not ("@" in word and "." in word)
        if kind == PASSWORD
        else is_random(word, 16) and any(c in DIGITS for c in word)
    )


def _before(text: str, at: int, kind: str) -> Span | None:
    """`X is the password`, `log in with X as the password`."""
    lead = text[max(at - 80, 0) : at]
    for link in (" is the ", " as the ", " is my ", " is our ", " as its ", " is its ", " as "):
        if lead.endswith(link):
            word = lead[: -len(link)].replace("\n", " ").rpartition(" ")[2].strip("\"'`,:(")
            if word and kind == PASSWORD and is_password(word, 6) and not is_placeholder(word):
                start = text.rfind(word, max(at - 80, 0), at)
                return start, start + len(word)
    return None


def _whole(text: str, start: int, stop: int) -> int:
    """The end of a value that was looked at up to `stop`."""
    return stop if stop < start + _LOOK else _run_end(text, stop, len(text), _HARD_ENDS)


def _run_end(text: str, at: int, limit: int, ends: tuple[str, ...] = _ENDS) -> int:
    """Where the first of `ends` stands. By searches, since a loop over characters is ten times slower."""
    for end in ends:
        found = text.find(end, at, limit)
        limit = found if found >= 0 else limit
    return min(limit, len(text))
