"""Answers `/mem …` in the prompt's hook: the worker runs the command, and the client shows its output.
No model is called, and nothing is recorded.

    {"type":"command","version":…,"session":…,"cwd":…,"typed":…}   ->   {"type": "answer", "context": "…"}
"""

from __future__ import annotations

import json
import posix
import sys

from claude_mem import __version__
from claude_mem.hook import json_text, paths, worker_link
from claude_mem.hook.stdin import Payload
from claude_mem.privacy import scrub_payload

WITHIN_S = 6.0  # the user waits for it; the hook has eight seconds in all
DOWN = "claude-mem: the worker was not running and is starting now. Repeat the command in a moment."
LATE = "claude-mem: the worker did not answer in time. In a terminal, run: claude-mem doctor"


def find(verb: str, given: Payload) -> tuple[dict[str, object], str] | None:
    """Returns the payload of a prompt that is one of our commands, and its arguments; None for any other."""
    payload = json_text.parse(given.head.decode(errors="replace")) or {}
    event, prompt = payload.get("hook_event_name") or scrub_payload.BY_VERB.get(verb), payload.get("prompt")
    typed = scrub_payload.own_command(prompt) if isinstance(prompt, str) else None
    return None if typed is None or event != "UserPromptSubmit" else (payload, typed)


def answer(verb: str, payload: dict[str, object], typed: str, given: Payload) -> bytes:
    """What the client shows in place of a turn."""
    paths.enter(paths.data_directory(posix.environ))
    # If the client does not wait for the answer, its model runs the command. So the turn is marked, and
    # nothing is recorded until the next prompt.
    try:
        scrub_payload.prepare(verb, given)
    except Exception:  # noqa: S110 - the command works on a full disk too
        pass
    command = {
        "type": "command",
        "version": __version__,
        "session": payload.get("session_id"),
        "cwd": payload.get("cwd"),
        "typed": typed,
    }
    try:
        reply = worker_link.exchange(json.dumps(command).encode() + b"\n", WITHIN_S)
    except worker_link.NobodyListens:
        worker_link.start(sys.executable)
        reply = json.dumps(DOWN).encode()
    reason = reply if reply and reply != b'""' else json.dumps(LATE).encode()
    return b'{"continue": true, "decision": "block", "reason": %s}\n' % reason
