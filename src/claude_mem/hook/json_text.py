"""Reads and writes JSON by what `json` itself is made of: importing that costs as much as a whole hook.

No number and no byte that an agent can send makes it fail.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS = " \t\r\n"


def parse(text: str) -> dict[str, object] | None:
    """None when it is no JSON object."""
    text = text.removeprefix("\ufeff").strip(_BLANKS)
    try:
        value, end = _scanner()(text, 0)
    except (ValueError, RecursionError, StopIteration, SystemError):
        return None  # SystemError: the scanner takes its own error from `json`, which is not loaded here
    return value if isinstance(value, dict) and end == len(text) else None


def integer(digits: str) -> object:
    """Python refuses to read integers of thousands of digits; nobody needs them as numbers."""
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
    return make_scanner(_Reading)  # type: ignore[arg-type] # the stub confuses it with what it is told


def dumps(value: object, *, ascii: bool = True) -> str:
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder

        spell = encode_basestring_ascii if ascii else encode_basestring
        encoder = make_encoder({}, str, spell, None, ":", ",", False, False, True)
    except (ImportError, TypeError):  # another Python than CPython, or a later one
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii)
    return "".join(encoder(value, 0))
