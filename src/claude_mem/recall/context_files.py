"""The files in `context/`: what sessions get at their start, rendered ahead of time, so that a hook needs
nobody to answer it, and again when memory changes."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from claude_mem.atomic_write import write_file
from claude_mem.hook import paths
from claude_mem.recall.json_shapes import Json
from claude_mem.recall.render import Rendered
from claude_mem.store.sqlite import text_index
from claude_mem.store.sqlite.connection import Readers
from claude_mem.store.sqlite.statistics import News, NewsMarks, memory_figures, news_since
from claude_mem.store.values import Keeping, Library, Project, Shelves

log = logging.getLogger("claude_mem")

DIRECTORIES = 20
"""Of a project, the working directories that have a file: its last ones."""
KEEP_S = 30 * 24 * 60 * 60


class ContextFiles:
    """`start`: what a session of a project is told at its start (with a session: when that one goes on)."""

    def __init__(
        self,
        data_dir: Path,
        shelves: Shelves,
        keeping: Keeping,
        start: Callable[[Project, str], Rendered],
        clock: Callable[[], int],
    ) -> None:
        self._data_dir, self._shelves, self._keeping = data_dir, shelves, keeping
        self._start, self._clock = start, clock
        self._known: dict[str, tuple[int, str]] = {}  # file: of which project, and what it says

    def render(self, project: Project) -> None:
        told = self._start(project, "")
        names = [
            paths.directory_context(os.fsencode(cwd))
            for cwd in self._shelves.directories(project.id, DIRECTORIES)
        ]
        self._write(names, project.id, told)

    def render_session(self, project: Project, session: str) -> None:
        name = paths.session_context(session.encode(errors="replace"))
        self._write([name], project.id, self._start(project, session))

    def clear(self, projects: Collection[int] | None = None) -> None:
        """Something was forgotten or changed: no rendering of these projects (None: of any) may outlive it,
        nor one of an earlier worker, of which nobody knows what it tells."""
        self._known = {
            name: (project_id, text)
            for name, (project_id, text) in self._known.items()
            if projects is not None and project_id not in projects
        }
        self.drop_others()

    def drop_others(self) -> None:
        """Files that were not written here."""
        for file in self._files():
            if f"{paths.CONTEXT}/{file.name}" not in self._known:
                file.unlink(missing_ok=True)

    def tidy(self) -> None:
        for file in self.old():
            self._known.pop(f"{paths.CONTEXT}/{file.name}", None)
            file.unlink(missing_ok=True)

    def old(self) -> list[Path]:
        """Files of places where nobody has worked for long."""
        found = []
        for file in self._files():
            with suppress(FileNotFoundError):  # cleared meanwhile
                if time.time() - file.stat().st_mtime > KEEP_S:
                    found.append(file)
        return found

    def _files(self) -> Iterable[Path]:
        folder = self._data_dir / paths.CONTEXT
        return list(folder.iterdir()) if folder.is_dir() else []

    def _write(self, names: list[str], project_id: int, told: Rendered) -> None:
        fresh = [name for name in names if self._known.get(name) != (project_id, told.text)]
        if not fresh:
            return
        stamp = secrets.token_hex(8)
        if told.text:
            self._keeping.note_rendering(stamp, [str(ref) for ref in told.refs], told.tokens, self._clock())
        content = f"{stamp}\n{hook_answer(told.text)}" if told.text else f"{stamp}\n"
        for name in fresh:
            path = self._data_dir / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_file(path, content.encode())
            self._known[name] = project_id, told.text


def hook_answer(text: str) -> str:
    """A hook's whole answer. The hook looks for exactly this beginning."""
    told = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"continue": True, "suppressOutput": True, "hookSpecificOutput": told}) + "\n"


OnChange = Callable[[Collection[int] | None], None]
"""Memory was changed, in these projects (None: in any): what is rendered of them is to be made anew."""


AT_START = 50
"""Projects whose context is rendered when the worker starts: those last worked in."""

COMPACTED = 8
"""Sessions whose own memory is kept rendered: those last compacted."""


class ContextUpdater:
    """`placed`: a project with where it lies now."""

    def __init__(
        self,
        readers: Readers,
        library: Library,
        contexts: ContextFiles,
        placed: Callable[[Project], Project] = lambda project: project,
    ) -> None:
        self._readers, self._library, self._contexts, self._placed = readers, library, contexts, placed
        self._marks: NewsMarks | None = None  # None: nothing was rendered yet
        self._again: set[int] = set()  # projects whose memory was changed since
        self._compacted: dict[str, int] = {}  # session: project
        self._rendering = Lock()

    def anew(self, projects: Collection[int] | None = None) -> None:
        """Something was forgotten or changed in these projects (None: in any): what was rendered of them is
        gone on return, also what is just being written by one who read it before."""
        with self._rendering:
            self._contexts.clear(projects)
            if projects is None:
                self._marks = None
            else:
                self._again.update(projects)

    def step(self) -> bool:
        """Render what changed; False: nothing did."""
        with self._rendering:
            return self._step()

    def _step(self) -> bool:
        with self._readers.read() as db:
            news: News = news_since(db, self._marks)
        if news.marks == self._marks and not self._again:
            return False
        changed = {project.id: project for project in self._changed(news)}
        for project in changed.values():
            self._contexts.render(project)
        self._render_compacted(news, changed)
        if self._marks is None:
            self._contexts.drop_others()  # of an earlier worker: what they say may be forgotten by now
        self._marks = news.marks
        self._again.clear()
        return True

    def _render_compacted(self, news: News, changed: Mapping[int, Project]) -> None:
        """Again with each piece of news: what led to a compaction is mostly understood while it runs."""
        for project_id, session in news.compacted:
            self._compacted.pop(session, None)
            self._compacted[session] = project_id
        for session in list(self._compacted)[:-COMPACTED]:
            del self._compacted[session]
        just_now = {session for _, session in news.compacted}
        for session, project_id in self._compacted.items():
            if session in just_now or project_id in changed:
                project = changed.get(project_id) or self._library.project_by_id(project_id)
                if project is not None:
                    self._contexts.render_session(project, session)

    def _changed(self, news: News) -> list[Project]:
        if self._marks is None:
            return list(map(self._placed, self._library.projects(AT_START)))
        found = map(self._library.project_by_id, {*news.projects, *self._again})
        return [self._placed(project) for project in found if project is not None]

    def waiting(self) -> int:
        with self._readers.read() as db:
            return text_index.unindexed_count(db)

    def is_due(self) -> bool:
        """Whether something changed that is not rendered yet."""
        with self._readers.read() as db:
            return bool(self._again) or news_since(db, self._marks).marks != self._marks

    def figures(self) -> Json:
        with self._readers.read() as db:
            return memory_figures(db)
