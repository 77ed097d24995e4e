"""Formats a memory as a line: its id, age, kind, title, files and warnings; its most informative sentences;
its size in tokens. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import datetime, tzinfo
from pathlib import PurePosixPath

from claude_mem.agents import TITLES
from claude_mem.model.refs import Card, Hit, Ref
from claude_mem.model.text import lazy_pattern, unescaped
from claude_mem.recall.fence import flowing, points, quoted
from claude_mem.recall.staleness import NEVER_MERGED

BYTES_PER_TOKEN = 4

MEMORY_FIELDS = (
    ("subtitle", ""),
    ("narrative", ""),
    ("text", ""),
    ("prompt", ""),
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
    ("facts", "Facts"),
    ("concepts", "Concepts"),
)
"""What a memory says beyond its title, with a label where it needs one. Whoever shows it in full adds where
it comes from."""


def estimate_tokens(text: str) -> int:
    """A quarter of its bytes, rounded up: four characters of English, two of Greek, one emoji are a token,
    four Chinese characters are three. Tokenizers differ more among themselves than this from any of them."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


_KINDS = {"observation": "note", "summary": "session", "prompt": "request", "evidence": "evidence"}
ORIGINS = {"external": "read, not verified", "user": "saved by the user"}
ORIGINS_OF_OTHERS = {"external": "read, not verified", "user": "saved on request"}
# Names that say nothing without their folder.
_COMMON = frozenset(
    ("__init__", "index", "main", "mod", "readme", "package", "lib", "conftest", "settings", "test")
)
_LONGEST_TITLE, _LONGEST_FILE, _LONGEST_MARK, _LONGEST_NAME = 160, 48, 80, 64
_MOST_FILES = 2


def name(ref: Ref) -> str:
    return f"#{ref}"


def moment(at: int, tz: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, tz)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz)  # a time nobody lived at; the memory is shown all the same


def day(at: int, tz: tzinfo) -> str:
    return f"{moment(at, tz):%Y-%m-%d}"


def clock(at: int, tz: tzinfo) -> str:
    return f"{moment(at, tz):%H:%M}"


def age(at: int, now: int, tz: tzinfo) -> str:
    """An age in calendar days, then in weeks, months and years."""
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


def files(card: Card, text: str) -> str:
    """`[pump.py, queue/__init__.py +3]`: those it changed, else those it is about, that were not said."""
    about = [
        PurePosixPath(path.replace("\\", "/")) for path in dict.fromkeys(card.files_modified or card.files)
    ]
    unmentioned = [path for path in about if path.name not in text]
    if not unmentioned:
        return ""
    shown = dict.fromkeys(quoted(_short(path, about), _LONGEST_FILE) for path in unmentioned[:_MOST_FILES])
    more = len(unmentioned) - len(shown)
    return f"[{', '.join(shown)}{f' +{more}' if more else ''}]"


def _short(path: PurePosixPath, among: list[PurePosixPath]) -> str:
    is_clear = path.stem.lower() not in _COMMON and sum(other.name == path.name for other in among) == 1
    return path.name if is_clear else "/".join(path.parts[-2:])


def cost(card: Card) -> int:
    """The number of tokens to read the memory in full."""
    return estimate_tokens(f"{card.title}\n{card.text}")


def agent(client: str | None, reader: str | None) -> str:
    """`in Codex`: the agent that a memory comes from, for another's session; "" for its own. `reader`: that
    session's agent; None: unknown."""
    named = TITLES.get(client or "") if reader and client != reader else None
    return f"in {named}" if named else ""


def byline(author: str | None, client: str | None, reader: str | None) -> str:
    """`by ada in Codex`: the member of the team that a memory comes from, and the agent; "" for one's own, of
    the reader's agent."""
    by = f"by {quoted(author, _LONGEST_NAME)}" if author else ""
    return " ".join(filter(None, (by, agent(client, reader))))


def origin(source: str, author: str | None) -> str:
    """The origin of a memory's text, if it is not work. What another member saved was not saved by the
    user."""
    return ORIGINS_OF_OTHERS.get(source, "") if author else ORIGINS.get(source, "")


def marks(hit: Hit, reader: str | None = None) -> str:
    """` (files changed since; by ada; read, not verified)`, or nothing."""
    card = hit.card
    notes = [f"{mark}: {card.branch}" if mark == NEVER_MERGED and card.branch else mark for mark in hit.marks]
    notes += filter(None, (byline(card.author, card.client, reader), origin(card.source, card.author)))
    if card.superseded_by is not None:
        notes.append(f"superseded by #{card.superseded_by}")
    shown = dict.fromkeys(quoted(mark, _LONGEST_MARK) for mark in notes)
    return f" ({'; '.join(shown)})" if shown else ""


_MOST_READ = 4_000  # characters
_ALIKE = 0.7  # the share of a sentence's words that make it a repetition
_SENTENCES = lazy_pattern(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[^\sa-z])|(?<=[。！？])")
# The offline observer's label for the user's words, which are not an outcome.
_REQUEST = lazy_pattern(r"^Asked: “[^”]*”\s*")
_WORDS = lazy_pattern(r"\w+")
_PARTS = lazy_pattern(r"[^\W_]+")  # of identifiers, too
# a word, and no part of a path or a name
_PLAIN = lazy_pattern(r"(?<![\w./\\-])[^\W\d_]{2,}(?![\w/\\]|\.\w)")
_LONG_SCRIPT = (
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]"  # no spaces; 3 ms to compile, so when used
)
_FEWEST_WORDS = 5
# Reasons, pitfalls and rules, which a reader cannot see in the code itself.
_REASON_WORDS = """
because since therefore cause caused causes fails failed broke breaks
must never always only unless until otherwise requires required beware
gotcha race deadlock instead fix fixed workaround rejected chose decided
"""
_REASONS = frozenset(_REASON_WORDS.split())
_JSON_STRING = lazy_pattern(r'"(?P<text>(?:[^"\\]|\\.)*)(?:"|$)(?P<colon>\s*:)?')
_CONCRETE = lazy_pattern(r"`|\d|\w_\w|\w\(\)|\w/\w|[a-z][A-Z]")


def gist(title: str, text: str, cap: int, words: Collection[str] = ()) -> str:
    """The title and what adds the most to it, at most cap characters. `words`: the words of the query, in
    lower case."""
    sentences = _sentences(text)
    head = flowing(title) or (sentences[0] if sentences else "")
    if head.endswith("…"):
        # The title is the beginning of a sentence that was too long for a title; here there is room for it.
        head = next((complete for complete in sentences if complete.startswith(head[:-1])), head)
    head = quoted(head, cap)
    if not head or len(head) > cap - 24:
        return head
    more = _best_sentences(sentences, cap - len(head) - 2, known=_words(head), query_words=set(words))
    if more.startswith(head) and not more[len(head) : len(head) + 1].isalnum():
        return more  # the title is the beginning of this sentence
    return f"{_ended(head)} {more}".rstrip() if more else head


def beyond(title: str, text: str, cap: int, words: Collection[str] = ()) -> str:
    """The sentences that add the most to the title, at most cap characters; often nothing."""
    return _best_sentences(_sentences(text), cap, known=_words(title), query_words=set(words))


def headline(kind: str, title: str, snippet: str) -> tuple[str, str]:
    """What a result is shown by, and what is shown beneath it. Of a summary the sentence that matches: its
    title is the prompt."""
    is_whole = title.endswith("…") and snippet.startswith(title[:-1].rstrip())
    if snippet and (kind == "summary" or is_whole):
        return snippet, ""
    return title, "" if snippet.strip(" …") in title else snippet


def matched(title: str, text: str, cap: int, words: Collection[str]) -> str:
    """The sentence that answers: the one with the most of these words that the title does not say already,
    else what says the most; at most cap characters. What semicolons join, as in a summary, is several."""
    stems, known = {_stem(word) for word in words}, _words(title)
    best, most = "", 0
    for sentence in (part for complete in _sentences(text) for part in complete.split("; ")):
        found = len(stems & _stems(sentence))
        if found <= most or not _is_informative(sentence):
            continue
        if len((sentence_words := _words(sentence)) & known) < _ALIKE * len(sentence_words):
            best, most = sentence, found
    return quoted(_ended(best), cap) if best else beyond(title, text, cap, words)


def matched_line(text: str, cap: int, words: Collection[str]) -> str:
    """The same for a tool's input and output: a line of the text in its JSON, never the JSON itself."""
    stems = {_stem(word) for word in words}
    best, most = "", -1
    for line in _plain_lines(text[: 4 * _MOST_READ]):
        found = len(stems & _stems(line))
        if found > most:
            best, most = line, found
    return quoted(best, cap)


def _plain_lines(text: str) -> Iterator[str]:
    """The lines of a text, and of the strings of the JSON in it, which may have been cut anywhere."""
    for part in text.splitlines():
        if part.lstrip()[:1] not in ("{", "["):
            yield from points(part)
            continue
        for value in _JSON_STRING.finditer(part):
            if not value["colon"]:
                yield from points(unescaped(value["text"]))


def _stems(text: str) -> set[str]:
    # As _stem has it, without a call for each: most of them are in every line that is looked at.
    return {
        word if len(word) <= 4 else word[:4] if len(word) < 7 else word[:-3]
        for word in _PARTS.findall(text.lower())
    }


def _stem(word: str) -> str:
    """A word's beginning, by which `fails` matches `failing`."""
    return word[: max(4, len(word) - 3)] if len(word) > 4 else word


def _sentences(text: str) -> list[str]:
    found = []
    for point in points(text[:_MOST_READ]):
        found += _SENTENCES.split(_REQUEST.sub("", point))
    return [sentence for sentence in found if _is_informative(sentence)]


def _is_informative(sentence: str) -> bool:
    """Whether a sentence is informative: `+18 −1, docs` is not, nor is a list of files that are already
    named."""
    return len(_PLAIN.findall(sentence)) >= _FEWEST_WORDS or bool(re.search(_LONG_SCRIPT, sentence))


def _best_sentences(sentences: list[str], room: int, *, known: set[str], query_words: set[str]) -> str:
    ranked = sorted(range(len(sentences)), key=lambda at: (-_score(sentences[at], at, query_words), at))
    chosen: list[int] = []
    for at in ranked:
        words = _words(sentences[at])
        if len(words & known) >= _ALIKE * len(words):
            continue
        if not chosen or len(sentences[at]) + 2 <= room:
            chosen.append(at)
            known = known | words
            room -= len(sentences[at]) + 2
        if len(chosen) == 2 or room <= 0:
            break
    if len(chosen) == 1:
        return quoted(_ended(sentences[chosen[0]]), room + len(sentences[chosen[0]]) + 2)
    return " ".join(_ended(sentences[at]) for at in sorted(chosen))


def _score(sentence: str, at: int, query_words: set[str]) -> float:
    found = _words(sentence)
    return (
        1.0 / (1 + at)  # writers begin with what matters
        + 1.5 * min(len(found & query_words), 3)
        + min(len(found & _REASONS), 2)
        + (0.5 if _CONCRETE.search(sentence) else 0.0)
    )


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.lower()))


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?:;。！？…" else f"{sentence}."
