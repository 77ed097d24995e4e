"""Date phrases as intervals: `yesterday`, `last week`, `3 days ago`, `2026-01`, `since v2`."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

Interval = tuple[int, int]
"""Epoch milliseconds: the first moment of it, and the first after it. Both the same: a moment."""

EXAMPLES = "today, yesterday, last week, monday, 3 days ago, 2 hours ago, 2026-01-31, 2026-01, since v2"

_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_WEEKDAYS |= {name.lower(): number for number, name in enumerate(calendar.day_abbr)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_MOMENTS = {"second": 1_000, "minute": 60_000, "min": 60_000, "hour": 3_600_000}

_COUNT = rf"(\d{{1,9}}|{'|'.join(_NUMBERS)})"
_AGO = re.compile(rf"{_COUNT} (second|minute|min|hour|day|week|month|year)s? ago")
_PAST = re.compile(rf"(?:the )?(?:last|past) (?:{_COUNT} )?(second|minute|min|hour|day|week|month|year)s?")
_ISO_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_ISO_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NAMED_MONTH = re.compile(r"(?:in )?([a-z]+)(?: (\d{4}))?")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[ t]\d\d:\d\d.*")


def interval(
    text: str, now: int, tz: tzinfo, tag_time: Callable[[str], int | None] = lambda _: None
) -> Interval:
    """Raises ValueError with one sentence. `tag_time` knows when a tag of the repository was made."""
    try:
        return _DateReader(now, tz, tag_time).read(" ".join(text.split()))
    except (LookupError, OverflowError, OSError, ValueError):
        shown = " ".join(text.split())[:60]
        raise ValueError(f"{shown!r} is not a recognized date. Examples: {EXAMPLES}.") from None


def local_zone() -> tzinfo:
    """The user's own, as it is now: a laptop travels."""
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
        """An hour ago is a moment; days, weeks and months ago are the day that was."""
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
