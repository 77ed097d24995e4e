"""The careful way: parses a payload that may hold something private or secret, and decides what may be kept.

Only suspicious, over-long or unusual payloads come here; `json` and `re` cost more than the rest of the hook.
"""

from __future__ import annotations

import json

from claude_mem.capture import places, private, scrub, trim
from claude_mem.capture.drops import NotAPayload
from claude_mem.capture.payload import parse

FIELD_CAP = 64 << 10
PAYLOAD_CAP = 1 << 20

BY_VERB = {
    "context": "SessionStart",
    "new": "UserPromptSubmit",
    "save": "PostToolUse",
    "summary": "Stop",
    "cleanup": "SessionEnd",
}
TEXT_KEYS = (
    "prompt",
    "last_assistant_message",
    "last_user_message",
    "compact_summary",
    "custom_instructions",
    "error",
)


def prepare(verb: str, head: bytes, tail: bytes, whole: bool) -> tuple[bytes, bytes | None]:
    """The event's name, and its scrubbed payload; None when nothing of it may be recorded."""
    payload = parse(head.decode(errors="replace")) if whole else None
    if payload is None:
        from claude_mem.capture import salvage  # two patterns to compile, which the whole ones need not pay

        payload = salvage.salvage(head.decode(errors="replace"), tail.decode(errors="replace"))
    if payload is None:
        raise NotAPayload
    event = payload.get("hook_event_name") or BY_VERB.get(verb)
    if not isinstance(event, str):
        raise NotAPayload
    if not whole:
        payload["claude_mem_cut_off"] = True
    kept = clean(event, payload, *custom_rules())
    return event.encode(errors="replace"), None if kept is None else _encode(kept)


def clean(
    event: str, payload: dict[str, object], rules: tuple[tuple[str, str], ...], globs: tuple[str, ...]
) -> dict[str, object] | None:
    """What may be kept of a payload; None when that is nothing."""
    session = payload.get("session_id")
    if not isinstance(session, str) or not session:
        raise NotAPayload
    scrubbed, hid_private = scrub.scrub(payload, field_cap=FIELD_CAP, extra_rules=rules, globs=globs)
    scrubbed["hook_event_name"] = event
    return _without_private_turns(event, session, scrubbed, hid_private)


def _without_private_turns(
    event: str, session: str, payload: dict[str, object], hid_private: bool
) -> dict[str, object] | None:
    marker = private.read(session)
    prompt_id = payload.get("prompt_id")
    prompt_id = prompt_id if isinstance(prompt_id, str) else None
    if event == "UserPromptSubmit":
        wholly = hid_private and not str(payload.get("prompt") or "").strip()
        known = marker[1] if marker else ()
        if wholly:
            private.write(session, True, (*known, prompt_id) if prompt_id else known)
            return _without_text(payload)
        if marker or hid_private:
            private.write(session, False, known)
        return payload
    if hid_private and marker is None and event not in ("PreToolUse", "SessionStart"):
        marker = (False, ())
        private.write(session, *marker)  # a compaction would repeat what was hidden here
    if marker is None:
        return payload
    if event in ("PreCompact", "PostCompact"):
        return _without_text(payload)
    if event in ("SessionStart", "SessionEnd") or not private.covers(marker, prompt_id):
        return payload
    return _without_text(payload) if event in ("Stop", "StopFailure") else None


def _without_text(payload: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in payload.items() if key not in TEXT_KEYS} | {
        "claude_mem_private": True
    }


def _encode(payload: dict[str, object]) -> bytes:
    text = _dumps(payload)
    if len(text) > PAYLOAD_CAP:  # many fields, or endless structure: head and tail of each will have to do
        text = _dumps({key: _flattened(value) for key, value in payload.items()})
    return text.encode()


def _flattened(value: object) -> object:
    return trim.trim(value if isinstance(value, str) else _dumps(value), FIELD_CAP)


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def custom_rules() -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The user's own secret patterns and excluded paths. `settings` checks and explains them; a broken
    file must not stop a hook, so here what cannot be read counts as not set."""
    try:
        with open(places.SETTINGS, encoding="utf-8") as file:
            settings = json.load(file)
        patterns = settings.get("CLAUDE_MEM_SECRET_PATTERNS", {})
        globs = settings.get("CLAUDE_MEM_EXCLUDE_PATHS", [])
        return (
            tuple((str(name), str(pattern)) for name, pattern in patterns.items()),
            (*scrub.DEFAULT_GLOBS, *map(str, globs)),
        )
    except (OSError, ValueError, AttributeError, TypeError):
        return (), scrub.DEFAULT_GLOBS
