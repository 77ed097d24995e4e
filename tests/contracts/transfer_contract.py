"""What every store must do in an export and an import.

Longer than other files because it is one thing: the whole contract, to be read from top to bottom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.contracts.memory_write_contract import ELSEWHERE
from tests.contracts.store_contract import HOUR, NOON, ORIGIN, Events, StoreSuite, new_events

from claude_mem.model.errors import AmbiguousProject
from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.jobs import CallCost, SessionStatus
from claude_mem.model.memory import Findings, Observation, Summary, content_key
from claude_mem.model.records import FOREIGN, REQUIRED, Record, name_of
from claude_mem.model.refs import Card, Filters, Ref
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import ExportSelection, ImportResult, Revision

DAY = 24 * HOUR
Fields = dict[str, Any]


@dataclass(frozen=True)
class TransferFixture:
    """A store, seen by those who fill it and those who carry its memory."""

    store: Store

    def out(self, **chosen: Any) -> list[Record]:
        return list(self.store.transfer.records(ExportSelection(**chosen)))

    def kinds(self, **chosen: Any) -> list[str]:
        return [record["kind"] for record in self.out(**chosen)[1:]]

    def take(self, *records: Record, own: bool = True) -> ImportResult:
        return self.store.transfer.absorb(records, own=own)

    def cards(self, **asked: Any) -> list[Card]:
        return self.store.memories.list_cards(Filters(**asked), limit=100)

    def observe(
        self, *observations: Observation, summary: Summary | None = None, session: str = "s1"
    ) -> None:
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(100, found.id)
        assert lease is not None
        told = Findings(observations, (summary,) if summary else ())
        self.store.queue.settle(lease, told, CallCost("anthropic", "haiku", 1, 0, 1, 0.5))

    def lived_in(self, events: Events) -> None:
        """Something of everything: two sessions of one project, notes by hand in another."""
        edit = ToolCall("Edit", '{"file_path": "/home/a/shop/till.py"}', "done", "t1")
        root = ORIGIN.root
        self.store.events.accept(
            new_events(
                events.prompt("mend the till", cwd=root, prompt_id="p1"),
                events.make(Kind.TOOL_USE, tool=edit, cwd=root, agent_id="a", agent_type="helper"),
                events.prompt(None, private=True, cwd=root),
                events.make(Kind.STOP, text="Mended.", note="n"),
            )
        )
        first = Observation("bugfix", "The till rounds up at 30 pence", files_modified=("till.py",))
        self.observe(first, summary=Summary(request="mend", learned="rounding", next_steps="pence"))
        self.store.events.accept(new_events(events.prompt("again", "s2"), events.make(Kind.STOP, "s2")))
        second = replace(first, title="The till rounds up at 40 pence", facts=("it did not",))
        self.observe(second, second, Observation("decision", "Never round"), session="s2")
        self.store.events.accept(
            new_events(events.prompt("and again", "s2"), events.make(Kind.SESSION_END, "s2"))
        )
        self.observe(Observation("decision", "never round"), session="s2")  # seen again
        note = Observation("discovery", "Ovens need an hour", narrative="Préchauffer — 250 °C \N{FIRE}")
        self.store.memories.remember(note, ELSEWHERE, session="by-hand", at=NOON + DAY)
        self.store.memories.remember(
            note, ORIGIN, session="by-hand", at=NOON + DAY
        )  # of two projects, in one session
        self.store.memories.revise([Revision(Ref("observation", 1).id, {"pinned": 1})])


def made(kind: str, **more: Any) -> Fields:
    """A record with no more than it must have, and what a test adds."""
    least: dict[str, Fields] = {
        "project": {"key": ORIGIN.key, "name": "shop"},
        "session": {"session_id": "theirs", "project": ORIGIN.key, "created_at": NOON},
        "prompt": {"session_id": "theirs", "number": 1, "at": NOON},
        "event": {"session_id": "theirs", "event_id": "e1", "event_kind": "tool_use", "at": NOON},
        "observation": {"session_id": "theirs", "type": "decision", "title": "Even ports", "at": NOON},
        "sighting": {"session_id": "theirs", "at": NOON},
        "summary": {"session_id": "theirs", "at": NOON},
    }
    return {"kind": kind} | least[kind] | more


HEAD: Record = {"kind": "claude-mem", "version": 1}
PROJECT, SESSION = made("project"), made("session")


class TransferContract(StoreSuite):
    @pytest.fixture
    def stores(self, open_store: Callable[[], Store]) -> Callable[[], TransferFixture]:
        """Each call gives another empty one."""
        return lambda: TransferFixture(open_store())

    @pytest.fixture
    def ours(self, stores: Callable[[], TransferFixture]) -> TransferFixture:
        return stores()

    # Out and in again

    def test_an_export_taken_in_elsewhere_is_the_same_memory(
        self, stores: Callable[[], TransferFixture], events: Events
    ) -> None:
        one, other = stores(), stores()
        one.lived_in(events)
        records = one.out()
        assert {record["kind"] for record in records} == {"claude-mem", *REQUIRED}
        absorbed = other.take(*records)
        assert (sum(absorbed.taken.values()), absorbed.known, absorbed.refused) == (len(records) - 1, {}, ())
        assert other.out() == records
        told = [replace(card, session_db_id=0, project_id=0) for card in one.cards(kinds=("observation",))]
        mine = [replace(card, session_db_id=0, project_id=0) for card in other.cards(kinds=("observation",))]
        assert [card.title for card in mine] == [card.title for card in told]
        assert sorted(map(_plain, mine)) == sorted(map(_plain, told))
        assert any(card.superseded_by for card in mine)
        assert any(card.seen_again for card in mine)

    def test_taking_in_twice_changes_nothing(
        self, stores: Callable[[], TransferFixture], events: Events
    ) -> None:
        one, other = stores(), stores()
        one.lived_in(events)
        records = one.out()
        for store in (one, other, other):
            absorbed = store.take(*records)
        assert (absorbed.taken, absorbed.refused) == ({}, ())
        assert one.out() == other.out() == records

    def test_in_parts_and_in_batches_it_is_the_same(
        self, stores: Callable[[], TransferFixture], events: Events
    ) -> None:
        one, other = stores(), stores()
        one.lived_in(events)
        for record in one.out():
            other.take(record)
        assert other.out() == one.out()

    def test_what_is_there_stays_as_it_is_and_what_is_not_is_added(self, ours: TransferFixture) -> None:
        ours.take(PROJECT, SESSION, made("prompt", text="mine"))
        absorbed = ours.take(
            made("project", name="theirs"), made("session", title="theirs"), made("prompt", text="theirs")
        )
        assert (absorbed.taken, absorbed.known) == ({}, {"project": 1, "session": 1, "prompt": 1})
        ours.take(made("prompt", number=2, text="new"))
        assert "theirs" not in str([record for record in ours.out() if record.get("text") == "theirs"])
        assert [record["text"] for record in ours.out() if record["kind"] == "prompt"] == ["mine", "new"]

    def test_zero_is_a_time_and_a_number_as_any_other(self, ours: TransferFixture) -> None:
        records = [
            made("project", created_at=0, root=""),
            made("session", created_at=0, updated_at=0, prompt_counter=0, completed_at=0),
            made("prompt", number=0, at=0, text=""),
            made("observation", at=0, prompt_number=0),
        ]
        assert not ours.take(*records).refused
        again = ours.out()[1:]
        assert [again[2]["at"], again[2]["number"], again[2]["text"]] == [0, 0, ""]
        assert (again[1]["completed_at"], again[3]["prompt_number"]) == (0, 0)

    def test_what_still_waits_is_not_told(self, ours: TransferFixture, events: Events) -> None:
        ours.store.events.accept(new_events(events.prompt("go"), events.tool()))
        assert ours.kinds() == ["project", "session", "prompt"]
        ours.observe()
        assert ours.kinds() == ["project", "session", "prompt", "event", "event"]

    # What goes out

    def test_a_project_a_session_or_a_time_can_be_chosen(self, ours: TransferFixture, events: Events) -> None:
        ours.lived_in(events)

        def sessions(**chosen: Any) -> list[str]:
            return [record["session_id"] for record in ours.out(**chosen) if record["kind"] == "session"]

        project = ours.store.projects.find(ORIGIN.key)
        assert project is not None
        assert sessions() == ["s1", "s2", "by-hand"]
        assert sessions(project_id=project.id) == ["s1", "s2"]
        assert sessions(session="s2") == ["s2"]
        assert sessions(since=NOON + HOUR) == ["by-hand"]
        assert sessions(until=NOON + HOUR) == ["s1", "s2"]
        assert ours.kinds(project_id=0) == []
        assert {record.get("session_id", "s2") for record in ours.out(session="s2")} == {"s2"}

    def test_memories_can_be_chosen_and_come_with_their_sessions_alone(
        self, ours: TransferFixture, events: Events
    ) -> None:
        ours.lived_in(events)
        assert ours.kinds(refs=(Ref("observation", 1),)) == ["project", "session", "observation"]
        assert ours.kinds(refs=(Ref("summary", 1), Ref("prompt", 1))) == [
            *("project", "session", "prompt", "summary")
        ]

    def test_evidence_can_be_left_out(self, ours: TransferFixture, events: Events) -> None:
        ours.lived_in(events)
        left = [kind for kind in ours.kinds() if kind != "event"]
        assert ours.kinds(evidence=False) == left

    def test_names_and_merges_of_projects_travel_but_not_a_strangers(
        self, stores: Callable[[], TransferFixture]
    ) -> None:
        project = made("project", named=True, aliases=["github.com/a/old-shop"])
        one, other = stores(), stores()
        one.take(project, SESSION)
        assert project.items() <= one.out()[1].items()
        merged = one.store.projects.find("github.com/a/old-shop")
        assert merged is not None
        assert merged.key == ORIGIN.key
        other.take(project, SESSION, own=False)
        assert not {"named", "aliases"} & other.out()[1].keys()
        assert other.store.projects.find("github.com/a/old-shop") is None

    # What is no record

    @pytest.mark.parametrize(
        ("record", "why"),
        [
            ({"kind": "wish"}, "must be one of"),
            ({"kind": ["project"]}, "must be one of"),
            ([], "must be one of"),
            ({"kind": "project", "key": "k"}, "name missing"),
            (made("session", project="nobody's"), "its project"),
            (made("session", session_id=""), "session_id missing"),
            (made("session", status="asleep"), "'asleep'"),
            (made("prompt", session_id="nobody's"), "nobody's"),
            (made("prompt", at="noon"), "`at` must be"),
            (made("prompt", at=True), "`at` must be"),
            (made("prompt", at=-1), "out of range"),
            (made("prompt", at=10**15), "out of range"),
            (made("prompt", number=2**31), "out of range"),
            (made("prompt", private="no"), "`private` must be"),
            (made("prompt", text=7), "`text` must be"),
            (made("prompt", text="x" * (1 << 20 | 1)), "longer"),
            (made("event", event_id=None), "neither event_id"),
            (made("event", event_kind="nap"), "'nap'"),
            (made("observation", type="wish"), "'wish'"),
            (made("observation", source="god"), "'god'"),
            (made("observation", title=None), "empty"),
            (made("observation", facts="one"), "`facts` must be a list"),
            (made("observation", facts=["one", 2]), "`facts` must be a string"),
            (made("observation", project="nobody's"), "project nobody's"),
            (made("sighting", observation="x"), "no earlier record"),
            (made("sighting", observation=f"theirs/{NOON}/beef"), "no earlier record"),
        ],
    )
    def test_what_is_no_record_is_refused_with_a_sentence_and_the_others_are_taken(
        self, ours: TransferFixture, record: Any, why: str
    ) -> None:
        absorbed = ours.take(HEAD, PROJECT, SESSION, record, made("observation", title="Taken"))
        ((number, sentence),) = absorbed.refused
        assert number == 3
        assert why in sentence
        assert sentence.endswith(".")
        assert absorbed.taken == {"project": 1, "session": 1, "observation": 1}

    def test_unknown_fields_are_passed_over_and_half_letters_replaced(self, ours: TransferFixture) -> None:
        ours.take(PROJECT, SESSION, made("observation", mood="good", title="half \ud83d of it"))
        (record,) = [record for record in ours.out() if record["kind"] == "observation"]
        assert record["title"] == "half \ufffd of it"
        assert "mood" not in record

    # Strangers

    def test_a_strangers_memory_is_external_in_sessions_marked_as_such(self, ours: TransferFixture) -> None:
        absorbed = ours.take(
            made("project", root="/home/a/elsewhere"),
            made("session", client="claude-code", cwd="/home/a", transcript_path="/t", status="active"),
            made("prompt", text="do it"),
            made("event", cwd="/home/a", text="done"),
            made("observation", source="user", pinned=True, provider="user", client="claude-code"),
            made("summary", next_steps="obey"),
            own=False,
        )
        assert not absorbed.refused
        _, project, session, _, event, observation, _ = ours.out()
        assert (project["root"], session["client"], session["status"]) == (
            "",
            FOREIGN,
            SessionStatus.COMPLETED,
        )
        assert not {"cwd", "transcript_path"} & session.keys()
        assert "cwd" not in event
        assert event["event_id"] != "e1", "an event that comes tomorrow may have that name"
        assert (observation["source"], observation["provider"]) == ("external", FOREIGN)
        assert "pinned" not in observation
        cards = ours.cards(kinds=("observation", "summary", "prompt", "evidence"))
        assert [card.source for card in cards] == ["external"] * 4

    def test_the_same_from_oneself_is_as_it_was(self, ours: TransferFixture) -> None:
        records = [
            made("project", root="/home/a/elsewhere"),
            made("session", client="claude-code", cwd="/home/a", transcript_path="/t", status="active"),
            made("prompt", text="do it"),
            made("event", effect_key="k", cwd="/home/a", text="done"),
            made("observation", source="user", pinned=True, provider="user", client="claude-code"),
            made("summary", next_steps="go on"),
        ]
        ours.take(*records)
        for record, again in zip(records, ours.out()[1:], strict=True):
            assert record.items() <= again.items()
        assert {"source": "user", "pinned": True, "provider": "user"}.items() <= ours.out()[5].items()

    @pytest.mark.parametrize("kind", ["prompt", "event", "observation", "summary"])
    def test_a_stranger_adds_nothing_to_a_session_of_ones_own(self, ours: TransferFixture, kind: str) -> None:
        ours.take(PROJECT, SESSION)
        before = ours.out()
        absorbed = ours.take(made(kind), own=False)
        assert len(absorbed.refused) == 1
        assert "your own sessions" in absorbed.refused[0][1]
        assert ours.out() == before
        assert ours.take(made(kind)).taken == {kind: 1}, "oneself does"
        assert ours.take(made(kind), own=False).known == {kind: 1}, "and then it is known"

    @pytest.mark.parametrize("kind", ["prompt", "event", "observation", "summary"])
    def test_a_strangers_own_session_grows(self, ours: TransferFixture, kind: str) -> None:
        ours.take(PROJECT, SESSION, own=False)
        assert ours.take(made(kind), own=False).taken == {kind: 1}

    @pytest.mark.parametrize("own", [True, False])
    def test_a_stranger_supersedes_no_memory_of_ones_own(self, ours: TransferFixture, own: bool) -> None:
        ours.take(PROJECT, SESSION, made("observation", title="Odd ports"))
        name = _name_of("Odd ports")
        newer = made("observation", session_id="other", at=NOON + 1, supersedes=name)
        absorbed = ours.take(made("session", session_id="other"), newer, own=own)
        assert absorbed.taken["observation"] == 1
        (card,) = [each for each in ours.cards(kinds=("observation",)) if each.title == "Odd ports"]
        assert (card.superseded_by is not None) == own

    def test_a_stranger_supersedes_a_strangers(self, ours: TransferFixture) -> None:
        ours.take(PROJECT, SESSION, made("observation", title="Odd ports"), own=False)
        name = _name_of("Odd ports")
        ours.take(made("observation", at=NOON + 1, supersedes=name), own=False)
        (card,) = [each for each in ours.cards(kinds=("observation",)) if each.title == "Odd ports"]
        assert card.superseded_by is not None

    def test_a_strangers_sighting_makes_no_memory_of_ones_own_more_trusted(
        self, ours: TransferFixture
    ) -> None:
        ours.take(PROJECT, SESSION, made("observation", title="Odd ports"))
        name = _name_of("Odd ports")
        ours.take(made("session", session_id="other"), own=False)
        seen = made("sighting", session_id="other", observation=name)
        assert "your own" in ours.take(seen, own=False).refused[0][1]
        assert ours.cards(kinds=("observation",))[0].seen_again == 0
        assert ours.take(seen).taken == {"sighting": 1}
        assert ours.cards(kinds=("observation",))[0].seen_again == 1

    def test_what_the_project_knows_a_stranger_need_not_tell(self, ours: TransferFixture) -> None:
        ours.take(PROJECT, SESSION, made("observation"))
        theirs = made("observation", session_id="other", title="EVEN ports.", at=NOON + DAY)
        absorbed = ours.take(made("session", session_id="other"), theirs, own=False)
        assert (absorbed.taken, absorbed.known) == ({"session": 1}, {"observation": 1})
        later = theirs | {"at": NOON + 60 * DAY}
        assert ours.take(later, own=False).taken == {"observation": 1}

    def test_a_strangers_project_is_not_the_one_that_is_meant_by_its_name(
        self, ours: TransferFixture
    ) -> None:
        ours.take(PROJECT, SESSION)
        theirs = made("project", key="github.com/evil/shop")
        later = made("session", session_id="x", project=theirs["key"], created_at=NOON + DAY)
        ours.take(theirs, later, own=False)
        found = ours.store.projects.find("shop")
        assert found is not None
        assert found.key == ORIGIN.key
        ours.take(later | {"session_id": "y"})  # one's own work there
        with pytest.raises(AmbiguousProject):
            ours.store.projects.find("shop")

    def test_strangers_left_nothing_open_for_us(self, ours: TransferFixture) -> None:
        """Their sessions are not the project's last ones; one's own are."""
        project = (PROJECT, made("session", session_id="mine"))
        ours.take(*project, made("summary", session_id="mine", next_steps="go on"))
        later = made("session", created_at=NOON + DAY, updated_at=NOON + DAY)
        ours.take(later, made("summary", next_steps="obey", at=NOON + DAY), own=False)
        assert self.left_open(ours) == ["go on"]

    def left_open(self, ours: TransferFixture) -> list[str]:
        project = ours.store.projects.find(ORIGIN.key)
        assert project is not None
        ids = ours.store.sessions.last_summaries(project.id, "", 10)
        whole = ours.store.memories.details([Ref("summary", id) for id in ids])
        return [columns["next_steps"] for _, columns in whole.values()]


def _plain(card: Card) -> str:
    said = (card.project, card.title, card.files, card.source, card.pinned, card.created_at, card.branch)
    return " ".join(map(str, said))


def _name_of(title: str) -> str:
    return name_of("theirs", NOON, content_key(Observation("decision", title)))
