"""Titles: the outcome of a turn in at most 72 characters, in the agent's own words if they state it."""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_mem.observe.offline import request
from claude_mem.observe.offline import sentences as prose
from claude_mem.observe.offline.commands import is_trivial
from claude_mem.observe.offline.message import AHEAD, Statement, plain, statements
from claude_mem.observe.offline.sentences import TITLE, VOCABULARY

KNOWN = {name: prose.pattern("titles", name) for name in VOCABULARY["titles"]}
_IDENTIFIER = re.compile(
    r"(?<![\w/.@:-])(?:\w+(?:::|\.|_)\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?:\(\))?(?![\w/])"
)


_REST = re.compile(r"(?:in|on|at|for|with|from|to|of|by|as|which|that)\b")  # of a sentence


class _Candidate(NamedTuple):
    score: float = 0.0
    bare: str = ""
    sentence: str = ""
    part: bool = False  # a point of several


def from_message(text: str, user_request: str, *, worked: bool) -> tuple[str, str]:
    """(title, the sentence it was made of), both '' if no sentence says what was done or found."""
    request_words = prose.content_words(user_request[:1_500])
    if worked and (planned := request.plan_heading(user_request)):
        return prose.shortened(planned, TITLE), ""
    best = _Candidate(-9.0)
    nameless = not _subject(user_request)
    place = items = 0
    heading = ""
    for statement in statements(text):
        if statement.topic in AHEAD or statement.done is False or statement.row:
            continue
        items += statement.item
        candidates = prose.sentences(statement.text)[:4]
        if statement.heading != heading and len(statement.heading.split()) > 4:
            candidates.insert(0, statement.heading)
        heading = statement.heading
        for at, sentence in enumerate(candidates):
            bare = tidy(sentence)
            is_heading = sentence == statement.heading
            if place > 30 or not _may_be(bare, sentence) or (nameless and KNOWN["points"].match(bare)):
                continue
            score = _score(bare, statement, request_words, worked=worked) - 0.25 * place - 0.3 * at
            score += 0.8 if place == 0 else -2.0 if KNOWN["also"].match(sentence) else 0.0
            leans = KNOWN["pronoun"].match(bare) or _is_bare_answer(bare)
            score -= _lost(bare, TITLE - (len(_subject(user_request)) + 2 if leans else 0))
            states = sentence.endswith((".", "。")) or KNOWN["states"].search(bare) or says_done(bare)
            score -= 2.5 if KNOWN["report"].match(bare) else 0.0 if states else 1.5
            score += 3.0 if worked and KNOWN["so"].match(prose.without_pleasantry(sentence)) else 0.0
            place += 1
            if score > best.score:
                part = statement.item or is_heading
                best = _Candidate(score, bare, sentence, part)
    if best.score < (1.0 if request_words else 0.0):  # without a request nothing can be shared with it
        if worked and best.score > 0 and not requested(user_request, least=1):
            return headline(best.bare, user_request), best.sentence
        subject = "" if worked else _subject(user_request)
        answer_title = prose.shortened(_spare(f"{subject}: {best.bare[:1].lower()}{best.bare[1:]}"), TITLE)
        answers = subject and best.score > 0 and len(answer_title) > len(subject) + 12
        return (answer_title, best.sentence) if answers else ("", "")
    title = headline(best.bare, user_request)
    # It is one of several points, but the request names all of them; or the user's wording is shorter.
    if worked and ((best.part and items > 2) or not is_whole(best.bare, title)):
        return requested(user_request) or title, best.sentence
    return title, best.sentence


def requested(user_request: str, least: int = 3) -> str:
    """The request as a title; '' if it names no outcome, has fewer words than required, or is too long."""
    whole, short = request.condensed(user_request, 400), request.condensed(user_request, TITLE)
    if request.asks(user_request) or any(
        each.match(short) for each in (KNOWN["fragment"], KNOWN["points"], KNOWN["remark"])
    ):
        return ""
    fits = (
        len(prose.content_words(short)) >= least
        and not is_trivial(short)
        and prose.ends_clause(whole, len(short))
    )
    return short if fits else ""


def is_whole(text: str, title: str) -> bool:
    """Whether a title ends where a clause of its sentence does."""
    whole = _spare(text)
    return not whole.startswith(title) or prose.ends_clause(whole, len(title))


def tidy(sentence: str) -> str:
    """Removes pleasantries, labels and "I have", so that it begins like a heading."""
    bare = prose.without_pleasantry(sentence)
    if bare.endswith((":", "：")):
        bare = prose.without_dangling_end(bare)
    while (found := KNOWN["label"].match(bare)) and len(bare) - found.end() > 14:
        bare = prose.begun(bare[found.end() :])
    bare = bare.strip(" -–—:*")
    if (found := KNOWN["place_lead"].match(bare)) and (
        KNOWN["did"].match(bare[found.end() :]) or KNOWN["now"].search(bare)
    ):
        bare = prose.begun(bare[found.end() :])
    for lead in (KNOWN["i_did"], KNOWN["so"], KNOWN["the_fix"]):
        if found := lead.match(bare):
            bare = prose.begun(bare[found.end() :])
    return bare


def _may_be(bare: str, whole: str) -> bool:
    if len(_spare(bare).split()) < 3 or len(bare) < 16 or bare.endswith(("?", "？")):
        return False
    if _REST.match(bare):
        return False
    if KNOWN["fragment"].match(bare) or prose.is_courtesy(bare) or prose.is_courtesy(whole):
        return False
    announces = whole.endswith((":", "：")) and not (KNOWN["now"].search(bare) and prose.is_concrete(bare))
    return not prose.is_status(bare) and not (announces and not KNOWN["did"].match(bare))


def _score(bare: str, statement: Statement, request_words: frozenset[str], *, worked: bool) -> float:
    words = prose.content_words(bare)
    score = min(3, len(words & request_words)) * 0.7 + (0.8 if prose.is_concrete(bare) else 0.0)
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
    score -= sum(2.0 for name in _POOR if KNOWN[name].match(bare))
    score -= 1.2 if KNOWN["leans"].search(bare[:TITLE]) and not prose.is_concrete(bare[:TITLE]) else 0.0
    score -= 1.5 if statement.topic == "checked" else 0.0
    score -= 0.8 if statement.item and not statement.lead else 0.0
    score -= 0.0 if prose.informs(bare) else 1.5
    score -= 0.7 if bare.endswith(":") else 0.0
    return score


_POOR = ("pronoun", "already", "covers", "place_only", "advice")


def _lost(bare: str, room: int) -> float:
    """What a title has no room for; leaving out a complete clause costs less than half of one."""
    whole = _spare(bare)
    head = prose.shortened(whole, room)
    share = 1 - len(head) / max(1, len(whole))
    if KNOWN["turns"].search(whole[len(head) :]):
        share += 1.0  # half of a contrast is not what was said
    if not prose.ends_clause(whole, len(head)):
        return 1.2 + share
    return share * (0.8 if whole[len(head) :].lstrip()[:1] in ",;:.—–(" else 1.4)


def says_done(text: str) -> bool:
    return bool(KNOWN["did"].match(text) and KNOWN["past"].match(text.split(" ", 1)[0]))


def headline(bare: str, user_request: str) -> str:
    """Within the length of a title; with the request's subject if it has none."""
    text = _spare(bare)
    if KNOWN["pronoun"].match(text) or _is_bare_answer(text):
        subject = _subject(user_request)
        if subject:
            rest = text[:1].lower() + text[1:] if not text[1:2].isupper() else text
            return prose.shortened(f"{subject}: {rest}".rstrip(". "), TITLE)
    return prose.shortened(text.rstrip(". "), TITLE)


def _subject(user_request: str) -> str:
    """What the request is about, to stand before an answer; '' if that takes more than a few words."""
    user_request = KNOWN["possible"].sub("", user_request[:400], count=1)
    whole, short = request.condensed(user_request, 400), request.condensed(user_request, 40)
    # “Do I need it: yes” turns an answer around; “Review the code: clean” answers nothing.
    vague = short.endswith(("this", "it", "that")) or KNOWN["no_subject"].match(short)
    if not vague and prose.ends_clause(whole, len(short)):
        return short
    named = _IDENTIFIER.search(user_request[:400])
    return named[0] if named and len(named[0]) <= 40 else ""


def _spare(bare: str) -> str:
    """Removes line references and, if it is long, asides."""
    text = plain(KNOWN["lines"].sub("", KNOWN["anchor"].sub("", KNOWN["committed"].sub("", bare))))
    text = KNOWN["aside"].sub("", text) if len(text) > TITLE else text
    text = KNOWN["folders"].sub("", text) if len(text) > TITLE else text
    text = KNOWN["located"].sub("", text, count=1) if len(text) > TITLE else text
    return text.rstrip(". ")


def _is_bare_answer(text: str) -> bool:
    return KNOWN["bare_answer"].match(text) is not None


LONGEST_NAME = 80


def of_prompt(prompt: str) -> str | None:
    """What a session is called that begins with it: the request condensed, or the words as they stand; None
    for what no user said."""
    cleaned = request.cleaned(prompt)
    return (
        request.condensed(cleaned, LONGEST_NAME)
        or prose.shortened(" ".join(cleaned.split()), LONGEST_NAME)
        or None
    )
