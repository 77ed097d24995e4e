"""What the user asked for, in their own words, without what a client wrapped around them."""

from __future__ import annotations

import re

from claude_mem.observe.offline import markdown
from claude_mem.observe.offline.wording import clip, one_line

_WRAPPED = re.compile(
    r"<(system-reminder|local-command-stdout|local-command-caveat|command-message|ide_[a-z_]+|environment_context)\b[^>]*>.*?(?:</\1>|\Z)",
    re.S,
)
_COMMAND = re.compile(r"<command-name>([^<]{1,100})</command-name>")
_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.S)
_NOTICE = re.compile(r"^\s*<task-notification>.*?<summary>(.*?)</summary>", re.S)
_PASTED = re.compile(r"^(?:\s*(?:\[Image[^\]]*\]|@\S+)\s*)+")
INJECTED = (
    "Base directory for this skill:",
    "Caveat: ",
    "[Request interrupted",
    "This session is being continued",
)
LONGEST = 20_000


def cleaned(text: str | None) -> str:
    """'' for what no user said."""
    text = (text or "")[:LONGEST].strip()
    if notice := _NOTICE.match(text):
        return one_line(notice[1])
    text = _WRAPPED.sub(" ", text)
    command, args = _COMMAND.search(text), _ARGS.search(text)
    if command:
        return one_line(f"{command[1]} {args[1] if args else ''}")
    text = text.strip()
    return "" if text.startswith(INJECTED) else _PASTED.sub("", text)


def quoted(request: str, limit: int) -> str:
    """The request on one line, its code left out."""
    parts = []
    for section in markdown.sections(request):
        parts += [section.heading] if section.heading else []
        parts += [part.text for part in section.parts]
        if sum(map(len, parts)) > limit:
            break
    return clip(" ".join(parts), limit)
