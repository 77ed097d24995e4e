"""What every store must do when recall changes memory."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.contracts.store_contract import (
    HOUR,
    NOON,
    ORIGIN,
    Events,
    StoreSuite,
    catch_up,
    new_events,
)

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Kind, Origin, ToolCall
from claude_mem.model.jobs import CallCost, JobState, SessionStatus
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Card, Ref
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import ForgetPlan, Forgotten, Injection, NewEvent, Revision, Selection

NOTE = Observation("decision", "Ports are odd", narrative="We only use odd ports.", concepts=("ports",))
ELSEWHERE = replace(ORIGIN, key="github.com/a/bakery", name="bakery", root="/home/a/bakery")


@dataclass(frozen=True)
class WriteFixture:
    """A store, seen by all who use it."""

    store: Store

    def index(self) -> None:
        catch_up(self.store)

    def card(self, ref: Ref) -> Card | None:
        return next(iter(self.store.memories.cards([ref])), None)

    def remember(
        self, title: str, *, session: str = "by-hand", origin: Origin = ORIGIN, at: int = NOON
    ) -> Ref:
        ref, new = self.store.memories.remember(
            Observation("discovery", title, narrative=f"About {title}."), origin, session=session, at=at
        )
        assert new
        return ref

    def observe(self, findings: Findings, session: str = "s1") -> None:
        """All that waits in a session becomes this."""
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(100, found.id)
        assert lease is not None
        self.store.queue.settle(lease, findings, CallCost("anthropic", "haiku", 1, 0, 1, 0.5))


class MemoryWriteContract(StoreSuite):
    @pytest.fixture
    def kept(self, store: Store) -> WriteFixture:
        return WriteFixture(store)

    # Remembering

    def test_what_a_user_asks_to_keep_is_kept_with_its_origin(self, kept: WriteFixture) -> None:
        ref, new = kept.store.memories.remember(NOTE, ORIGIN, session="by-hand", at=NOON, provider="user")
        assert new
        card = kept.card(ref)
        assert card is not None
        assert (card.title, card.type, card.project, card.session) == (
            "Ports are odd",
            "decision",
            "shop",
            "by-hand",
        )
        assert (card.source, card.client, card.created_at, card.branch) == ("user", "user", NOON, "main")
        session = kept.store.sessions.find("by-hand")
        assert session is not None
        assert (session.status, session.client) == (SessionStatus.COMPLETED, "user")

    def test_what_the_project_knows_already_is_not_stored_twice(self, kept: WriteFixture) -> None:
        first, _ = kept.store.memories.remember(NOTE, ORIGIN, session="by-hand", at=NOON)
        again = replace(NOTE, title="ports are ODD", subtitle="said in other letters")
        assert kept.store.memories.remember(again, ORIGIN, session="other", at=NOON + HOUR) == (
            first,
            False,
        )
        assert kept.store.sessions.find("other") is None, "nothing was made for it"

    def test_another_project_may_know_the_same(self, kept: WriteFixture) -> None:
        first, _ = kept.store.memories.remember(NOTE, ORIGIN, session="by-hand", at=NOON)
        second, new = kept.store.memories.remember(NOTE, ELSEWHERE, session="by-hand", at=NOON)
        assert new
        assert first != second

    def test_a_note_in_a_session_that_goes_on_leaves_it_as_it_is(
        self, kept: WriteFixture, events: Events
    ) -> None:
        kept.store.events.accept(new_events(events.prompt("go")))
        kept.remember("a note", session="s1")
        session = kept.store.sessions.find("s1")
        assert session is not None
        assert (session.status, session.client) == (SessionStatus.ACTIVE, "claude-code")

    def test_an_observation_can_be_pinned(self, kept: WriteFixture) -> None:
        ref = kept.remember("a note")
        assert kept.store.memories.revise([Revision(ref.id, {"pinned": 1})])
        assert (card := kept.card(ref)) is not None
        assert card.pinned
        assert kept.store.memories.revise([Revision(ref.id, {"pinned": 0})])
        assert (card := kept.card(ref)) is not None
        assert not card.pinned
        assert not kept.store.memories.revise([Revision(Ref("observation", 999).id, {"pinned": 1})])

    # Where an observation comes from

    @pytest.mark.parametrize(
        ("found", "changed", "source"),
        [
            (Findings(), (), "external"),
            (Findings(), ("src/a.py",), "work"),
            (Findings(read_outside=False), (), "external"),
            (Findings(read_outside=False, ran=frozenset({"make"})), (), "work"),
        ],
        ids=["read", "changed", "guessed", "run"],
    )
    def test_what_no_work_supports_is_saved_as_external(
        self, kept: WriteFixture, events: Events, found: Findings, changed: tuple[str, ...], source: str
    ) -> None:
        kept.store.events.accept(new_events(events.tool()))
        observation = Observation("discovery", "T", narrative="N", files_modified=changed)
        kept.observe(replace(found, observations=(observation,)))
        card = kept.card(Ref("observation", 1))
        assert card is not None
        assert card.source == source

    # What is doomed

    def test_nothing_said_selects_nothing(self, kept: WriteFixture) -> None:
        kept.remember("a note")
        assert kept.store.deletion.plan(Selection()) == ForgetPlan()

    def test_a_session_and_a_project_alone_go_as_a_whole(self, kept: WriteFixture) -> None:
        kept.remember("one", session="a")
        kept.remember("two", session="b")
        ref = kept.remember("three", session="c", origin=ELSEWHERE)
        shop, bakery = _project(kept, Ref("observation", 1)), _project(kept, ref)
        assert kept.store.deletion.plan(Selection(session="a")) == ForgetPlan(sessions=("a",))
        assert kept.store.deletion.plan(Selection(project_id=shop)) == ForgetPlan(sessions=("a", "b"))
        assert kept.store.deletion.plan(Selection(project_id=bakery, session="a")) == ForgetPlan()
        assert kept.store.deletion.plan(Selection(session="nobody")) == ForgetPlan()

    def test_all_that_is_said_must_hold(self, kept: WriteFixture) -> None:
        old, new = kept.remember("old plan", at=NOON), kept.remember("new plan", at=NOON + HOUR)
        other = kept.remember("old plan", session="c", origin=ELSEWHERE)
        doomed = kept.store.deletion.plan
        assert doomed(Selection(text="PLAN")).refs == (old, new, other)
        assert doomed(Selection(text="plan", since=NOON + 1)).refs == (new,)
        assert doomed(Selection(text="plan", until=NOON + HOUR, session="by-hand")).refs == (old,)
        assert doomed(Selection(text="plan", project_id=_project(kept, other))).refs == (other,)
        assert doomed(Selection(refs=(old, new), text="new")).refs == (new,)
        assert doomed(Selection(refs=(Ref("observation", 999),))) == ForgetPlan()
        assert doomed(Selection(since=NOON + HOUR)).refs == (new,)

    def test_words_are_found_wherever_they_stand_and_in_any_case(
        self, kept: WriteFixture, events: Events
    ) -> None:
        tool = ToolCall("Bash", '{"command": "echo \\"Grün\\""}', "no", "t1")
        kept.store.events.accept(
            new_events(
                events.prompt('say "grün"'),
                events.make(Kind.TOOL_USE, tool=tool),
                events.make(Kind.STOP, text='It said "GRÜN".'),
            )
        )
        fact = Observation("discovery", "T", narrative="N", facts=('it is "Grün"',))
        kept.observe(Findings((fact,), (Summary(request='Say "grün"'),)))
        found = kept.store.deletion.plan(Selection(text='"grün"')).refs
        assert [str(ref) for ref in found] == ["1", "s1", "p1", "e2", "e3"]

    @pytest.mark.parametrize(
        "asked", ["src/till.py", "till.py", "/home/a/shop/src/till.py", "src/", "src/*.py"]
    )
    def test_memories_of_a_file_are_found_by_any_way_to_name_it(self, kept: WriteFixture, asked: str) -> None:
        told = Observation("change", "T", narrative="N", files_modified=("/home/a/shop/src/till.py",))
        ref, _ = kept.store.memories.remember(told, ORIGIN, session="a", at=NOON)
        kept.remember("of no file")
        assert kept.store.deletion.plan(Selection(file=asked)).refs == (ref,)
        assert kept.store.deletion.plan(Selection(file=asked, text="nothing")).refs == ()

    # Forgetting

    def test_a_forgotten_memory_is_found_no_more(self, kept: WriteFixture) -> None:
        ref, other = kept.remember("zebra crossing"), kept.remember("pelican crossing")
        kept.index()
        assert kept.store.deletion.forget(ForgetPlan(refs=(ref,))) == Forgotten(observations=1)
        assert kept.card(ref) is None
        assert kept.card(other) is not None
        assert kept.store.deletion.plan(Selection(text="zebra")) == ForgetPlan()
        assert kept.store.deletion.forget(ForgetPlan(refs=(ref,))) == Forgotten(), (
            "and once more does no harm"
        )

    def test_what_it_superseded_stands_again(self, kept: WriteFixture) -> None:
        def told(title: str, narrative: str, at: int) -> Ref:
            what = Observation("change", title, narrative=narrative, files_modified=("a.py",))
            return kept.store.memories.remember(what, ORIGIN, session="a", at=at)[0]

        old = told("Retry limit is 3 attempts", "Three.", NOON)
        new = told("Retry limit is 5 attempts", "Five.", NOON + 1)
        assert (card := kept.card(old)) is not None
        assert card.superseded_by == new.id
        kept.store.deletion.forget(ForgetPlan(refs=(new,)))
        assert (card := kept.card(old)) is not None
        assert card.superseded_by is None

    def test_a_forgotten_session_is_gone_with_its_jobs_but_not_its_cost(
        self, kept: WriteFixture, events: Events
    ) -> None:
        kept.store.events.accept(new_events(events.prompt("first"), events.tool()))
        kept.observe(Findings((NOTE,), (Summary(request="r"),)))
        kept.store.events.accept(new_events(events.tool(), events.make(Kind.SESSION_END)))
        kept.store.injections.note_injection(Injection("s1", "SessionStart", ("1",), 10, NOON))
        kept.index()
        told = kept.store.deletion.forget(ForgetPlan(sessions=("s1",)))
        assert told == Forgotten(sessions=1, observations=1, summaries=1, prompts=1, evidence=2)
        assert kept.store.sessions.find("s1") is None
        figures = kept.store.queue.figures()
        assert (figures.ready, figures.leased, figures.parked, figures.done) == (0, 0, 0, 0)
        assert [day.cost_usd for day in kept.store.queue.spending(0)] == [0.5]
        assert kept.store.injections.injections(session="s1") == []

    def test_a_batch_under_way_in_a_forgotten_session_leaves_nothing(
        self, kept: WriteFixture, events: Events
    ) -> None:
        kept.store.events.accept(new_events(events.tool()))
        lease = kept.store.queue.lease(10)
        assert lease is not None
        kept.store.deletion.forget(ForgetPlan(sessions=("s1",)))
        with pytest.raises(StoreError):
            kept.store.queue.settle(lease, Findings((NOTE,)))
        assert kept.store.deletion.plan(Selection(text="odd")) == ForgetPlan()

    @pytest.mark.parametrize("forgotten", ["e2", "p1"])
    def test_a_batch_that_holds_what_is_forgotten_is_handed_out_anew_without_it(
        self, kept: WriteFixture, events: Events, forgotten: str
    ) -> None:
        kept.store.events.accept(new_events(events.prompt("canary"), events.make(Kind.STOP, text="canary")))
        kept.store.events.accept(new_events(events.tool()))
        lease = kept.store.queue.lease(10)
        assert lease is not None
        ref = Ref.parse(forgotten)
        assert ref is not None
        kept.store.deletion.forget(ForgetPlan(refs=(ref,)))
        with pytest.raises(StoreError):
            kept.store.queue.settle(lease, Findings((NOTE,)))
        anew = kept.store.queue.lease(10)
        assert anew is not None
        assert (
            [job.event.kind for job in anew.jobs] == [Kind.PROMPT, Kind.TOOL_USE]
            if forgotten == "e2"
            else [Kind.STOP]
        )
        assert anew.attempt == 1

    def test_an_emptied_event_is_still_known_when_it_is_delivered_again(
        self, kept: WriteFixture, events: Events
    ) -> None:
        said = events.make(Kind.STOP, text="canary")
        kept.store.events.accept(new_events(said))
        doomed = kept.store.deletion.plan(Selection(text="canary"))
        assert kept.store.deletion.forget(doomed) == Forgotten(evidence=1)
        assert kept.store.events.accept(new_events(said)).fresh == 0
        assert [job.event.text for job, _ in kept.store.queue.jobs(JobState.DONE, 10)] == [None]
        assert kept.store.deletion.plan(Selection(text="canary")) == ForgetPlan()
        assert kept.card(doomed.refs[0]) is None

    def test_a_session_is_called_by_what_is_left_of_it(self, kept: WriteFixture, events: Events) -> None:
        kept.store.events.accept(new_events(events.prompt("first canary"), events.make(Kind.STOP, text="x")))
        kept.observe(Findings((), (Summary(request="Canary wanted", completed="canary"),)))
        kept.store.events.accept(new_events(events.prompt("second"), events.make(Kind.STOP, text="y")))
        kept.observe(Findings((), (Summary(request="Second wanted", completed="done"),)))
        kept.store.deletion.forget(kept.store.deletion.plan(Selection(text="canary")))
        session = kept.store.sessions.find("s1")
        assert session is not None
        assert (session.first_user_prompt, session.title, session.subtitle) == (
            "second",
            "Second wanted",
            "done",
        )

    def test_a_session_is_not_called_any_more_by_a_prompt_that_is_forgotten(
        self, kept: WriteFixture, events: Events
    ) -> None:
        prompt = NewEvent(events.prompt("please find the canary"), ORIGIN, "Find the canary")
        kept.store.events.accept([prompt])
        session = kept.store.sessions.find("s1")
        assert session is not None
        assert session.title == "Find the canary"
        kept.store.deletion.forget(kept.store.deletion.plan(Selection(text="canary")))
        session = kept.store.sessions.find("s1")
        assert session is not None
        assert (session.title, session.first_user_prompt) == (None, None)

    def test_a_project_of_which_nothing_is_left_is_gone(self, kept: WriteFixture) -> None:
        ref = kept.remember("three", session="c", origin=ELSEWHERE)
        kept.store.deletion.forget(kept.store.deletion.plan(Selection(project_id=_project(kept, ref))))
        assert kept.store.projects.find("bakery") is None
        assert kept.remember("three", session="c", origin=ELSEWHERE) != ref

    # What was told

    def test_what_was_told_is_read_back_the_newest_first(self, kept: WriteFixture) -> None:
        first = Injection("s1", "SessionStart", ("1", "s2"), 100, NOON)
        second = Injection("s1", "PreToolUse", ("12",), 20, NOON + 1, about="a.py")
        third = Injection("s2", "UserPromptSubmit", ("1",), 30, NOON + 2)
        for one in (first, second, third):
            kept.store.injections.note_injection(one)
        assert kept.store.injections.injections() == [third, second, first]
        assert kept.store.injections.injections(session="s1") == [second, first]
        assert kept.store.injections.injections(ref=Ref("observation", 1)) == [third, first]
        assert kept.store.injections.injections(session="s1", ref=Ref("summary", 2)) == [first]
        assert kept.store.injections.injections(limit=1) == [third]

    def test_what_is_forgotten_is_named_nowhere(self, kept: WriteFixture) -> None:
        ref, other = kept.remember("one"), kept.remember("two")
        kept.store.injections.note_injection(Injection("s1", "SessionStart", (str(ref), str(other)), 9, NOON))
        kept.store.injections.note_rendering("stamp", [str(other), str(ref)], 7, NOON)
        kept.store.deletion.forget(ForgetPlan(refs=(ref,)))
        assert [one.refs for one in kept.store.injections.injections()] == [(str(other),)]
        assert kept.store.injections.rendering("stamp") == ((str(other),), 7)

    def test_the_newest_renderings_are_kept(self, kept: WriteFixture) -> None:
        for number in range(502):
            kept.store.injections.note_rendering(f"r{number}", [str(number)], number, NOON + number)
        assert kept.store.injections.rendering("r1") is None
        assert kept.store.injections.rendering("r2") == (("2",), 2)
        kept.store.injections.note_rendering("r2", ["s5"], 3, NOON + 999)
        assert kept.store.injections.rendering("r2") == (("s5",), 3)

    # Evidence that was kept long enough

    def test_old_evidence_is_emptied_and_what_waits_is_not(self, kept: WriteFixture, events: Events) -> None:
        kept.store.events.accept(
            new_events(events.prompt("p"), events.tool(), events.make(Kind.STOP, text="z"))
        )
        kept.observe(Findings((NOTE,)))
        kept.store.events.accept(new_events(events.tool(), events.tool("late", at=NOON + HOUR)))
        kept.index()
        assert kept.store.upkeep.expire_evidence(NOON) == 0
        assert kept.store.upkeep.expire_evidence(NOON + HOUR, limit=1) == 1
        assert kept.store.upkeep.expire_evidence(NOON + HOUR) == 1
        assert kept.store.upkeep.expire_evidence(NOON + HOUR) == 0
        assert kept.store.deletion.plan(Selection(text="zebra")) == ForgetPlan()
        left = kept.store.deletion.plan(Selection(since=0))
        assert [str(ref) for ref in left.refs] == ["1", "p1", "e4", "e5"]


def _project(kept: WriteFixture, ref: Ref) -> int:
    card = kept.card(ref)
    assert card is not None
    return card.project_id
