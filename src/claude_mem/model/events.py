"""Events: what a coding agent did, from a hook or a transcript, and where."""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from claude_mem.model.clock import LAST_MS
from claude_mem.model.text import lazy_pattern


class Kind(StrEnum):
    """The kind of an event. The values are stored in the queue."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    TASK_END = "task_end"  # of a background task: the client reports it in a prompt that no user typed
    TOOL_USE = "tool_use"
    TOOL_FAILURE = "tool_failure"
    AGENT_MESSAGE = "said"  # by the agent, between two tool calls
    STOP = "stop"
    STOP_FAILURE = "stop_failure"
    SUBAGENT_STOP = "subagent_stop"
    PRE_COMPACT = "pre_compact"
    POST_COMPACT = "post_compact"
    SESSION_END = "session_end"


class ToolCall(Struct, frozen=True):
    """A tool call: its input and output, as JSON text or plain text."""

    name: str
    input: str | None = None
    response: str | None = None
    use_id: str | None = None


class Event(Struct, frozen=True):
    """An event that a hook reported, scrubbed before it was written."""

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
    def has_agent_in_session(self) -> bool:
        """It was captured from an agent other than Claude Code (`hook.translate`), whose hooks may name no
        turn."""
        return self.session.startswith(f"{self.client}:")

    def effect_key_in(self, turn: int | None) -> str:
        """Names the effect, so that the same report delivered twice counts once within its session. `turn`:
        its number there, where it is known.

        A tool use is named by its id, whether it failed or not: it has one outcome. Other events of a turn
        are named by the turn and what they say: two hooks registered for one event (a plugin and a settings
        file) report the same thing under two ids.
        So is a tool use without an id: two that did exactly the same in one turn count once, for they cannot
        be distinguished from one that was reported twice, and the second teaches nothing.
        """
        if self.tool is not None and self.tool.use_id:
            return f"{Kind.TOOL_USE}:{self.tool.use_id}"
        named = self.prompt_id
        if named is None and self.has_agent_in_session:
            # A session starts once: a second report of its start may arrive late, during a turn.
            is_startup = self.kind is Kind.SESSION_START and self.note == "startup"
            named = "#0" if is_startup else f"#{turn}" if turn is not None else None
        if named:
            # The last message of a turn without an id is read from the transcript, and only one hook may find
            # it.
            is_looked_up = self.kind is Kind.STOP and not self.prompt_id
            texts = [None if is_looked_up else self.text, self.note, self.agent_id]
            if self.tool is not None:
                texts += [self.tool.name, self.tool.input, self.tool.response]
            digest = hashlib.sha256("\0".join(map(str, texts)).encode(errors="replace"))
            return f"{self.kind}:{named}:{digest.hexdigest()[:16]}"
        return self.id


class SpooledEvent(Struct, frozen=True):
    """An event from the spool: its name, its scrubbed payload and the envelope's fields."""

    name: str  # of the file
    size: int
    id: str
    at: int
    event: str
    payload: dict[str, object]
    by: str | None = None  # the version of the hook that scrubbed it
    agent: str = "claude-code"  # whose hook it was
    private: bool = False  # of a private turn: nothing of its text was kept
    scrub_again: bool = False  # the hook could not read the user's own rules
    context: str | None = None  # the stamp of what the session was shown at its start


TRANSCRIPT_PREFIX = "past-"
"""The prefix of the ids of such events: a session with any other id was captured live."""


class TranscriptEvent(Struct, frozen=True):
    """One event in the format of a hook, with the time when it happened. Not scrubbed yet."""

    id: Annotated[str, Meta(max_length=400, pattern=f"^{TRANSCRIPT_PREFIX}")]
    """The same whenever the same transcript is read: `past-` and what names its line."""
    at: Annotated[int, Meta(ge=0, le=LAST_MS)]  # epoch milliseconds
    event: str  # the hook's name: UserPromptSubmit, PostToolUse, …
    payload: dict[str, object]
    branch: str | None = None  # of that time: what is checked out now says nothing about it
    agent: str = "claude-code"  # its row in `agents.TITLES`


class Origin(Struct, frozen=True):
    """A directory's repository, branch and commit. Worktrees and clones of a repository share a key, and so a
    memory."""

    key: str  # the normalised remote, else the root's path
    name: str  # what people see: the directory's last part
    root: str
    remote: str | None = None
    worktree: str | None = None  # the linked worktree's path, when the work was not in the main one
    branch: str | None = None  # None: no repository, or a detached head
    commit: str | None = None
    plain: bool = False  # no repository was found there: a project above it, if one is known, is its own


LONGEST_PATH = 4096
"""Characters of a path that a system opens. Of a longer one nothing is looked up: the paths of all its
parents together would fill the memory."""
_FOLDERS = (".worktrees", "worktrees")
_BESIDE = (".worktrees", "__worktrees")
_EVERYBODYS = lazy_pattern(
    r"/?|/(?:home|Users)(?:/[^/]+)?|/root|(?:/private|/var)?/tmp|[A-Za-z]:\\?(?:Users(?:\\[^\\]+)?)?"
)


def worktree_of(path: str) -> tuple[str, str] | None:
    """The repository's main directory and the worktree, by the paths that tools use for worktrees:
    `shop/.worktrees/3`, `shop/.claude/worktrees/3`, `shop.worktrees/3` next to it. None: no such path. A
    deleted worktree can only be recognized by its path."""
    separator = _separator(path)
    parts = path.rstrip(separator).split(separator)
    for index, part in enumerate(parts[:-1]):
        beside = next((end for end in _BESIDE if part.endswith(end) and part != end), None)
        if beside:
            main = [*parts[:index], part.removesuffix(beside)]
        elif part in _FOLDERS:
            is_tools = index > 0 and parts[index - 1].startswith(".")  # .git, .claude
            main = parts[: index - is_tools]
        else:
            continue
        root = separator.join(main)
        return None if _EVERYBODYS.fullmatch(root) else (root, separator.join(parts[: index + 2]))
    return None


def repository_of(directory: str) -> str:
    """A worktree's repository; otherwise the directory itself."""
    worktree = worktree_of(directory)
    return worktree[0] if worktree else directory


def enclosing_directories(directory: str) -> list[str]:
    """A directory and its parents, to whose project its work may belong, nearest first. Home directories and
    the temporary directory do not count, because they contain many projects."""
    if len(directory) > LONGEST_PATH:
        return [directory]
    separator = _separator(directory)
    parts = directory.rstrip(separator).split(separator)
    above = (separator.join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return [directory, *(path for path in above if not _EVERYBODYS.fullmatch(path))]


def _separator(path: str) -> str:
    return "\\" if re.match(r"[A-Za-z]:\\", path) else "/"  # transcripts come from other machines
