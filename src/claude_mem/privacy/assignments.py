"""Finds the values assigned to names of secrets, in the syntax of a dozen languages.

The syntax after a name decides: NAME=value, "name": "value", define('NAME', 'value'), {"name": "NAME",
"value": "…"}, ENV NAME value, name: Type = Some("value"), <name>value<, name == "value", a value on the next
line. `prose_secrets` handles values in sentences.

Linear: each name is examined once, within a bounded distance.
"""

from __future__ import annotations

from claude_mem.privacy.credential_names import (
    KEY,
    KEY_AFTER,
    NO_KEY_AFTER,
    PASSWORD,
    STEMS,
    WEAK_KEY,
    kind_of,
)
from claude_mem.privacy.prose_secrets import (
    ENDS,
    HARD_ENDS,
    LOOK,
    QUOTES,
    TRAILING,
    Span,
    alone_on_next_line,
    foreign_values,
    secret_after,
    secret_before,
    value_end,
)
from claude_mem.privacy.secret_values import (
    BLANKS,
    MARK,
    is_hex,
    is_password,
    is_random,
    is_secret,
    is_uuid,
    past,
    run_end,
)

_NAME_LOOK = 40
_NAME_MARKS = "_-.$"
_ENV_ENDS = tuple(end for end in ENDS if end != ",")
# What may precede NAME on a line that only contains NAME=value.
_ENV_LEADS = ("", "export", "set", "ENV", "ARG", "-", "declare -x", "typeset -x", "+", "setx")
# What may precede NAME value, without a separator.
_SET_LEADS = ("ENV ", "setenv ", "setx ", "set -gx ", "set -x ", "set -Ux ", "-x ", "SET ", "env:")
_SEPARATORS = (":=", "=>", "?=", "+=", "->", "<-", "=", ":", "：", "＝")
_COMPARISONS = ("===", "==", "!==", "!=", "||", "??", "?:", "or ")  # only what is quoted may be a secret then


def values(text: str) -> list[Span]:
    low = text.replace("\u0130", "_").lower()
    spans: list[Span] = []
    seen = 0  # what is in a value is not a name
    for name_start, name_end in _names(text, low):
        kind = kind_of(text[name_start:name_end]) if name_start >= seen else None
        span = _value(text, low, name_start, name_end, kind) if kind else None
        if span:
            spans += (span, *_continuations(text, span[1]))
            seen = spans[-1][1]
    return spans + foreign_values(text, low)


def _names(text: str, low: str) -> list[Span]:
    """The positions of identifiers that contain a stem."""
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
        stronger = _kind_by_word_before(text, at)
        if stronger is None:
            return None
        kind = stronger
    if text[at - 1 : at] == ":" == text[end : end + 1]:  # arn:aws:secretsmanager:eu-west-1:1234:secret:name
        return None
    if "::" in text[max(at - 40, 0) : at].rpartition('"')[2] and text[at - 1 : at] == ":":
        return None
    after, is_quoted = _past_name(text, end)
    if not is_quoted and text.startswith("</", after):  # <key>ApiSecret</key>⏎<string>X</string>
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
        if text[start : start + 1] in QUOTES and text[start + 1 : start + 2] == ",":  # log("token:", "X")
            return _after_quoted_name(text, low, start + 1, kind)
        return _assigned(text, at, start, kind, name, is_tight)
    compared = _compared(text, end, space, kind)
    if compared:
        return compared
    if text.startswith("|", space) and (is_quoted or text[max(at - 3, 0) : at].strip() == "|"):
        return _assigned(text, at, _skip(text, space + 1), kind, name, False)
    if is_quoted:
        return _after_quoted_name(text, low, after, kind)
    return _without_separator(text, at, end, after, space, kind)


def _kind_by_word_before(text: str, at: int) -> str | None:
    """The kind of a name such as `key`, by the word before it. None: it does not name a secret."""
    word = (
        text[max(at - 16, 0) : at].rstrip(" ").replace("\n", " ").rpartition(" ")[2].lower().lstrip("*`_\"'")
    )
    if word in NO_KEY_AFTER:
        return None
    if text[at - 1 : at] == " " and word in KEY_AFTER:
        return PASSWORD if word.endswith("shared") else KEY
    return WEAK_KEY


def _past_name(text: str, end: int) -> tuple[int, bool]:
    """The position after the end of a name (quotes, brackets), and whether it was quoted."""
    after = past(text, end, "\\", len(text))
    if text[after : after + 1] in QUOTES and after < len(text):
        return past(text, after + 1, "])", end + 16), True
    after = end
    while text.startswith(("[]", "]", "*", "?"), after) and after < end + 2:
        after += 1 + text.startswith("[", after)
    return after, False


def _without_separator(text: str, at: int, end: int, after: int, space: int, kind: str) -> Span | None:
    """`name("X")`, `<name>X`, `--name X`, `name⏎X`, or in a sentence."""
    name = text[at:end]
    if text.startswith(("(", '{"'), after) or (text.startswith(",", after) and text[at - 1 : at] == ":"):
        start = _skip(text, after + 1)
        return _quoted(text, start, kind, is_sure=kind == PASSWORD) if _opens_quote(text, start) else None
    if text.startswith(">", after) and space == after:
        return _assigned(text, at, after + 1, kind, name, False)
    if space > after:
        before = text[max(at - 24, 0) : at]
        if before.endswith(_SET_LEADS) or before.endswith("-") or name.startswith("-"):
            return _assigned(text, at, space, kind, name, True)
        if before.endswith("<"):  # <secret name="x" value="X"/>
            return _sibling(text, space, kind)
        is_flag_or_folder = text.startswith("`-", space) or name.lower() == "$pwd"  # pass `--all`; $PWD "x"
        if kind == PASSWORD and _opens_quote(text, space) and not is_flag_or_folder:
            return _quoted(text, space, kind)
    if text.startswith(("\n", "\r\n"), space) and kind != WEAK_KEY:
        return _on_next_line(text, space, kind)
    return secret_after(text, end, kind) or secret_before(text, at, kind)


def _compared(text: str, end: int, space: int, kind: str) -> Span | None:
    """`name == "X"`, `NAME || "X"`, `expect(name).toBe("X")`, `get("name").type("X")`."""
    operator = next((sign for sign in _COMPARISONS if text.startswith(sign, space)), "")
    start = _skip(text, space + len(operator))
    if not operator:
        start = past(text, end, "\\\"'])", end + 8)
        if not text.startswith(".", start):
            return None
        start += 1
        while text[start : start + 1].isidentifier() and start < end + 32:
            start += 1
        if not text.startswith("(", start):
            return None
        start += 1
    return _quoted(text, start, kind, is_sure=False) if _opens_quote(text, start) else None


def _continuations(text: str, at: int) -> list[Span]:
    """More literals of a value: "X" "Y", "X" + "Y", "X" -> "Y", ["X", "Y"], over lines as well."""
    spans: list[Span] = []
    while text[at : at + 1] and text[at] in QUOTES and len(spans) < 16:
        start = past(text, at + 1, " \t\r\n\\+.,->", at + 32)
        stop = text.find(text[at], start + 1, start + LOOK) if text[start : start + 1] == text[at] else -1
        if stop < 0 or text[stop + 1 : stop + 2] in (":", "="):
            break
        value = text[start + 1 : stop]
        if not (is_random(value, 8) or (">" in text[at:start] and is_password(value))):
            break
        spans.append((start + 1, stop))
        at = stop
    return spans


def _skip(text: str, at: int) -> int:
    return past(text, at, " \t", at + 32)


def _separator(text: str, at: int) -> str:
    if text.startswith(("==", "::", "=~"), at):
        return ""
    return next((separator for separator in _SEPARATORS if text.startswith(separator, at)), "")


def _opens_quote(text: str, at: int) -> bool:
    return text[at : at + 20].lstrip("\\")[:1] in ('"', "'", "`")


def _assigned(text: str, at: int, start: int, kind: str, name: str, is_tight: bool) -> Span | None:
    """The value after a separator."""
    start += _literal_prefix(text, start)
    if _opens_quote(text, start):
        return _quoted(text, start, kind)
    if kind == WEAK_KEY:  # any key, if the value is long and nobody's hash
        word = text[start : start + LOOK].partition("\n")[0].strip()
        is_hash = is_hex(word.rpartition("-")[2]) or is_uuid(word)
        kind = KEY if is_random(word, 24) and not is_hash else kind
    is_env = is_tight and (name.isupper() or text[at - 1 : at] in ("?", "&", "-", "#"))
    stop = _env_line_end(text, at, start) if is_tight else -1
    if stop < 0:
        stop = run_end(text, start, start + LOOK, _ENV_ENDS if is_env else ENDS)
        value = text[start:stop].rstrip(TRAILING)
    else:
        value = text[start:stop]
    if text.startswith("{", start):
        return _sibling(text, start + 1, kind)
    wrapped = _wrapped(text, start, kind)
    if wrapped:
        return wrapped
    if text[start + len(value) : start + len(value) + 1] == "\\" and not value:
        return None
    if is_secret(value, kind, is_env=is_env, is_tight=is_tight, is_name_of_secret=name.endswith("SECRET")):
        return start, value_end(text, start, start + len(value))
    if text.startswith(": ", at + len(name)) or text.startswith("：", at + len(name)):
        return secret_after(text, at + len(name), kind)
    return None


def _literal_prefix(text: str, at: int) -> int:
    """Of b"…", r'…', N'…', @"…", $"…", &"…", ["…"]; `base64:` in front of a key; `**` of Markdown; an opening
    brace of ODBC."""
    for prefix in ("base64:", "Bearer ", "bearer ", "** "):
        if text.startswith(prefix, at):
            return len(prefix)
    if text[at : at + 1] in tuple("brfuNL@$&") and text[at + 1 : at + 2] in ('"', "'", "`"):
        return 1
    if text[at : at + 1] in ("[", "("):
        start = past(text, at + 1, BLANKS, at + 32)
        return start - at if _opens_quote(text, start) else 0
    inner = text[at + 1 : at + 64].partition("}")[0]
    is_plain = not any(c in inner for c in "\"': ,{")
    return 1 if text.startswith("{", at) and is_plain and is_password(inner) else 0


def _env_line_end(text: str, at: int, start: int) -> int:
    """The end of a line that is NAME=value and nothing else, or -1. There the value ends with the line."""
    begin = max(text.rfind("\n", max(at - 40, 0), at) + 1, at - 40, 0)
    if begin and text[begin - 1] != "\n":
        return -1
    if text[begin:at].strip() not in _ENV_LEADS:
        return -1
    stop = run_end(text, start, start + 4 * LOOK, (" ", "\t", "\r", "\n", MARK))
    if any(quote in text[start:stop] for quote in ('",', '"}', '\\"', "\\n")):
        return -1  # a line of nested JSON
    return stop if text[stop : stop + 1] in ("", "\r", "\n") else -1


def _wrapped(text: str, start: int, kind: str) -> Span | None:
    """`Type = "value"`, `Some("value")`, `String::from("value")`, `env('NAME', 'value')`."""
    window = text[start : start + 64]
    line = window.partition("\n")[0]
    quote = min((line.find(q) for q in QUOTES if q in line), default=-1)
    if quote < 1:
        return None
    lead = line[:quote].rstrip("\\&brfuN@")
    if not all(c.isalnum() or c in "_.:<>&()[]?!= -" for c in lead):
        return None
    if lead.rstrip().endswith(("=", ",")):
        return _quoted(text, start + quote, kind)
    if lead.rstrip().endswith(("(", "SecureString", "new String")) and "==" not in lead:
        is_string = lead.startswith(("Some", "new", "String", "Convert"))
        return _quoted(text, start + quote, KEY if kind == PASSWORD and not is_string else kind)
    return None


def _quoted(text: str, start: int, kind: str, is_sure: bool = True) -> Span | None:
    """All of a quoted value; if it may not belong to the name, only a random one."""
    if text.startswith(('"""', "'''"), start):
        return alone_on_next_line(text, start + 3, KEY if kind == WEAK_KEY else kind)
    begin = start + 1
    while text[begin - 1] == "\\":
        begin += 1
    closing = text[start:begin]  # nested JSON writes \\" at both ends
    stop = text.find(closing, begin, begin + LOOK)
    while len(closing) == 1 and stop > 0 and text[stop - 1] == "\\":
        stop = text.find(closing, stop + 1, begin + LOOK)
    if stop < 0:  # longer than we look, or never closed: a value all the same
        stop = run_end(text, begin, begin + LOOK, HARD_ENDS)
    value = text[begin:stop].partition(MARK)[0]
    for lead in ("Bearer ", "Basic ", "base64:"):
        if value.startswith(lead):
            begin, value = begin + len(lead), value[len(lead) :]
    stop = begin + len(value)
    if not value and text.startswith((" => ", " -> "), stop + 1) and _opens_quote(text, stop + 5):
        return _quoted(text, stop + 5, kind)
    if "\n" in value:
        return None
    if not is_sure and not (is_password(value, 6) if kind == PASSWORD else is_random(value, 16)):
        return None
    if is_secret(value, kind, is_quoted=True):
        return begin, value_end(text, begin, stop)
    return None


def _after_quoted_name(text: str, low: str, at: int, kind: str) -> Span | None:
    """After "NAME": a call's next argument, a sibling "value", a block's default, an element's text."""
    at = _skip(text, at)
    if text.startswith(",", at):
        at = _skip(text, at + 1)
        if _opens_quote(text, at) and not low[at : at + 24].lstrip("\\\"'").startswith("value"):
            return _quoted(text, at, kind)
    if text.startswith(">", at):
        return _assigned(text, at, _in_element(text, at + 1), kind, "x", False)
    if text.startswith(("\n\n", "\r\n\r\n"), at):
        return _on_next_line(text, at, kind)
    return _sibling(text, at, kind)


def _sibling(text: str, at: int, kind: str) -> Span | None:
    """The "value" or "default" that follows within the same braces."""
    window = text[at : at + 80].lower()
    for word in ("value", "default"):
        found = window.find(word)
        if found >= 0 and window[:found].count("\n") < 4 and "}" not in window[:found]:
            end = _skip(text, past(text, at + found + len(word), "\\\"'", len(text)))
            separator = _separator(text, end)
            if separator:
                return _assigned(text, at, _skip(text, end + len(separator)), kind, "x", False)
    return None


def _in_next_element(text: str, at: int, kind: str) -> Span | None:
    close = text.find(">", at, at + 40)
    start = _in_element(text, close + 1) if close >= 0 else -1
    return _assigned(text, at, start, kind, "x", False) if start > close + 1 else None


def _in_element(text: str, at: int) -> int:
    """Where the text of the next element begins, if that is all that follows; else `at`."""
    start = past(text, at, BLANKS, at + 40)
    close = text.find(">", start, start + 40)
    return close + 1 if text.startswith("<", start) and text[start + 1 : close].isalnum() else at


def _on_next_line(text: str, at: int, kind: str) -> Span | None:
    """A value that stands alone on the next line that is not empty; or `value: …` does."""
    start = past(text, at, "\r\n \t|>-+", at + 48)
    line = text[start : run_end(text, start, start + LOOK, ("\n",))].strip()
    name, colon, rest = line.partition(":")
    if colon and name.strip("\"' ").lower() == "value":
        start += line.find(rest.strip()) if rest.strip() else 0
        return _assigned(text, start, start, kind, "x", False)
    shown = line.find("input_value=")  # as pydantic reports what it refuses
    start += shown + len("input_value=") if shown >= 0 else 0
    return _quoted(text, start, kind) if _opens_quote(text, start) else alone_on_next_line(text, at, kind)
