"""What the tool calls prove, whatever a model claims: which files were read and modified, and whether text
from outside was among what was read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from claude_mem.model.events import Event
from claude_mem.model.memory import Memory, Observation, Summary
from claude_mem.model.structs import replace
from claude_mem.observe import shell
from claude_mem.observe.tool_calls import ReadEvent, ToolKind, ToolUse

MOST_FILES = 200
_ALTERING = ("bugfix", "feature", "refactor", "change")
_READERS = (ToolKind.READ, ToolKind.LOOK, ToolKind.WEB, ToolKind.AGENT)  # a subagent tells what it read
_PRINTS = re.compile(
    r"(?:^|[\s;&|(`'\"/])"
    r"(?:curl|wget|http|cat|bat|head|tail|less|more|sed|awk|grep|rg|strings|gh|git\s+(?:clone|fetch|pull|show|log|diff))"
    r"(?=$|[\s;&|)`'\"])"
)


def correct(memory: Memory, seen: Sequence[ReadEvent]) -> Memory:
    """What a model says of files, held against what the tools did."""
    read, modified = files(seen)
    known = _KnownPaths(dict.fromkeys((*read, *modified)))
    altered = _KnownPaths(modified)
    observations = [
        replace(
            each,
            files_read=tuple(known.matching(each.files_read)),
            files_modified=tuple(altered.matching(each.files_modified)),
        )
        for each in memory.observations
    ]
    silent = _the_silent_one(memory.observations)
    if silent is not None:
        claimed = {path for each in observations for path in each.files_modified}
        left = tuple(path for path in modified if path not in claimed)[:MOST_FILES]
        observations[silent] = replace(observations[silent], files_modified=left)
    summaries = tuple(_filled(each, read, modified) for each in memory.summaries)
    return replace(memory, observations=tuple(observations), summaries=summaries)


def _the_silent_one(observations: Sequence[Observation]) -> int | None:
    """The one observation the edits nobody claims must belong to, if there is exactly one."""
    silent = [
        index
        for index, each in enumerate(observations)
        # Beside others a discovery or a decision may well have changed no file.
        if not each.files_modified and (len(observations) == 1 or each.type in _ALTERING)
    ]
    return silent[0] if len(silent) == 1 else None


def _filled(summary: Summary, read: Sequence[str], modified: Sequence[str]) -> Summary:
    return replace(summary, files_read=tuple(read[:MOST_FILES]), files_edited=tuple(modified[:MOST_FILES]))


def files(seen: Sequence[ReadEvent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(read, modified), each in order of first mention, as seen from the session's directory."""
    base = base_of(each.event for each in seen)
    read: dict[str, None] = {}
    modified: dict[str, None] = {}
    for _, call in seen:
        if call is None or call.failed:
            continue  # a failed call shows nothing but the attempt
        read.update((seen_from(base, path, call.cwd), None) for path in call.read_paths())
        modified.update((seen_from(base, path, call.cwd), None) for path in _modified(call))
    return tuple(read), tuple(modified)


def _modified(call: ToolUse) -> Iterator[str]:
    if call.kind is ToolKind.COMMAND:
        return shell.surely_changed(call.command)
    return call.written_paths()


def marked(memory: Memory, seen: Iterable[ReadEvent]) -> Memory:
    """With where its words may come from.

    Text from outside may say anything, also what the next session is to do. So where a batch held any of it,
    and what was observed changed no file, it counts as read (`Memory.source_of`): a wrong "external" costs a
    mark beside a memory, a wrong "work" lends untrusted words the agent's voice. A test, a commit and the
    user's answer show that it is more than read, but nothing shows that of text from the web.
    """
    calls = [call for _, call in seen if call is not None]
    from_afar = any(map(_is_from_afar, calls))
    proved = not from_afar and any(map(_proves, calls))
    return replace(memory, read_outside=any(map(reads_outside, calls)), proved=proved)


# A test, a build, a check, a measurement, a commit: what the machine itself answered.
_SHOWS = re.compile(
    r"(?:^|[\s;&|/])(?:pytest|unittest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|tsc|eslint|mypy|ruff|hyperfine"
    r"|golangci-lint|(?:go|cargo|dotnet|mvn|gradle|deno|swift|mix) (?:test|build|run|vet|bench|check|clippy)"
    r"|(?:npm|pnpm|yarn|bun|make|just|mise)(?: run)? [\w:-]*(?:test|build|lint|check|bench|typecheck)\S*"
    r"|git\s+(?:commit|revert|reset|merge|rebase))\b"
)
_FETCHES = re.compile(
    r"(?:^|[\s;&|(`'\"/])(?:curl|wget|gh|http|git\s+(?:clone|fetch|pull))(?=$|[\s;&|)`'\"])"
)


def _is_from_afar(call: ToolUse) -> bool:
    if call.kind is ToolKind.COMMAND:
        return _FETCHES.search(call.command or call.tool.input or "") is not None
    return call.kind is ToolKind.WEB or call.tool.name.startswith("mcp__")


def _proves(call: ToolUse) -> bool:
    """Ran something that answers, made a commit, or has the user's word: an answer, a plan accepted."""
    if call.kind is ToolKind.COMMAND:
        return _SHOWS.search(call.command) is not None
    if call.tool.name == "ExitPlanMode":
        return not call.failed
    return "questions" in call.fields and bool(call.answered.get("answers"))


def reads_outside(call: ToolUse) -> bool:
    """Whether what it returns was written by others, as far as its name and its command tell."""
    if call.kind in _READERS or call.tool.name.startswith("mcp__"):
        return True
    if call.kind is ToolKind.OTHER:
        # An MCP server's, perhaps: other agents mark those by no prefix. Claude Code's own have a capital.
        return call.tool.name[:1].islower() and bool(call.answer)
    if call.kind is not ToolKind.COMMAND:
        return False
    command = call.fields.get("command")
    # Cut short, or given in another way: then its text is all there is.
    return _PRINTS.search(command if isinstance(command, str) else call.tool.input or "") is not None


class _KnownPaths:
    """Paths that claims are held against. A claim may be shorter than the truth, or longer."""

    def __init__(self, known: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in known:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def matching(self, claims: Iterable[str]) -> dict[str, None]:
        return {path: None for claim in claims if (path := self._match(seen_from(None, claim)))}

    def _match(self, claim: str) -> str | None:
        near = self._by_name.get(claim.rpartition("/")[2], [])
        if claim in near:
            return claim
        fitting = [path for path in near if path.endswith(f"/{claim}") or claim.endswith(f"/{path}")]
        # Which of two is meant nobody can say, and a wrong file is worse than none.
        return fitting[0] if len(fitting) == 1 else None


def base_of(events: Iterable[Event]) -> str | None:
    """The directory paths are told from. An agent may step into folders below it; the outermost stays."""
    return min((event.cwd for event in events if event.cwd), key=len, default=None)


def seen_from(base: str | None, path: str, cwd: str | None = None) -> str:
    """A path with forward slashes: inside the base relative to it; outside as it is."""
    plain = _plain(path)
    if cwd and not _is_absolute(plain):
        plain = posixpath.normpath(posixpath.join(_plain(cwd), plain))
    root = _plain(base).rstrip("/") + "/" if base else ""
    inside = plain[: len(root)]
    # Windows names a folder D:\Repo in one place and d:\repo in the next.
    if root and (inside == root or (_has_drive(root) and inside.lower() == root.lower())):
        return plain[len(root) :] or "."
    return plain


def _plain(path: str) -> str:
    windows = _has_drive(path) or ("\\" in path and "/" not in path)
    return posixpath.normpath(path.replace("\\", "/") if windows else path)


def _has_drive(path: str) -> bool:
    return len(path) > 2 and path[0].isalpha() and path[1] == ":" and path[2] in "\\/"


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or _has_drive(path)
