"""The switches that pause recording, for everything or for one session.

    off/all               everything is paused
    off/<session>         that session is paused; the file contains its id

If a switch cannot be read, it counts as set. While nothing is paused, `off` does not exist, and hooks do not
import this file.

    unseen/<session>      part of that session must not be recorded, so its transcript is not imported later
"""

from __future__ import annotations

import posix
import time

from claude_mem.hook import paths
from claude_mem.hook.stdin import Payload
from claude_mem.privacy import private_turns

ALL = f"{paths.OFF}/all"


def path(session: str) -> str:
    """The file of a session's switch, which never has the name of the switch for everything."""
    one = f"{paths.OFF}/{private_turns.file_name(session)}"
    return one if one != ALL else f"{one}.session"


def find(verb: str, event: bytes, given: Payload) -> tuple[bytes, str | None]:
    """The event's name (as given, if there is one) and the switch that pauses it; None: it is not paused."""
    everything = paths.is_there(ALL)
    session = given.session if event else None
    if session is None:
        event, session = _read(verb, given)
    if not everything and (not session or not paths.is_there(path(session))):
        return event, None
    note_skipped_session(session)
    if session and event not in (b"SessionStart", b"SessionEnd", b"PreToolUse"):
        _keep_marks(verb, event, session, given)
    return event, ALL if everything or not session else path(session)


def skipped_note(session: str) -> str:
    """The note that part of a session must not be recorded."""
    return f"{paths.SKIPPED_SESSIONS}/{private_turns.file_name(session)}"


def was_skipped(session: str) -> bool:
    """Whether part of the session must not be recorded: a hook that ran while memory was off left a note."""
    return paths.is_there(skipped_note(session))


def note_skipped_session(session: str) -> None:
    """Leaves a note for a later import, because the client still writes a transcript."""
    if not session or paths.is_there(skipped_note(session)):
        return
    paths.leave_marker(paths.SKIPPED_SESSIONS, private_turns.file_name(session))


def note_skipped(verb: str, given: Payload) -> None:
    """Leaves a note for a session that its environment turned off, unless nothing was ever recorded here."""
    posix.chdir(paths.data_directory(posix.environ))
    note_skipped_session(given.session or _read(verb, given)[1])


def describe(switch: str, given: Payload) -> str:
    """The message shown to the user at a session's start."""
    from claude_mem.hook.notices import age

    try:
        is_paused = f"has been paused for {age(time.time() - posix.lstat(switch).st_mtime)}"
    except OSError:
        is_paused = "is paused"
    if switch == ALL:
        return f"claude-mem {is_paused}: nothing is recorded. Resume: claude-mem on"
    which = given.session or "ID"
    return f"This session {is_paused}: it is not recorded. Resume: claude-mem on --session {which}"


def _read(verb: str, given: Payload) -> tuple[bytes, str]:
    """The event's name and the session's id, of a payload in an unusual shape; empty where there is none."""
    from claude_mem.privacy import scrub_payload

    payload, _ = scrub_payload.peek(given)
    event = payload.get("hook_event_name") or scrub_payload.BY_VERB.get(verb)
    session = payload.get("session_id")
    return (
        event.encode(errors="replace") if isinstance(event, str) else b"",
        session if isinstance(session, str) else "",
    )


def _keep_marks(verb: str, event: bytes, session: str, given: Payload) -> None:
    """Updates the private marks during a pause, because recording may resume in the middle of a turn. It also
    marks the session because a later compaction would repeat what was said during the pause."""
    if event == b"UserPromptSubmit":
        from claude_mem.privacy import scrub_payload

        scrub_payload.prepare(verb, given)
    if not private_turns.is_marked(session):
        private_turns.FileMarks().note(session, private_turns.OPEN)
