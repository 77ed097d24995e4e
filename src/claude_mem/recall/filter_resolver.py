"""Resolves filters as people write them (project names, directories, date phrases such as `yesterday`,
`3 days ago`, `2026-01`, `since v2`) for the store, and checks a memory against them.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from claude_mem.agents import TITLES
from claude_mem.api.filters import FilterRequest, column_filters
from claude_mem.model.clock import Clock
from claude_mem.model.errors import AmbiguousProject, InvalidInput, UnknownProject
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, is_of_file
from claude_mem.model.text import lazy_pattern
from claude_mem.recall.staleness import RepoFacts, when_tagged
from claude_mem.store.base import Store
from claude_mem.store.values import Project

WITHOUT_EVIDENCE: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""All kinds of memory except raw evidence."""
ME = "me"
OWN = ""
"""The store's name for the author of the user's own sessions on this machine."""


class FilterResolver(Struct, frozen=True, kw_only=True):
    """`key_of`: the key of the project that a directory belongs to; `facts_of`: what git knows about a
    project's root; `member`: one's name in the team, if one has joined any."""

    store: Store
    clock: Clock
    zone: Callable[[], tzinfo]
    key_of: Callable[[str], str]
    facts_of: Callable[[str], RepoFacts | None]
    member: Callable[[], str | None] = lambda: None

    def project(self, request: FilterRequest) -> Project | None:
        """None: all projects or, if a directory was given, one without memories."""
        if request.project:
            found = self._named(request)
            if found is None:
                raise UnknownProject(request.project)
            return found
        return self._here(request)

    def _named(self, request: FilterRequest) -> Project | None:
        """If several have the name, the one whose directory was given as well."""
        try:
            return self.store.projects.find(request.project)
        except AmbiguousProject:
            here = self._here(request)
            if here is None or here.name != request.project:
                raise
            return here

    def _here(self, request: FilterRequest) -> Project | None:
        return self.store.projects.by_key(self.key_of(request.cwd)) if request.cwd else None

    def filters(self, request: FilterRequest) -> Filters:
        project = self.project(request)
        unknown = request.cwd and not request.project and project is None
        return Filters(
            # A directory without memories: no project has the id 0, so nothing is found.
            project_id=0 if unknown else project.id if project else None,
            kinds=tuple(
                kind for kind in KINDS if kind in request.kinds or (request.raw and not request.kinds)
            ),
            types=request.types,
            concepts=request.concepts,
            file=request.file or None,
            session=self.session(request.session) if request.session else None,
            equal=self._columns(request),
            authors=self.authors(request.author) if request.author else (),
            since=self.time("since", request.since, project)[0],
            until=self.time("until", request.until, project)[1],
            superseded=request.superseded,
            wrong=request.wrong,
            pinned=request.pinned,
        )

    def session(self, given: str) -> str:
        """The agent's own id of a session, given that id or the start of it."""
        found = self.store.sessions.session(given.strip())
        if found is None:
            raise InvalidInput("session", f"No session {given!r}. To list all: claude-mem sessions")
        return str(found["claude_session_id"])

    def _columns(self, request: FilterRequest) -> dict[str, str]:
        given = {name: value for name in column_filters() if (value := getattr(request, name))}
        client = given.get("client")
        if client and client not in TITLES and client not in (known := self.store.sessions.clients()):
            names = ", ".join(dict.fromkeys([*TITLES, *known]))
            raise InvalidInput("client", f"Unknown agent {client!r}. Known: {names}.")
        return given

    def authors(self, given: str) -> tuple[str, ...]:
        """What the store calls a member's sessions. One's own from another machine have one's name."""
        me = self.member()
        if given in (ME, me):
            return (OWN, me) if me else (OWN,)
        known = self.store.sessions.authors()
        if given not in known:
            names = ", ".join(dict.fromkeys([ME, *known]))
            raise InvalidInput("author", f"No memories of {given!r}. Known: {names}.")
        return (given,)

    def is_own(self, author: str | None) -> bool:
        """Whether a session is the user's own, on this machine or another one."""
        return author is None or author == self.member()

    def time(self, field: str, words: str, project: Project | None) -> tuple[int | None, int | None]:
        """The start of the period that is meant, and the first moment after it."""
        if not words.strip():
            return None, None

        def tagged(word: str) -> int | None:
            return when_tagged(self.facts_of(project.root), word) if project and project.root else None

        try:
            return interval(words, self.clock(), self.zone(), tagged)
        except ValueError as error:
            raise InvalidInput(field, str(error)) from None


def fits(card: Card, filters: Filters) -> bool:
    return (
        (filters.project_id is None or card.project_id == filters.project_id)
        and (not filters.kinds or card.ref.kind in filters.kinds)
        and (not filters.types or card.type in filters.types)
        and (not filters.concepts or not set(filters.concepts).isdisjoint(card.concepts))
        and (filters.file is None or any(is_of_file(path, filters.file) for path in card.files))
        and (filters.session is None or card.session == filters.session)
        and all(getattr(card, name) == value for name, value in filters.equal.items())
        and (not filters.authors or (card.author or OWN) in filters.authors)
        and (filters.since is None or card.created_at >= filters.since)
        and (filters.until is None or card.created_at < filters.until)
        and (filters.superseded is None or (card.superseded_by is not None) == filters.superseded)
        and (filters.wrong is None or card.wrong == filters.wrong)
        and (not filters.pinned or card.pinned)
    )


Interval = tuple[int, int]
"""Epoch milliseconds: the first moment of it, and the first after it. Both the same: a moment."""

DATE_EXAMPLES = "today, yesterday, last week, monday, 3 days ago, 2 hours ago, 2026-01-31, 2026-01, since v2"

_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_WEEKDAYS |= {name.lower(): number for number, name in enumerate(calendar.day_abbr)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_MOMENTS = {"second": 1_000, "minute": 60_000, "min": 60_000, "hour": 3_600_000}

_COUNT = rf"(\d{{1,9}}|{'|'.join(_NUMBERS)})"
_AGO = lazy_pattern(rf"{_COUNT} (second|minute|min|hour|day|week|month|year)s? ago")
_PAST = lazy_pattern(rf"(?:the )?(?:last|past) (?:{_COUNT} )?(second|minute|min|hour|day|week|month|year)s?")
_ISO_DAY = lazy_pattern(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_ISO_MONTH = lazy_pattern(r"(\d{4})[-/](\d{1,2})")
_DOTTED = lazy_pattern(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})")
_YEAR = lazy_pattern(r"(?:19|20)\d\d")
_NAMED_MONTH = lazy_pattern(r"(?:in )?([a-z]+)(?: (\d{4}))?")
_ISO_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d[ t]\d\d:\d\d.*")


def interval(
    text: str, now: int, tz: tzinfo, tag_time: Callable[[str], int | None] = lambda _: None
) -> Interval:
    """Raises ValueError with one sentence. `tag_time` knows when a tag of the repository was made."""
    try:
        return _DateReader(now, tz, tag_time).read(" ".join(text.split()))
    except (LookupError, OverflowError, OSError, ValueError):
        shown = " ".join(text.split())[:60]
        raise ValueError(f"{shown!r} is not a recognized date. Examples: {DATE_EXAMPLES}.") from None


def local_zone() -> tzinfo:
    """The user's current time zone, which may change while the worker runs."""
    return datetime.now().astimezone().tzinfo or UTC


class _DateReader:
    def __init__(self, now: int, tz: tzinfo, tag_time: Callable[[str], int | None]) -> None:
        self._now, self._tz, self._tag_time = now, tz, tag_time
        self._today = datetime.fromtimestamp(now / 1000, tz).date()

    def read(self, text: str) -> Interval:
        first, _, rest = text.partition(" ")
        match first.lower():
            case "since" | "from":
                since = self._stretch(rest)[0]
                return since, max(since, self._now)
            case "after":
                since = self._stretch(rest)[1]
                return since, max(since, self._now)
            case "before":
                until = self._stretch(rest)[0]
                return min(0, until), until
            case "until" | "till":
                until = self._stretch(rest)[1]
                return min(0, until), until
            case "on":
                return self._stretch(rest)
            case _:
                return self._stretch(text)

    def _stretch(self, text: str) -> Interval:
        found = self._named(text.lower()) or self._counted(text.lower()) or self._dated(text)
        if found is None and text:
            at = self._tag_time(text)
            found = None if at is None else (at, at)
        if found is None:
            raise LookupError(text)
        return found

    def _named(self, word: str) -> Interval | None:
        today = self._today
        since_monday = today.weekday()
        days = {  # how many days ago it began, and how many it lasts
            "today": (0, 1),
            "yesterday": (1, 1),
            "the day before yesterday": (2, 1),
            "this week": (since_monday, 7),
            "last week": (since_monday + 7, 7),
        }
        months = {  # year, month, and how many
            "this month": (today.year, today.month, 1),
            "last month": (today.year, today.month - 1, 1),
            "this year": (today.year, 1, 12),
            "last year": (today.year - 1, 1, 12),
        }
        if word == "now":
            return self._now, self._now
        if word in days:
            ago, count = days[word]
            return self._days(today, count, ago=ago)
        if word in months:
            return self._months(*months[word])
        past, _, name = word.rpartition(" ")
        if name in _WEEKDAYS and past in ("", "last", "this"):
            back = (since_monday - _WEEKDAYS[name]) % 7
            return self._days(today, 1, ago=7 if back == 0 and past == "last" else back)
        return self._named_month(word)

    def _named_month(self, word: str) -> Interval | None:
        found = _NAMED_MONTH.fullmatch(word)
        if found is None or found[1] not in _MONTHS:
            return None
        month = _MONTHS[found[1]]
        newest = self._today.year - (month > self._today.month)  # the last one that has begun
        return self._months(int(found[2] or newest), month)

    def _counted(self, words: str) -> Interval | None:
        if found := _AGO.fullmatch(words):
            return self._ago(_number(found[1]), found[2])
        if found := _PAST.fullmatch(words):
            return self._ago(_number(found[1] or "1"), found[2])[0], self._now
        return None

    def _ago(self, count: int, unit: str) -> Interval:
        """A period ago: hours ago are a moment; days, weeks and months ago are a whole day."""
        if unit in _MOMENTS:
            at = self._now - count * _MOMENTS[unit]
            datetime.fromtimestamp(at / 1000, self._tz)  # else nobody lived then
            return at, at
        if unit in ("day", "week"):
            return self._days(self._today, 1, ago=count * (7 if unit == "week" else 1))
        months = self._today.year * 12 + self._today.month - 1 - count * (12 if unit == "year" else 1)
        year, month = months // 12, months % 12 + 1
        return self._days(date(year, month, min(self._today.day, calendar.monthrange(year, month)[1])), 1)

    def _dated(self, text: str) -> Interval | None:
        if found := _ISO_DAY.fullmatch(text):
            return self._days(date(*map(int, found.groups())), 1)
        if found := _DOTTED.fullmatch(text):
            day, month, year = map(int, found.groups())
            return self._days(date(year, month, day), 1)
        if found := _ISO_MONTH.fullmatch(text):
            date(int(found[1]), int(found[2]), 1)  # there is no thirteenth
            return self._months(int(found[1]), int(found[2]))
        if _YEAR.fullmatch(text):
            return self._months(int(text), 1, 12)
        if _ISO_TIME.fullmatch(text.lower()):
            moment = datetime.fromisoformat(text)
            at = int((moment if moment.tzinfo else moment.replace(tzinfo=self._tz)).timestamp() * 1000)
            return at, at
        return None

    def _days(self, first: date, count: int, *, ago: int = 0) -> Interval:
        first -= timedelta(days=ago)
        return self._midnight(first), self._midnight(first + timedelta(days=count))

    def _months(self, year: int, month: int, count: int = 1) -> Interval:
        start, end = year * 12 + month - 1, year * 12 + month - 1 + count
        return (
            self._midnight(date(start // 12, start % 12 + 1, 1)),
            self._midnight(date(end // 12, end % 12 + 1, 1)),
        )

    def _midnight(self, day: date) -> int:
        return int(datetime.combine(day, time(), self._tz).timestamp() * 1000)


def _number(word: str) -> int:
    return _NUMBERS[word] if word in _NUMBERS else int(word)
