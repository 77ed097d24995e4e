"""Observations and summaries, the batch they are made from, and the outcome of observing it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Literal

from msgspec import Struct

from claude_mem.model.events import Event, Kind
from claude_mem.model.full_text import significant_words
from claude_mem.model.jobs import CallCost
from claude_mem.model.refs import ObservationType, Source
from claude_mem.model.text import lazy_pattern


class Observation(Struct, frozen=True):
    type: ObservationType
    title: str | None = None
    subtitle: str | None = None
    narrative: str | None = None
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()


class Summary(Struct, frozen=True):
    request: str | None = None
    investigated: str | None = None
    learned: str | None = None
    completed: str | None = None
    next_steps: str | None = None
    files_read: tuple[str, ...] = ()
    files_edited: tuple[str, ...] = ()
    notes: str | None = None


class Findings(Struct, frozen=True):
    """What was learned from one batch of events; empty if nothing was worth saving."""

    observations: tuple[Observation, ...] = ()
    summaries: tuple[Summary, ...] = ()
    read_outside: bool = True
    """The events may contain text that others wrote."""
    fetched: bool = False
    """Some of it came from the web, a forge or a server."""
    ran: frozenset[str] = frozenset()
    """The words of the programs that were run, except those that only print existing text."""
    shown: frozenset[str] = frozenset()
    """The words that these programs printed."""
    did: frozenset[str] = frozenset()
    """The words of what the agent did to the repository, its forge or its tracker."""
    saw_state: bool = False
    """Only the state of the repository or its forge was examined, no text."""
    acted: bool = False
    """The agent changed something: a file, a commit, a ticket; if text was fetched, a file or a commit."""
    committed: bool = False
    """The agent made or pushed a commit, and fetched nothing."""
    request: str = ""
    """The user's own words among the events."""
    is_question: bool = False
    """The user only asked questions, and requested no change."""
    decided: bool = False
    """The user answered a question or accepted a plan."""
    replaces: tuple[tuple[str, str], ...] = ()
    """(new title, old title): which observations of the session are replaced by new ones."""
    title: str | None = None
    """A title for the session, if it is better than a summary's request."""

    def source_of(self, made: Observation | Summary) -> Source:
        """The source of a memory, by its evidence: it changed a file, the user decided it, a commit contains
        it, or it describes what the agent ran or did. What was only read, guessed, or stated without looking
        has no evidence. Nor has an answer to the user's question that describes no change, whatever else was
        edited."""
        return "work" if self._supports(made) else "external"

    def _supports(self, made: Observation | Summary) -> bool:
        if isinstance(made, Summary):
            text: tuple[str | None, ...] = (made.request, made.investigated, made.learned, made.notes)
            title = made.completed
            changed, is_deed = made.files_edited, bool(made.completed)
        else:
            title, text = made.title, (made.narrative, *made.facts)
            changed, is_deed = made.files_modified, made.type in DEEDS
            if made.type == "decision" and (self.decided or self._is_the_users(made)):
                return True
        wording = " ".join(filter(None, (title, *text)))
        is_answer = self.is_question and isinstance(made, Observation) and bool(made.narrative)
        is_answer = is_answer and not _CHANGE.search(wording)
        if not is_answer and (changed or (is_deed and self.acted)):
            return True
        if not (self.read_outside or self.fetched):
            return is_deed or isinstance(made, Summary) or bool(self.ran or self.did) or self.saw_state
        if _GUESSES.search(wording):
            return False
        named = significant_words(title or "")
        if is_deed and _are_most(named & self.did, named):
            return True
        return self.committed or self._describes_a_run(title or "", wording)

    def _is_the_users(self, decision: Observation) -> bool:
        quoted = (fact.partition("“")[2].rpartition("”")[0] for fact in decision.facts)
        named = significant_words(decision.title or "")
        is_named = len(named) > 1 and named <= significant_words(self.request)
        return is_named or any(len(words) > 15 and words in self.request for words in quoted)

    def _describes_a_run(self, title: str, wording: str) -> bool:
        """Whether the memory describes a run. Just any run is not enough: passing tests prove nothing about
        code that was read. If text was fetched, the memory must describe little else."""
        named, of_runs = significant_words(title), len(significant_words(wording) & self.ran)
        if (
            self.saw_state
            and _OF_STATE.search(title)
            and not _TELLS_TO.search(title)
            and (not self.fetched or re.search(r"\d", title))
        ):
            return True
        if self.fetched:
            words = significant_words(wording)
            is_about_runs = of_runs >= max(_PLENTY, len(self.ran) / 3, len(words) / 2)
            return is_about_runs or _are_most(words & (self.ran | self.did), words)
        is_about_runs = of_runs >= min(_ENOUGH, max(1, len(self.ran) / 3))
        return is_about_runs or len(named & self.did) >= _ENOUGH or _are_most(named & self.shown, named)


def _are_most(words: frozenset[str], of: frozenset[str]) -> bool:
    return len(of) > 1 and 3 * len(words) >= 2 * len(of)


_ENOUGH, _PLENTY = 3, 8  # words that a memory shares with what was run
_OF_STATE = lazy_pattern(r"\b(?:\d+ commits?|branch(?:es)?|PRs?|pull requests?)\b", re.I)
_TELLS_TO = lazy_pattern(
    r"^(?:push|merge|run|use|skip|disable)\b|\b(?:must|should|always|never|requires?|needs?|disable|skip)\b",
    re.I,
)
DEEDS = ("bugfix", "feature", "refactor", "change")
# Something was done or is other than before; "changed: file" stands below all that have a changed file.
_CHANGE = lazy_pattern(
    r"\b(?!changed: )\w{2,}[^\We]ed\b|→"
    r"|\b(?:now|no longer|gone|fix(?:es)?|wrote|rewrote|made|built|set|put|kept|split)\b",
    re.I,
)
_GUESSES = lazy_pattern(
    r"\b(?:almost certainly|probably|presumably|most likely|i (?:suspect|guess|assume)|can(?:no"
    r"|['’])t (?:be )?verif\w+"
    r"|not (?:been )?verified|unverified)\b",
    re.I,
)


class Observed(Struct, frozen=True):
    findings: Findings
    empty: int = 0  # blocks of the reply that hold nothing
    skipped: str | None = None  # why there is no summary, in the model's words


class Nothing(Struct, frozen=True):
    """An explicit 'nothing worth keeping'."""

    empty: int = 0
    skipped: str | None = None


class Throttled(Struct, frozen=True):
    """The provider asked us to wait; this is not a failed attempt."""

    until: int  # epoch milliseconds


class Broken(Struct, frozen=True):
    """The provider could not be called, or answered with an error."""

    reason: str
    at_fault: Literal["batch", "provider"] = "batch"  # provider: any batch would have failed
    spend: CallCost | None = None  # what it cost all the same


class Unreadable(Struct, frozen=True):
    """The provider answered, but not in the expected format. The batch stays in the queue."""

    reason: str


class Paused(Struct, frozen=True):
    """Retrying is useless until the user changes something: a login, a key, a model's name. The batch stays
    in the queue and no attempt is counted; the user is notified once."""

    reason: str  # one plain sentence that says what to do


Failure = Throttled | Broken | Paused
"""Why there is no reply, by status and error type, never by wording."""

Outcome = Observed | Nothing | Unreadable | Failure


class Batch(Struct, frozen=True):
    """A range of one session's events, with their context."""

    project: str
    session: str  # the client's own id
    events: tuple[Event, ...]  # in their order
    request: str | None = None  # the user's words these events came of; None: private or unknown
    recorded: tuple[str, ...] = ()  # this session's titles, so that nothing is written twice
    before: str | None = None  # the agent's last message before: what a bare "yes" says yes to
    branch: str | None = None
    offline: bool = False  # the user wants no model to be called for it

    @property
    def wants_summary(self) -> bool:
        """Whether a turn of the main agent ended in it that was not private."""
        return any(event.kind is Kind.STOP and not event.private for event in self.events)


_COMMIT_TYPES: dict[str, ObservationType] = {
    **dict.fromkeys(("feat", "feature", "add", "adds", "added", "implement", "implements"), "feature"),
    **dict.fromkeys(("support", "introduce", "introduces", "allow", "allows", "new"), "feature"),
    **dict.fromkeys(("fix", "fixes", "fixed", "bugfix", "hotfix", "bug", "revert", "correct"), "bugfix"),
    **dict.fromkeys(("refactor", "refactors", "refactored", "perf", "simplify", "extract"), "refactor"),
    **dict.fromkeys(
        ("rename", "cleanup", "restructure", "reorganize", "move", "split", "inline"), "refactor"
    ),
    **dict.fromkeys(("docs", "doc", "chore", "ci", "build", "test", "tests", "style"), "change"),
    **dict.fromkeys(("deps", "release"), "change"),
}
_FIRST_WORD = lazy_pattern(r"^(?:[^\w\s]+\s*|:\w+:\s*)?\[?(\w+)\]?(?:\([^)]{1,80}\))?!?:?(?=\s|$)")
FIXES = lazy_pattern(
    r"\b(?:fix(?:es|ed|ing)?|bug(?:s|fix)?|regression|crash(?:es|ed)?|behebe?n?|behoben|repariert?"
    r"|korrigiert?"
    r"|fehler|corrig\w+|répar\w+|arregl\w+|correg\w+|corrij\w+|исправ\w*|ошибк\w*|почин\w*)\b"
    r"|修复|修正|错误|不具合|バグ|直し|버그|수정",
    re.I,
)


def type_of_commit(subject: str) -> ObservationType | None:
    """The type of a commit, by its first word (a conventional prefix or not) or by what it mentions; None:
    unknown."""
    first = _FIRST_WORD.match(subject)
    found = _COMMIT_TYPES.get(first[1].lower()) if first else None
    return found or ("bugfix" if FIXES.search(subject) else None)


_OPENING = "\"'`([{“”‘’«„*"
_CLOSING = "\"'`)]}“”‘’»„*.,;:!?…。、，；：！？"
_BULLETS = frozenset("-–—•*")


def content_key(observation: Observation) -> str | None:
    """A key that is the same for the same content, however it is formatted; None if there is no content.

    Case, spacing, quotes, brackets and punctuation at the end of words do not count, nor does the order of
    the facts. Digits count, and so do operators in code: `x > 3` is not `x < 3`. A title alone is not enough:
    "Tests added" to one file is not "Tests added" to another.
    """
    title, texts = _plain(observation.title), [_plain(observation.narrative)]
    texts += sorted(map(_plain, observation.facts))
    if not any(texts):
        if not title:
            return None
        texts += [observation.type, *sorted(set(observation.files_modified))]
    parts = [title, *texts]
    return hashlib.sha256("\n".join(parts).encode(errors="replace")).hexdigest()[:32]


def _plain(text: str | None) -> str:
    words = unicodedata.normalize("NFKC", text or "").casefold().split()
    stripped = (word.lstrip(_OPENING).rstrip(_CLOSING) for word in words if word not in _BULLETS)
    return " ".join(word for word in stripped if word)
