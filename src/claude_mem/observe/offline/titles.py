"""The title: the outcome of a turn in at most 72 characters, in the agent's own words where they say it."""

from __future__ import annotations

import re
from typing import NamedTuple

from claude_mem.observe.offline import request
from claude_mem.observe.offline.commands import says_nothing
from claude_mem.observe.offline.message import AHEAD, Statement, plain, statements
from claude_mem.observe.offline.sentences import (
    TITLE,
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

_DID = pattern("titles", "did")
_PAST = re.compile(
    r"(?:\w+ed|wrote|rewrote|made|built|set|put|found|sped|split|hid|kept|cut|redid|rebuilt|ran|took|gave)\b",
    re.I,
)
_NOW = re.compile(
    r"\b(?:now|no longer|has been|have been|was (?!not\b)|were (?!not\b)|instead of|gone\b)", re.I
)
_FOUND = pattern("titles", "found")
_I_DID = re.compile(
    r"(?:I['’]?ve|I have|We['’]?ve|We have|I|We)\s+(?:also |now |successfully |just |since |already )*"
    r"(?=(?:\w+ed|made|built|set|found|wrote|rewrote|split|put)\b)",
    re.I,
)
_LABEL = pattern("titles", "label")
_PRONOUN = pattern("titles", "pronoun")
_VERDICT = re.compile(
    r"(?:request changes|approved?|ship it|lgtm|\d+ (?:findings?|issues?|comments?))\b", re.I
)
_ADVICE = pattern("titles", "advice")
_ANCHOR = re.compile(r"\s+\((?:[^()]*(?:lines?\s*\d|:\d|L\d|\.\w{1,5}\b|[0-9a-f]{7,})[^()]*|[^()]{40,})\)")
_SO = re.compile(
    r"(?:updated|adjusted|changed|modified|reworked|tweaked|extended) .{3,70}? so (?:that )?(?=\S+ \S+ \S+)",
    re.I,
)
_COMMITTED = re.compile(r"[,;]? (?:amended|committed|folded|pushed) (?:in)?(?:to|as) \S*[0-9a-f]{7}.*$")
_THE_FIX = re.compile(r"(?:the|this) (?:fix|change|commit|patch|pr) (?=(?!is\b|was\b|has\b)[a-z]+s\s)", re.I)
_LINE_NUMBER = re.compile(r"^(?:lines? )?\d+(?:-\d+)?:? (?=[a-z]\w*[A-Z(_.])", re.I)
_ALSO = re.compile(r"(?:(?:I|We)(?:['’]ve| have)? )?also\b", re.I)
_FRONTED = re.compile(
    r"(?:when|if|with|for|in|on|after|since|because|while|without|once|under|during)\b[^,]{3,80}, ", re.I
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|can|cannot|can['’]t|no|not|never|now|only|without|on|to|\w+(?:ed|es|s))\b",
    re.I,
)
_PLACE_ONLY = re.compile(
    r"(?:updated?|changed?|modified|edited|created|added)\s+\S*[./]\S*(?:\s+and\s+\S+)?\W*$", re.I
)
# "`config.go` - Added a helper": the files are listed elsewhere.
_PLACE_LEAD = re.compile(
    r"(?:[\w@.-]*/)*[\w@-]*\.\w{1,10}(?: \([^()]{1,60}\))?(?::\d[\d-]*)?\s*(?:[—–]|[:-](?=\s))\s*"
)
_FOLDERS = re.compile(r"(?<![\w/.:])(?:[\w.@-]+/)+(?=[\w.@-]+\.\w{1,8}\b)")
_REPORT = re.compile(
    r"(?:which|what|how|why|where|when|summary|overview|report|plan)\b"
    r"|(?:in-depth |full |code |deep )*(?:review|analysis|audit|summary|report)\b(?! (?:found|shows?)\b)",
    re.I,
)
_ASIDE = re.compile(r"\s+\([^()]*\)")
_LINES = re.compile(r"(?<=\w)(?:#L\d+(?:-L?\d+)?|:\d+(?:-\d+)?)(?=[\s,.;)]|$)")


_ALREADY = re.compile(r"\b(?:already|unchanged|untouched|unaffected|stays? as|the user has)\b", re.I)
# Part of a longer thought, somebody's quotation, or words to the user.
_FRAGMENT = re.compile(
    r"[<>|{=]|\w+-\w+\{|(?:and|or|but|because|since|although|though|does|did|do|then|your|while) "
    r"|(?:rebuild|re-?run|reload|restart) ",
    re.I,
)
_COVERS = re.compile(r"(?:added|updated|extended)\b[^,.]{0,60}\b(?:coverage|tests?|regressions?)\b", re.I)
_LOCATED = re.compile(r" (?:in|on|of) the [\w .-]{3,40}?(?= (?:now|no longer|has|have|is|are) )")
_REMARK = re.compile(
    r"(?:the|a|an|my|our|there|some|on|in|for)\b(?!.*\b(?:must|should|needs?|has to|have to)\b)", re.I
)
_LEANS = re.compile(r" (?:it|them|this|that|those)(?= |$)")
_POINTS = re.compile(r"(?:(?:so|now|today|currently) )?(?:it|this|that|these|those|they)\b", re.I)
_NO_SUBJECT = re.compile(
    r"(?:we|i|this|that|it|do|does|did|is|are|was|were|can|could|should|would|will|have|has|where|there|review|check)\b",
    re.I,
)
_ADVERB = re.compile(r"(?:today|now|currently|here|so|then|also|only),? (?=\w)", re.I)


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
            if place > 30 or not _may_be(bare, sentence) or (nameless and _POINTS.match(bare)):
                continue
            score = _score(bare, statement, wanted, worked=worked) - 0.25 * place - 0.3 * at
            score += 0.8 if place == 0 else -2.0 if _ALSO.match(sentence) else 0.0
            score -= _lost(bare)
            states = sentence.endswith((".", "。")) or _STATES.search(bare) or says_done(bare)
            score -= 2.5 if _REPORT.match(bare) else 0.0 if states else 1.5
            score += 3.0 if worked and _SO.match(without_pleasantry(sentence)) else 0.0
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
    if request.asks(asked) or any(each.match(short) for each in (_FRAGMENT, _POINTS, _REMARK)):
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
    while (found := _LABEL.match(bare)) and len(bare) - found.end() > 14:
        bare = _begun(bare[found.end() :])
    bare = _LINE_NUMBER.sub("", bare.strip(" -–—:*"))
    if (found := _PLACE_LEAD.match(bare)) and (_DID.match(bare[found.end() :]) or _NOW.search(bare)):
        bare = _begun(bare[found.end() :])
    for lead in (_I_DID, _SO, _THE_FIX):
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
    if _FRAGMENT.match(bare) or is_courtesy(bare) or is_courtesy(whole) or _VERDICT.match(bare):
        return False
    announces = whole.endswith((":", "：")) and not (_NOW.search(bare) and is_concrete(bare))
    return not is_status(bare) and not (announces and not _DID.match(bare))


def _score(bare: str, statement: Statement, wanted: frozenset[str], *, worked: bool) -> float:
    words = content_words(bare)
    score = min(3, len(words & wanted)) * 0.7 + (0.8 if is_concrete(bare) else 0.0)
    score += 0.4 if len(bare) <= TITLE else 0.0
    did = says_done(bare)
    if worked:
        score += 3.0 if did else 2.2 if _NOW.search(bare) else 0.0
    else:
        score += 1.5 if _FOUND.search(bare) else 1.0 if _NOW.search(bare) else 0.5 if did else 0.0
        score += 1.5 if statement.topic == "learned" else 0.0
        score += 0.8 if statement.lead and bare.startswith(statement.lead[:20]) else 0.0
    score += 2.0 if re.match(r"(?:the )?root cause", bare, re.I) else 0.0
    score -= 2.0 if _PRONOUN.match(_ADVERB.sub("", bare)) else 0.0
    score -= 1.2 if _LEANS.search(bare[:TITLE]) and not is_concrete(bare[:TITLE]) else 0.0
    score -= 2.0 if _ALREADY.search(bare) or _COVERS.match(bare) else 0.0
    score -= 2.0 if _PLACE_ONLY.match(bare) or re.match(r"[\w./-]+\.\w{1,5}\b\s*[:—–(]", bare) else 0.0
    score -= 2.0 if _ADVICE.match(bare) else 0.0
    score -= 1.5 if statement.topic == "checked" else 0.0
    score -= 0.8 if statement.item and not statement.lead else 0.0
    score -= 0.0 if informs(bare) else 1.5
    score -= 0.7 if bare.endswith(":") else 0.0
    return score


def _lost(bare: str) -> float:
    """What a title has no room for; a whole clause left over costs less than half of one."""
    whole = _spare(bare)
    head = shortened(whole, TITLE)
    share = 1 - len(head) / max(1, len(whole))
    if not ends_clause(whole, len(head)):
        return 1.2 + share
    return share * (0.8 if whole[len(head) :].lstrip()[:1] in ",;:.—–(" else 1.4)


def says_done(text: str) -> bool:
    return bool(_DID.match(text) and _PAST.match(text.split(" ", 1)[0]))


def headline(bare: str, asked: str) -> str:
    """Within the length of a title; with the request's subject where it has none of its own."""
    text = _spare(bare)
    if _PRONOUN.match(_ADVERB.sub("", text)) or _is_bare_answer(text):
        subject = _subject(asked)
        if subject:
            rest = text[:1].lower() + text[1:] if not text[1:2].isupper() else text
            return shortened(f"{subject}: {rest}".rstrip(". "), TITLE)
    return shortened(text.rstrip(". "), TITLE)


def _subject(asked: str) -> str:
    """What the request is about, to stand before an answer; '' if that takes more than a few words."""
    whole, short = request.condensed(asked, 400), request.condensed(asked, 40)
    # “Do I need it: yes” turns an answer around; “Review the code: clean” answers nothing.
    vague = short.endswith(("this", "it", "that")) or _NO_SUBJECT.match(short)
    return "" if vague or not ends_clause(whole, len(short)) else short


def _spare(bare: str) -> str:
    """Without places in files; if it is long, without asides."""
    text = plain(_LINES.sub("", _ANCHOR.sub("", _COMMITTED.sub("", bare))))
    text = _ASIDE.sub("", text) if len(text) > TITLE else text
    text = _FOLDERS.sub("", text) if len(text) > TITLE else text
    text = _LOCATED.sub("", text, count=1) if len(text) > TITLE else text
    label, colon, rest = text.partition(": ") if text[:10].casefold() == "root cause" else ("", "", text)
    if len(text) > TITLE and (fronted := _FRONTED.match(rest)) and len(rest) - fronted.end() > 24:
        text = f"{label}{colon}{_begun(rest[fronted.end() :])}"
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
