"""JSON for the hook, without `json`, because importing that costs as much as the rest of the hook.

`parse` and `dumps` use its C functions. They never fail, whatever bytes or numbers an agent sends.

The other functions read single strings without parsing the rest. A quote inside a JSON string is escaped, so
a name between bare quotes with a colon after it is always a key, never part of a text. A tool's payload,
which may contain a whole file, is only read in the exact form in which the client writes it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS = " \t\r\n"


def parse(text: str) -> dict[str, object] | None:
    """The JSON object, or None if the text is anything else."""
    text = text.removeprefix("\ufeff").strip(_BLANKS)
    try:
        value, end = _scanner()(text, 0)
    except (ValueError, RecursionError, StopIteration, SystemError):
        return None  # SystemError: the scanner takes its own error from `json`, which is not loaded here
    return value if isinstance(value, dict) and end == len(text) else None


def integer(digits: str) -> object:
    """Python refuses to parse integers of thousands of digits; they become text."""
    return int(digits) if len(digits) < 20 else digits


class _Reading:
    """The options of a JSON scanner, as `json.loads(strict=False, parse_int=integer)` would."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = staticmethod(integer)


def _scanner() -> Callable[[str, int], tuple[object, int]]:
    try:
        from _json import make_scanner
    except ImportError:  # another Python than CPython
        from json import JSONDecoder

        return JSONDecoder(strict=False, parse_int=integer).raw_decode
    return make_scanner(_Reading)  # type: ignore[arg-type] # the stub mistakes the context for the scanner


def dumps(value: object, *, ascii: bool = True) -> str:
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder

        spell = encode_basestring_ascii if ascii else encode_basestring
        encoder = make_encoder({}, str, spell, None, ":", ",", False, False, True)
    except (ImportError, TypeError):  # another Python than CPython, or a later one
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii)
    return "".join(encoder(value, 0))


_CONTROLS = bytes(range(32))
_ESCAPES = '"/bfnrt'  # and \\ and \u, which are looked at by themselves
_HEX = "0123456789abcdefABCDEF"
_BACKSLASH = 0x5C


def member(text: bytes, key: bytes) -> bytes:
    """The string, quotes and all, that the first member of that name has; empty where there is none."""
    mark = b'"%s":' % key
    at = text.find(mark)
    return string_at(text, at + len(mark)) if at >= 0 else b""


def string_at(text: bytes, start: int) -> bytes:
    """The string that begins there, quotes and all; empty where none does, or it does not end."""
    if text[start : start + 1] != b'"':
        return b""
    end = text.find(b'"', start + 1)
    while end > 0 and _is_escaped(text, end):
        end = text.find(b'"', end + 1)
    return text[start : end + 1] if end > 0 else b""


def _is_escaped(text: bytes, at: int) -> bool:
    before = at
    while text[before - 1] == _BACKSLASH:
        before -= 1
    return (at - before) % 2 == 1


def text_of(string: bytes) -> bytes:
    """The text of a JSON string; empty if there is none, or it is not valid."""
    if b"\\" not in string:
        return string[1:-1]
    import json

    try:
        return str(json.loads(string)).encode(errors="surrogatepass")
    except ValueError:
        return b""


def is_string(text: bytes, most: int) -> bool:
    """Whether it is one JSON string and nothing else, of so many bytes at most."""
    if not 2 <= len(text) <= most or not text[0] == text[-1] == 0x22:
        return False
    if len(text.translate(None, _CONTROLS)) < len(text):
        return False
    try:
        inside = text[1:-1].decode()
    except UnicodeDecodeError:
        return False
    plain, *escaped = inside.replace("\\\\", "--").split("\\")  # two for two: what was apart stays apart
    return '"' not in plain and all(map(_is_escape, escaped))


def _is_escape(text: str) -> bool:
    """Whether this may follow a backslash: an escape, and then no bare quote."""
    if not text or '"' in text[1:]:
        return False
    return text[0] in _ESCAPES or (text[0] == "u" and len(text) > 4 and all(c in _HEX for c in text[1:5]))


MOST_BYTES = 64 << 10  # the path comes early, or not at all
_INPUT = b'"tool_input":{'
_PATHS = (b'"file_path"', b'"notebook_path"', b'"path"', b'"absolute_path"', b'"filePath"')
_COMMAND = (b'"command"',)
_SHELLS = (b'"Bash"', b'"bash"', b'"run_shell_command"', b'"Execute"', b'"execute_command"')
MOST_COMMAND = 1_500


def tool_question(payload: bytes, *, starts: bool = False) -> bytes | None:
    """The question for the worker, as JSON: of the tool's input, only the path, or a shell's command. None if
    there is none. `starts`: nothing could be injected into the session before its first tool."""
    head, _, given = payload[:MOST_BYTES].partition(_INPUT)
    session, cwd, turn, tool = (
        member(head, key) for key in (b"session_id", b"cwd", b"prompt_id", b"tool_name")
    )
    is_shell = tool in _SHELLS
    about = _value(given, _COMMAND if is_shell else _PATHS)
    if is_shell and len(about) > MOST_COMMAND:
        about = b""
    if not (session and cwd and tool and (about or starts)):
        return None
    return (b'{"session_id":%s,"cwd":%s,"hook_event_name":"PreToolUse",%s"tool_name":%s%s%s}') % (
        session,
        cwd,
        b'"prompt_id":%s,' % turn if turn else b"",
        tool,
        b',"%s":%s' % (b"command" if is_shell else b"file_path", about) if about else b"",
        b',"source":"tool"' if starts else b"",
    )


def _value(given: bytes, keys: tuple[bytes, ...]) -> bytes:
    """The string that the first of these keys has; empty when a list or an object comes before it."""
    at = 0
    while key := string_at(given, at):
        at += len(key) + 1
        value = string_at(given, at)
        if key in keys:
            return value
        rest = at + len(value)
        comma = given.find(b",", rest)
        if comma < 0 or not (comma == rest if value else given[rest:comma].isalnum()):
            break
        at = comma + 1
    return b""
