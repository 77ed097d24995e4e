"""Splits an agent's message into what was done, found, decided, checked and left to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

from claude_mem.model.structs import replace
from claude_mem.observe.offline.sentences import one_line, pattern, sentences

LONGEST = 60_000

Topic = Literal["done", "next", "offered", "learned", "decided", "checked", "other"]

AHEAD: tuple[Topic, ...] = ("next", "offered")  # what is left to do, and what the agent offers to do

_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.{1,300}?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s*(\*\*)([^*]{2,200})\*\*\s*:?\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d{1,2}[.)])\s+(?:\[([ xX])\]\s+)?(.+)$")
_LEAD = re.compile(r"^\*\*([^*]{2,160}?)\*\*")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ROW = re.compile(r"^\s*\|(.+)\|\s*$")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$")
_LINK = re.compile(r"!?\[([^\[\]]{0,300}+)\]\(([^)\s]{0,500}+)(?:\s[^)]{0,100}+)?\)")
_WIKI = re.compile(r"\[\[([^\]]{1,100})\]\]")
_TICKS = re.compile(r"`{1,2}([^`]{1,400})`{1,2}")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,200}?)(?<=\S)\*(?![\w*])")
# Decoration stands by itself; in a name, or before a full stop, a sign is part of what is said.
_SIGNS = re.compile(r"(?<!\S)[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ufe0f]+(?:\s+|$)")


class Statement(Struct):
    """A paragraph, a list item or a row of a table."""

    text: str
    lead: str = ""  # its bold beginning, if it has one
    item: bool = False
    row: bool = False
    done: bool | None = None  # of a checkbox
    topic: Topic = "other"
    heading: str = ""
    intro: str = ""  # of an item: the paragraph that announces its list


class Section(Struct):
    heading: str = ""
    level: int = 0  # of the heading; a bold line is the lowest
    parts: list[Statement] = field(default_factory=list)


def plain(text: str) -> str:
    """The text without markup. A link to a file becomes the file's path, because people search for that."""
    text = _WIKI.sub(r"\1", _LINK.sub(_linked, text))
    text = _TICKS.sub(r"\1", text)
    text = _BOLD.sub(r"\2", text)
    return one_line(_SIGNS.sub("", _EMPHASIS.sub(r"\1", text)))


def _linked(found: re.Match[str]) -> str:
    label, target = found[1], found[2]
    if "://" in target or target.startswith(("#", "mailto:")):
        return label or target
    return label or target.partition("#")[0]


def sections(text: str) -> list[Section]:
    """The sections of the message in order: each heading with its text. Code blocks are left out."""
    reader = _Reader()
    fence = ""
    for line in text[:LONGEST].splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence:
            reader.take(line)
    return reader.end()


class _Reader:
    def __init__(self) -> None:
        self.found = [Section()]
        self.lines: list[str] = []  # of the paragraph that is being read
        self.head: list[Statement] = []  # a row that may turn out to be a table's head
        self.in_item = False

    def take(self, line: str) -> None:
        if _RULE.match(line):
            self._close()
            self.head.clear()
            return
        self.found[-1].parts += self.head
        self.head.clear()
        heading = _HEADING.match(line) or _BOLD_LINE.match(line)
        if heading:
            self._close()
            level = len(heading[1]) if heading[1][0] == "#" else 7
            self.found.append(Section(plain(heading[2]).rstrip(":："), level))
            self.in_item = False
        elif not line.strip():
            self._close()
        elif item := _ITEM.match(line):
            self._item(item)
        elif row := _ROW.match(line):
            self._row(row[1])
        elif self.in_item and line[:1] in (" ", "\t") and self.found[-1].parts and not self.lines:
            self.found[-1].parts[-1].text += " " + plain(line)
        else:
            self.in_item = False
            if _LABEL.match(line.strip()):
                self._close()
            self.lines.append(line.strip())

    def end(self) -> list[Section]:
        self._close()
        self.found[-1].parts += self.head
        return [section for section in self.found if section.heading or section.parts]

    def _close(self) -> None:
        if self.lines:
            self.found[-1].parts.append(_part(" ".join(self.lines)))
            self.lines.clear()

    def _item(self, item: re.Match[str]) -> None:
        self._close()
        part = _part(item[3], item=True)
        part.done = None if item[2] is None else item[2] != " "
        parts = self.found[-1].parts
        if len(item[1]) >= 2 and self.in_item and parts and len(parts[-1].text) < 400:
            joint = " " if parts[-1].text.endswith((":", ".", ";", "：")) else "; "
            parts[-1].text += joint + part.text
        else:
            parts.append(part)
        self.in_item = True

    def _row(self, cells: str) -> None:
        self._close()
        first, *rest = [cell for cell in map(plain, cells.split("|")) if cell] or [""]
        part = Statement(f"{first}: {'; '.join(rest)}" if rest else first, item=True, row=True)
        parts = self.found[-1].parts
        (parts if parts and parts[-1].row else self.head).append(part)


def _part(text: str, *, item: bool = False) -> Statement:
    lead = _LEAD.match(text)
    return Statement(plain(text), plain(lead[1]).rstrip(":：") if lead else "", item)


_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = tuple(
    (name, pattern("topic", name)) for name in ("next", "offered", "checked", "decided", "learned", "done")
)


def topic(heading: str) -> Topic:
    """The topic of this heading; 'other' if it is unclear. Only the beginning of a long heading counts."""
    words = heading[:120].split()
    label = " ".join(words if len(words) <= 6 else words[:3])
    return next((name for name, known in _TOPICS if known.search(label)), "other")


# Words that say by themselves that something is left, before a colon or a dash. Small letters only where
# nothing else is meant: `next:` at a beginning may be anybody's field.
_LABELS = pattern("left", "labels", 0).pattern
_LABEL = re.compile(rf"[*_]{{0,3}}(?:{_LABELS})(?: ?:[*_]{{0,3}}(?:\s|$)|：| [—–-] )")
_NONE = re.compile(r"(?:none|nothing|n/a|no (?:open|further|more|other)|keine?|rien|nada|нет|无)\b", re.I)
# What says it in the middle of a sentence; of pushing and the like only its beginning, for elsewhere it tells
# of something else ("secrets are not committed").
_PHRASE = pattern("left", "phrase", 0)
_UNSENT = pattern("left", "unsent", 0)
_DENIED = re.compile(r"\b(?:no|not|nothing|none|never|neither|if|when|unless|whether|would)\b|[\"“]", re.I)
# “Not pushed — say the word”: the offer is nothing to remember.
_RECANTS = pattern("topic", "recants")
_OFFER = re.compile(
    r" [—–-] (?:want me|do you want|shall I|should I|say |let me know|just say|happy to)\b.*$"
)


@lru_cache(maxsize=4)  # a message is looked at from several sides in a row
def statements(message: str) -> tuple[Statement, ...]:
    """Each paragraph and item of a message, with what it is about by its heading or its bold beginning."""
    found: list[Statement] = []
    above, level = "other", 0  # what a heading over this one says is ahead
    for section in sections(message):
        under = topic(section.heading) if section.heading else "other"
        if section.level > level and above in AHEAD:
            under = above  # of an option, its parts are no more than that
        else:
            above, level = under, section.level
        introduced: Topic = "other"  # by a paragraph that ends in a colon before a list
        intro = ""
        for part in section.parts:
            own = topic(part.lead) if part.lead else "other"
            if not part.item:
                introduced = _introduced(part.text)
                intro = part.text if part.text.endswith((":", "：")) else ""
            about = own if own != "other" else introduced if introduced != "other" else under
            part.heading, part.intro = section.heading, intro if part.item else ""
            if not part.item and _RECANTS.match(part.text):
                found.clear()  # the end counts: what stood before is taken back
            found += _split(part, about, under)
    return tuple(found)


def _introduced(paragraph: str) -> Topic:
    """What the list after it is about. Of several sentences the last one may announce what is left."""
    if not paragraph.endswith((":", "：")):
        return "other"
    last = sentences(paragraph)[-1]
    if _CONDITIONAL.search(last):
        return "offered"
    return topic(last) if len(last) < 80 else "other"


# What is listed after it would be, may be, or is not.
_CONDITIONAL = pattern("topic", "conditional")


def _split(part: Statement, about: Topic, under: Topic) -> Iterator[Statement]:
    """Separates what is left to do from the rest of the same paragraph."""
    if about in AHEAD and (part.item or part.lead or under in AHEAD):
        yield replace(part, text=without_label(part.text), topic=about)
        return
    about = under if about in AHEAD else about  # it only announces a list of that
    done, next_steps = split_off_next(part.text, phrases=about in ("other", "done"))
    if done:
        yield replace(part, text=done, topic=about)
    for left in next_steps:
        yield Statement(left, item=part.item, topic="next", heading=part.heading)


def without_label(text: str) -> str:
    found = _LABEL.match(text)
    return text[found.end() :].strip() or text if found else text


def split_off_next(text: str, phrases: bool) -> tuple[str, list[str]]:
    """Splits a paragraph into what was done and what is left to do. `phrases`: also in the middle of a
    sentence."""
    done: list[str] = []
    next_steps: list[str] = []
    all_sentences = sentences(text)
    for each in all_sentences:
        bare = _OFFER.sub("", without_label(each))
        if _LABEL.match(each):
            next_steps += [] if _NONE.match(bare) else [bare]
        elif _is_left(bare, phrases):
            next_steps.append(bare)
        else:
            done.append(each)
    return text if len(done) == len(all_sentences) else " ".join(done), next_steps


def _is_left(sentence: str, phrases: bool) -> bool:
    """Whether it says that something is open; not that nothing is, not hypothetically, and not in a
    quotation."""
    if sentence.endswith(("?", "？")):
        return False
    found = _PHRASE.search(sentence) if phrases else None
    return bool(_UNSENT.match(sentence) or (found and not _DENIED.search(sentence[: found.start()])))
