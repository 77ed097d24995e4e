"""Encodings in which a secret may be hidden: percent, HTML and JSON escapes, base64, ANSI colors,
and tokens split over lines. What is found in a decoded form is completely hidden in the text.
"""

from __future__ import annotations

from claude_mem.privacy.secret_values import MARK, is_hex

LONGEST_RUN = 64 << 10
_ESCAPES = (
    r"%[0-9A-Fa-f]{2}|&(?:quot|apos|amp|lt|gt|nbsp|#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,5});"
    r"|\\{1,8}u00[0-9a-fA-F]{2}|\\{1,8}x[0-9a-fA-F]{2}|\x1b\[[0-9;?]{0,16}[A-Za-z]|=3D(?=\w)|=\n|\\{1,16}[nrt\"'/]"
)
_JOINS = (
    r"(?<=[\w+/=-])(?:\\{0,2}\r?\n[ \t]{0,16}|[\"'][ \t]{0,4}[+.]?[ \t]{0,4}\\?\r?\n[ \t]{0,16}[+.]?[ ]?[\"']"
    r"|[\"'] ?[+.] ?[\"'])(?=[\w+/=-])"
)
_NAMED = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " "}


def bisect_right(values: list[int], value: int) -> int:
    """As in `bisect`, whose import takes longer than all there is to search."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if value < values[middle]:
            high = middle
        else:
            low = middle + 1
    return low


class View:
    """A decoded text, and the position of each of its parts in the original."""

    def __init__(self, text: str, positions: list[int], originals: list[int], is_joined: bool) -> None:
        self.text = text
        self.is_joined = is_joined
        self._positions = positions  # in the view, where a piece begins that is spelled as in the original
        self._originals = originals

    def in_original(self, found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        spans = [
            (self._original(start), self._original(end - 1) + 1, name, start, end)
            for start, end, name in found
        ]
        return [
            (start, self._end(end, last), name)
            for start, end, name, first, last in spans
            if not self.is_joined or self._crosses(first, last)
        ]

    def _original(self, at: int) -> int:
        piece = bisect_right(self._positions, at) - 1
        return self._originals[piece] + at - self._positions[piece]

    def _end(self, end: int, view_end: int) -> int:
        """An escape that spells the last character is hidden with it."""
        piece = bisect_right(self._positions, view_end - 1)
        is_next = piece < len(self._positions) and self._positions[piece] == view_end
        return self._originals[piece] if is_next and not self.is_joined else end

    def _crosses(self, start: int, end: int) -> bool:
        return bisect_right(self._positions, start) != bisect_right(self._positions, end - 1)


def decoded(text: str) -> View | None:
    """The decoded text, if it has escapes."""
    has_escapes = any(sign in text for sign in ("%", "&", "\\", "\x1b[", "=3D"))
    return _view(text, _ESCAPES, False) if has_escapes else None


def joined(text: str) -> View | None:
    """The text with words joined that are split over lines, if there may be any."""
    is_split = any(join in text for join in ("\n", '" +', "' +", '" .', "' ."))
    return _view(text, _JOINS, True) if is_split else None


def _view(text: str, pattern: str, is_joined: bool) -> View | None:
    import re

    pieces: list[str] = []
    positions: list[int] = []
    originals: list[int] = []
    at = length = 0
    for match in re.compile(pattern).finditer(text):
        spelled = "" if is_joined else _decoded(match.group())
        for piece, original in ((text[at : match.start()], at), (spelled, match.start())):
            if piece:
                pieces.append(piece)
                positions.append(length)
                originals.append(original)
                length += len(piece)
        at = match.end()
    if not at:
        return None
    pieces.append(text[at:])
    positions.append(length)
    originals.append(at)
    return View("".join(pieces), positions, originals, is_joined)


def _decoded(escape: str) -> str:
    if escape.startswith("\x1b") or escape == "=\n":
        return ""
    if escape[-1] in "nrt\"'/" and escape[0] == "\\":
        return {"n": "\n", "r": "\r", "t": "\t"}.get(escape[-1], escape[-1])
    if escape.startswith("="):
        return "="
    if escape.startswith("&#"):
        digits = escape[2:-1]
        code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "?"
    if escape.startswith("&"):
        return _NAMED[escape[1:-1]]
    code = int(escape.lstrip("%\\ux"), 16) if escape.lstrip("%\\ux") else 0
    return chr(code) if 8 < code < 127 else "?"


def encoded_runs(text: str) -> list[tuple[int, int]]:
    """The positions of 20 or more base64 characters in a row."""
    if not any(len(word) >= 20 and MARK not in word for word in text.split()):
        return []
    import re

    return [match.span() for match in re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{20,}={0,2}").finditer(text)]


def decoded_run(run: str) -> str:
    """The decoded run, if that is text. The run may also be hexadecimal."""
    import binascii

    if len(run) % 2 == 0 and is_hex(run):
        data = binascii.a2b_hex(run[:LONGEST_RUN])
        return data.decode("utf-8", "replace") if _is_text(data) else ""
    run = run[:LONGEST_RUN].rstrip("=").replace("-", "+").replace("_", "/")
    run = run[: len(run) - (len(run) % 4 == 1)]
    try:
        data = binascii.a2b_base64(run[:32] + "=" * (-len(run[:32]) % 4))
        if not _is_text(data):
            return ""
        data = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    except ValueError:
        return ""
    return data.decode("utf-8", "replace") if _is_text(data) else ""


def _is_text(data: bytes) -> bool:
    return len(data.translate(None, bytes(range(32, 127)) + b"\t\r\n")) * 16 <= len(data)
