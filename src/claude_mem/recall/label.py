"""Decides how a memory is called in a line: its id, age, kind, files, and what to know before trusting it."""

from __future__ import annotations

from datetime import datetime, tzinfo
from pathlib import PurePosixPath

from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.recall.fence import flowing, quoted
from claude_mem.recall.tokens import estimate
from claude_mem.recall.truth import NEVER_MERGED

_KINDS = {"observation": "note", "summary": "session", "prompt": "request", "evidence": "evidence"}
_ORIGINS = {"external": "read, not verified", "user": "kept by the user"}
# Names that say nothing without their folder.
_COMMON = frozenset(
    ("__init__", "index", "main", "mod", "readme", "package", "lib", "conftest", "settings", "test")
)
_LONGEST_TITLE, _LONGEST_FILE, _LONGEST_MARK = 160, 48, 80
_MOST_FILES = 2


def name(ref: Ref) -> str:
    return f"#{ref}"


def moment(at: int, tz: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, tz)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz)  # a time nobody lived at; the memory is told all the same


def day(at: int, tz: tzinfo) -> str:
    return f"{moment(at, tz):%Y-%m-%d}"


def clock(at: int, tz: tzinfo) -> str:
    return f"{moment(at, tz):%H:%M}"


def age(at: int, now: int, tz: tzinfo) -> str:
    """In calendar days as people count them, then in coarser words."""
    days = (moment(now, tz).date() - moment(at, tz).date()).days
    if days < 0:
        return "in the future"  # a clock was wrong, here or there
    if days < 2:
        return ("today", "yesterday")[days]
    if days < 14:
        return f"{days} days ago"
    if days < 60:
        return f"{days // 7} weeks ago"
    return f"{days // 30} months ago" if days < 730 else f"{days // 365} years ago"


def dated(at: int, now: int, tz: tzinfo) -> str:
    return f"{day(at, tz)} ({age(at, now, tz)})"


def kind(card: Card) -> str:
    return quoted(card.type or "", 20) or _KINDS[card.ref.kind]


def title(card: Card, cap: int = _LONGEST_TITLE) -> str:
    return flowing(card.title, cap) or flowing(card.text, cap) or "(untitled)"


def files(card: Card, said: str) -> str:
    """`[pump.py, queue/__init__.py +3]`: those it changed, else those it is about, that were not said."""
    about = [
        PurePosixPath(path.replace("\\", "/")) for path in dict.fromkeys(card.files_modified or card.files)
    ]
    unsaid = [path for path in about if path.name not in said]
    if not unsaid:
        return ""
    shown = dict.fromkeys(quoted(_short(path, about), _LONGEST_FILE) for path in unsaid[:_MOST_FILES])
    more = len(unsaid) - len(shown)
    return f"[{', '.join(shown)}{f' +{more}' if more else ''}]"


def _short(path: PurePosixPath, among: list[PurePosixPath]) -> str:
    is_clear = path.stem.lower() not in _COMMON and sum(other.name == path.name for other in among) == 1
    return path.name if is_clear else "/".join(path.parts[-2:])


def cost(card: Card) -> int:
    """Tokens of the whole memory, were it fetched."""
    return estimate(f"{card.title}\n{card.text}")


def marks(hit: Hit) -> str:
    """` (files changed since; read, not verified)`, or nothing."""
    card = hit.card
    said = [f"{mark}: {card.branch}" if mark == NEVER_MERGED and card.branch else mark for mark in hit.marks]
    if card.source in _ORIGINS:
        said.append(_ORIGINS[card.source])
    if card.superseded_by is not None:
        said.append(f"superseded by #{card.superseded_by}")
    told = dict.fromkeys(quoted(mark, _LONGEST_MARK) for mark in said)
    return f" ({'; '.join(told)})" if told else ""
