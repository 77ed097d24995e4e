"""Finds the transcripts of sessions and subagents, with their session, project and time; and a folder's
project.

Only the beginning and the end of a file are read. Links below the root are not followed: a target inside the
root is found anyway, and any other is not ours. A folder's name is its project's path, with a dash for every
character that is not a letter or digit. The sessions in it name the actual path; if none is left, it is
guessed from the directories that exist.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from claude_mem.agents.catalog import FoundTranscripts, Transcript
from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import Line, LineTally
from claude_mem.files import read_object
from claude_mem.model.events import repository_of

AGENTS_FOLDER = "subagents"
_AGENT_FILE = re.compile(r"agent-(.+?)\.jsonl(?:\.gz)?")
_OF_THE_CLIENT = ("acompact", "aprompt_suggestion", "aside_question")  # its own forks, no work of the user's
_AGENT_HEAD = 50  # lines within which a file says when it began


def is_subagent_file(path: Path) -> bool:
    return _AGENT_FILE.fullmatch(path.name) is not None


def subagent_files(path: Path) -> tuple[Path, ...]:
    """The subagents' files in the folder that belongs to a session's file. Links are not followed."""
    folder = path.with_name(path.name.partition(".")[0]) / AGENTS_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return ()
    return tuple(sorted(file for file in folder.iterdir() if is_users_subagent(file)))


def is_users_subagent(path: Path) -> bool:
    return (
        is_subagent_file(path)
        and not agent_id(path).startswith(_OF_THE_CLIENT)
        and not path.is_symlink()
        and path.is_file()
    )


def agent_id(path: Path) -> str:
    named = _AGENT_FILE.fullmatch(path.name)
    return named[1] if named else path.stem


def agent_type(path: Path) -> str | None:
    """The agent's type according to the note next to the file; the file's own lines may contain it too."""
    note = path.with_name(f"agent-{agent_id(path)}.meta.json")
    kind = read_object(note).get("agentType")
    return kind if isinstance(kind, str) else None


def started_at(path: Path) -> int | None:
    """When the session started, in epoch milliseconds; None: nothing in the file can be read."""
    return next((line.at for line in _first_lines(path)), None)


def parent_session(path: Path) -> str | None:
    """The session that a subagent belongs to, for files next to those of the sessions."""
    return next(filter(None, (line.text("sessionId") for line in _first_lines(path))), None)


def _first_lines(path: Path) -> Iterator[transcript_lines.Line]:
    try:
        yield from islice(transcript_lines.read(path, LineTally()), _AGENT_HEAD)
    except OSError:
        return


ENDINGS = (".jsonl", ".jsonl.gz")
DEEPEST = 4  # folders below the root: projects/<project>/<session>, with some to spare for archives
_INNER = ("subagents", "tool-results")  # of a session's own folder
_SESSION_HEAD = 200  # lines within which a session says where it is
_TAIL = 64 << 10
_LONGEST_TAIL = 4 << 20


def projects_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where Claude Code keeps its transcripts."""
    config = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(config) if config else Path(environ.get("HOME", "~")).expanduser() / ".claude") / "projects"


def find(root: Path, *, project: str | None = None, since: int | None = None) -> FoundTranscripts:
    """The transcripts in a folder, or a single file. `project`: only those that began in that directory or
    below it, or in one with that name. `since`: only those with events after that time."""
    unreadable: list[tuple[Path, str]] = []
    paths = [root] if root.is_file() else list(files(root, unreadable))
    of_agents = _by_session(paths)
    own = (path for path in paths if path == root or not is_subagent_file(path))
    return select(own, lambda path: _transcript(path, of_agents), unreadable, project, since)


def select(
    paths: Iterable[Path],
    transcript_of: Callable[[Path], Transcript | None],
    unreadable: list[tuple[Path, str]],
    project: str | None,
    since: int | None,
) -> FoundTranscripts:
    """Those of the project that went on after the time, the newest first."""
    found, others = [], 0
    for path in paths:
        try:
            transcript = transcript_of(path)
        except OSError as error:
            unreadable.append((path, error.strerror or str(error)))
            continue
        if transcript is None:
            others += 1
        elif (since is None or transcript.last_at >= since) and (
            project is None or is_in(transcript.cwd, project)
        ):
            found.append(transcript)
    found.sort(key=lambda each: (-each.last_at, each.session, each.path))
    return FoundTranscripts(tuple(found), tuple(unreadable), others)


def files(folder: Path, unreadable: list[tuple[Path, str]], depth: int = 0) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        unreadable.append((folder, error.strerror or str(error)))
        return
    for entry in ordered:
        if entry.is_file(follow_symlinks=False) and entry.name.endswith(ENDINGS):
            yield Path(entry.path)
        elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST and entry.name not in _INNER:
            yield from files(Path(entry.path), unreadable, depth + 1)


def _by_session(files: list[Path]) -> dict[tuple[Path, str], list[Path]]:
    """Subagents' files of clients that wrote them beside the sessions' own."""
    found = defaultdict(list)
    for path in filter(is_users_subagent, files):
        session = parent_session(path)
        if session:
            found[path.parent, session].append(path)
    return found


def _transcript(path: Path, of_agents: dict[tuple[Path, str], list[Path]]) -> Transcript | None:
    """None: not one."""
    stem = path.name.partition(".")[0]
    named: str | None = None
    cwd: str | None = None
    first_message: Line | None = None
    for line in islice(transcript_lines.read(path, LineTally()), _SESSION_HEAD):
        named = line.text("sessionId") if named is None or line.text("sessionId") == stem else named
        cwd = cwd or line.text("cwd")
        first_message = first_message or (line if "message" in line.fields else None)
        if named == stem and cwd and first_message:
            break
    if named is None or first_message is None:
        return None
    files = (*subagent_files(path), *of_agents.get((path.parent, named), ()))
    return Transcript(
        session=named,
        path=path,
        size=sum(file.stat().st_size for file in (path, *files)),
        first_at=first_message.at,
        last_at=max(last_at(path) or 0, first_message.at),
        cwd=cwd,
        agents=files,
    )


def last_at(path: Path) -> int | None:
    """The time of the last line that has one."""
    reach = _TAIL
    while True:
        tail, is_all = _tail(path, reach)
        for raw in reversed(tail if is_all else tail[1:]):
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                continue
            at = transcript_lines.epoch(line.get("timestamp")) if isinstance(line, dict) else None
            if at is not None:
                return at
        if is_all or reach >= _LONGEST_TAIL:
            return None
        reach *= 8


def _tail(path: Path, reach: int) -> tuple[list[bytes], bool]:
    """The last lines, the first of which may be half a one; and whether they are all there are."""
    if path.suffix == ".gz":  # there is no way to its end but through it
        last = deque(
            (raw for _, raw in transcript_lines.raw_lines(path, LineTally()) if len(raw) <= reach), maxlen=32
        )
        return list(last), True
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - reach, 0))
        return file.read(reach).splitlines(), size <= reach


def is_in(cwd: str | None, project: str) -> bool:
    there = _parts(project)
    for here in (_parts(cwd or ""), _parts(repository_of(cwd or ""))):
        is_named = "/" not in project and "\\" not in project
        if there and (here[-1:] if is_named else here[: len(there)]) == there:
            return True
    return False


def _parts(directory: str) -> list[str]:
    return [part for part in directory.replace("\\", "/").split("/") if part]


INDEX = "MEMORY.md"
MOST_LOOKS = 5_000
_SESSIONS = 20


def indexes(folder: Path) -> list[Path]:
    """The notes' beginnings in a folder: that of all projects, of one, of its notes, or one itself."""
    if folder.is_file():
        return [folder]
    places = (INDEX, f"memory/{INDEX}", f"*/memory/{INDEX}")
    return sorted({path for place in places for path in folder.glob(place) if path.is_file()})


def directory_of(folder: Path) -> str | None:
    """None: not known."""
    for path in islice(sorted(folder.glob("*.jsonl")), _SESSIONS):
        for line in islice(transcript_lines.read(path, LineTally()), _SESSION_HEAD):
            cwd = line.text("cwd")
            if cwd and dashed(cwd) == folder.name:
                return cwd
    return next(_called(Path("/"), folder.name, [MOST_LOOKS]), None)


def dashed(path: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", path)


def _called(folder: Path, name: str, looks: list[int]) -> Iterator[str]:
    """The directories below a folder whose path has this encoded name, within a limited number of lookups."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for each in inside:
        written = f"-{dashed(each)}"
        looks[0] -= 1
        if looks[0] < 0:
            return
        if name == written:
            yield str(folder / each)
        elif name.startswith(f"{written}-"):
            yield from _called(folder / each, name.removeprefix(written), looks)
