"""What an agent's folder must contain. To add an agent, add a folder with these modules and a row in
`agents.TITLES`.

__init__.py      its dialect: its events and fields, and where text reaches its model (`hook.translate`)
agent.py         AGENT, as below: what is written to which of its files (`file_parts`), what its user has to
                 do, and its transcripts
installation.py  an `Installer`, if editing files is not enough (`connection` has the others')

The dialect is apart from the rest because the hook imports it, on every tool call.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct

from claude_mem.agents import CLAUDE_CODE, FOLDERS, MCP_ONLY, NOT_RUN, TITLES
from claude_mem.model.errors import ClaudeMemError, EventUnreadable

if TYPE_CHECKING:
    from claude_mem.agents.claude_code.transcript_lines import TranscriptReading
    from claude_mem.agents.connection import Connection, Installer
    from claude_mem.agents.file_parts import FilePart
    from claude_mem.agents.launcher import Machine
    from claude_mem.model.events import Event, TranscriptEvent


class TurnWords(Struct, frozen=True):
    """What an agent said in a turn, from its transcript, and which tool calls failed, if no hook reports
    it."""

    during_turn: tuple[TranscriptEvent, ...] = ()  # `AgentMessage`, `PostToolUseFailure`, in their order
    last: str | None = None


class Agent(Struct, frozen=True):
    name: str  # its row in `agents.TITLES`
    program: str  # its command
    home: Callable[[], Path]  # where it keeps its settings
    hooks: Callable[[Machine], dict[str, Any]]  # as its settings declare them
    parts: Callable[[Machine], Sequence[FilePart]] | None = None  # what an install writes into which files
    transcripts: TranscriptReader | None = None  # what `backfill` uses
    scopes: tuple[str, ...] = ("user",)  # whom it can be connected for
    needs: str = ""  # what its user has to do after an install
    program_setting: str | None = None  # the field of Settings with the path of its program
    words_of: Callable[[Event], TurnWords] | None = None
    """Of the turn that an event ends. Bounded in bytes and time; never raises. None: hooks report it all."""

    @property
    def title(self) -> str:
        """Its display name, shown with its memories in other agents."""
        return TITLES[self.name]

    @property
    def is_run(self) -> bool:
        """Whether our tests run it; otherwise its folder was written from its documentation."""
        return self.name not in NOT_RUN

    def installed_at(self) -> str | None:
        return shutil.which(self.program)

    def is_there(self) -> bool:
        """Whether it is installed on this machine, or was used by this user."""
        return self.installed_at() is not None or self.home().is_dir()

    def version(self) -> str | None:
        """The version, from the package that contains its program; nothing is run."""
        program = self.installed_at()
        for folder in Path(program).resolve().parents[:4] if program else ():
            with suppress(OSError, ValueError, KeyError):
                return str(json.loads((folder / "package.json").read_text("utf-8"))["version"])
        return None


class Transcript(Struct, frozen=True):
    session: str
    path: Path
    size: int  # bytes, with its subagents' files
    first_at: int  # epoch milliseconds
    last_at: int
    cwd: str | None  # where the session began
    agents: tuple[Path, ...] = ()


class FoundTranscripts(Struct, frozen=True):
    transcripts: tuple[Transcript, ...]  # the newest first
    unreadable: tuple[tuple[Path, str], ...] = ()  # files and folders, and why
    others: int = 0  # files of that ending that hold no session


class TranscriptReader(Protocol):
    """A `session_files.SessionFiles`, or a module."""

    def projects_folder(self) -> Path:
        """The folder with the agent's transcripts."""
        ...

    def find(
        self, root: Path, *, project: str | None = None, since: int | None = None
    ) -> FoundTranscripts: ...

    def read(self, path: Path, of_agents: Sequence[Path], *, over: bool) -> TranscriptReading:
        """The events that its hooks would have sent, in Claude Code's format; ids begin with
        TRANSCRIPT_PREFIX. Not `over`: the session may continue after the last line."""
        ...

    def count(self, transcript: Transcript) -> tuple[int, int]:
        """Tool uses and turns, for an estimate."""
        ...


def load(name: str) -> Agent:
    """Raises EventUnreadable for one that is not in the table: a newer version's, most likely."""
    if name not in TITLES:
        raise EventUnreadable(f"written by a hook of an unknown agent: {name[:40]}")
    module = _module(name, "agent")
    return cast(Agent, module.AGENTS[name] if name in MCP_ONLY else module.AGENT)


def installer(name: str) -> Installer:
    from claude_mem.agents.connection import FileInstaller

    agent = load(name)
    found: Installer = FileInstaller(agent) if agent.parts else _module(name, "installation")
    return found


def with_transcripts() -> list[str]:
    """The agents whose transcripts can be read."""
    return [name for name in FOLDERS if load(name).transcripts]


def dialect(name: str) -> Any:
    """As `hook.translate` describes it; None: the hooks of Claude Code, whose words are ours."""
    return None if name == CLAUDE_CODE else _module(name)


def limits(agent: Agent) -> str:
    """When an agent's model cannot be shown memory, as a sentence; "" if it always can."""
    hook_dialect = dialect(agent.name)
    if hook_dialect is None:
        return ""
    injection_events: frozenset[str] = hook_dialect.INJECTION_EVENTS
    missing = [words for event, words in _EVENT_NAMES.items() if event not in injection_events]
    if not missing:
        return ""
    return f"{agent.title} cannot inject memory {' or '.join(missing)}; search over MCP works"


_EVENT_NAMES = {"SessionStart": "at a session's start", "UserPromptSubmit": "at a prompt"}


def transcripts(name: str) -> TranscriptReader:
    reader = load(name).transcripts
    assert reader is not None, "of those `with_transcripts`"
    return reader


class Connections(Struct, frozen=True):
    found: list[tuple[Agent, Connection]]
    unreadable: list[tuple[Agent, str]]  # agents whose own files say that we are in them, and no more


def connections(data_dir: Path, programs: Callable[[Agent], str | None]) -> Connections:
    """For all agents: a problem with one does not affect the others."""
    found: list[tuple[Agent, Connection]] = []
    unreadable = []
    for agent in map(load, TITLES):
        try:
            found += [(agent, each) for each in installer(agent.name).connections(data_dir, programs(agent))]
        except (ClaudeMemError, OSError) as error:
            unreadable.append((agent, in_words(error)))
    return Connections(found, unreadable)


def is_outdated(connection: Connection) -> bool:
    """Whether it is outdated, and its files can be read, so that it could be updated."""
    try:
        return not connection.is_current
    except (ClaudeMemError, OSError):
        return False


def problems(connection: Connection) -> Sequence[str]:
    """The agent's warnings, or the reason its files cannot be read."""
    try:
        found = connection.warnings
        _ = connection.is_current
    except (ClaudeMemError, OSError) as error:
        return [in_words(error)]
    else:
        return found


def in_words(error: ClaudeMemError | OSError) -> str:
    """Says why an agent's file could not be read or changed."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return str(error)


def _module(name: str, *part: str) -> Any:
    where = ("mcp_only",) if name in MCP_ONLY else (FOLDERS[name], *part)
    return importlib.import_module(".".join(("claude_mem.agents", *where)))
