"""Background steps that keep memory searchable and ready to inject: the text index, the vectors, and the
files in `context/`, which contain the pre-rendered context for session starts, so that a hook need not ask
the worker."""

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
from typing import Literal

from msgspec import Struct, field, structs

from claude_mem.agents import CLAUDE_CODE, TITLES, agent_of
from claude_mem.api.system import ContextState, IndexState, RecallProgress, VectorState
from claude_mem.files import write_file
from claude_mem.hook import paths, worker_link
from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreUnavailable
from claude_mem.recall.answers import Json
from claude_mem.recall.session_start import Rendered
from claude_mem.store.base import Store
from claude_mem.store.values import News, NewsMarks, Project
from claude_mem.vectors.indexer import VectorIndexer

DIRECTORIES = 20
"""How many working directories of a project have a file: the most recent ones."""
MAX_AGE_S = 30 * 24 * 60 * 60
AT_START = 50
"""Projects whose context is rendered when the worker starts: the most recently used ones."""
COMPACTED = 8
"""Sessions whose own memory is kept rendered: the most recently compacted ones."""


class ContextFiles(Struct):
    """The rendered contexts in `context/`.

    `start` renders what is injected at the start of an agent's session in a project; given a session's id,
    what that session is shown after a compaction. `facts_of` queries git first, because a rendering keeps
    what git says now. `relocated` returns a project with its current root."""

    data_dir: Path
    store: Store
    start: Callable[[Project, str, str], Rendered]
    clock: Clock
    facts_of: Callable[[str], object] = lambda _root: None
    relocated: Callable[[Project], Project] = lambda project: project
    _known: dict[str, tuple[int, str]] = field(default_factory=dict)  # by file: the project, the text
    _marks: NewsMarks | None = None  # None: nothing was rendered yet
    _outdated: set[int] = field(default_factory=set)  # projects that changed since
    _compacted: dict[str, int] = field(default_factory=dict)  # session: project
    _rendering: Lock = field(default_factory=Lock)

    def invalidate(self, projects: Collection[int] | None = None) -> None:
        """Deletes the contexts of these projects (None: of all), because something in them was forgotten or
        changed. On return, none that was rendered from the old state is left."""
        with self._rendering:
            self.clear(projects)
            if projects is None:
                self._marks = None
            else:
                self._outdated.update(projects)

    def step(self) -> bool:
        """Renders what changed; False: nothing did."""
        with self._rendering:
            return self._step()

    def _step(self) -> bool:
        update = self.store.statistics.news(self._marks)
        if update.marks == self._marks and not self._outdated:
            return False
        if update.changed and self._marks is not None:
            self.clear(update.changed)
        changed = {project.id: project for project in self._changed(update)}
        for project in changed.values():
            self.render(project)
        self._render_compacted(update, changed)
        if self._marks is None:
            self.drop_unknown()  # an earlier worker's, which may contain what was forgotten since
        self._marks = update.marks
        self._outdated.clear()
        return True

    def _render_compacted(self, update: News, changed: Mapping[int, Project]) -> None:
        """Renders the contexts of compacted sessions again whenever there is something new: most of what
        preceded a compaction is observed while it runs."""
        for project_id, session in update.compacted:
            self._compacted.pop(session, None)
            self._compacted[session] = project_id
        for session in list(self._compacted)[:-COMPACTED]:
            del self._compacted[session]
        just_now = {session for _, session in update.compacted}
        for session, project_id in self._compacted.items():
            if session in just_now or project_id in changed:
                project = changed.get(project_id) or self.store.projects.by_id(project_id)
                if project is not None:
                    self.render_session(project, session)

    def _changed(self, update: News) -> list[Project]:
        if self._marks is None:
            return list(map(self.relocated, self.store.projects.newest(AT_START)))
        found = map(self.store.projects.by_id, {*update.projects, *self._outdated})
        return [self.relocated(project) for project in found if project is not None]

    def is_due(self) -> bool:
        """Whether there are changes that are not rendered yet."""
        return bool(self._outdated) or self.store.statistics.news(self._marks).marks != self._marks

    def render(self, project: Project) -> None:
        """Renders the context for each agent that has worked there; other agents' memories show their
        names."""
        directories = [os.fsencode(cwd) for cwd in self.store.sessions.directories(project.id, DIRECTORIES)]
        clients = self.store.sessions.clients(project.id)
        for agent in (name for name in TITLES if name == CLAUDE_CODE or name in clients):
            names = [paths.directory_context(cwd, agent) for cwd in directories]
            self._write(names, project.id, self._start_of(project, "", agent))

    def render_session(self, project: Project, session: str) -> None:
        name = paths.session_context(session.encode(errors="replace"))
        self._write([name], project.id, self._start_of(project, session, agent_of(session)))

    def _start_of(self, project: Project, session: str, agent: str) -> Rendered:
        if project.root:
            self.facts_of(project.root)
        return self.start(project, session, agent)

    def clear(self, projects: Collection[int] | None = None) -> None:
        """Deletes the contexts of these projects (None: of all), and those of earlier workers, whose content
        is unknown."""
        self._known = {
            name: (project_id, text)
            for name, (project_id, text) in self._known.items()
            if projects is not None and project_id not in projects
        }
        self.drop_unknown()

    def drop_unknown(self) -> None:
        """Deletes files that this worker did not write."""
        for file in self._files():
            if f"{paths.CONTEXT}/{file.name}" not in self._known:
                file.unlink(missing_ok=True)

    def tidy(self) -> None:
        for file in self.expired():
            self._known.pop(f"{paths.CONTEXT}/{file.name}", None)
            file.unlink(missing_ok=True)

    def expired(self) -> list[Path]:
        """The files of directories without recent sessions."""
        found = []
        for file in self._files():
            with suppress(FileNotFoundError):  # cleared meanwhile
                if time.time() - file.stat().st_mtime > MAX_AGE_S:
                    found.append(file)
        return found

    def _files(self) -> Iterable[Path]:
        folder = self.data_dir / paths.CONTEXT
        return list(folder.iterdir()) if folder.is_dir() else []

    def _write(self, names: list[str], project_id: int, rendered: Rendered) -> None:
        outdated = [name for name in names if self._known.get(name) != (project_id, rendered.text)]
        if not outdated:
            return
        stamp = secrets.token_hex(8)
        if rendered.text:
            self.store.injections.note_rendering(
                stamp, [str(ref) for ref in rendered.refs], rendered.tokens, self.clock()
            )
        answer = worker_link.answer_with(b"SessionStart", json.dumps(rendered.text).encode())
        for name in outdated:
            path = self.data_dir / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_file(path, stamp.encode() + b"\n" + (answer or b""))
            self._known[name] = project_id, rendered.text


OnChange = Callable[[Collection[int] | None], None]
"""Marks projects (None: all) whose memory was changed, so that their contexts are rendered again."""


MOST_STEPS = 16
"""Index steps while a caller waits: about two thousand memories."""

log = logging.getLogger("claude_mem")


class BackgroundWork:
    """`contexts` is set after construction, because it depends on objects that depend on this one."""

    contexts: ContextFiles

    def __init__(self, *, store: Store, vectors: VectorIndexer | None, clock: Clock) -> None:
        self._store, self._vectors, self._clock = store, vectors, clock
        self._indexing, self._embedding = Lock(), Lock()
        self._is_prepared = False

    def memory_changed(self, projects: Collection[int] | None) -> None:
        """Something changed in these projects (None: in any)."""
        self.contexts.invalidate(projects)
        self.catch_up()

    def catch_up(self) -> None:
        """Indexes what was added a moment ago, without waiting for a complete rebuild. If nothing can be
        written, as on a full disk, searches use what is already indexed."""
        with self._indexing, suppress(StoreUnavailable):
            for _ in range(MOST_STEPS):
                if not self._index(hurried=True):
                    break

    def without_embedding(self, work: Callable[[], int]) -> int:
        """Runs `work` while no vectors are computed: they are stored by memory key, which it may change."""
        with self._embedding:
            return work()

    def step(self) -> bool:
        """Indexes or renders some of what is new, or else tidies the index; False: nothing is left."""
        with self._indexing:
            indexed = self._index(hurried=False)
        return bool(indexed) or self._rendered() or self._tidied()

    def _index(self, *, hurried: bool) -> int:
        """The first call starts over if another version built the index."""
        if not self._is_prepared:
            self._store.text_index.prepare()
            self._is_prepared = True
        return self._store.text_index.step(hurried=hurried)

    def _tidied(self) -> bool:
        with self._indexing, suppress(StoreUnavailable):
            return self._store.text_index.tidy()
        return False

    def _rendered(self) -> bool:
        try:
            return self.contexts.step()
        except OSError as error:  # it is retried; searches continue in the meantime
            log.warning("context/ cannot be written: %s", error.strerror)
            return False

    def embed(self) -> bool:
        """Computes some of the missing vectors; False: none can be computed now. Separate from `step`,
        because an embedder may be slow, or a server that does not respond."""
        vectors = self._vectors
        return vectors is not None and bool(self.without_embedding(lambda: vectors.step(self._clock())))

    def stats(self) -> Json:
        """What is stored, and how far the indexes are."""
        return {
            "index": {"waiting": self._store.statistics.unindexed()},
            **self._store.statistics.figures(),
            "vectors": structs.asdict(self._vector_state()),
        }

    def progress(self) -> RecallProgress:
        """The state of the indexes and rendered contexts, and how much was injected; cheap."""
        return RecallProgress(
            IndexState(self._store.statistics.unindexed()),
            self._vector_state(),
            ContextState(not self.contexts.is_due()),
            self._store.injections.figures(),
        )

    def _vector_state(self) -> VectorState:
        if self._vectors is None:
            return VectorState("off", 0, None)
        vectors, trouble = self._vectors, self._vectors.trouble
        state: Literal["on", "unavailable"] = "unavailable" if trouble else "on"
        return VectorState(
            state, vectors.waiting(), trouble, vectors.embedder, self._store.vectors.pgvector()
        )
