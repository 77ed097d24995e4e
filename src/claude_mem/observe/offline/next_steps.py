"""Which plain sentences name what is left to do, where no heading says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_mem.observe.offline.wording import sentences

# Words that say so by themselves, before a colon or a dash. Small letters only where nothing else is meant:
# `next:` at a beginning may be anybody's field.
_LABELS = r"""
    (?:Next|NEXT)(?:\ [Ss]teps?|\ [Uu]p)? | (?:Remaining|Outstanding)(?:\ (?:work|steps?|items?|tasks?))?
    | [Ss]till\ (?:open|to\ do|to\ be\ done|missing|pending|outstanding)
    | TODOs? | [Tt]o[ -]?[Dd]os? | Pending | Deferred | Open\ (?:points?|items?|questions?)
    | [Ll]eft\ (?:to\ do|open|for\ later|undone) | [Ww]hat(?:['’]s|\ is)\ left
    | [Nn]ot\ (?:yet\ done|done\ yet|done) | [Ff]ollow[ -]?[Uu]ps?
    | Nächste[rs]?\ Schritte? | Noch\ (?:offen|zu\ tun) | Offen | Prochaines?\ étapes? | Reste\ à\ faire
    | À\ faire | Próximos?\ pasos? | Próximos?\ passos? | Pendientes? | Prossimi\ passi
    | Следующи[ей]\ шаги? | Осталось | 下一步 | 后续 | 待办 | 次のステップ | 残り | 다음\ 단계 | 남은\ 작업
"""
_LABEL = re.compile(rf"[*_]{{0,3}}(?:{_LABELS})(?:\ ?:[*_]{{0,3}}(?:\s|$)|：|\ [—–-]\ )", re.X)
_WITHIN = re.compile(rf"[;—–]\ (?=(?:next|remaining|{_LABELS}):\ )", re.X)
_NONE = re.compile(r"(?:none|nothing|n/a|no (?:open|further|more|other)|keine?|rien|nada|нет|无)\b", re.I)

# What says it in the middle of a sentence; of pushing and the like only its beginning, for elsewhere it tells
# of something else ("secrets are not committed").
_PHRASE = re.compile(
    r"""\b(?:
      still\ (?:needs?|has\ to|have\ to|must)\b
    | (?:is|are)\ still\ (?:missing|to\ be\ done|outstanding)\b
    | remains?\ to\ be\ (?!seen\b)
    | (?:[Ii]|[Ww]e)\ (?:have\ not|haven['’]t)\ yet\b
    | (?:is|are)\ not\ yet\ (?:done|implemented|wired|covered|tested|migrated|documented|handled|supported)\b
    | [Yy]ou\ (?:may|might)\ (?:still\ )?want\ to\b
    | I(?:['’]m\ flagging|\ am\ flagging|\ flagged|\ left|['’]m\ leaving)\ (?:it|this|that|them|those)
      (?:\ rather\ than\ fix|\ instead\ of\ fix|\ for\ (?:later|a\ follow))
    )""",
    re.X,
)
_UNSENT = re.compile(
    r"""(?:(?:The\ )?[Bb]ranch\ (?:is\ )?|(?:It|This)(?:['’]s|\ is)\ )?[Nn]ot\ (?:yet\ )?
      (?:pushed|committed|merged|deployed|released|published)\b
    | (?:I|We)\ (?:have\ not|haven['’]t|did\ not|didn['’]t)\ (?:yet\ )?
      (?:push|commit|merge|deploy|release|publish)(?:ed|d|ted)?\b
    | No\ (?:commit|PR|pull\ request)\ (?:was\ |has\ been\ )?(?:made|opened|created)\b""",
    re.X,
)
_DENIED = re.compile(r"\b(?:no|not|nothing|none|never|neither|nobody|if|when|unless|whether|would)\b", re.I)
_OFFER = re.compile(
    r" [—–-] (?:want me|do you want|shall I|should I|say (?:the )?word|let me know|just say|happy to)\b"
)


def begins(line: str) -> bool:
    """A line that starts with such a word starts something new."""
    return _LABEL.match(line) is not None


def without_label(text: str) -> str:
    found = _LABEL.match(text)
    return text[found.end() :].strip() or text if found else text


def split(text: str, phrases: bool) -> tuple[str, list[str]]:
    """What a paragraph tells, and what it says is left to do. `phrases`: also in the middle of a sentence."""
    told: list[str] = []
    later: list[str] = []
    pieces = list(_pieces(text))
    for piece in pieces:
        bare = without_label(piece)
        if bare != piece:
            later += [] if _NONE.match(bare) else [_without_offer(bare)]
        elif _is_left(_without_offer(piece), phrases):
            later.append(_without_offer(piece))
        else:
            told.append(piece)
    return text if len(told) == len(pieces) else " ".join(told), later


def _pieces(text: str) -> Iterator[str]:
    """Sentences, and what follows a semicolon or a dash with such a word."""
    for sentence in sentences(text):
        start = 0
        for found in _WITHIN.finditer(sentence):
            yield _begun(sentence[start : found.start()].rstrip())
            start = found.end()
        yield _begun(sentence[start:]) if start else sentence


def _begun(piece: str) -> str:
    """As a sentence begins: there its word counts."""
    return piece[:1].upper() + piece[1:]


def _is_left(sentence: str, phrases: bool) -> bool:
    """Says that something is open; not that nothing is, nor what would be, nor in a quotation."""
    if sentence.endswith(("?", "？")):
        return False
    if _UNSENT.match(sentence):
        return True
    found = _PHRASE.search(sentence) if phrases else None
    before = sentence[: found.start()] if found else ""
    quoted = before.count('"') % 2 == 1 or before.count("“") > before.count("”")
    return found is not None and not quoted and not _DENIED.search(before)


def _without_offer(sentence: str) -> str:
    """“Not pushed — say the word”: the offer is nothing to remember."""
    found = _OFFER.search(sentence)
    return sentence[: found.start()] if found else sentence
