"""The title: the outcome of a turn in at most 72 characters, in the agent's own words where they say it."""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_mem.observe.offline import request
from claude_mem.observe.offline.commands import says_nothing
from claude_mem.observe.offline.message import AHEAD, Statement, plain, statements
from claude_mem.observe.offline.sentences import (
    TITLE,
    VOCABULARY,
    content_words,
    ends_clause,
    informs,
    is_concrete,
    is_courtesy,
    is_status,
    pattern,
    sentences,
    shortened,
    undangled,
    without_pleasantry,
)

KNOWN = {name: pattern("titles", name) for name in VOCABULARY["titles"]}
_IDENTIFIER = re.compile(
    r"(?<![\w/.@:-])(?:\w+(?:::|\.|_)\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?:\(\))?(?![\w/])"
)


class _Candidate(NamedTuple):
    score: float = 0.0
    bare: str = ""
    sentence: str = ""
    part: bool = False  # a point of several


def from_message(text: str, asked: str, *, worked: bool) -> tuple[str, str]:
    """(title, the sentence it was made of), both '' if no sentence says what was done or found."""
    wanted = content_words(asked[:1_500])
    if worked and (planned := request.plan_heading(asked)):
        return shortened(planned, TITLE), ""
    best = _Candidate(-9.0)
    nameless = not _subject(asked)
    place = items = 0
    heading = ""
    for statement in statements(text):
        if statement.topic in AHEAD or statement.done is False or statement.row:
            continue
        items += statement.item
        said = sentences(statement.text)[:4]
        if statement.heading != heading and len(statement.heading.split()) > 4:
            said.insert(0, statement.heading)
        heading = statement.heading
        for at, sentence in enumerate(said):
            bare = tidy(sentence)
            is_heading = sentence == statement.heading
            if place > 30 or not _may_be(bare, sentence) or (nameless and KNOWN["points"].match(bare)):
                continue
            score = _score(bare, statement, wanted, worked=worked) - 0.25 * place - 0.3 * at
            score += 0.8 if place == 0 else -2.0 if KNOWN["also"].match(sentence) else 0.0
            leans = KNOWN["pronoun"].match(bare) or _is_bare_answer(bare)
            score -= _lost(bare, TITLE - (len(_subject(asked)) + 2 if leans else 0))
            states = sentence.endswith((".", "。")) or KNOWN["states"].search(bare) or says_done(bare)
            score -= 2.5 if KNOWN["report"].match(bare) else 0.0 if states else 1.5
            score += 3.0 if worked and KNOWN["so"].match(without_pleasantry(sentence)) else 0.0
            place += 1
            if score > best.score:
                part = statement.item or is_heading
                best = _Candidate(score, bare, sentence, part)
    if best.score < (1.0 if wanted else 0.0):  # without a request nothing can be shared with it
        if worked and best.score > 0 and not requested(asked, least=1):
            return headline(best.bare, asked), best.sentence
        subject = "" if worked else _subject(asked)
        told = shortened(_spare(f"{subject}: {best.bare[:1].lower()}{best.bare[1:]}"), TITLE)
        answers = subject and best.score > 0 and len(told) > len(subject) + 12
        return (told, best.sentence) if answers else ("", "")
    title = headline(best.bare, asked)
    # One of several points, of which the request names the whole; or the user said it shorter than the agent.
    if worked and ((best.part and items > 2) or not is_whole(best.bare, title)):
        return requested(asked) or title, best.sentence
    return title, best.sentence


def requested(asked: str, least: int = 3) -> str:
    """The request as a title; '' if it names no outcome, says less than so many words, or needs more room."""
    whole, short = request.condensed(asked, 400), request.condensed(asked, TITLE)
    if request.asks(asked) or any(
        each.match(short) for each in (KNOWN["fragment"], KNOWN["points"], KNOWN["remark"])
    ):
        return ""
    fits = len(content_words(short)) >= least and not says_nothing(short) and ends_clause(whole, len(short))
    return short if fits else ""


def is_whole(text: str, title: str) -> bool:
    """Whether a title ends where a clause of its sentence does."""
    whole = _spare(text)
    return not whole.startswith(title) or ends_clause(whole, len(title))


def tidy(sentence: str) -> str:
    """Without pleasantry, label and "I have": as a heading would begin."""
    bare = without_pleasantry(sentence)
    if bare.endswith((":", "：")):
        bare = undangled(bare)
    while (found := KNOWN["label"].match(bare)) and len(bare) - found.end() > 14:
        bare = _begun(bare[found.end() :])
    bare = bare.strip(" -–—:*")
    if (found := KNOWN["place_lead"].match(bare)) and (
        KNOWN["did"].match(bare[found.end() :]) or KNOWN["now"].search(bare)
    ):
        bare = _begun(bare[found.end() :])
    for lead in (KNOWN["i_did"], KNOWN["so"], KNOWN["the_fix"]):
        if found := lead.match(bare):
            bare = _begun(bare[found.end() :])
    return bare


def _begun(text: str) -> str:
    first = text.split(" ", 1)[0]
    return (
        text if any(sign.isupper() or sign in "_/()-." for sign in first[1:]) else text[:1].upper() + text[1:]
    )


def _may_be(bare: str, whole: str) -> bool:
    if len(_spare(bare).split()) < 3 or len(bare) < 16 or bare.endswith(("?", "？")):
        return False
    if re.match(r"(?:in|on|at|for|with|from|to|of|by|as|which|that)\b", bare):
        return False  # the rest of a sentence
    if (
        KNOWN["fragment"].match(bare)
        or is_courtesy(bare)
        or is_courtesy(whole)
        or KNOWN["verdict"].match(bare)
    ):
        return False
    announces = whole.endswith((":", "：")) and not (KNOWN["now"].search(bare) and is_concrete(bare))
    return not is_status(bare) and not (announces and not KNOWN["did"].match(bare))


def _score(bare: str, statement: Statement, wanted: frozenset[str], *, worked: bool) -> float:
    words = content_words(bare)
    score = min(3, len(words & wanted)) * 0.7 + (0.8 if is_concrete(bare) else 0.0)
    score += 0.4 if len(bare) <= TITLE else 0.0
    did = says_done(bare)
    if worked:
        score += 3.0 if did else 2.2 if KNOWN["now"].search(bare) else 0.0
        score -= 0.8 if statement.topic == "learned" else 0.0
        score -= 2.0 if KNOWN["hash"].search(bare) else 0.0
    else:
        score += (
            1.5 if KNOWN["found"].search(bare) else 1.0 if KNOWN["now"].search(bare) else 0.5 if did else 0.0
        )
        score += 1.5 if statement.topic == "learned" else 0.0
        score += 0.8 if statement.lead and bare.startswith(statement.lead[:20]) else 0.0
    score += 2.0 if re.match(r"(?:the )?root cause", bare, re.I) else 0.0
    score -= 2.0 if KNOWN["pronoun"].match(bare) else 0.0
    score -= 1.2 if KNOWN["leans"].search(bare[:TITLE]) and not is_concrete(bare[:TITLE]) else 0.0
    score -= 2.0 if KNOWN["already"].search(bare) or KNOWN["covers"].match(bare) else 0.0
    score -= (
        2.0 if KNOWN["place_only"].match(bare) or re.match(r"[\w./-]+\.\w{1,5}\b\s*[:—–(]", bare) else 0.0
    )
    score -= 2.0 if KNOWN["advice"].match(bare) else 0.0
    score -= 1.5 if statement.topic == "checked" else 0.0
    score -= 0.8 if statement.item and not statement.lead else 0.0
    score -= 0.0 if informs(bare) else 1.5
    score -= 0.7 if bare.endswith(":") else 0.0
    return score


def _lost(bare: str, room: int) -> float:
    """What a title has no room for; a whole clause left over costs less than half of one."""
    whole = _spare(bare)
    head = shortened(whole, room)
    share = 1 - len(head) / max(1, len(whole))
    share += (
        1.0 if KNOWN["turns"].search(whole[len(head) :]) else 0.0
    )  # half of a contrast is not what was said
    if not ends_clause(whole, len(head)):
        return 1.2 + share
    return share * (0.8 if whole[len(head) :].lstrip()[:1] in ",;:.—–(" else 1.4)


def says_done(text: str) -> bool:
    return bool(KNOWN["did"].match(text) and KNOWN["past"].match(text.split(" ", 1)[0]))


def headline(bare: str, asked: str) -> str:
    """Within the length of a title; with the request's subject where it has none of its own."""
    text = _spare(bare)
    if KNOWN["pronoun"].match(text) or _is_bare_answer(text):
        subject = _subject(asked)
        if subject:
            rest = text[:1].lower() + text[1:] if not text[1:2].isupper() else text
            return shortened(f"{subject}: {rest}".rstrip(". "), TITLE)
    return shortened(text.rstrip(". "), TITLE)


def _subject(asked: str) -> str:
    """What the request is about, to stand before an answer; '' if that takes more than a few words."""
    asked = KNOWN["possible"].sub("", asked[:400], count=1)
    whole, short = request.condensed(asked, 400), request.condensed(asked, 40)
    # “Do I need it: yes” turns an answer around; “Review the code: clean” answers nothing.
    vague = short.endswith(("this", "it", "that")) or KNOWN["no_subject"].match(short)
    if not vague and ends_clause(whole, len(short)):
        return short
    named = _IDENTIFIER.search(asked[:400])
    return named[0] if named and len(named[0]) <= 40 else ""


def _spare(bare: str) -> str:
    """Without places in files; if it is long, without asides."""
    text = plain(KNOWN["lines"].sub("", KNOWN["anchor"].sub("", KNOWN["committed"].sub("", bare))))
    text = KNOWN["aside"].sub("", text) if len(text) > TITLE else text
    text = KNOWN["folders"].sub("", text) if len(text) > TITLE else text
    text = KNOWN["located"].sub("", text, count=1) if len(text) > TITLE else text
    return text.rstrip(". ")


def _is_bare_answer(text: str) -> bool:
    return (
        re.match(r"(?:yes|no|not|possible|only|but|because|correct|true|false|nothing)\b", text, re.I)
        is not None
    )


def from_subject(subject: str) -> str:
    return shortened(subject, TITLE)


LONGEST_CALLED = 80


def of_prompt(prompt: str) -> str | None:
    """What a session is called that begins with it: the request condensed, or the words as they stand; None
    for what no user said."""
    asked = request.cleaned(prompt)
    return (
        request.condensed(asked, LONGEST_CALLED) or shortened(" ".join(asked.split()), LONGEST_CALLED) or None
    )
