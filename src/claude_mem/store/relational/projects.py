"""Projects: finding, renaming, moving and merging them, with their index entries.

A memory's key begins with its project, so what is moved is removed from the indexes and added again, one
session per transaction. First, the project's key is assigned to the other project: what arrives in the
meantime already goes there, and an interrupted merge is recognized by a project whose key belongs to another.
"""

from __future__ import annotations

from claude_mem.model.clock import iso
from claude_mem.model.errors import AmbiguousProject
from claude_mem.model.events import Origin
from claude_mem.model.events import enclosing_directories as paths_around
from claude_mem.model.refs import Ref
from claude_mem.model.structs import replace
from claude_mem.store.relational.part import Connection, Part, Row, added, execute, transaction
from claude_mem.store.relational.rows import Value, array, columns, text, value_of
from claude_mem.store.values import Project, ProjectDetails

AT_ONCE = 500
_DISTINGUISHED_BY = ("key", "name", "root")
_NAMED = ("misnamed_sessions", "misnamed_observations", "misnamed_summaries", "misnamed_spending")


class Projects(Part):
    def find(self, given: str) -> Project | None:
        """By its key, else by its name: the one with a directory, else the one that callers only named, else
        an untrusted import's. Raises AmbiguousProject if there are several of the first kind that exists.
        Whoever shares a project chooses its key: one that is the name of another project does not take its
        place."""
        found, rows = self.by_key(given), self._rows("projects_by_name", given=given)
        if found is not None:
            others = [row for row in rows if row["id"] != found.id]
            if not others or (found.root and not others[0]["root"]):
                return found
            if found.root or not others[0]["root"]:
                shown = {name: getattr(found, name) for name in _DISTINGUISHED_BY}
                raise AmbiguousProject(
                    given, [shown, *({name: row[name] for name in _DISTINGUISHED_BY} for row in others)]
                )
        first = [row for row in rows if row["standing"] == rows[0]["standing"]]
        if len(first) > 1:
            raise AmbiguousProject(given, [{name: row[name] for name in _DISTINGUISHED_BY} for row in first])
        return value_of(Project, first[0]) if first else None

    def by_key(self, key: str) -> Project | None:
        """By its key, or by the key of a project that was merged into it."""
        row = self._row("live_project_by_key", given=key)
        return None if row is None else value_of(Project, row)

    def by_id(self, id: int) -> Project | None:
        row = self._row("project_by_id", id=id)
        return None if row is None else value_of(Project, row)

    def newest(self, limit: int, offset: int = 0) -> list[Project]:
        """The projects with their figures, most recently used first."""
        return [Project(**row) for row in self._rows("projects_with_figures", limit=limit, offset=offset)]

    def all(self, *, with_sizes: bool = True) -> list[ProjectDetails]:
        return [value_of(ProjectDetails, row) for row in self._rows("projects_to_keep", weighed=with_sizes)]

    def with_project(self, origin: Origin) -> Origin:
        """The origin, with the project that its directory belongs to."""
        with self._readers.read() as db:
            row = enclosing_project(db, origin) if origin.plain else None
        if row is None:
            return origin
        return replace(origin, key=row["key"], name=row["name"], root=row["root"], remote=row["remote"])

    def rename(self, project_id: int, name: str, *, by_hand: bool = True) -> None:
        self._change("name_project", id=project_id, name=name, by_hand=int(by_hand))
        for statement in _NAMED:
            while self._change(statement, id=project_id, name=name, limit=AT_ONCE):
                pass

    def set_root(self, project_id: int, root: str) -> None:
        self._change("set_project_root", id=project_id, root=root)

    def merge(self, source: int, into: int) -> int:
        self._move_aliases(source, into)
        return self._move(source, into)

    def finish_merging(self) -> int:
        return sum(self._move(row["gone"], row["into_id"]) for row in self._rows("unfinished_merges"))

    def _move(self, source: int, into: int) -> int:
        moved = 0
        while self._move_session(source, into):
            moved += 1
        self._change("merged_away", gone=source)
        return moved

    @transaction
    def _move_aliases(self, db: Connection, source: int, into: int) -> None:
        execute(db, "move_aliases", gone=source, into=into)
        execute(db, "add_alias", gone=source, into=into)

    @transaction
    def _move_session(self, db: Connection, source: int, into: int) -> bool:
        """One session with all that is in it; False: none is left."""
        row = execute(db, "session_to_move", gone=source).fetchone()
        if row is None:
            return False
        session_id = row["id"]
        found = execute(db, "rows_to_move", session_id=session_id, gone=source)
        refs = [Ref(one["kind"], one["id"]) for one in found]
        name = execute(db, "project_by_id", id=into).fetchone()["name"]
        db.words.take_out(db, refs)
        db.vectors.move(db, refs, session_id, source, into)
        for statement in ("move_observations", "move_summaries", "move_spending", "move_session"):
            moved: dict[str, Value] = {"session_id": session_id, "gone": source, "into": into, "name": name}
            execute(db, statement, **moved)
        db.words.reindex(db, refs)
        return True


def project_of(db: Connection, origin: Origin, at: int) -> int:
    """The id of an origin's project, which is created if it is new."""
    row = enclosing_project(db, origin) if origin.plain else None
    row = row or execute(db, "find_project", key=text(origin.key)).fetchone()
    if row is not None:
        return int(row["id"])
    return added(db, "add_project", **columns(origin), created_at=iso(at), created_at_epoch=at)


def enclosing_project(db: Connection, origin: Origin) -> Row | None:
    """The project that a plain directory's work belongs to, if one is known: its own, or that of the nearest
    directory above. A repository that is gone is not taken for a part of what was never one."""
    if execute(db, "is_alias", key=text(origin.key)).fetchone():
        return None
    roots = array([text(root) for root in paths_around(origin.root)])
    in_repository = int(origin.branch is not None)
    found: Row | None = execute(
        db, "project_around", roots=roots, in_repository=in_repository, root=text(origin.root)
    ).fetchone()
    return found


def display_name(db: Connection, project_id: int, origin: Origin, otherwise: str) -> str:
    """The display name of an origin's project: the name a person gave it, or that of the one it was merged
    into."""
    row = execute(db, "project_by_id", id=project_id).fetchone()
    return str(row["name"]) if row["named"] or row["key"] != text(origin.key) else otherwise
