"""References to memories: ids, keys in the indexes, index cards, and filters."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, get_args

from msgspec import Struct, field

MemoryKind = Literal["observation", "summary", "prompt", "evidence"]
KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)

Source = Literal["work", "external", "user"]
"""Where its text comes from: the agent's own work, something it only read, or a user who saved it."""

_PREFIXES: dict[MemoryKind, str] = {"observation": "", "summary": "s", "prompt": "p", "evidence": "e"}
_BY_PREFIX = {prefix: kind for kind, prefix in _PREFIXES.items()}

NEAREST = "No memory contains these words; these are the closest in meaning."
"""The note for results by meaning alone, because something is always nearest."""

_SESSION_BITS, _KIND_BITS, _ID_BITS = 22, 2, 25
LARGEST_PROJECT = (1 << 63 - _SESSION_BITS - _KIND_BITS - _ID_BITS) - 1
_WIDE_SESSION_BITS, _WIDE_ID_BITS = 30, 31
_WIDE = -1 << 63
"""Wide keys are negative, so a key shows how to read it."""


class Ref(Struct, frozen=True, order=True):
    """One memory, written `12` (an observation), `s12` (a summary), `p12` (a prompt) or `e12` (evidence)."""

    kind: MemoryKind
    id: int

    def __str__(self) -> str:
        return f"{_PREFIXES[self.kind]}{self.id}"

    @classmethod
    def parse(cls, text: str) -> Ref | None:
        """Parses a reference; None: it is not one."""
        text = text.strip().lower().removeprefix("#")
        prefix, digits = (text[:1], text[1:]) if text[:1] in _BY_PREFIX and text[:1] else ("", text)
        if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
            return None
        return cls(_BY_PREFIX[prefix], int(digits))


def memory_key(project_id: int, session_db_id: int, ref: Ref) -> int:
    """A memory's key in the indexes of a SQLite file, one integer. The keys of a project are adjacent, and
    within it those of a session. So a project can be searched without reading the others, and a key contains
    its session.

    Raises OverflowError past 16,383 projects, four million sessions or 33 million rows of a kind."""
    if project_id > LARGEST_PROJECT or session_db_id >> _SESSION_BITS or ref.id >> _ID_BITS:
        raise OverflowError(
            f"{ref} of session {session_db_id} of project {project_id} does not fit into a key"
        )
    inside = KINDS.index(ref.kind) << _ID_BITS | ref.id
    return (project_id << _SESSION_BITS | session_db_id) << _KIND_BITS + _ID_BITS | inside


def wide_key(session_db_id: int, ref: Ref) -> int:
    """A memory's key in a PostgreSQL database. The project is not in it, but in a separate column, so there
    may be any number of projects.

    Raises OverflowError past a billion sessions or two billion rows of a kind."""
    if session_db_id >> _WIDE_SESSION_BITS or ref.id >> _WIDE_ID_BITS:
        raise OverflowError(f"{ref} of session {session_db_id} does not fit into a key")
    inside = KINDS.index(ref.kind) << _WIDE_ID_BITS | ref.id
    return _WIDE | session_db_id << _KIND_BITS + _WIDE_ID_BITS | inside


def ref_at(key: int) -> Ref:
    return Ref(kind_at(key), id_at(key))


def kind_at(key: int) -> MemoryKind:
    return KINDS[key >> (_ID_BITS if key >= 0 else _WIDE_ID_BITS) & 3]


def keys_by_kind(keys: Iterable[int]) -> dict[MemoryKind, set[int]]:
    by_kind: list[set[int]] = [set() for _ in KINDS]
    for key in keys:
        by_kind[key >> (_ID_BITS if key >= 0 else _WIDE_ID_BITS) & 3].add(key)
    return {kind: some for kind, some in zip(KINDS, by_kind, strict=True) if some}


def id_at(key: int) -> int:
    return key & (1 << (_ID_BITS if key >= 0 else _WIDE_ID_BITS)) - 1


def session_at(key: int) -> int:
    """The database's id of a memory's session."""
    if key < 0:
        return key >> _KIND_BITS + _WIDE_ID_BITS & (1 << _WIDE_SESSION_BITS) - 1
    return key >> _KIND_BITS + _ID_BITS & (1 << _SESSION_BITS) - 1


def sessions_at(keys: Collection[int]) -> list[int]:
    """The same for many keys of one store, in their order."""
    shift, mask = _KIND_BITS + _ID_BITS, (1 << _SESSION_BITS) - 1
    if next(iter(keys), 0) < 0:
        shift, mask = _KIND_BITS + _WIDE_ID_BITS, (1 << _WIDE_SESSION_BITS) - 1
    return [key >> shift & mask for key in keys]


def orders_at(keys: Collection[int]) -> list[int]:
    """For many keys of one store: numbers that sort them by session, kind and id, regardless of project."""
    mask = (1 << (63 if next(iter(keys), 0) < 0 else _SESSION_BITS + _KIND_BITS + _ID_BITS)) - 1
    return [key & mask for key in keys]


def span(project_id: int) -> tuple[int, int]:
    """The first and the last key a project's memories can have in a SQLite file."""
    bits = _SESSION_BITS + _KIND_BITS + _ID_BITS
    return project_id << bits, (project_id + 1 << bits) - 1


def project_at(key: int) -> int:
    """The project in a key of a SQLite file; a wide key does not contain it."""
    return key >> _SESSION_BITS + _KIND_BITS + _ID_BITS


def idf(found: int, total: int) -> float:
    """The inverse document frequency of a word that this many of all memories contain."""
    return math.log1p((max(total, found) - found + 0.5) / (found + 0.5))


class Card(Struct, frozen=True):
    """An index card: what finding, ranking and listing need to know about a memory."""

    ref: Ref
    session: str  # the client's own id
    session_db_id: int
    project: str
    project_id: int
    created_at: int  # epoch milliseconds: when the work was done
    title: str
    text: str = ""  # what it says beyond its title
    type: str | None = None  # an observation's
    files: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    prompt_number: int | None = None
    client: str | None = None
    author: str | None = None  # the member of the team whose it is; None: one's own
    branch: str | None = None
    commit: str | None = None
    provider: str | None = None
    source: Source = "work"
    pinned: bool = False
    wrong: bool = False  # marked by a person: it stays stored, and is never recalled
    supersedes: int | None = None
    superseded_by: int | None = None
    seen_again: int = 0

    @property
    def is_users_wish(self) -> bool:
        """Whether the user saved it. What a member of the team saved is the member's decision."""
        return self.source == "user" and self.author is None


class Filters(Struct, frozen=True):
    """Filters of memories; one that is not set does not filter."""

    project_id: int | None = None
    kinds: tuple[MemoryKind, ...] = ()
    types: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    file: str | None = None  # a path, the end of one, a directory (`src/`), or a glob (`src/*.py`)
    session: str | None = None  # the client's own id
    equal: Mapping[str, str] = field(default_factory=dict)  # by a card's field (`branch`): its value
    authors: tuple[str, ...] = ()  # members of the team; "": oneself
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    superseded: bool | None = None  # True: only those; False: none of those
    wrong: bool | None = None  # likewise, of those that are marked wrong
    pinned: bool = False  # True: only those


class Hit(Struct, frozen=True):
    card: Card
    score: float
    parts: dict[str, float] = field(default_factory=dict)  # of what the score is made
    marks: tuple[str, ...] = ()  # what to know before trusting it: `files changed since`, …


def is_of_file(path: str, pattern: str) -> bool:
    """`pattern` is the path or the end of it, a directory above it (`src/`), or a glob (`src/*.py`)."""
    path, pattern = f"/{plain_path(path)}", plain_path(pattern)
    if is_glob(pattern):
        return fnmatchcase(path, f"*/{pattern}")
    if pattern.endswith("/"):
        return f"/{pattern}" in path
    return path.endswith(f"/{pattern}") or f"/{pattern}".endswith(path)


def is_glob(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[")


def plain_path(path: str) -> str:
    """Normalized: forward slashes, lower case (not all file systems are case-sensitive)."""
    return path.replace("\\", "/").strip().removeprefix("./").lstrip("/").lower()


ObservationType = Literal["bugfix", "feature", "refactor", "change", "discovery", "decision"]
TYPES: tuple[ObservationType, ...] = get_args(ObservationType)
