"""Translates another agent's hook payloads into Claude Code's format, and the hook's answer back.

The hook, privacy and the spool use only the format of Claude Code's hooks (`session_id`, `hook_event_name`,
`tool_input`, ...), so that every rule about what may be recorded is written once. A session's id is prefixed
with its agent's name, `codex:01a1…`, so that sessions of two agents are never confused. An agent other than
Claude Code has a dialect, `claude_mem/agents/<folder>/__init__.py`, which is as cheap to import as this and
contains

    EVENTS    its events (by the name in its payload, or as its hook's verb), and ours; others are ignored
    KEYS      its keys, and ours; keys that are not listed keep their names; optional
    INJECTION_EVENTS  those of our events at which text reaches its model
    AS_IS     its events whose payload is Claude Code's but for names, which `read` leaves alone; optional
    prompt(payload)   the turn's prompt by its transcript, where no hook may report it; optional
    WITHIN_S  of some of our events: the seconds that the agent leaves a hook; optional
    read(event, payload)                      where tables do not suffice; None: nothing to record; optional
    answer(event, context, message, reason)   the shape of our answer, if not Claude Code's: the text for
                                              its model, for its user, and in place of a turn; optional
"""

from __future__ import annotations

from claude_mem.agents import FOLDERS
from claude_mem.hook.stdin import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


FIRST = ("session_id", "cwd", "prompt_id", "hook_event_name", "tool_name")
"""The order in which Claude Code writes these keys. The hook relies on it where it reads without parsing."""


def same(events: str) -> dict[str, str]:
    """EVENTS of an agent that names them as Claude Code does."""
    return {event: event for event in events.split()}


class Translator:
    """Translates one run of a hook. Raises KeyError for an unknown agent."""

    def __init__(self, agent: str, verb: str) -> None:
        self.agent, self._verb = agent, verb
        self._dialect: Any = __import__(f"claude_mem.agents.{FOLDERS[agent]}", fromlist=["EVENTS"])
        self._keys: dict[str, str] = getattr(self._dialect, "KEYS", {})
        self.own_event = self._event = ""
        self._payload: dict[str, object] = {}
        self._unparsed = b""
        self.injection_events: frozenset[str] = self._dialect.INJECTION_EVENTS
        self.starts_at_a_tool = (
            "SessionStart" not in self.injection_events and "PreToolUse" in self.injection_events
        )

    def payload(self, given: Payload) -> Payload | None:
        """The payload as Claude Code would have sent it; None: nothing to record. Raises NotAPayload for what
        is no JSON object."""
        if given.is_complete and (renamed := self._renamed(given.head)):
            self._unparsed = renamed
            return Payload(renamed)
        from claude_mem.hook import json_text

        original = json_text.parse(given.head.decode(errors="replace")) if given.is_complete else None
        is_whole = original is not None
        if original is None:
            from claude_mem.privacy import scrub_payload

            original, is_whole = scrub_payload.read(given)
        dialect, keys = self._dialect, self._keys
        named = original.get("hook_event_name")
        self.own_event = self._verb if self._verb in dialect.EVENTS else str(named)
        event = dialect.EVENTS.get(self.own_event)
        if event is None:
            return None
        self._event = event
        translated: dict[str, object] | None
        translated = {keys.get(key, key): value for key, value in original.items()} | {
            "hook_event_name": event
        }
        translated = dialect.read(event, translated) if hasattr(dialect, "read") else translated
        if translated is None:
            return None
        session = translated.get("session_id")
        if isinstance(session, str) and session:
            translated["session_id"] = f"{self.agent}:{session}"
        self._payload = translated
        return Payload(_encoded(translated), is_complete=is_whole)

    def _renamed(self, head: bytes) -> bytes | None:
        """Translates a payload that differs only in names, without parsing it; None: it must be parsed. A key
        between bare quotes is never part of a text, and a tool's input comes after everything that is
        renamed."""
        before, given, after = head.partition(_INPUT)
        if not given or not before.startswith(_HEAD) or head.count(b'"session_id"') > 1:
            return None
        start = before.find(_EVENT) + len(_EVENT)
        end = before.find(b'"', start)
        event_name = before[start:end].decode(errors="replace") if start >= len(_EVENT) else ""
        if event_name not in getattr(self._dialect, "AS_IS", ()):
            return None
        self.own_event, self._event = event_name, self._dialect.EVENTS[event_name]
        before = before[:start] + self._event.encode() + before[end:]
        for key, our_key in self._keys.items():
            before = before.replace(b'"%s":' % key.encode(), b'"%s":' % our_key.encode())
        return _HEAD + self.agent.encode() + b":" + before[len(_HEAD) :] + given + after

    @property
    def lacks_prompts(self) -> bool:
        return hasattr(self._dialect, "prompt")

    def prompt(self) -> bytes | None:
        """The prompt of the event's turn, as its hook would have reported it."""
        if self._unparsed:
            from claude_mem.hook import json_text

            self._payload = json_text.parse(self._unparsed.decode(errors="replace")) or {}
        found: str = self._dialect.prompt(self._payload)
        if not found.strip():
            return None
        known = {key: self._payload[key] for key in _OF_THE_TURN if key in self._payload}
        return _encoded(known | {"hook_event_name": "UserPromptSubmit", "prompt": found})

    def within_s(self, most: float) -> float:
        """How long the hook may take for its event."""
        within: dict[str, float] = getattr(self._dialect, "WITHIN_S", {})
        return min(most, within.get(self._event, most))

    def answer(self, line: bytes) -> bytes:
        """The hook's answer in the agent's format; empty if there is nothing to show."""
        if not any(member in line for member in (b'"additionalContext"', b'"systemMessage"', b'"reason"')):
            return b""
        from claude_mem.hook import json_text

        output = json_text.parse(line.decode(errors="replace")) or {}
        inside = output.get("hookSpecificOutput")
        context = inside.get("additionalContext") if isinstance(inside, dict) else None
        texts = [
            text if isinstance(text, str) else ""
            for text in (context, output.get("systemMessage"), output.get("reason"))
        ]
        shape = getattr(self._dialect, "answer", as_claude_code)
        found = shape(self.own_event, *texts)
        return json_text.dumps(found).encode() + b"\n" if found else b""


_HEAD, _EVENT, _INPUT = b'{"session_id":"', b'"hook_event_name":"', b'"tool_input":'
_OF_THE_TURN = ("session_id", "cwd", "transcript_path")


def _encoded(payload: dict[str, object]) -> bytes:
    from claude_mem.hook import json_text

    ordered = {key: payload[key] for key in FIRST if key in payload} | payload
    # Not in ASCII: the payload is searched for text as agents write it.
    return json_text.dumps(ordered, ascii=False).encode(errors="replace")


def as_claude_code(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    """Without the members that only Claude Code knows: Codex treats an unknown member as a failure."""
    output: dict[str, object] = {}
    if context:
        output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    if message:
        output["systemMessage"] = message
    return output | ({"decision": "block", "reason": reason} if reason else {})
