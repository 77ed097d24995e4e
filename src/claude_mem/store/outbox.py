"""What a machine's own store has for its team: what is shared, what is to be sent and why it waits, what is
to be forgotten there and here. A store that several machines open has none: they share all of it anyhow.

Triggers list what changes, in the transaction that changes it (`sqlite/schema.sql`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import convert
from msgspec import json as msgspec_json
from msgspec.structs import asdict

from claude_mem.model.records import (
    Record,
    digest_of,
    name_of,
    name_of_prompt,
    name_of_session,
    name_of_summary,
    parse_name,
)
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import (
    BranchState,
    ForgetAnswer,
    ForgetLine,
    ForgetMatch,
    HeldForgets,
    NamedItem,
    OutboxFigures,
    OutboxItem,
    OwnLoss,
    Progress,
    SharedKind,
    SharedProject,
    TeamLink,
)
from claude_mem.store.relational.part import Connection, Part, Row, execute, transaction
from claude_mem.store.relational.rows import Value, value_of
from claude_mem.store.relational.transfer import as_record

ALL = "share_all"
_TABLES: dict[SharedKind, str] = {
    "observation": "observations",
    "summary": "summaries",
    "prompt": "prompts",
}
_TABLES_LEFT = (
    *("team", "pins", "outbox", "sent", "forgets", "acknowledgements", "branches", "state", "barred"),
    *("held", "losses"),
)


class Outbox(Part):
    # -- Which server --

    def link(self) -> TeamLink | None:
        """The team that this machine has joined; None: it has joined none."""
        found = self._state().get("link")
        return msgspec_json.decode(found, type=TeamLink) if found else None

    @transaction
    def join(self, db: Connection, link: TeamLink) -> None:
        """Joins a server. What was known about another server is discarded."""
        execute(db, "set_team_state", name="link", value=msgspec_json.encode(link).decode())
        execute(db, "set_team_state", name="member", value=link.member)
        execute(db, "unset_team_state", name="progress")

    @transaction
    def move(self, db: Connection, link: TeamLink) -> None:
        """Changes the server's address. What was sent and pulled stays known; failures are discarded."""
        execute(db, "set_team_state", name="link", value=msgspec_json.encode(link).decode())
        if found := self._state().get("progress"):
            before = msgspec_json.decode(found, type=Progress)
            after = Progress(cursor=before.cursor, last_at=before.last_at)
            execute(db, "set_team_state", name="progress", value=msgspec_json.encode(after).decode())

    @transaction
    def leave(self, db: Connection) -> None:
        """Leaves the team: nothing is shared anymore, and everything about the server is discarded."""
        for table in _TABLES_LEFT:
            execute(db, f"leave_{table}")

    def progress(self) -> Progress:
        found = self._state().get("progress")
        return msgspec_json.decode(found, type=Progress) if found else Progress()

    @transaction
    def note(self, db: Connection, progress: Progress) -> None:
        execute(db, "set_team_state", name="progress", value=msgspec_json.encode(progress).decode())

    def _state(self) -> dict[str, str]:
        return {row["name"]: row["value"] for row in self._rows("team_state")}

    # -- What is shared --

    def shares_all(self) -> bool:
        return ALL in self._state()

    def projects(self) -> list[SharedProject]:
        with self._readers.read() as db:
            listed, sent = (
                {row["project_id"]: row["memories"] for row in execute(db, statement)}
                for statement in ("outbox_by_project", "sent_by_project")
            )
            return [
                value_of(SharedProject, row, waiting=listed.get(row["id"], 0), sent=sent.get(row["id"], 0))
                for row in execute(db, "shared_projects")
            ]

    @transaction
    def share(self, db: Connection, project_id: int | None, *, prompts: bool) -> None:
        """Shares a project (None: all, including future ones). Without prompts, those that were shared are
        taken back."""
        if project_id is None:
            value = "prompts" if prompts else "memories"
            execute(db, "set_team_state", name=ALL, value=value)
            execute(db, "share_every_project", prompts=int(prompts))
        else:
            execute(db, "share_project", project_id=project_id, prompts=int(prompts))
        for table in _TABLES.values():
            execute(db, f"list_{table}", project_id=project_id)
        self._take_back(db)

    @transaction
    def unshare(self, db: Connection, project_id: int | None, *, take_back: bool) -> None:
        """Stops sharing a project (None: all). `take_back`: the server must delete what it has."""
        if project_id is None:
            execute(db, "unset_team_state", name=ALL)
        execute(db, "unshare_project", project_id=project_id)
        if take_back:
            self._take_back(db)
        execute(db, "unlist_unshared")

    def _take_back(self, db: Connection) -> None:
        execute(db, "take_back_unshared")
        execute(db, "unsend_taken_back")
        execute(db, "unlist_unshared")

    @transaction
    def pin(self, db: Connection, ids: Sequence[int], *, pinned: bool) -> list[int]:
        """Pins or unpins memories for the team. Returns those that were changed; those of others never
        are."""
        statement = "set_team_pin" if pinned else "unset_team_pin"
        return [id for id in ids if execute(db, statement, id=id).rowcount]

    # -- What is sent --

    def due(self, limit: int) -> list[OutboxItem]:
        with self._readers.read() as db:
            rows = execute(db, "due_outbox", now=self._clock(), limit=limit).fetchall()
            sessions = json.dumps(sorted({row["session_row"] for row in rows}))
            worked = execute(db, "branches_of_turns", sessions=sessions).fetchall()
        return [value_of(OutboxItem, row, also=_also(row, worked)) for row in rows]

    def next_due(self) -> int | None:
        row = self._row("next_due")
        return None if row is None else row["at"]

    def records(self, items: Sequence[OutboxItem]) -> tuple[list[Record], list[tuple[OutboxItem, Record]]]:
        """Their projects and sessions, then themselves. A summary has `asked`, all prompts of its
        session, where prompts are not shared."""
        memories: list[tuple[OutboxItem, Record]] = []
        sessions: set[int] = set()
        with self._readers.read() as db:
            for kind, table in _TABLES.items():
                by_id = {item.id: item for item in items if item.kind == kind}
                for row in execute(db, f"outgoing_{table}", ids=json.dumps(list(by_id))):
                    record: Record = as_record(kind, row)
                    if kind != "prompt" and row["asked"]:
                        record = {**record, "asked": row["asked"]}
                    memories.append((by_id[row["row_id"]], record))
                    sessions.add(row["session_row"])
            named = json.dumps(sorted(sessions))
            observed = json.dumps([item.id for item in items if item.kind == "observation"])
            heads = [
                as_record("project", row)
                for row in execute(db, "outgoing_projects", sessions=named, observations=observed)
            ]
            heads += [as_record("session", row) for row in execute(db, "outgoing_sessions", sessions=named)]
        return heads, memories

    @transaction
    def offer(self, db: Connection, named: Sequence[NamedItem]) -> list[NamedItem]:
        """Note what is about to be sent, before it is: whatever happens then, it can be taken back. Returns
        those that have not changed since they were read."""
        offered = []
        for each in named:
            item = each.item
            listed = execute(db, "is_listed", kind=item.kind, id=item.id, changes=item.changes).fetchone()
            if listed is None:
                continue
            parameters = {"kind": item.kind, "id": item.id, "name": each.name}
            execute(db, "forget_former_name", **parameters)
            execute(db, "note_sent", **parameters)
            execute(db, "note_session_sent", session=each.session, name=each.session_name)
            offered.append(each)
        return offered

    @transaction
    def settle(self, db: Connection, items: Iterable[OutboxItem]) -> None:
        """Records that the server has these memories."""
        for item in items:
            execute(db, "unlist_sent", kind=item.kind, id=item.id, changes=item.changes)

    @transaction
    def postpone(self, db: Connection, items: Mapping[OutboxItem, str], until: int) -> None:
        """Records that they wait, with the reason for each."""
        for item, reason in items.items():
            execute(db, "postpone_outbox", kind=item.kind, id=item.id, until=until, reason=reason)

    def judge_again(self) -> None:
        """Requests a new check of what must wait."""
        self._change("judge_again")

    def send_at_once(self, project_id: int | None = None) -> int:
        """Sends memories regardless of their branches; returns how many are listed."""
        if project_id is None:
            return self._change("send_at_once")
        return self._change("send_project_at_once", project_id=project_id)

    # -- What is forgotten --

    def forgets(self, limit: int) -> list[tuple[int, str]]:
        """The deletions to report: local ids, and names for the server."""
        return [(row["id"], row["name"]) for row in self._rows("team_forgets", limit=limit)]

    def forgotten(self, ids: Sequence[int]) -> None:
        """Records that the server knows about these deletions."""
        self._change("team_forgotten", ids=json.dumps(list(ids)))

    def found(self, lines: Sequence[ForgetLine]) -> ForgetMatch:
        """The memories here that other machines have deleted: those of other members, or sent by this
        machine."""
        refs: list[Ref] = []
        sessions: list[str] = []
        names: list[str] = []
        losses: list[OwnLoss] = []
        member = self._state().get("member")
        with self._readers.read() as db:
            for line in lines:
                for target, name, own_project in _named_at(db, line):
                    if digest_of(name) != line.digest:
                        continue
                    names.append(name)
                    few: list[Ref] | None = [target] if isinstance(target, Ref) else None
                    if few is None and own_project is not None and line.by != member:
                        # Of a session of one's own another member has only what was sent.
                        sent = execute(db, "sent_of_session", session=str(target))
                        few = [Ref(row["kind"], row["id"]) for row in sent]
                    if few is None:
                        sessions.append(str(target))
                    else:
                        refs += few
                    if own_project is not None:
                        count = (
                            _count(db, "memories_of_session", session=str(target))
                            if few is None
                            else len(few)
                        )
                        losses.append(OwnLoss(line.id, own_project, count))
        return ForgetMatch(
            tuple(dict.fromkeys(refs)), tuple(dict.fromkeys(sessions)), tuple(names), tuple(losses)
        )

    def own_memories(self, project_id: int, *, since: int) -> tuple[int, int]:
        """How many of a project are one's own, and how many of them such forgets have deleted since."""
        with self._readers.read() as db:
            losses = _count(db, "losses_since", project_id=project_id, since=since)
            return _count(db, "own_memories", project_id=project_id), losses

    @transaction
    def hold(self, db: Connection, lines: Sequence[ForgetLine], losses: Sequence[OwnLoss]) -> int:
        """Holds deletions until the user consents. Returns how many of them are new."""
        new = 0
        for line in lines:
            own_losses = [each for each in losses if each.id == line.id]
            count = sum(each.memories for each in own_losses)
            given = {"project_id": own_losses[0].project_id, "memories": count}
            new += execute(db, "hold_forget", **asdict(line), **given).rowcount
            execute(db, "note_acknowledgement", id=line.id, answer="consent")
        return new

    def held(self) -> list[ForgetLine]:
        return [value_of(ForgetLine, row) for row in self._rows("held_forgets")]

    @transaction
    def refuse(self, db: Connection, lines: Sequence[ForgetLine]) -> None:
        """Records that the user does not consent: the memories stay here, and the server is notified."""
        for line in lines:
            execute(db, "unhold_forget", id=line.id)
            execute(db, "note_acknowledgement", id=line.id, answer="refused")

    @transaction
    def carried_out(
        self,
        db: Connection,
        lines: Sequence[ForgetLine],
        names: Sequence[str],
        losses: Sequence[OwnLoss] = (),
    ) -> None:
        """They are gone here: to be acknowledged, and not to be reported as forgotten by this machine.
        `losses`: what of one's own went without consent."""
        given = json.dumps(list(names))
        execute(db, "unlist_team_forgets", names=given)
        execute(db, "unbar", names=given)
        execute(db, "unbar_sessions", names=given)
        for line in lines:
            execute(db, "unhold_forget", id=line.id)
            execute(db, "note_acknowledgement", id=line.id, answer="done")
        for each in losses:
            execute(db, "note_loss", project_id=each.project_id, memories=each.memories, now=self._clock())

    def acknowledgements(self, limit: int) -> list[tuple[str, ForgetAnswer]]:
        return [(row["id"], row["answer"]) for row in self._rows("team_acknowledgements", limit=limit)]

    def acknowledged(self, ids: Sequence[str]) -> None:
        self._change("team_acknowledged", ids=json.dumps(list(ids)))

    def barred(self, names: Sequence[str]) -> set[str]:
        """Which of these were deleted here."""
        return {row["name"] for row in self._rows("barred", names=json.dumps(list(names)))}

    # -- What is received --

    @transaction
    def with_marks(self, db: Connection, records: Sequence[Record]) -> list[Record]:
        """The records of a pull, each memory with its `name`: a pin of the team's that came or went is
        followed. A pin of one's own stays, and so does a mark that something is wrong."""
        return [_with_marks(db, each) if each.get("kind") == "observation" else each for each in records]

    @transaction
    def note_pins(self, db: Connection, names: Sequence[str]) -> None:
        """Records which new memories are pinned for the team."""
        for name in names:
            row = _marks_of(db, name)
            if row is not None:
                execute(db, "note_team_pin", id=row["id"])

    def sessions_of_others(self) -> dict[str, str]:
        """The author of each session of other members."""
        return {row["session"]: row["author"] for row in self._rows("sessions_of_others")}

    # -- Branches --

    def branches(self, project_id: int) -> dict[str, BranchState]:
        rows = self._rows("team_branches", project_id=project_id)
        return {row["branch"]: value_of(BranchState, row) for row in rows}

    @transaction
    def note_branches(self, db: Connection, project_id: int, states: Mapping[str, BranchState]) -> None:
        for branch, state in states.items():
            columns = asdict(state) | {"ahead": int(state.ahead)}
            execute(db, "note_branch", project_id=project_id, branch=branch, **columns)

    def figures(self) -> OutboxFigures:
        with self._readers.read() as db:
            waiting = {
                row["reason"]: row["memories"] for row in execute(db, "outbox_waiting", now=self._clock())
            }
            counts = [
                int(execute(db, statement).fetchone()[0])
                for statement in ("count_team_forgets", "count_team_acknowledgements")
            ]
            received = {row["author"]: row["memories"] for row in execute(db, "received")}
            held = tuple(value_of(HeldForgets, row) for row in execute(db, "held_by_project"))
        due = waiting.pop(None, 0)
        forgets, acknowledgements = counts
        return OutboxFigures(due, waiting, forgets, acknowledgements, received, held)


def _also(row: Row, worked: Sequence[Row]) -> tuple[str, ...]:
    """The branches that a memory's turn worked on; of a prompt also the one on which it was written."""
    turn, is_prompt = (row["session_row"], row["prompt_number"]), row["kind"] == "prompt"
    places = (
        each["place"]
        for each in worked
        if (each["session_id"], each["prompt_number"]) == turn and (is_prompt or not each["is_prompt"])
    )
    return tuple(dict.fromkeys(places))


def _count(db: Connection, statement: str, **given: Value) -> int:
    row = execute(db, statement, **given).fetchone()
    return 0 if row is None else int(row["memories"])


def _named_at(db: Connection, line: ForgetLine) -> list[tuple[Ref | str, str, int | None]]:
    """What may be meant by a kind and a time, with all the names that each may have on the server, and the
    project of those that this machine has sent."""
    if line.of == "session":
        rows = execute(db, "sessions_named_at", at=line.at).fetchall()
        return [
            (row["session"], row["name"] or name_of_session(row["session"]), _own_project(row))
            for row in rows
        ]
    if line.of not in _TABLES:
        return []
    kind = convert(line.of, SharedKind)
    found: list[tuple[Ref | str, str, int | None]] = []
    for row in execute(db, f"{_TABLES[kind]}_named_at", at=line.at):
        ref = Ref(kind, row["id"])
        names = {name for name in (_name(kind, row), row["name"]) if name}
        found += [(ref, name, _own_project(row)) for name in names]
    return found


def _own_project(row: Row) -> int | None:
    return None if row["name"] is None else int(row["project_id"])


def _name(kind: SharedKind, row: Row) -> str:
    if kind == "summary":
        return name_of_summary(row["session"], row["at"])
    if kind == "prompt":
        return name_of_prompt(row["session"], row["number"])
    return name_of(row["session"], row["at"], row["content_key"])


def _marks_of(db: Connection, name: str) -> Row | None:
    parsed = parse_name(name)
    if parsed is None:
        return None
    session, at, key = parsed
    found: Row | None = execute(db, "marks_of", session=session, at=at, content_key=key).fetchone()
    return found


def _with_marks(db: Connection, record: Record) -> Record:
    row = _marks_of(db, str(record.get("name")))
    if row is None:
        return record
    marks = {"pinned": bool(row["pinned"]), "wrong": bool(record.get("wrong") or row["wrong"])}
    pinned = bool(record.get("pinned"))
    if pinned != bool(row["team"]):
        execute(db, "note_team_pin" if pinned else "unset_team_pin", id=row["id"])
        marks["pinned"] = pinned
    return {**record, **marks}
