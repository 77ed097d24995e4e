"""The files in `context/`: what sessions get at their start, rendered ahead of time, so that a hook needs
nobody to answer it, and again when memory changes."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from claude_mem.agents import CLAUDE_CODE, TITLES, agent_of
from claude_mem.files import write_file
from claude_mem.hook import paths, worker_link
from claude_mem.model.clock import Clock
from claude_mem.recall.render import Rendered
from claude_mem.store.base import Store
from claude_mem.store.values import Project

DIRECTORIES = 20
"""Of a project, the working directories that have a file: its last ones."""
KEEP_S = 30 * 24 * 60 * 60


class ContextFiles:
    """`start`: what is injected at the start of an agent's session in a project (with one: if it goes on);
    `facts_of`: queries git first, because what it says now stands until the next rendering."""

    def __init__(
        self,
        data_dir: Path,
        store: Store,
        start: Callable[[Project, str, str], Rendered],
        clock: Clock,
        *,
        facts_of: Callable[[str], object] | None = None,
    ) -> None:
        self._facts_of = facts_of
        self._data_dir, self._store = data_dir, store
        self._start, self._clock = start, clock
        self._known: dict[str, tuple[int, str]] = {}  # file: of which project, and what it says

    def render(self, project: Project) -> None:
        """For each agent that has worked there: what others did has their names."""
        directories = [os.fsencode(cwd) for cwd in self._store.sessions.directories(project.id, DIRECTORIES)]
        clients = self._store.sessions.clients(project.id)
        for agent in (name for name in TITLES if name == CLAUDE_CODE or name in clients):
            names = [paths.directory_context(cwd, agent) for cwd in directories]
            self._write(names, project.id, self._started(project, "", agent))

    def render_session(self, project: Project, session: str) -> None:
        name = paths.session_context(session.encode(errors="replace"))
        self._write([name], project.id, self._started(project, session, agent_of(session)))

    def _started(self, project: Project, session: str, agent: str) -> Rendered:
        if self._facts_of is not None and project.root:
            self._facts_of(project.root)
        return self._start(project, session, agent)

    def clear(self, projects: Collection[int] | None = None) -> None:
        """Something was forgotten or changed: no rendering of these projects (None: of any) may outlive it,
        nor one of an earlier worker, of which nobody knows the content."""
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
        """Files of directories without recent sessions."""
        found = []
        for file in self._files():
            with suppress(FileNotFoundError):  # cleared meanwhile
                if time.time() - file.stat().st_mtime > KEEP_S:
                    found.append(file)
        return found

    def _files(self) -> Iterable[Path]:
        folder = self._data_dir / paths.CONTEXT
        return list(folder.iterdir()) if folder.is_dir() else []

    def _write(self, names: list[str], project_id: int, rendered: Rendered) -> None:
        fresh = [name for name in names if self._known.get(name) != (project_id, rendered.text)]
        if not fresh:
            return
        stamp = secrets.token_hex(8)
        if rendered.text:
            self._store.injections.note_rendering(
                stamp, [str(ref) for ref in rendered.refs], rendered.tokens, self._clock()
            )
        answer = worker_link.answer_with(b"SessionStart", json.dumps(rendered.text).encode())
        for name in fresh:
            path = self._data_dir / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_file(path, stamp.encode() + b"\n" + (answer or b""))
            self._known[name] = project_id, rendered.text


OnChange = Callable[[Collection[int] | None], None]
"""Marks projects (None: all) whose memory was changed, so that their contexts are rendered again."""
