"""Decides which files were read and modified: by the tool calls themselves, whatever a model claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.memory import Memory, Observation, Summary
from claude_mem.model.tools import Sort, sort_of
from claude_mem.observe import call, paths, redirects

MOST_FILES = 200
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_ALTERING = ("bugfix", "feature", "refactor", "change")


def files(events: Sequence[Event]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(read, modified), each in order of first mention, as seen from the session's directory."""
    base = paths.base(events)
    read: dict[str, None] = {}
    modified: dict[str, None] = {}
    for event in events:
        if event.kind is not Kind.TOOL_USE or event.tool is None:
            continue  # a failed call shows nothing but the attempt
        given = call.load(event.tool.input)
        sort = sort_of(event.tool.name)
        read.update((paths.seen_from(base, path, event.cwd), None) for path in _read(sort, given))
        modified.update(
            (paths.seen_from(base, path, event.cwd), None) for path in _modified(sort, event.tool, given)
        )
    return tuple(read), tuple(modified)


def correct(memory: Memory, events: Sequence[Event]) -> Memory:
    read, modified = files(events)
    seen = _Seen(dict.fromkeys((*read, *modified)))
    altered = _Seen(modified)
    observations = [
        replace(
            each,
            files_read=tuple(seen.matching(each.files_read)),
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
    return Memory(tuple(observations), summaries)


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


def _read(sort: Sort, given: object) -> Iterator[str]:
    fields = call.fields(given)
    path = call.word(fields, *call.PATH_KEYS)
    name = path.replace("\\", "/").rpartition("/")[2]
    # A search names a file or a folder; only a name with an extension is surely the former.
    if path and (sort is Sort.READ or (sort is Sort.LOOK and "." in name.strip("."))):
        yield path
    many = fields.get("paths")
    if sort is Sort.READ and isinstance(many, list):
        yield from (each for each in many if isinstance(each, str) and each and "*" not in each)


def _modified(sort: Sort, tool: ToolCall, given: object) -> Iterator[str]:
    fields = call.fields(given)
    if sort is Sort.COMMAND:
        yield from redirects.certain(call.command(given))
    if sort not in (Sort.EDIT, Sort.WRITE):
        return
    path = call.word(fields, *call.PATH_KEYS)
    if path:
        yield path
    if "patch" in tool.name.lower():
        patch = call.word(fields, "input", "patch", "patchText") or call.command(given)
        for line in patch.splitlines():
            if line.startswith(_PATCH_LINES):
                yield line.partition(": ")[2].strip()


class _Seen:
    """Paths that claims are held against. A claim may be shorter than the truth, or longer."""

    def __init__(self, known: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in known:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def matching(self, claims: Iterable[str]) -> dict[str, None]:
        return {path: None for claim in claims if (path := self._match(paths.seen_from(None, claim)))}

    def _match(self, claim: str) -> str | None:
        near = self._by_name.get(claim.rpartition("/")[2], [])
        if claim in near:
            return claim
        fitting = [path for path in near if path.endswith(f"/{claim}") or claim.endswith(f"/{path}")]
        # Which of two is meant nobody can say, and a wrong file is worse than none.
        return fitting[0] if len(fitting) == 1 else None
