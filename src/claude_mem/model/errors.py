"""Exceptions, with the facts as fields.

ClaudeMemError
├── SettingsError          a setting is unknown or has a bad value
├── StoreError
│   ├── StoreTooNew        the database was written by a newer version
│   ├── StoreTooOld        the database was written before the first release
│   ├── StoreForeign       the file is another program's database
│   ├── StoreDamaged       SQLite says the file is malformed
│   ├── StoreForbidden     a team's database does not let the caller do that
│   └── StoreUnavailable   it cannot be written now: disk full, I/O error, read-only
├── EventUnreadable        a spool file or payload is not an event we know
├── WorkerError
│   ├── WorkerHung         the lock is held, but the worker does not respond
│   └── WorkerFailed       it was started and did not come up
└── TeamFailure            the team's server did not do what it was asked to

InvalidInput (a ValueError, with the subclasses UnknownProject, AmbiguousProject and AmbiguousSession) and
NotFound (a LookupError): what a caller requested is invalid, or does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class ClaudeMemError(Exception):
    """The base of our errors; `str()` is one sentence for the user."""


class SettingsError(ClaudeMemError):
    def __init__(self, key: str, value: object, allowed: str, where: str) -> None:
        self.key, self.value, self.allowed, self.where = key, value, allowed, where
        super().__init__(f"{where}: {key} is {value!r}; allowed: {allowed}.")


class StoreError(ClaudeMemError):
    """Base of the errors of the database."""


class StoreTooNew(StoreError):
    def __init__(self, path: str, found: int, known: int) -> None:
        self.path, self.found, self.known = path, found, known
        super().__init__(
            f"{path} was written by a newer version (schema {found}, this one supports up to {known}). "
            "Upgrade claude-mem, or set CLAUDE_MEM_DATA_DIR to another directory."
        )


class StoreTooOld(StoreError):
    def __init__(self, path: str, found: int, oldest: int) -> None:
        self.path, self.found, self.oldest = path, found, oldest
        super().__init__(
            f"{path} was written by a development version from before the first release (schema {found}; "
            f"this one reads {oldest} and later); it was left untouched. "
            "Export it with the version that wrote it and import that here, or move the file."
        )


class StoreForeign(StoreError):
    def __init__(self, path: str, detail: str) -> None:
        self.path, self.detail = path, detail
        super().__init__(
            f"{path} is not a database of this claude-mem ({detail}); it was left untouched. "
            "Set CLAUDE_MEM_DATA_DIR to another directory, or move the file."
        )


class StoreDamaged(StoreError):
    def __init__(self, path: str, detail: str) -> None:
        self.path, self.detail = path, detail
        super().__init__(f"{path} is damaged: {detail}.")


class VectorsInUse(StoreError):
    """`made_by`: the backend and the model that made them; `configured`: those of this machine."""

    def __init__(self, made_by: str, configured: str) -> None:
        self.made_by, self.configured = made_by, configured
        super().__init__(
            f"Other machines use this database's vectors, which were made with {made_by}. This machine is "
            f"set to {configured}, and searches without vectors. Use the same CLAUDE_MEM_EMBEDDER and "
            "CLAUDE_MEM_VECTORS on all of them."
        )


class StoreForbidden(StoreError):
    """`detail` is one sentence, or what the database said."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class StoreUnavailable(StoreError):
    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"The database cannot be used: {detail.rstrip('.?')}.")


class EventUnreadable(ClaudeMemError):
    """The input is not a valid event; the message says why."""


class WorkerError(ClaudeMemError):
    """Base of the errors of the worker's process."""


class WorkerHung(WorkerError):
    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        process = f"process {pid}" if pid else "another process"
        super().__init__(f"A worker ({process}) is not responding. Run: claude-mem worker restart")


class WorkerFailed(WorkerError):
    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(f"The worker did not start: {detail}. See its log: claude-mem worker logs")


MOST_NAMED = 10


class InvalidInput(ValueError):
    """`field` is not valid; `str()` is one sentence that says what to change."""

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        super().__init__(sentence)


class UnknownProject(InvalidInput):
    def __init__(self, given: str) -> None:
        super().__init__("project", f"No project named {given!r}. To list all: claude-mem projects")


class AmbiguousProject(InvalidInput):
    """`projects`: the key, name and root of each that has the name."""

    def __init__(self, given: str, projects: Sequence[Mapping[str, str]]) -> None:
        self.projects = tuple(dict(each) for each in projects)
        keys = ", ".join(each["key"] for each in self.projects)
        super().__init__(
            "project", f"{len(self.projects)} projects are named {given!r}. Use the key instead: {keys}."
        )


class AmbiguousSession(InvalidInput):
    """`sessions`: the id of each that begins so, the newest first."""

    def __init__(self, given: str, sessions: Sequence[str]) -> None:
        self.sessions = tuple(sessions)
        more = len(self.sessions) - MOST_NAMED
        named = ", ".join(self.sessions[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        super().__init__(
            "session", f"{len(self.sessions)} sessions begin with {given!r}. Use more of the id: {named}."
        )


class NotFound(LookupError):
    """Nothing has that name or id; `str()` is one sentence."""


class NotFromTheStart(ClaudeMemError):
    """Part of an import whose beginning another worker received: it must be sent again from the start."""


class TeamFailure(ClaudeMemError):
    """A request that did not succeed. Of the server's words only what looks like a code is repeated."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        field: str = "",
        retry_after: str | None = None,
    ) -> None:
        self.status, self.code, self.field, self.retry_after = status, code, field, retry_after
        super().__init__(message)
