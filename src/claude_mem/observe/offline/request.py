"""Condenses the user's request, in their own words, without what the client added."""

from __future__ import annotations

import re

from claude_mem.observe.offline import message
from claude_mem.observe.offline.sentences import begun, content_words, one_line, pattern, sentences, shortened

LONGEST = 20_000
_WRAPPED = re.compile(
    r"<(system-reminder|local-command-stdout|local-command-caveat|local-command-stderr|bash-stdout|bash-stderr|command-message"
    r"|ide_[a-z_]+|environment_context|skill-context)\b[^>]*>.*?(?:</\1>|\Z)",
    re.S,
)
_COMMAND = re.compile(r"<command-name>([^<]{1,100})</command-name>")
_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.S)
_NOTICE = re.compile(r"^\s*<task-notification>.*?<summary>(.*?)</summary>", re.S)
_PASTED = re.compile(r"^(?:\s*(?:\[Image[^\]]*\]|@\S+)\s*)+")
_INJECTED = (
    "Base directory for this skill:",
    "Caveat: ",
    "[Request interrupted",
    "This session is being continued",
)
# A client's own commands, which are not part of the work.
_CLIENT = pattern("request", "client")
_POLITE = pattern("request", "polite")
_ASSENT = pattern("request", "assent")
_TASK_ENDED = re.compile(r"(?:agent|task|background command|monitor)\b.{0,300}", re.I | re.S)
_PLAN = re.compile(r"implement (?:the following|this) plan", re.I)
_CONTEXT = re.compile(r"(?:context|problem|background|why|motivation|goal|summary|overview)\b(?:\W.*)?", re.I)
_SCAFFOLD = re.compile(
    r"\W*(?:context\s+)?(?:you are|your name is|your (?:task|goal|job) is|provide a brief)\b", re.I
)
_ASKS = pattern("request", "asks")
_BARE_LINK = re.compile(r"\s*(?:https?://\S+|#?\d+|@?\S+/\S+)\s*")
_ERRAND = pattern("request", "errand")
_CHORE = pattern("request", "chore")
_WISH = pattern("request", "wish")
_RULE = pattern("request", "rule")
_REFUTES = pattern("request", "refutes")


def cleaned(text: str | None) -> str:
    """The user's own text; '' if the user did not write it."""
    text = (text or "")[:LONGEST].strip().strip('"').strip()
    if notice := _NOTICE.match(text):
        return one_line(notice[1])
    command, args = _COMMAND.search(text), _ARGS.search(text)
    if command:
        called = one_line(f"{command[1]} {args[1] if args else ''}")
        return "" if _CLIENT.match(called) else called
    text = _WRAPPED.sub(" ", text).strip()
    if text.startswith("<bash-input>"):
        return ""
    return "" if text.startswith(_INJECTED) else _PASTED.sub("", text)


def quoted(request: str, limit: int) -> str:
    """The request on one line, without its code, in complete sentences as far as they fit."""
    parts: list[str] = []
    for section in message.sections(request):
        parts += [f"{section.heading}."] if section.heading else []
        parts += [part.text for part in section.parts]
        if sum(map(len, parts)) > limit:
            break
    return shortened(" ".join(parts), limit)


def condensed(request: str, limit: int) -> str:
    """The request as a heading; '' for “yes” and a bare link."""
    if is_assent(request) or _SCAFFOLD.match(request):
        return ""
    if planned := plan_heading(request):
        return shortened(planned, limit)
    for sentence in sentences(quoted(request, 600)):
        bare = _without_courtesy(sentence)
        if len(bare.split()) > 2 and content_words(bare) and not _BARE_LINK.fullmatch(bare):
            return begun(shortened(bare.rstrip(" ?.!"), limit))
    return ""


def plan_heading(request: str) -> str:
    """What a plan that is to be carried out is called; '' if none is given."""
    if not _PLAN.match(request):
        return ""
    found = message.sections(request)
    headings = (each.heading for each in found if each.heading and not _CONTEXT.fullmatch(each.heading))
    return _POLITE.sub("", next(headings, ""), count=1)


def plan_context(request: str) -> list[str]:
    """Why there is such a plan: the sentences under its heading of that name."""
    if not _PLAN.match(request):
        return []
    for section in message.sections(request):
        if _CONTEXT.match(section.heading):
            return [each for part in section.parts if not part.item for each in sentences(part.text)]
    return []


def is_assent(request: str) -> bool:
    """Whether it does not say what is wanted: “yes”, “go ahead”, “2”, a bare link, the end of a task."""
    return len(request) < 400 and any(each.fullmatch(request) for each in (_ASSENT, _BARE_LINK, _TASK_ENDED))


def asks(request: str) -> bool:
    """Whether it is a question, or a request to look at something, which names no outcome."""
    bare = _without_courtesy(request)
    return any(_ASKS.match(each) for each in (request, bare)) or bare.rstrip().endswith("?")


def is_errand(request: str) -> bool:
    """Whether it only asks to commit, push, open or show something."""
    return len(request) < 240 and _ERRAND.match(_without_courtesy(request)) is not None


def is_chore(request: str) -> bool:
    """Wants something run, stopped, sent; if no file was changed for it, there is nothing to remember."""
    return (
        is_errand(request)
        or bool(_SCAFFOLD.match(request) and "synopsis" in request[:80])
        or (len(request) < 240 and _CHORE.match(_without_courtesy(request)) is not None)
    )


def _without_courtesy(request: str) -> str:
    return _POLITE.sub("", request, count=1) if _POLITE.match(request) else request


def standing_instruction(request: str) -> str:
    """The sentence that says how things are to be done from now on; '' if there is none."""
    if len(request) > 600 or message.sections(request)[:1] != message.sections(request)[:2]:
        return ""  # a pasted text, with headings: not the user's own
    for sentence in sentences(request):
        if _WISH.search(sentence) and not sentence.endswith("?") and 20 <= len(sentence) <= 240:
            return message.plain(sentence)
    return ""


def is_rule(wish: str) -> bool:
    """Whether it is a general rule that is understandable on its own."""
    return _RULE.match(wish) is not None and len(content_words(wish)) > 3


def refutes(request: str) -> bool:
    """Whether the user says that the last work or message is wrong, or should be undone."""
    return len(request) < 2_000 and any(
        _REFUTES.match(text) for text in (request, _without_courtesy(request))
    )
