"""What a coding agent did, as one of its hooks reported it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What happened. The values are the words stored in the queue."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    TASK_END = "task_end"  # of one in the background: the client says so in a prompt of its own
    TOOL_USE = "tool_use"
    TOOL_FAILURE = "tool_failure"
    STOP = "stop"
    STOP_FAILURE = "stop_failure"
    SUBAGENT_STOP = "subagent_stop"
    PRE_COMPACT = "pre_compact"
    POST_COMPACT = "post_compact"
    SESSION_END = "session_end"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the agent used: what went in and what came out, as JSON text (or plain text)."""

    name: str
    input: str | None = None
    response: str | None = None
    use_id: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One hook's report, scrubbed before it was ever written."""

    id: str  # unique and time-ordered: the name the hook gave it in the spool
    at: int  # epoch milliseconds by the hook's clock
    kind: Kind
    session: str  # the client's own session id: the source of truth, never made up by us
    client: str = "claude-code"
    cwd: str | None = None
    project: str | None = None  # a name given by the caller; else the origin's
    transcript_path: str | None = None
    prompt_id: str | None = None
    prompt_number: int | None = None  # as given by an API caller; else counted by the store
    agent_id: str | None = None
    agent_type: str | None = None
    tool: ToolCall | None = None
    text: str | None = None  # the prompt, the last assistant message, the error, the compaction's summary
    note: str | None = None  # the start's source, the end's reason, the compaction's trigger
    private: bool = False  # the turn was wholly private: nothing of its text is here

    @property
    def effect_key(self) -> str:
        """Names the effect, so that the same report delivered twice counts once within its session.

        A tool use is named by its id. Other events of a turn are named by the turn and what they say: two
        hooks registered for one event (a plugin and a settings file) report the same thing under two ids.
        So is a tool use without an id: two that did exactly the same in one turn count once, for they cannot
        be told from one that was reported twice, and the second teaches nothing.
        """
        if self.tool is not None and self.tool.use_id:
            return f"{self.kind}:{self.tool.use_id}"
        if self.prompt_id:
            said = [self.text, self.note, self.agent_id]
            if self.tool is not None:
                said += [self.tool.name, self.tool.input, self.tool.response]
            digest = hashlib.sha256("\0".join(map(str, said)).encode(errors="replace"))
            return f"{self.kind}:{self.prompt_id}:{digest.hexdigest()[:16]}"
        return self.id
