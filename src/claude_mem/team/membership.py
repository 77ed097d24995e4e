"""A machine's membership in a team: joining, leaving, what it shares, and the state of the exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import convert

from claude_mem.api import sharing as api
from claude_mem.api.filters import FilterRequest
from claude_mem.api.projects import ProjectParams
from claude_mem.files import atomic_file
from claude_mem.model.clock import Clock
from claude_mem.model.errors import InvalidInput, TeamFailure
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import TeamLink
from claude_mem.model.structs import replace
from claude_mem.store.values import Project
from claude_mem.team.exchange import NAMES, Exchange
from claude_mem.team.wire import TeamServer, checked_key, checked_url

KEY_FILE = "team.key"
LONGEST_KEY = 200

NO_MEMORIES = "This directory has no memories yet. Work in it first, or save one: claude-mem remember TEXT"


class NotJoined(InvalidInput):
    def __init__(self) -> None:
        super().__init__("", "This machine has not joined a team. To join one: claude-mem join URL")


class Membership:
    """`project_of` finds a project by a name, a key or a directory."""

    def __init__(
        self,
        exchange: Exchange,
        key_file: Path,
        clock: Clock,
        *,
        share_when: str,
        project_of: Callable[[FilterRequest], Project | None],
    ) -> None:
        self.exchange, self._outbox = exchange, exchange.outbox
        self._key_file, self._clock, self._share_when = key_file, clock, share_when
        self._project_of = project_of

    def join(self, params: api.JoinRequest) -> api.SharingStatus:
        """Raises InvalidInput, and TeamFailure with nothing changed."""
        url, ca = checked_url(params.url, insecure=params.insecure_http), params.ca or None
        if ca is not None and not Path(ca).is_absolute():
            raise InvalidInput("ca", "The path of the certificates must be absolute.")
        if params.moved:
            return self._follow(url, ca, params)
        key = checked_key(params.key)
        me = TeamServer(url, key, ca=ca).fetch_team()
        with self.exchange.changing:
            before = self._outbox.link()
            if before is not None and (before.url, before.member) != (url, me.member):
                raise InvalidInput(
                    "url",
                    f"This machine is already {before.member} at {before.url}. If that server has moved: "
                    "claude-mem join URL --moved. To leave it: claude-mem leave",
                )
            with atomic_file(self._key_file, durable=True) as file:
                file.write(key.encode() + b"\n")
            self._outbox.join(
                TeamLink(
                    url=url,
                    member=me.member,
                    machine=me.machine,
                    key_id=me.key,
                    joined_at=self._clock(),
                    expires_at=me.expires_at,
                    ca=ca,
                    insecure=params.insecure_http,
                    server=me.server,
                )
            )
            self.exchange.reset()
        return self.status()

    def _follow(self, url: str, ca: str | None, params: api.JoinRequest) -> api.SharingStatus:
        """The server has another address now. What was sent and pulled stays known."""
        with self.exchange.changing:
            before, key = self._outbox.link(), read_key(self._key_file)
            if before is None or key is None:
                raise NotJoined
            me = TeamServer(url, key, ca=ca).fetch_team()
            if (me.server, me.member, me.machine) != (before.server, before.member, before.machine):
                raise InvalidInput(
                    "url", f"The server at {url} is not the one that this machine joined at {before.url}."
                )
            self._outbox.move(replace(before, url=url, ca=ca, insecure=params.insecure_http))
            self.exchange.reset()
        return self.status()

    def leave(self, params: api.LeaveRequest) -> api.LeftAnswer:
        """One's own memories are deleted from the server, others' here. Killed on the way, it is done again.
        Raises InvalidInput, and TeamFailure with nothing changed."""
        with self.exchange.changing:
            found = self.exchange.server()
            if self._outbox.link() is None:
                raise NotJoined
            notified = found is not None and self._notify_server(found[1], params)
            others = list(self._outbox.sessions_of_others())
            if others and not params.keep_copies:
                self.exchange.sides.forget((), others)
            self._outbox.leave()
            self._key_file.unlink(missing_ok=True)
            self.exchange.reset()
        deleted = 0 if params.keep_copies else len(others)
        return api.LeftAnswer(
            told_server=notified, deleted_sessions=deleted, kept_sessions=len(others) - deleted
        )

    def _notify_server(self, server: TeamServer, params: api.LeaveRequest) -> bool:
        try:
            server.leave()
        except TeamFailure as failure:
            if failure.status == 401 and not params.without_server:
                return False  # the key has ended: with this machine's leaving, or before
            if not params.without_server:
                raise TeamFailure(
                    f"{failure} To leave without it: claude-mem leave --without-server",
                    status=failure.status,
                    code=failure.code,
                ) from failure
            return False
        return True

    def share(self, params: api.ShareRequest) -> api.SharingStatus:
        self._require_link()
        project = None if params.all else self._project(params).id
        self._outbox.share(project, prompts=params.prompts)
        return self.status()

    def unshare(self, params: api.UnshareRequest) -> api.SharingStatus:
        project = None if params.all else self._project(params).id
        self._outbox.unshare(project, take_back=params.take_back)
        return self.status()

    def answer_forgets(self, params: api.ConsentRequest) -> api.SharingStatus:
        """Applies the user's answer to held deletions of their own memories."""
        self._require_link()
        self.exchange.answer_held(consents=params.accept)
        return self.status()

    def send_now(self, params: api.SendNowRequest) -> api.SentNowAnswer:
        """Sends memories immediately, including those that wait for a merge."""
        self._require_link()
        anywhere = not (params.project or params.cwd)
        count = self._outbox.send_at_once(None if anywhere else self._project(params).id)
        self.exchange.now()
        return api.SentNowAnswer(count, self.status())

    def pin(self, params: api.TeamPinRequest) -> api.TeamPinAnswer:
        self._require_link()
        refs = {text: Ref.parse(text) for text in dict.fromkeys(map(str, params.ids))}
        ids = {ref.id: text for text, ref in refs.items() if ref is not None and ref.kind == "observation"}
        changed = self._outbox.pin(list(ids), pinned=params.pinned)
        done = tuple(ids[id] for id in changed)
        return api.TeamPinAnswer(done, tuple(text for text in refs if text not in done))

    def forget(self, names: Sequence[str]) -> None:
        """Deletes what other members wrote, for the whole team. Raises InvalidInput and TeamFailure."""
        found = self.exchange.server()
        if found is None:
            raise NotJoined
        parts = (names[at : at + NAMES] for at in range(0, len(names), NAMES))
        ids = [id for some in parts for id in found[1].forget(some)]
        if refused := ids.count(""):
            raise InvalidInput(
                "for_team",
                f"{refused} of them were not deleted: only the author, or an admin of the project, can "
                "delete a memory for the team.",
            )

    def forgets(self) -> api.ForgetsStatus:
        """The team's deletions; None: there is no team. Raises TeamFailure."""
        found = self.exchange.server()
        return api.ForgetsStatus(found[1].forgets() if found else (), self._outbox.figures().forgets)

    def status(self) -> api.SharingStatus:
        link, progress, figures = self._outbox.link(), self._outbox.progress(), self._outbox.figures()
        stopped, projects = progress.stopped, self._outbox.projects()
        if link is not None and self.exchange.server() is None:
            stopped = (
                "This machine's key is missing. Ask an admin for a new one, then run: claude-mem join URL"
            )
        return api.SharingStatus(
            joined=link is not None,
            url=link.url if link else None,
            member=link.member if link else None,
            machine=link.machine if link else None,
            key=link.key_id if link else None,
            expires_at=link.expires_at if link else None,
            last_exchange_at=progress.last_at,
            error=progress.error,
            failing_since=progress.failing_since,
            stopped=stopped,
            share_when=self._share_when,
            shares_all=self._outbox.shares_all(),
            due=figures.due,
            waiting=tuple(api.WaitingCount(reason, count) for reason, count in figures.waiting.items()),
            forgets=figures.forgets,
            acknowledgements=figures.acknowledgements,
            projects=convert(projects, tuple[api.SharedProjectInfo, ...], from_attributes=True),
            held=convert(figures.held, tuple[api.HeldForgetsInfo, ...], from_attributes=True),
            received=tuple(api.AuthorCount(author, count) for author, count in figures.received.items()),
        )

    def _require_link(self) -> None:
        if self._outbox.link() is None:
            raise NotJoined

    def _project(self, params: ProjectParams) -> Project:
        if not params.project and not params.cwd:
            raise InvalidInput("project", "Specify a project or a working directory (cwd).")
        found = self._project_of(params.filters)
        if found is None:
            raise InvalidInput("cwd", NO_MEMORIES)
        return found


def read_key(path: Path) -> str | None:
    """The machine's key; None: there is none."""
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_KEY + 2).decode("ascii", "replace").strip() or None
    except OSError:
        return None
