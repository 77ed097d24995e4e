"""Which of the agent's own words state something worth keeping."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from claude_mem.observe.offline import markdown, next_steps, vocabulary
from claude_mem.observe.offline.markdown import Part
from claude_mem.observe.offline.vocabulary import Topic
from claude_mem.observe.offline.wording import FACT, TITLE, clip, sentences, unique

_CONCRETE = re.compile(r"[a-z][A-Z]|\w_\w|[\w)]/\w|\w\.\w{2,}|\(\)|#\d|\d|[A-Z]{3,}|--\w")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ASIDE = re.compile(r"\([^)]*\)")
_SOURCE = re.compile(r"(?<![\w/.:-])((?:[\w.@-]+/)+[\w.@-]+\.\w{1,8})(?=[:\s,;)\]`]|$)")


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    topic: Topic
    item: bool = False
    lead: str = ""
    done: bool | None = None


@lru_cache(maxsize=4)  # a message is looked at from several sides in a row
def statements(message: str) -> tuple[Statement, ...]:
    """Each paragraph and item of a message, with what it is about by its heading or its bold beginning."""
    found = []
    for section in markdown.sections(message):
        under = vocabulary.topic(section.heading) if section.heading else "other"
        if _states(section.heading):
            found.append(Statement(section.heading, under, lead=section.heading))
        introduced: Topic = "other"  # by a paragraph that ends in a colon before a list
        for part in section.parts:
            own = vocabulary.topic(part.lead) if part.lead else "other"
            if not part.item:
                introduced = _introduced(part.text)
            topic = own if own != "other" else introduced if introduced != "other" else under
            found += _split(part, topic, under)
    return tuple(found)


def _introduced(paragraph: str) -> Topic:
    """What the list after it is about. Of several sentences the last one may announce what is left."""
    if not paragraph.endswith((":", "：")):
        return "other"
    last = sentences(paragraph)[-1]
    if len(last) < 80 and vocabulary.topic(last) == "next":
        return "next"
    return vocabulary.topic(paragraph) if len(paragraph) < 80 else "other"


def _split(part: Part, topic: Topic, under: Topic) -> Iterator[Statement]:
    """What is left to do stands apart from what was told in the same paragraph."""
    if topic == "next" and (part.item or part.lead or under == "next"):
        yield Statement(next_steps.without_label(part.text), topic, part.item, part.lead, part.done)
        return
    if topic == "next":  # only announces a list of it
        topic = under
    told, later = next_steps.split(part.text, phrases=topic in ("other", "done"))
    if told:
        yield Statement(told, topic, part.item, part.lead, part.done)
    for left in later:
        yield Statement(left, "next", part.item)


def _states(heading: str) -> bool:
    """A heading that is a sentence, not a label."""
    bare = _ASIDE.sub("", heading)
    return len(bare.split()) > 5 and not bare.endswith("?") and bool(re.search(r"[:.,;—–=→]", bare))


def informs(sentence: str) -> bool:
    """Says something by itself: long enough, no question, no announcement of a list, no guess."""
    if sentence.endswith(("?", "？")) or vocabulary.HEDGED.search(sentence):
        return False
    if sentence.endswith((":", "：")) and (len(sentence) < 60 or not concrete(sentence)):
        return False  # announces a list; a longer one states something and shows it
    return (
        len(sentence) >= 12 if _CJK.search(sentence) else len(sentence) >= 25 and len(sentence.split()) >= 4
    )


def concrete(sentence: str) -> bool:
    """Names something: an identifier, a path, a number."""
    return _CONCRETE.search(sentence) is not None


def gist(message: str, limit: int = 300) -> str:
    """The first sentence that says something, a concrete one if there is one near the beginning."""
    early = [
        sentence
        for statement in statements(message)[:8]
        if statement.topic != "next"
        for sentence in sentences(statement.text)
        if informs(sentence)
    ]
    best = next((sentence for sentence in early[:4] if concrete(sentence)), early[0] if early else "")
    return clip(best.rstrip(":："), limit)


def subject(message: str) -> str:
    """A title for what was found out: a finding under its heading, else the gist."""
    found = statements(message)
    for statement in found:
        if statement.topic != "learned" or statement.text.endswith("?"):
            continue
        whole = [statement.text] if statement.lead == statement.text else sentences(statement.text)[:2]
        for sentence in whole:
            if (
                informs(sentence)
                and (concrete(sentence) or len(sentence.split()) > 6)
                and len(sentence) >= 40
            ):
                return clip(sentence.rstrip(":："), TITLE)
    return gist(message, TITLE)


def facts(message: str, most: int = 7) -> tuple[str, ...]:
    """What it states: its items and bold beginnings first, then concrete sentences."""
    kept = [
        s
        for s in statements(message)
        if s.topic in ("learned", "other", "decided", "done") and s.done is not False
    ]
    strong = [_first(s.text) for s in kept if s.item or s.lead]
    weak = [
        sentence
        for s in kept
        if not s.item and not s.lead
        for sentence in sentences(s.text)
        if concrete(sentence)
    ]
    stated = unique((clip(text, FACT) for text in (*strong, *weak) if informs(text)), most)
    proposed = [_first(s.text) for s in statements(message) if s.topic == "next" and s.item]
    offered = [clip(f"proposed: {text}", FACT) for text in proposed[:3] if informs(text)]
    return unique([*stated[: most - min(2, len(offered))], *offered], most)


def _first(text: str) -> str:
    """As many whole sentences as fit a fact."""
    taken = ""
    for sentence in sentences(text):
        if len(taken) > 60 and len(taken) + len(sentence) + 1 > FACT:
            break
        taken = f"{taken} {sentence}".strip()
    return taken


def sources(message: str) -> Iterator[str]:
    """Paths the message names."""
    for found in _SOURCE.finditer(message[: markdown.LONGEST]):
        if not found[1].startswith(("http", "www.", "//")) and ".com/" not in found[1]:
            yield found[1]


def weighs(message: str) -> bool:
    """Has enough to it to be remembered: a finding under a heading, a list, or several concrete sentences."""
    if len(message) < 160:
        return False
    found = statements(message)
    told = [
        sentence
        for s in found
        if s.topic != "next"
        for sentence in sentences(s.text)
        if informs(sentence) and concrete(sentence)
    ]
    return len(told) >= 3 and (
        len(message) >= 400 or any(s.item or s.lead or s.topic == "learned" for s in found)
    )
