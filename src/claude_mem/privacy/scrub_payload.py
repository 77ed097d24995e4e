"""The hook's slow path: parses a payload, truncated or not, and returns what may be recorded.

Only suspicious, overlong or unusual payloads are handled here. `json` and `re` cost more than the rest of the
hook, so `json_text` reads and writes JSON, and patterns are used only where they are needed.
"""

from __future__ import annotations

from claude_mem.hook import paths
from claude_mem.hook.drop_counters import NoSession, NotAPayload
from claude_mem.hook.json_text import dumps, parse
from claude_mem.hook.spool_writer import CUT_OFF, PRIVATE, SCRUB_AGAIN
from claude_mem.hook.stdin import Payload
from claude_mem.privacy import excluded_files, private_turns, scrub, tags
from claude_mem.privacy.private_turns import FileMarks, Marks, had_private_turns
from claude_mem.privacy.scrub import FIELD_CAP, IDENTITY_KEYS, PATH_KEYS, RESPONSE_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    Scrubbed = tuple[dict[str, object], bool]
    """A scrubbed payload; and whether its turn is private, in which case it has no text."""


PAYLOAD_CAP = 1 << 20
OWN_COMMANDS = ("/mem", "/mem:mem", "/claude-mem:mem")
"""Their questions and answers come from memory or are about it; their turns do not become memory again."""

BY_VERB = {
    "context": "SessionStart",
    "new": "UserPromptSubmit",
    "save": "PostToolUse",
    "summary": "Stop",
    "cleanup": "SessionEnd",
}
BARE_KEYS = (
    *("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "prompt_number"),
    *("permission_mode", "trigger", "project"),
)
"""The only fields that are stored of an event whose text is private."""


def prepare(verb: str, given: Payload) -> tuple[bytes, bytes | None, tuple[bytes, ...]]:
    """The event's name, its scrubbed payload (None when nothing of it may be recorded), and the flags of its
    envelope."""
    payload, is_parsed = read(given)
    event = payload.get("hook_event_name") or BY_VERB.get(verb)
    if not isinstance(event, str):
        raise NotAPayload
    rules, globs, is_all = custom_rules()
    name, cleaned = event.encode(errors="replace"), clean(event, payload, rules, globs)
    if cleaned is None:
        return name, None, ()
    # Without all rules: the settings file is not valid, perhaps because it is being written. The worker may
    # have read it before that, and scrubs again.
    flags = {PRIVATE: cleaned[1], CUT_OFF: not is_parsed, SCRUB_AGAIN: not is_all}
    return name, _encode(cleaned[0]), tuple(flag for flag, is_set in flags.items() if is_set)


def read(given: Payload) -> tuple[dict[str, object], bool]:
    """Returns the payload, or what can be salvaged of it, and whether it is complete. Raises NotAPayload."""
    head = given.head.decode(errors="replace")
    payload = parse(head) if given.is_complete else None
    if payload is not None:
        return payload, True
    payload = salvage(head, given.tail.decode(errors="replace"))
    if payload is None:
        raise NotAPayload
    return payload, False


def peek(given: Payload) -> tuple[dict[str, object], bool]:
    """As `read`; what is no payload is an empty one."""
    try:
        return read(given)
    except NotAPayload:
        return {}, True


def clean(
    event: str,
    payload: dict[str, object],
    rules: tuple[tuple[str, str], ...],
    globs: tuple[str, ...],
    marks: Marks | None = None,
) -> Scrubbed | None:
    """Returns what may be stored of a payload; None: nothing. `marks` defaults to the hooks' marker files."""
    session = payload.get("session_id")
    if not isinstance(session, str) or not session:
        raise NoSession
    scrubbed, hid_private = scrub.scrub(payload, field_cap=FIELD_CAP, extra_rules=rules, globs=globs)
    scrubbed["hook_event_name"] = event
    return _without_private_turns(event, session, scrubbed, hid_private, marks or FileMarks())


def _without_private_turns(
    event: str, session: str, payload: dict[str, object], hid_private: bool, marks: Marks
) -> Scrubbed | None:
    prompt_id = payload.get("prompt_id")
    prompt_id = prompt_id if isinstance(prompt_id, str) and prompt_id else None
    if event == "UserPromptSubmit":
        return _prompt(session, prompt_id, payload, hid_private, marks)
    marker = marks.read(session)
    if event == "SessionStart" and _may_hold_private_turns(payload.get("source"), marker, marks):
        marks.note(session, private_turns.OPEN)
        marker = marks.read(session)
    is_open = marker is None or marker[0] == private_turns.OURS  # nothing in it was private so far
    if is_open and hid_private and event not in ("PreToolUse", "SessionStart"):
        marks.note(session, private_turns.OPEN)  # a compaction would repeat what was hidden here
    if event in ("PreCompact", "PostCompact"):
        return (payload, False) if is_open else _without_text(payload)
    is_of_session = event in ("SessionStart", "SessionEnd")
    if marker is None or is_of_session or not private_turns.covers(marker, prompt_id):
        return payload, False
    if event not in ("Stop", "StopFailure"):
        return None
    if not is_open:
        return _without_text(payload)
    marks.clear(session)
    return None


def _may_hold_private_turns(source: object, marker: object, marks: Marks) -> bool:
    """Whether the session continues another one, whose private turns are unknown. A fork does. A resumed
    session may have had another id, which matters only if any session has private turns."""
    return source == "fork" or (source == "resume" and marker is None and marks.any_session())


def _prompt(
    session: str, prompt_id: str | None, payload: dict[str, object], hid_private: bool, marks: Marks
) -> Scrubbed | None:
    words, marker = _words(payload.get("prompt")), marks.read(session)
    is_open = marker is None or marker[0] == private_turns.OURS
    if own_command(words) is not None:
        marks.note(session, private_turns.OURS if is_open else private_turns.OPEN, prompt_id)
        return None
    # A notification does not name the turn that started the task: it may have been a private one.
    goes_on = tags.is_task_notification(words) and had_private_turns(marks, session)
    if goes_on or (hid_private and private_turns.is_blank(words)):
        marks.note(session, private_turns.PRIVATE if prompt_id else private_turns.UNNAMED, prompt_id)
        return _without_text(payload)
    if hid_private or not is_open:
        marks.note(session, private_turns.OPEN)
    elif marker is not None:
        marks.clear(session)
    return payload, False


def own_command(words: str) -> str | None:
    """Returns what was typed after one of our own commands; None for any other prompt."""
    first, *rest = words.split(None, 1) or [""]
    return "".join(rest) if first in OWN_COMMANDS else None


def _words(prompt: object) -> str:
    """A prompt's text, even if it is a list of content blocks."""
    if isinstance(prompt, list):
        return " ".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in prompt)
    return str(prompt or "")


def _without_text(payload: dict[str, object]) -> Scrubbed:
    return {key: payload[key] for key in BARE_KEYS if key in payload}, True


def _encode(payload: dict[str, object]) -> bytes:
    text = dumps(payload)
    if len(text) > PAYLOAD_CAP:  # many fields, or a huge structure: only the head and tail of each are stored
        text = dumps({key: _flattened(value) for key, value in payload.items()})
    return text.encode()


def _flattened(value: object) -> object:
    return scrub.trim(value if isinstance(value, str) else dumps(value), FIELD_CAP)


def custom_rules() -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], bool]:
    """The user's own secret patterns and excluded paths, as far as they can be read, and whether the file
    could be; `settings` explains what could not."""
    try:
        content = paths.content(paths.SETTINGS, paths.MOST_SETTINGS)
    except FileNotFoundError:
        return (), excluded_files.DEFAULT_GLOBS, True
    except OSError:
        return (), excluded_files.DEFAULT_GLOBS, False
    from claude_mem.privacy import rules

    settings, problem = rules.table(content)
    patterns, _ = rules.patterns(settings.get(rules.PATTERNS, {}))
    globs, _ = rules.globs(settings.get(rules.PATHS, []))
    return patterns, (*excluded_files.DEFAULT_GLOBS, *globs), problem is None


# All complete members of a truncated payload are kept (it may be truncated by our cap, a deadline, or the
# sender). A truncated string is closed and marked; a truncated number or name is omitted. The tool use's id,
# which the agent writes last, is searched for in the tail.

MARK = "[… cut off …]"
LONGEST_WORD = 512
DEEPEST_SALVAGED = 200  # `json` rejects a payload that nests too deep; `scrub` stops long before that
# A string without an end is a token as well, and tokens do not backtrack, so each character is examined once.
# Patterns are compiled at first use, because few payloads are truncated.
LEXEME = r'(?s)"(?:[^"\\]++|\\.)*+("?)|[{}\[\]]'
_WHOLE_CHARACTERS = r'(?:[^\\]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+'
_CLOSER = {"{": "}", "[": "]"}
_USE_ID = r'"tool_use_id"\s*:\s*"([\w.:-]{1,128})"'


def salvage(head: str, tail: str) -> dict[str, object] | None:
    """The part of the payload that arrived, or None if it is not a JSON object."""
    payload = parse(head) or parse(_closed(head))
    if payload is None:
        return None
    if not _names_its_file(payload):
        for key in ("tool_input", *RESPONSE_KEYS):
            payload.pop(key, None)
    import re

    ids = re.findall(_USE_ID, tail)
    if ids and "tool_use_id" not in payload:
        payload["tool_use_id"] = ids[-1]
    return payload


def _names_its_file(payload: dict[str, object]) -> bool:
    """Whether a tool use has said before the cut which file or command it is about, or has none. Otherwise
    these may be the contents of an excluded file."""
    tool_input = payload.get("tool_input")
    if not isinstance(tool_input, dict):
        return not any(key in payload for key in RESPONSE_KEYS)
    if "command" in tool_input or list(payload)[-1] != "tool_input":  # else it may be cut
        return True
    return any(not str(tool_input[key]).endswith(MARK) for key in PATH_KEYS if key in tool_input)


def _closed(head: str) -> str:
    """The head up to its last complete member, with what there is of a cut string, and brackets closed."""
    import re

    closers: list[str] = []
    member_end = end = 0  # where the last complete member ends, and the last token
    key = ""
    for token in re.finditer(LEXEME, head):
        mark, start = token.group(), token.start()
        if mark in _CLOSER:
            closers.append(_CLOSER[mark])
            member_end = token.end()
        elif mark in ("}", "]"):
            if closers:
                closers.pop()
            member_end = token.end()
        elif closers[-1:] == ["}"] and not head[end:start].rstrip().endswith(":"):
            # A key; before it, a number may have ended.
            member_end = max(member_end, head.rfind(",", end, start))
            key = mark
        elif token.group(1):
            member_end = token.end()
        elif not (len(closers) == 1 and key.strip('"') in IDENTITY_KEYS):  # half a name is another name
            return f'{head[:start]}"{_without_last_word(mark[1:])}{MARK}"' + "".join(reversed(closers))
        end = token.end()
        if len(closers) > DEEPEST_SALVAGED:
            break
    else:
        member_end = max(member_end, head.rfind(",", end))  # the numbers before it are complete
    return head[:member_end] + "".join(reversed(closers))


def _without_last_word(string: str) -> str:
    """Drops the last word, because half a secret would no longer be detected, and a cut escape."""
    import re

    shortened = string[:-LONGEST_WORD] + string[-LONGEST_WORD:].rpartition(" ")[0]
    found = re.match(_WHOLE_CHARACTERS, shortened)
    return found.group() if found else ""
