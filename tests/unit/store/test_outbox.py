"""The outbox: what is listed when something changes, and what is noted of what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.records import digest_of, name_of_session
from claude_mem.model.refs import Ref
from claude_mem.model.sharing import BranchState, ForgetLine, NamedItem, OutboxItem, Progress, TeamLink
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import ForgetPlan, Revision
from claude_mem.team import outgoing

NOON = 1_760_000_000_000
LINK = TeamLink(url="https://memory.example", member="ada", machine="laptop", key_id="k1", joined_at=NOON)


class Shelf:
    """A store, and what is put into it."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.outbox = store, store.outbox

    def add(self, title: str, project: str = "shop", session: str = "s1", client: str = "claude") -> int:
        observation = Observation("decision", title=title, narrative=f"{title}, for a reason.")
        ref, _ = self.store.memories.remember(
            observation,
            Origin(key=f"git.example/{project}", name=project, root=""),
            session=session,
            at=NOON,
            source="work",
            client=client,
        )
        return ref.id

    def project(self, name: str = "shop") -> int:
        found = self.store.projects.by_key(f"git.example/{name}")
        assert found is not None
        return found.id

    def records(self) -> list[dict[str, Any]]:
        """A session of an agent with a prompt and a summary, as an import of one's own brings it."""
        return [
            {"kind": "project", "key": "git.example/shop", "name": "shop", "root": "/home/ada/shop"},
            {
                "kind": "session",
                "session_id": "s2",
                "project": "git.example/shop",
                "client": "claude",
                "title": "Why does the login fail?",
                "first_user_prompt": "Why does the login fail?",
                "cwd": "/home/ada/shop",
                "created_at": NOON,
            },
            {
                "kind": "prompt",
                "session_id": "s2",
                "number": 1,
                "text": "Why does the login fail?",
                "at": NOON,
            },
            {
                "kind": "summary",
                "session_id": "s2",
                "request": "Why does the login fail?",
                "completed": "The lease was too short.",
                "at": NOON,
            },
        ]

    def due(self) -> list[tuple[str, int]]:
        return [(item.kind, item.id) for item in self.outbox.due(100)]

    def send(self, items: list[OutboxItem] | None = None) -> list[NamedItem]:
        """As the exchange does, up to the call."""
        items = self.outbox.due(100) if items is None else items
        heads, memories = self.outbox.records(items)
        parcel = outgoing.pack(heads, memories, dict, machine="ada/laptop")
        return self.outbox.offer(parcel.items)

    def forgets(self) -> list[str]:
        return [name for _, name in self.outbox.forgets(100)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with SqliteStore.open(tmp_path / "x.db", clock=lambda: NOON, backups=tmp_path / "backups") as store:
        yield Shelf(store)


def test_nothing_is_listed_of_a_project_that_is_not_shared(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    shelf.add("Elsewhere", project="other", session="s9")
    assert shelf.due() == [("observation", 1)]


def test_what_was_there_before_and_what_comes_later_are_both_listed(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    shelf.add("Names are lower-case")
    assert shelf.due() == [("observation", 1), ("observation", 2)]


def test_prompts_are_listed_only_where_they_are_shared_and_a_title_goes_with_them(shelf: Shelf) -> None:
    shelf.store.transfer.absorb(shelf.records(), own=True)
    shelf.outbox.share(shelf.project(), prompts=False)
    assert [kind for kind, _ in shelf.due()] == ["summary"]
    sent = json.dumps(
        [outgoing._leaving(each, "m") for _, each in shelf.outbox.records(shelf.outbox.due(10))[1]]
    ) + json.dumps(shelf.outbox.records(shelf.outbox.due(10))[0])
    assert "login" not in sent
    assert "lease" in sent
    shelf.outbox.share(shelf.project(), prompts=True)
    assert [kind for kind, _ in shelf.due()] == ["prompt", "summary"]
    heads, _ = shelf.outbox.records(shelf.outbox.due(10))
    assert [each.get("title") for each in heads] == [None, "Why does the login fail?"]
    assert "/home/ada" not in json.dumps(heads)


def test_memories_of_other_members_and_of_strangers_files_are_not_listed(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=True)
    shelf.store.transfer.absorb(shelf.records(), own=False, author="ben")
    shelf.add("From a file", session="stranger", client="import")
    assert shelf.due() == [("observation", 1)]


def test_new_projects_are_shared_where_all_are(shelf: Shelf) -> None:
    shelf.outbox.share(None, prompts=False)
    shelf.add("Prices are integers")
    assert shelf.due() == [("observation", 1)]
    shelf.outbox.unshare(None, take_back=False)
    shelf.add("Elsewhere", project="other", session="s9")
    assert shelf.due() == []


def test_what_changes_while_it_is_sent_stays_listed(shelf: Shelf) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    sent = shelf.send()
    shelf.store.memories.revise([Revision(id, {"wrong": 1})])
    shelf.outbox.settle(each.item for each in sent)
    assert shelf.due() == [("observation", id)]


def test_what_changed_since_it_was_read_is_not_sent_as_it_was(shelf: Shelf) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    read = shelf.outbox.due(100)
    shelf.store.memories.revise([Revision(id, {"wrong": 1})])
    assert shelf.send(read) == []


def test_what_is_only_pinned_is_not_sent_again(shelf: Shelf) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    shelf.outbox.settle(each.item for each in shelf.send())
    shelf.store.memories.revise([Revision(id, {"pinned": 1})])
    assert shelf.due() == []
    assert shelf.outbox.pin([id], pinned=True) == [id]
    assert shelf.due() == [("observation", id)]


def test_what_is_forgotten_is_to_be_forgotten_there_even_if_it_was_only_about_to_be_sent(
    shelf: Shelf,
) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    (offered,) = shelf.send()
    shelf.store.deletion.forget(ForgetPlan(refs=(Ref("observation", id),)))
    assert shelf.forgets() == [offered.name]
    assert shelf.due() == []


def test_what_was_never_offered_is_forgotten_here_alone(shelf: Shelf) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    shelf.store.deletion.forget(ForgetPlan(refs=(Ref("observation", id),)))
    assert shelf.forgets() == []


def test_an_edit_makes_the_former_name_be_forgotten_there(shelf: Shelf) -> None:
    id = shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    (before,) = shelf.send()
    shelf.outbox.settle([before.item])
    shelf.store.memories.revise([Revision(id, {"title": "Prices are decimals"})])
    (after,) = shelf.send()
    assert shelf.forgets() == [before.name]
    assert after.name != before.name


def test_what_is_taken_back_is_to_be_forgotten_there_and_stays_here(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    (sent,) = shelf.send()
    shelf.outbox.settle([sent.item])
    shelf.outbox.unshare(shelf.project(), take_back=False)
    assert shelf.forgets() == []
    shelf.outbox.unshare(shelf.project(), take_back=True)
    assert sent.name in shelf.forgets()
    assert shelf.store.memories.cards([Ref("observation", 1)])


def test_a_session_that_every_machine_calls_the_same_is_the_machines_own_there(shelf: Shelf) -> None:
    session = "user-0123456789ab"
    shelf.add("Prices are integers", session=session, client="user")
    shelf.outbox.share(shelf.project(), prompts=False)
    heads, memories = shelf.outbox.records(shelf.outbox.due(10))
    names = [outgoing.pack(heads, memories, dict, machine=each).items[0].name for each in ("ada/a", "ben/b")]
    assert len(set(names)) == 2
    assert all(name.startswith(session) for name in names)


def test_others_forgets_are_found_by_their_digests_and_what_is_gone_is_not_reported_back(
    shelf: Shelf,
) -> None:
    shelf.outbox.join(replace(LINK, member="ben"))
    shelf.store.transfer.absorb(shelf.records(), own=False, author="ben")  # another machine of one's own
    line = ForgetLine("f1", "summary", digest_of(f"s2/{NOON}/summary"), NOON)
    whole = ForgetLine("f2", "session", digest_of(name_of_session("s2")), NOON)
    other = ForgetLine("f3", "summary", digest_of("s3/1/summary"), NOON)
    found = shelf.outbox.found([line, other])
    assert (found.refs, found.sessions) == ((Ref("summary", 1),), ())
    assert shelf.outbox.found([whole]).sessions == ("s2",)
    shelf.store.deletion.forget(ForgetPlan(refs=found.refs))
    assert shelf.forgets()
    shelf.outbox.carried_out([line], found.names)
    assert (shelf.forgets(), shelf.outbox.acknowledgements(10)) == ([], [("f1", "done")])
    assert shelf.outbox.barred(found.names) == set()


def test_whoever_forgets_anothers_session_deletes_there_what_was_shared_and_nothing_else(
    shelf: Shelf,
) -> None:
    shelf.outbox.join(LINK)
    shelf.store.transfer.absorb(shelf.records(), own=True)
    shelf.outbox.share(shelf.project(), prompts=False)
    shelf.send()
    line = ForgetLine("f1", "session", digest_of(name_of_session("s2")), NOON, by="ben")
    of_another = shelf.outbox.found([line])
    assert (of_another.refs, of_another.sessions) == ((Ref("summary", 1),), ()), "the prompt stays"
    of_ones_own = shelf.outbox.found([replace(line, by="ada")])
    assert (of_ones_own.refs, of_ones_own.sessions) == ((), ("s2",))


def test_what_is_forgotten_of_others_here_is_barred(shelf: Shelf) -> None:
    shelf.store.transfer.absorb(shelf.records(), own=False, author="ben")
    shelf.store.deletion.forget(ForgetPlan(refs=(Ref("summary", 1),)))
    name = f"s2/{NOON}/summary"
    assert shelf.outbox.barred([name, "s2/1/summary"]) == {name}
    assert shelf.forgets() == []


def test_a_mark_of_ones_own_stays_when_its_author_sends_a_memory_again(shelf: Shelf) -> None:
    record = {
        "kind": "observation",
        "session_id": "s2",
        "type": "decision",
        "title": "Prices are integers",
        "at": NOON,
    }
    shelf.store.transfer.absorb([*shelf.records(), record], own=False, author="ben")
    shelf.store.memories.revise([Revision(1, {"wrong": 1, "pinned": 1})])
    named = {**record, "name": outgoing.record_name(record)}
    (kept,) = shelf.outbox.with_marks([named])
    assert (kept["pinned"], kept["wrong"]) == (True, True)
    (pinned,) = shelf.outbox.with_marks([{**named, "pinned": True}])
    (unpinned,) = shelf.outbox.with_marks([named])
    assert (pinned["pinned"], unpinned["pinned"]) == (True, False)


def test_what_waits_is_counted_by_its_reason_and_can_be_sent_at_once(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    (item,) = shelf.outbox.due(10)
    shelf.outbox.postpone({item: "branch fix is not merged"}, NOON + 1_000)
    figures = shelf.outbox.figures()
    assert (figures.due, figures.waiting) == (0, {"branch fix is not merged": 1})
    assert shelf.outbox.next_due() == NOON + 1_000
    assert shelf.outbox.send_at_once(shelf.project()) == 1
    assert [each.at_once for each in shelf.outbox.due(10)] == [True]


def test_what_was_offered_counts_as_sent_once_the_server_has_it(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.share(shelf.project(), prompts=False)
    (offered,) = shelf.send()
    (project,) = shelf.outbox.projects()
    assert (project.sent, project.waiting) == (0, 1)
    shelf.outbox.settle([offered.item])
    (project,) = shelf.outbox.projects()
    assert (project.sent, project.waiting) == (1, 0)


def test_leaving_forgets_the_server_and_shares_nothing(shelf: Shelf) -> None:
    shelf.add("Prices are integers")
    shelf.outbox.join(LINK)
    shelf.outbox.share(None, prompts=True)
    shelf.send()
    shelf.outbox.note(Progress(cursor="7"))
    shelf.outbox.note_branches(shelf.project(), {"fix": BranchState("a" * 40, ahead=True)})
    assert shelf.outbox.branches(shelf.project()) == {"fix": BranchState("a" * 40, ahead=True)}
    shelf.outbox.leave()
    assert (shelf.outbox.link(), shelf.outbox.progress(), shelf.outbox.projects()) == (None, Progress(), [])
    assert shelf.outbox.branches(shelf.project()) == {}
    shelf.add("Names are lower-case")
    assert (shelf.due(), shelf.forgets()) == ([], [])


def test_what_a_turn_did_on_a_branch_is_of_that_branch_wherever_the_session_went_afterwards(
    shelf: Shelf,
) -> None:
    def event(turn: int, kind: str, branch: str, cwd: str = "/home/ada/shop/src") -> dict[str, Any]:
        name = f"{turn}-{kind}-{branch}"
        plain = {"kind": "event", "session_id": "s2", "event_kind": kind, "effect_key": name, "at": NOON}
        return plain | {"prompt_number": turn, "branch": branch, "cwd": cwd}

    project, session, prompt, summary = shelf.records()
    records = [
        project,
        session | {"branch": "main"},
        prompt,
        event(1, "prompt", "before"),
        event(1, "tool_use", "fix/otter"),
        event(1, "tool_use", "theirs", cwd="/home/ada/other"),
        event(2, "tool_use", "main"),
        summary | {"prompt_number": 1},
        summary | {"prompt_number": 2, "at": NOON + 1},
    ]
    assert shelf.store.transfer.absorb(records, own=True).refused == ()
    shelf.outbox.share(shelf.project(), prompts=True)
    items = [(item.kind, item.branch, item.also) for item in shelf.outbox.due(100)]
    assert items == [
        ("prompt", "main", ("before", "fix/otter")),
        ("summary", "main", ("fix/otter",)),
        ("summary", "main", ("main",)),
    ]
