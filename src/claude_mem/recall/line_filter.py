"""Decides which lines are useful at a session's start: those that can be understood on their own and still
matter. Fewer lines are better than unwanted ones; a search still finds what is left out here. Pure.
"""

from __future__ import annotations

import re

from claude_mem.model.text import lazy_pattern

_WORD = lazy_pattern(r"[^\W_][\w.'’/-]*")
_FILE = lazy_pattern(r"\w\.\w{1,5}\b")
_HASH = lazy_pattern(r"[0-9a-f]{7,40}|\d+")
# 2 ms to compile, so when used
_SCRIPTS_WITHOUT_SPACES = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
# Words that name nothing specific: a title made only of these does not say what it is about.
_EMPTY_WORDS = """
a about above across actually add added adding addressed addresses adds after again all along already also
an and any anything applied applies approach approaches are as at be been before behavior behaviour being
better both branch bug bugs build buildable built but by can case cases cause change changed changes check
checked checks class clean clear closed code comment comments commit commits committed complete completed
concerns config confirmed correct correctly could create created current dead decision decisions declined
design did diff different do doc docs documentation documented does done each even every everything exactly
existing expected explicit extension failing fails failure feature feedback file files final finding
findings finish finished first fix fixed fixes follow-ups followups for found from full fully gap gaps
general go good green had has have here how i if implementation implemented in including instance into is
issue issues it items its itself just key last later line lint list made main make makes matches merged
missing modified more most moved my new nit no none not nothing now of on one ones only open or other our
out part paths picky plan point points pr problem problems project pushed ready real regression remain
remaining removed repo request requirements resolved rest result results review reviewed right root rule run
same satisfied session set should small so solved some staged started state step steps still summary task
tasks test tested tests than that the their them then there these they thing things this those threads three
to too two unrelated unstaged until up update updated updates use used user valid verified verify via was we
well were what when where which while why will with without work works would you your"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
# Small talk, a go-ahead, an announcement, a guess, half a sentence.
_TALK = lazy_pattern(
    r"(?:never ?mind|hmm+|gah|emm+|ugh|basically|(?:yes|no|correct|gone)\b[,.]|before:|written to|replied"
    r"|posted|maybe|perhaps|go ahead|continue|proceed|what\b|how\b|spawn|invoke|waiting|clicking"
    r"|looking|trying|for \d+\b"
    r"|(?:i|it|this|that|these|those|they) |we (?:think|guess|believe|would|will|could|should)\b|(?:use"
    r"|move|fix|add|do) (?:it|them)\b"
    r"|(?:base/head|handle|branch/worktree|branch|worktree|bead|pr|ci)\b[^:]{0,20}: |(?:i|we|you)['’](?:d"
    r"|ll|m|re)\b"
    r"|you (?:probably|may|might|can|could|should|want)\b|there(?:['’]s| is| are| was| were)\b|if (?:i|you"
    r"|we)\b"
    r"|(?:now )?(?:when|while|because|since|although|though|and|or|but|then)\b(?!.*, \w)"
    r"|(?:fixed|solved|resolved|done|removed|updated|added|changed)(?:,| (?:by|in|via|and|it|this|that"
    r"|them)\b| \())",
    re.I,
)
_ASIDE = lazy_pattern(
    r"\b(?:i['’](?:d|ll|m)|if i|and i|you (?:notice|see|find|want|like)|we['’]ll|let me|out of context)\b",
    re.I,
)
# The result of a check, or that something succeeded, which matters only at that moment.
_PASSED = lazy_pattern(
    r"(?:verified|validated|ran|re-?ran|checked|confirmed that)\b"
    r"|.*\b(?:tests?|suite|regression|checks?|gates?|build|lint(?:er)?|ci)\b.*\b(?:pass(?:ed|es|ing)?|green"
    r"|clean|succeed\w*)\b"
    r"|.*\b(?:succeeded|have been updated|has been updated|are committed|is committed|is satisfied now)$"
    r"|.*::git-|.*\bplease$|added (?:an? |the )?imports?\b"
    r"|.*\b(?:request changes|blocking issues|no critical)\b"
    r"|.*\b(?:checkout|tree|worktree) is clean\b|.{0,60}https?://\S+$|\S+\.\w{1,5}(?:,? .*)? (?:changed"
    r"|created)$",
    re.I,
)
_QUESTION = lazy_pattern(
    r"(?:do|does|did|is|are|was|can|could|should|would|will|what|which|where|why|who|how|when|any"
    r"|there['’]?s?|review"
    r"|check|use|look)\b[^:]{0,60}: ",
    re.I,
)
_SYMPTOM = lazy_pattern(
    r".*\b(?:(?:is|are)(?: not|n['’]t) \w+ing(?: any ?more)?|(?:does|do)(?: not"
    r"|n['’]t) work(?: any ?more)?)$",
    re.I,
)
_HALF = lazy_pattern(r".*\b(?:now|only|also|always|never|as|is|are) (?:\w+s|\w+ed)$|.*[,:;—–-]$", re.I)


def stands_alone(title: str, text: str = "") -> bool:
    """Whether a title is understandable without context. `text`: the text it was cut from."""
    title = title.strip()
    if any(each.match(title) for each in (_TALK, _PASSED, _QUESTION, _SYMPTOM)) or _ASIDE.search(title):
        return False
    label = len(title.split()) < 3 and not _FILE.search(title)
    return _names(title) >= (1 if label else 2) and not _is_cut(title, text)


_DEED = lazy_pattern(r"(?:\w+ed|wrote|rewrote|made|built|set|split|put|cut|hid|kept)\b", re.I)
_WISH = lazy_pattern(
    r"(?:feat|fix|docs|chore|perf)\b[(:]|(?:add|adopt|allow|batch|clear|compute|create|derive|detect|drop"
    r"|enable|extract|fix|handle|hide|implement|improve|increase|make|move|persist|prevent|propagate|refactor"
    r"|remove|rename|replace|show|simplify|support|update|upload|use|walk)\b",
    re.I,
)
_NOW = lazy_pattern(r"\b(?:now|no longer)\b")
_CONCRETE = lazy_pattern(r"[a-z][A-Z]|\w_\w|[\w)]/\w|\w\.\w{2,}|\(\)|#\d|--\w|[`\"“]")
_POINTS = lazy_pattern(
    r"\b(?:this|them|it|there|below|above|following)\b(?! \w+ed\b)|\bthe (?:goal|exception|guidance)\b", re.I
)


def is_specific(title: str, text: str = "") -> bool:
    """The same for a title that was cut from a message, not written as one. A change that names its place
    needs few words; a mere statement needs more, or its subject is unclear."""
    title = title.strip()
    if _POINTS.search(title) or not is_task(title) or not stands_alone(title, text):
        return False
    concrete = _CONCRETE.search(title) is not None
    if _DEED.match(title):
        least = 2 if concrete else 4
    elif _WISH.match(title):
        least = 2 if concrete else 3
    else:
        least = 3 if _NOW.search(title) else 5
    return _names(title) >= least


def _names(text: str) -> int:
    """How many words name something specific. A script without spaces is not split."""
    if not text.isascii() and re.search(_SCRIPTS_WITHOUT_SPACES, text):
        return 9
    found = {word.casefold().rstrip(".'’/-") for word in _WORD.findall(text)}
    return sum(1 for word in found if word and word not in _EMPTY and not _HASH.fullmatch(word))


_ADDS = lazy_pattern(
    r" (?:\(|(?:in|on|for|from|with|to|by|at|via|so|and|or|when|where|which|while|because|using|across|as"
    r"|after|before|into|through|instead|rather|during|per|under|against|including|without|that|if|unless|but)\b)"
)


def _is_cut(title: str, text: str) -> bool:
    """Whether it ends too early: in the middle of a phrase, or with a verb whose sentence continues."""
    at = text.casefold().find(title.casefold())
    rest = text[at + len(title) :] if at >= 0 else ""
    if not re.match(r" [\w`(\"“]", rest):
        return False
    return _HALF.match(title) is not None or _ADDS.match(rest) is None


_BOILERPLATE = lazy_pattern(
    r"\W*(?:context\W+|#+ )?(?:you are (?:an?|the|executing|now)\b|your (?:name|task|goal|job|role) is"
    r"|base directory for"
    r"|skill /|invoke the|this session is being continued|caveat:|\[?request interrupted)",
    re.I,
)
_POLITE = (
    r"(?:(?:ok(?:ay)?|yes|now|so|and|also|then|great|perfect|thanks)[,.!]* |please |let['’]?s "
    r"|(?:can|could|would) you (?:please )?)*"
)
_ERRAND = lazy_pattern(
    rf"{_POLITE}(?:commit|push|pull|merge|rebase|amend|squash|stage|stash|ship|release|continue|proceed"
    r"|go ahead|try again|clean up|(?:fix|resolve)d? (?:the |all )?(?:merge )?conflicts?"
    r"|(?:open|create|make|draft|raise|update|close) (?:a |an |the |this |draft |new )*(?:pr|pull request"
    r"|branch|commit|issue|ticket)|(?:fix|do|add|apply) (?:it|that|this|them|everything|the rest|all"
    r"|\d[-\d ,&]*))\b",
    re.I,
)
_FOUND = lazy_pattern(r"(?:the )?root cause\b", re.I)


def is_task(request: str) -> bool:
    """Whether a request states a task, not an errand, boilerplate or a finding."""
    request = request.strip()
    errand = len(request) < 240 and _ERRAND.match(request)
    return not (errand or _BOILERPLATE.match(request) or _FOUND.match(request))


_COMMIT_SUBJECT = lazy_pattern(
    r"(?:feat|fix|docs|refactor|chore|test|perf|style|build|ci|revert)(?:\([^)]*\))?!?: "
)
_PAST = lazy_pattern(
    r"(?:fixed|added|removed|replaced|updated|implemented|created|moved|renamed|merged|pushed|committed"
    r"|refactored|changed"
    r"|extracted|introduced|documented|verified|tested|migrated|converted)\b(?! (?:by|when|once|after)\b)",
    re.I,
)
_OFFERED = lazy_pattern(
    r"(?:option|alternative|approach|variant|choice) (?:\d|[a-e])\b|(?:option|alternative)ly\b"
    r"|[^.]{0,60}\((?:recommended"
    r"|this session|separate|preferred|optional)\)|(?:you (?:can|could|may|might)|consider|i (?:recommend"
    r"|suggest|would|can|could)"
    r"|i['’](?:d|ll)|we (?:can|could|might)|want me|would you|if you|let me know|use|either)\b",
    re.I,
)


# what, it does not say
_BARE = lazy_pattern(r"(?:\w+ ){0,2}not (?:yet )?\w+(?: yet| completed?)?[.!]?", re.I)


def is_open(step: str) -> bool:
    """Whether it is something that is left to do: no commit, no deed, no option or advice, no question."""
    step = step.strip()
    return not (
        step.endswith(("?", "？"))
        or _BARE.fullmatch(step)
        or _COMMIT_SUBJECT.match(step)
        or any(each.match(step) for each in (_PAST, _OFFERED, _TALK))
    )


_REMOVED = lazy_pattern(r"(?:remov|delet|drop|revert|discard|replac)(?:e[sd]?|ed|p?ed|t?ing|ts?)?\b:? ", re.I)
_IDENTIFIER = lazy_pattern(r"\w+(?:[_./:-]\w+)+(?:\(\))?|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*")


def removed_names(title: str) -> frozenset[str]:
    """The names that a title reports as removed: earlier memories about them are obsolete."""
    return identifiers(title) if _REMOVED.match(title) else frozenset()


def identifiers(title: str) -> frozenset[str]:
    return frozenset(_IDENTIFIER.findall(title))


_FAILING = lazy_pattern(r"still failing: (.+?)(?:: |$)")
_UNSENT = lazy_pattern(r"(?:\w+ ){0,3}not (?:yet )?(?:pushed|committed|merged|staged)\b", re.I)
_STEP_WORD = lazy_pattern(r"[^\W_]{4,}")


def repeats(step: str, known: str) -> bool:
    words, others = (set(_STEP_WORD.findall(each.casefold())) for each in (step, known))
    if "push" in step.casefold() and "push" in known:
        return True  # that it did not get there is one thing, whatever the words
    return step.casefold() == known or len(words & others) > 0.6 * min(len(words), len(others)) > 1.2


def is_closed_by(step: str, later: str) -> bool:
    """A later session's own words say so: the command that failed was run again, or most of the step's words
    are among what was done. That something was not pushed is soon untrue."""
    if failing := _FAILING.match(step):
        return failing[1].casefold() in later
    words = set(_STEP_WORD.findall(step.casefold()))
    return bool(_UNSENT.match(step)) or (
        len(words) > 2 and sum(word in later for word in words) >= 0.75 * len(words)
    )
