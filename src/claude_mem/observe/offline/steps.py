"""What an agent did, as this observer sees it: values only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hunk:
    start: int  # the first line's number in the old file; 0: unknown
    lines: tuple[str, ...]  # each after its mark: ' ', '+' or '-'


@dataclass(frozen=True, slots=True)
class Edited:
    path: str
    hunks: tuple[Hunk, ...] = ()
    created: bool = False
    deleted: bool = False
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    command: str
    output: str = ""
    code: int | None = None  # None: not told
    failed: bool = False
    interrupted: bool = False
    described: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    path: str
    content: str = ""
    start: int = 1


@dataclass(frozen=True, slots=True)
class Searched:
    pattern: str
    hits: tuple[str, ...] = ()  # paths
    lines: tuple[str, ...] = ()  # 'path:line:text', as far as shown


@dataclass(frozen=True, slots=True)
class Fetched:
    what: str  # the address, or the question
    told: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Chose:
    """The user's answers to questions the agent put."""

    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Planned:
    text: str


@dataclass(frozen=True, slots=True)
class Todos:
    items: tuple[tuple[str, bool], ...]  # what, done


@dataclass(frozen=True, slots=True)
class Delegated:
    task: str
    report: str = ""


Step = Edited | Ran | Opened | Searched | Fetched | Chose | Planned | Todos | Delegated
