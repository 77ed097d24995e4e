"""Decides what the lines of one agent come to: prompts, tool uses and ends of turns, as its hooks said them.

What no hook would have reported is no event either: a tool that was refused or never ran, a call whose result
was never written, a turn that was broken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from claude_mem.backfill import pictures, words
from claude_mem.backfill.lines import Line
from claude_mem.model.events import TRANSCRIPT_PREFIX, TranscriptEvent

MOST_CALLS = 256  # waiting for their results; an agent has a few at once
MOST_SEEN = 4096  # prompts remembered by their lines' names, should a line be written twice
UNNAMED = "agent"  # a subagent of which no line says what it is
_OVER = ("end_turn", "stop_sequence", "max_tokens", "refusal")
_TURN_MARKS = ("stop_hook_summary", "turn_duration")  # written when a turn came to its own end
_REFUSED = (
    "<tool_use_error>",  # the tool did not run
    "The user doesn't want to ",
    "Permission to use ",
    "Permission for this tool use was denied",
)
_INTERRUPTED = "[Request interrupted by user"


@dataclass(slots=True)
class Chain:
    """One agent's thread through a transcript, as far as it was read."""

    session: str
    path: str
    agent_id: str | None = None  # None: the main agent
    agent_type: str | None = None
    agent_path: str | None = None
    number: int = 0  # of the current prompt in its session
    last: Line | None = None
    cwd: str | None = None
    branch: str | None = None
    prompt_id: str | None = None
    mode: str = "default"
    source: str = "startup"
    resumed: bool = False  # told since the last prompt: several hooks run at once
    started: bool = False
    calls: dict[str, Mapping[str, object]] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    message: object = None  # the id of the one being said: it takes a line for each of its blocks
    said: list[str] = field(default_factory=list)
    ending: TranscriptEvent | None = None  # the turn's end, if what was said last was its last word
    over: bool = False  # it was; clients that did not write why a message ended leave it to what follows
    boundary: Line | None = None  # of a compaction whose summary has not come yet

    def take(self, line: Line) -> Iterator[TranscriptEvent]:
        kind, message = line.fields["type"], line.fields.get("message")
        self.last = line
        if kind == "attachment":
            yield from self._attached(line)
            return
        if kind == "system":
            yield from self._noted(line)
            return
        if not isinstance(message, Mapping):
            return
        self._follow(line)
        yield from self._start(line)
        if kind == "user" and line.fields.get("isCompactSummary") and not self.agent_id:
            yield from self._compacted(line, words.text_of(message.get("content")))
            return
        yield from self._uncompacted()
        if kind == "assistant":
            yield from self._heard(line, message)
        else:
            yield from self._answered(line, message.get("content"))

    def close(self, *, answered: bool = False) -> Iterator[TranscriptEvent]:
        """What is left to tell at the end. `answered`: a subagent whose caller has its answer is done."""
        yield from self._uncompacted()
        yield from self._stop(followed=answered)

    def end(self, line: Line) -> TranscriptEvent:
        """That the session was over with this line, the last of all of them."""
        return self._told("SessionEnd", line, reason="other")

    def _follow(self, line: Line) -> None:
        self.cwd = line.text("cwd") or self.cwd
        self.branch = line.text("gitBranch") or self.branch
        self.prompt_id = line.text("promptId") or self.prompt_id
        self.mode = line.text("permissionMode") or self.mode
        if self.agent_id:
            self.agent_type = line.text("attributionAgent") or self.agent_type

    def _start(self, line: Line) -> Iterator[TranscriptEvent]:
        if not self.agent_id and not self.started:
            self.started = True
            yield self._told("SessionStart", line, source=self.source)

    def _attached(self, line: Line) -> Iterator[TranscriptEvent]:
        """What a person typed while the agent worked; or that the session's hooks ran, and why."""
        attachment = line.fields.get("attachment")
        if not isinstance(attachment, Mapping) or self.agent_id:
            return
        hook = attachment.get("hookName")
        if isinstance(hook, str) and hook.startswith("SessionStart:"):
            source = hook.partition(":")[2]
            if not self.started:
                self.source = source
            elif source == "resume" and not self.resumed:
                self.resumed = True
                yield self._told("SessionStart", line, source="resume")
        elif attachment.get("type") == "queued_command" and _is_typed(attachment):
            self._follow(line)
            yield from self._start(line)
            yield from self._spoken(line, attachment.get("prompt"), attachment.get("origin"))

    def _noted(self, line: Line) -> Iterator[TranscriptEvent]:
        subtype = line.fields.get("subtype")
        if subtype in _TURN_MARKS:
            self.over = True
        elif subtype == "compact_boundary" and not self.agent_id:
            self._follow(line)
            yield from self._start(line)
            yield from self._uncompacted()
            yield from self._stop(followed=True)
            self.boundary = line

    def _compacted(self, line: Line, summary: str) -> Iterator[TranscriptEvent]:
        yield from self._stop(followed=True)
        boundary, self.boundary = self.boundary or line, None
        yield self._told("PreCompact", boundary, trigger=_trigger(boundary), custom_instructions=None)
        summary = words.without_frame(summary)
        yield self._told("PostCompact", line, trigger=_trigger(boundary), compact_summary=summary)

    def _uncompacted(self) -> Iterator[TranscriptEvent]:
        """A compaction that was begun, and whose summary is not in the file."""
        if self.boundary:
            boundary, self.boundary = self.boundary, None
            yield self._told("PreCompact", boundary, trigger=_trigger(boundary), custom_instructions=None)

    def _heard(self, line: Line, message: Mapping[str, object]) -> Iterator[TranscriptEvent]:
        content = message.get("content")
        if line.fields.get("isApiErrorMessage"):
            yield from self._failed(line, words.text_of(content))
            return
        if message.get("id") != self.message:
            yield from self._stop()  # over, and sent on by a hook: that was one end already
            self.message, self.said = message.get("id"), []
        calls = False
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if not isinstance(part, Mapping):
                continue
            if part.get("type") == "tool_use" and isinstance(part.get("id"), str):
                self._called(str(part["id"]), part)
                calls = True
            elif part.get("type") == "text" and isinstance(part.get("text"), str):
                self.said.append(str(part["text"]))
        reason = message.get("stop_reason")
        self.ending = None
        if calls or message.get("model") == "<synthetic>":  # the latter are the client's own words
            self.said = []
        elif reason in _OVER or (reason is None and self.said):
            self.ending, self.over = self._end_of_turn(line), reason is not None

    def _called(self, use_id: str, call: Mapping[str, object]) -> None:
        self.calls[use_id] = call
        if len(self.calls) > MOST_CALLS:
            del self.calls[next(iter(self.calls))]

    def _failed(self, line: Line, text: str) -> Iterator[TranscriptEvent]:
        yield from self._stop()
        self._quiet()
        if not self.agent_id:
            error = line.text("error") or "unknown"
            yield self._told("StopFailure", line, error=error, last_assistant_message=text)

    def _answered(self, line: Line, content: object) -> Iterator[TranscriptEvent]:
        results = [
            part
            for part in (content if isinstance(content, list) else [])
            if isinstance(part, Mapping) and part.get("type") == "tool_result"
        ]
        for nth, result in enumerate(results):
            yield from self._result(line, result, nth, alone=len(results) == 1)
        if results or line.fields.get("isMeta") or line.fields.get("isCompactSummary"):
            return
        if self.agent_id:  # its task, given by another agent
            yield from self._stop(followed=True)
        else:
            yield from self._spoken(line, content, line.fields.get("origin"))

    def _spoken(self, line: Line, content: object, origin: object) -> Iterator[TranscriptEvent]:
        match words.spoken(content, origin):
            case words.Interruption():
                yield from self._stop()
                self._quiet()
            case words.Notification(text):
                yield from self._stop(followed=True)
                yield self._told("UserPromptSubmit", line, permission_mode=self.mode, prompt=text)
            case words.Prompt(text):
                yield from self._stop(followed=True)
                name = line.name(self.session)
                if name in self.seen:
                    return
                self.seen[name] = None
                if len(self.seen) > MOST_SEEN:
                    del self.seen[next(iter(self.seen))]
                self.number, self.resumed = self.number + 1, False
                yield self._told("UserPromptSubmit", line, permission_mode=self.mode, prompt=text)

    def _result(
        self, line: Line, result: Mapping[str, object], nth: int, *, alone: bool
    ) -> Iterator[TranscriptEvent]:
        use_id = str(result.get("tool_use_id"))
        call = self.calls.pop(use_id, None)
        if call is None:
            return
        content = result.get("content")
        outcome = line.fields.get("toolUseResult") if alone else None
        outcome = content if outcome is None else outcome
        head: dict[str, object] = {
            "permission_mode": self.mode,
            "tool_name": call.get("name"),
            "tool_input": call.get("input"),
        }
        if not result.get("is_error"):
            outcome = pictures.without(outcome) if line.pictured else outcome
            yield self._told("PostToolUse", line, nth, **head, tool_response=outcome, tool_use_id=use_id)
            return
        text = words.text_of(content)
        if text.startswith(_REFUSED) or line.fields.get("toolDenialKind"):
            return
        error = (outcome if isinstance(outcome, str) else text).removeprefix("Error: ")
        stopped = error.startswith(_INTERRUPTED)
        yield self._told(
            "PostToolUseFailure", line, nth, **head, tool_use_id=use_id, error=error, is_interrupt=stopped
        )

    def _end_of_turn(self, line: Line) -> TranscriptEvent:
        said = "\n\n".join(self.said).strip()
        head: dict[str, object] = {"permission_mode": self.mode, "stop_hook_active": False}
        if not self.agent_id:
            return self._told("Stop", line, **head, last_assistant_message=said)
        if self.agent_path:
            head["agent_transcript_path"] = self.agent_path
        return self._told("SubagentStop", line, **head, last_assistant_message=said)

    def _stop(self, *, followed: bool = False) -> Iterator[TranscriptEvent]:
        """The hook fires when the last word was said; that it was the last is only seen at the next prompt,
        perhaps the next morning. `followed`: by something that only a turn's end allows."""
        if self.ending and (self.over or followed):
            yield self.ending
        self._quiet()

    def _quiet(self) -> None:
        self.said, self.ending, self.over = [], None, False

    def _told(self, event: str, line: Line, nth: int = 0, /, **fields: object) -> TranscriptEvent:
        payload: dict[str, object] = {
            "session_id": self.session,
            "transcript_path": self.path,
            "cwd": self.cwd,
            "hook_event_name": event,
        }
        if event != "SessionStart":
            if self.prompt_id:
                payload["prompt_id"] = self.prompt_id
            if self.number:
                payload["prompt_number"] = self.number
        if self.agent_id:
            payload |= {"agent_id": self.agent_id, "agent_type": self.agent_type or UNNAMED}
        id = f"{TRANSCRIPT_PREFIX}{line.name(self.session)}-{event}" + (f"-{nth}" if nth else "")
        return TranscriptEvent(id, line.at, event, payload | fields, self.branch)


def _is_typed(queued: Mapping[str, object]) -> bool:
    return queued.get("commandMode") in ("prompt", None) and not queued.get("isMeta")


def _trigger(boundary: Line) -> str:
    about = boundary.fields.get("compactMetadata")
    trigger = about.get("trigger") if isinstance(about, Mapping) else None
    return trigger if isinstance(trigger, str) else "auto"
