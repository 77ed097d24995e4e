"""What every store must return to recall."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from tests.contracts.memory_write_contract import ELSEWHERE
from tests.contracts.store_contract import (
    HOUR,
    NOON,
    ORIGIN,
    Events,
    StoreSuite,
    catch_up,
    new_events,
)

from claude_mem.model.errors import AmbiguousProject, AmbiguousSession
from claude_mem.model.events import Kind, Origin, ToolCall
from claude_mem.model.full_text import query_words
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Filters, Ref, ref_at, session_at
from claude_mem.model.structs import replace
from claude_mem.store.base import Store
from claude_mem.store.values import Revision, TextQuery


@dataclass(frozen=True)
class ReadFixture:
    """A store, seen by those who fill it and those who read it."""

    store: Store

    def index(self) -> None:
        catch_up(self.store)

    def keep(
        self, title: str, *, session: str = "s1", origin: Origin = ORIGIN, at: int = NOON, **more: Any
    ) -> Ref:
        client = more.pop("client", "claude-code")
        observation = Observation(more.pop("type", "change"), title, **more)
        ref, new = self.store.memories.remember(
            observation, origin, session=session, at=at, source="work", client=client
        )
        assert new
        self.index()
        return ref

    def listed(self, **asked: Any) -> list[str]:
        names = ("limit", "offset", "newest_first")
        how: dict[str, Any] = {"limit": 100} | {name: asked.pop(name) for name in names if name in asked}
        return [str(card.ref) for card in self.store.memories.list_cards(Filters(**asked), **how)]

    def found(self, query: str, project_id: int | None = None) -> set[str]:
        matched = self.store.memories.match(TextQuery(*query_words(query)), project_id).matched
        return {str(ref_at(key)) for each in matched for key in each.scores}

    def project(self, origin: Origin = ORIGIN) -> int:
        project = self.store.projects.find(origin.key)
        assert project is not None
        return project.id


class MemoryReadContract(StoreSuite):
    @pytest.fixture
    def read(self, store: Store) -> ReadFixture:
        return ReadFixture(store)

    @pytest.fixture
    def turn(self, read: ReadFixture, events: Events) -> ReadFixture:
        """A prompt, an edit, what they taught: one memory of each kind."""
        edit = ToolCall("Edit", '{"file_path": "/home/a/shop/src/Till.py"}', "done", "t1")
        root = ORIGIN.root
        read.store.events.accept(
            new_events(
                events.prompt("mend the till", cwd=root),
                events.make(Kind.TOOL_USE, tool=edit, cwd=root),
                events.prompt(None, private=True, cwd=root),
            )
        )
        lease = read.store.queue.lease(10)
        assert lease is not None
        observation = Observation(
            "bugfix", "The till rounds up", narrative="by cents", files_modified=("a.py",)
        )
        summary = Summary(request="mend it", completed="mended", files_edited=("a.py",))
        read.store.queue.settle(lease, Findings((observation,), (summary,)), provider="haiku")
        read.index()
        return read

    # Cards

    def test_every_kind_of_memory_has_a_card_that_tells_where_it_comes_from(self, turn: ReadFixture) -> None:
        refs = [Ref("observation", 1), Ref("summary", 1), Ref("prompt", 1), Ref("evidence", 2)]
        cards = {card.ref: card for card in turn.store.memories.cards([*refs, Ref("observation", 99)])}
        assert set(cards) == set(refs)
        for card in cards.values():
            assert (card.session, card.project, card.branch) == ("s1", "shop", "main")
            assert (card.project_id, card.commit) == (turn.project(), "c0ffee")
            assert card.created_at > 0
            assert card.prompt_number == 1
            assert card.title
        assert cards[Ref("observation", 1)].type == "bugfix"
        assert cards[Ref("observation", 1)].files_modified == ("a.py",)
        assert cards[Ref("prompt", 1)].source == "work", "nobody asked for it to be kept"
        assert cards[Ref("evidence", 2)].files == ("src/Till.py",)

    def test_what_was_private_has_no_card_and_is_in_no_list(self, turn: ReadFixture) -> None:
        assert turn.store.memories.cards([Ref("prompt", 2), Ref("evidence", 3)]) == []
        assert turn.listed(kinds=("prompt",)) == ["p1"]
        assert "e3" not in turn.listed(kinds=("evidence",))

    def test_a_whole_memory_has_its_columns_with_lists_as_lists(self, turn: ReadFixture) -> None:
        whole = turn.store.memories.details([Ref("observation", 1), Ref("summary", 1)])
        card, columns = whole[Ref("observation", 1)]
        assert (columns["narrative"], columns["files_modified"], columns["provider"]) == (
            "by cents",
            ["a.py"],
            "haiku",
        )
        assert card.text.startswith("by cents")
        assert whole[Ref("summary", 1)][1]["files_edited"] == ["a.py"]

    def test_the_last_id_of_each_kind_is_the_highest_whenever_it_was(self, turn: ReadFixture) -> None:
        assert turn.store.memories.last_ids() == {"observation": 1, "summary": 1, "prompt": 2, "evidence": 3}
        late = turn.keep("Learned late", at=NOON - HOUR)
        assert turn.store.memories.last_ids()["observation"] == late.id == 2

    # Lists

    def test_lists_go_by_time_either_way_and_in_pages(self, read: ReadFixture) -> None:
        for number in range(5):
            read.keep(f"thing {number}", at=NOON + number * HOUR)
        assert read.listed() == ["5", "4", "3", "2", "1"]
        assert read.listed(newest_first=False, limit=2) == ["1", "2"]
        assert [read.listed(limit=2, offset=offset) for offset in (0, 2, 4, 6)] == [
            ["5", "4"],
            ["3", "2"],
            ["1"],
            [],
        ]

    def test_kinds_are_listed_among_each_other(self, turn: ReadFixture) -> None:
        at_noon = turn.listed(until=NOON + 1)
        turn.keep("later", at=NOON + HOUR)
        assert turn.listed()[0] == "2"
        assert at_noon == []
        assert {"1", "s1", "p1", "e2"} <= set(turn.listed(since=NOON))

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({"types": ("bugfix",)}, ["1"]),
            ({"types": ("bugfix", "change"), "equal": {"branch": "main"}}, ["2", "1"]),
            ({"types": ("bugfix",), "project_id": 1, "kinds": ("observation",)}, ["1"]),
            ({"equal": {"branch": "dev"}}, ["3"]),
            ({"session": "s2"}, ["2"]),
            ({"session": "s2", "project_id": 1}, ["2"]),
            ({"session": "s2", "project_id": 999}, []),
            ({"session": "s"}, []),
            ({"file": "src/till.py"}, ["3", "1"]),
            ({"file": "till.py", "project_id": 1, "types": ("change",)}, ["3"]),
            ({"file": "src/"}, ["3", "2", "1"]),
            ({"file": "*/*.rs"}, ["2"]),
            ({"file": "ill.py"}, []),
            ({"file": "till.py", "project_id": 999}, []),
            ({"equal": {"client": "cursor"}}, ["2"]),
            ({"concepts": ("io", "api")}, ["3", "1"]),
            ({"concepts": ("io",), "project_id": 1}, ["1"]),
            ({"concepts": ("i",)}, []),
            ({"pinned": True}, ["2"]),
            ({"pinned": True, "project_id": 1}, ["2"]),
            ({"pinned": True, "project_id": 999}, []),
            ({"since": NOON + HOUR}, ["3", "2"]),
            ({"until": NOON + HOUR}, ["1"]),
            ({"superseded": True}, []),
            ({"superseded": False, "equal": {"branch": "main"}}, ["2", "1"]),
            ({"wrong": True, "project_id": 1}, []),
            ({"wrong": False, "project_id": 1}, ["3", "2", "1"]),
            ({"project_id": 999}, []),
        ],
        ids=str,
    )
    def test_a_list_is_narrowed(self, read: ReadFixture, asked: dict[str, Any], found: list[str]) -> None:
        read.keep("heron one", type="bugfix", files_modified=("src/Till.py",), concepts=("io", "a b"))
        two = read.keep("heron two", session="s2", client="cursor", at=NOON + HOUR, files_read=("src/x.rs",))
        dev = replace(ORIGIN, branch="dev")
        later: dict[str, Any] = {"at": NOON + 2 * HOUR, "files_read": ("src/till.py",), "concepts": ("api",)}
        read.keep("heron three", origin=dev, session="s3", **later)
        read.store.memories.revise([Revision(two.id, {"pinned": 1})])
        assert read.listed(**asked) == found
        assert read.store.memories.count(Filters(**asked)) == len(found)
        key_filter = read.store.memories.key_filter(Filters(**asked))
        if key_filter is not None:
            (herons,) = read.store.memories.match(TextQuery(("heron",)), None).matched
            passed = key_filter(herons.scores)
            assert {str(ref_at(key)) for key in passed} == set(found)
            assert key_filter.listed is None or passed <= set(key_filter.listed)

    def test_of_a_file_is_what_was_done_to_it_and_not_what_was_said_of_it(
        self, turn: ReadFixture, events: Events
    ) -> None:
        turn.store.events.accept(new_events(events.prompt("what is src/Till.py for?", "s2", at=NOON + HOUR)))
        turn.index()
        assert turn.listed(file="src/till.py") == ["e2"]

    # Matching

    def test_words_are_found_everywhere_or_in_one_project(self, read: ReadFixture) -> None:
        ours = read.keep("the heron sings")
        theirs = read.keep("the heron dances", origin=ELSEWHERE, session="m")
        assert read.found("heron") == {str(ours), str(theirs)}
        assert read.found("heron", read.project()) == {str(ours)}
        assert read.found("zebra") == set()

    def test_a_match_says_how_many_memories_there_are_in_its_project(self, read: ReadFixture) -> None:
        for number in range(3):
            read.keep(f"heron {number}")
        read.keep("heron", origin=ELSEWHERE, session="m")
        wording = TextQuery(("heron",))
        assert read.store.memories.match(wording, None).sizes.total == 4
        assert read.store.memories.match(wording, read.project()).sizes.total == 3

    def test_the_length_of_a_session_is_what_was_said_in_it(self, turn: ReadFixture) -> None:
        sizes = turn.store.memories.match(TextQuery(("heron",)), None).sizes
        assert list(sizes.sessions.values()) == [sizes.prose]
        assert 0 < sizes.prose < sizes.total, "tools were used"

    def test_what_is_kept_while_others_search_disturbs_nobody(self, read: ReadFixture) -> None:
        read.keep("heron 0")
        with ThreadPoolExecutor(4) as threads:
            searches = [threads.submit(read.found, "heron", 1) for _ in range(60)]
            for number in range(1, 20):
                read.keep(f"heron {number}", session=f"s{number}")
            assert all(search.result() for search in searches)
        assert len(read.found("heron")) == 20

    # Files

    def test_a_file_is_found_by_its_path_the_end_of_it_or_a_longer_one(self, turn: ReadFixture) -> None:
        for asked in ("src/Till.py", "till.py", "/home/a/shop/src/Till.py", "src\\till.py"):
            (touching,) = turn.store.memories.of_file(asked, Filters(), 10)
            assert (str(touching.card.ref), touching.how) == ("e2", "modified")
        assert turn.store.memories.of_file("ill.py", Filters(), 10) == []
        assert turn.store.memories.of_file("src", Filters(), 10) == []
        assert turn.store.memories.of_file("src/Till.py", Filters(999), 10) == []

    def test_a_files_memories_are_the_newest_first_and_no_more_than_asked_for(
        self, read: ReadFixture
    ) -> None:
        for number in range(4):
            read.keep(f"t{number}", session=f"s{number}", at=NOON + number, files_read=("src/x.py",))
        touching = read.store.memories.of_file("x.py", Filters(read.project()), 2)
        assert [str(each.card.ref) for each in touching] == ["4", "3"]
        touched = read.store.memories.keys_of_file("x.py", Filters(read.project(), until=NOON + 3), 2)
        assert [(str(ref_at(key)), how) for key, how in touched] == [("3", "read"), ("2", "read")]

    def test_files_beside_are_those_in_a_folder_and_below_it(self, read: ReadFixture) -> None:
        read.keep("one", files_modified=("src/a.py", "src/deep/b.py", "src0/c.py", "srcs/d.py", "a/src/e.py"))
        (session,) = {card.session_db_id for card in read.store.memories.cards([Ref("observation", 1)])}
        found = read.store.memories.in_folder("Src", read.project())
        assert {path for _, path in found} == {"src/a.py", "src/deep/b.py"}
        assert {(session_at(key), ref_at(key)) for key, _ in found} == {(session, Ref("observation", 1))}

    # Projects and sessions

    def test_a_project_is_found_by_its_key_or_its_name_but_not_by_a_name_that_two_have(
        self, read: ReadFixture
    ) -> None:
        read.keep("one")
        by_key, by_name = read.store.projects.find(ORIGIN.key), read.store.projects.find("shop")
        assert by_key is not None
        assert by_key == by_name
        assert by_key.root == ORIGIN.root
        fork = replace(ORIGIN, key="github.com/b/shop", root="/home/b/shop")
        read.keep("two", origin=fork, session="f", at=NOON + HOUR)
        with pytest.raises(AmbiguousProject) as ambiguous:
            read.store.projects.find("shop")
        assert {each["key"] for each in ambiguous.value.projects} == {ORIGIN.key, fork.key}
        assert read.store.projects.find("nobody's") is None
        (last, first) = read.store.projects.newest(10)
        assert (last.key, last.sessions, last.observations, last.last_at) == (fork.key, 1, 1, NOON + HOUR)
        assert read.store.projects.newest(1, 1) == [first]
        assert read.store.sessions.figures(by_key.id) == (1, 1)

    def test_a_session_is_found_by_its_id_the_beginning_of_it_or_the_databases(
        self, read: ReadFixture
    ) -> None:
        read.keep("one", session="abcd-1")
        read.keep("two", session="abcd-22", at=NOON + HOUR)
        for given, id in (("abcd-1", "abcd-1"), ("abcd-2", "abcd-22"), ("1", "abcd-1"), ("2", "abcd-22")):
            found = read.store.sessions.session(given)
            assert found is not None, given
            assert found["claude_session_id"] == id
        assert read.store.sessions.session("abc") is None, "too short to mean one in particular"
        assert read.store.sessions.session("nobody") is None
        assert read.store.sessions.session("%") is None

    def test_a_session_of_another_agent_is_found_without_the_agents_name(self, read: ReadFixture) -> None:
        read.keep("one", session="codex:0199aaaa-1")
        read.keep("two", session="copilot:77bb-2")
        read.keep("three", session="codex:0199aaaa-12")
        for given, id in (
            ("77bb", "copilot:77bb-2"),
            ("77bb-2", "copilot:77bb-2"),
            ("copilot:77bb", "copilot:77bb-2"),
            ("0199aaaa-1", "codex:0199aaaa-1"),
        ):
            found = read.store.sessions.session(given)
            assert found is not None, given
            assert found["claude_session_id"] == id
        for given in ("copilot", "copilot:", "copilot:77b"):
            assert read.store.sessions.session(given) is None, "too little of the id"

    @pytest.mark.parametrize("given", ["0199aaaa", "0199aaaa-", "codex:0199", "2026"])
    def test_the_beginning_of_several_sessions_ids_names_them_all_and_none(
        self, read: ReadFixture, given: str
    ) -> None:
        sessions = ["codex:0199aaaa-1", "codex:0199aaaa-2", "2026-a", "cline:2026-b"]
        for number, session in enumerate(sessions):
            read.keep(str(number), session=session)
        with pytest.raises(AmbiguousSession) as ambiguous:
            read.store.sessions.session(given)
        meant = [each for each in sessions if given in each]
        assert ambiguous.value.sessions == tuple(reversed(meant))
        assert ambiguous.value.field == "session"
        assert all(each in str(ambiguous.value) for each in meant)

    def test_a_sessions_neighbours_go_by_time_whatever_was_stored_first(self, read: ReadFixture) -> None:
        """An import brings old sessions in after new ones."""
        for name, at in (("new-", NOON), ("oldest", NOON - 2 * HOUR), ("older", NOON - HOUR)):
            read.keep(name, session=name, at=at)
        read.keep("x", session="elsewhere", origin=ELSEWHERE, at=NOON - HOUR)
        older = read.store.sessions.session("older")
        assert older is not None
        assert (older["before"]["claude_session_id"], older["after"]["claude_session_id"]) == (
            "oldest",
            "new-",
        )
        new = read.store.sessions.session("new-")
        assert new is not None
        assert (new["before"]["claude_session_id"], new["after"]) == ("older", None)
        oldest = read.store.sessions.session("oldest")
        assert oldest is not None
        assert oldest["before"] is None

    def test_sessions_are_listed_by_when_something_last_happened_and_narrowed(
        self, read: ReadFixture, events: Events
    ) -> None:
        read.store.events.accept(new_events(events.prompt("one", "early", at=NOON)))
        read.store.events.accept(new_events(events.prompt("two", "late", at=NOON + HOUR), origin=ELSEWHERE))
        read.store.events.accept(new_events(events.prompt("three", "early", at=NOON + 2 * HOUR)))

        def listed(limit: int = 9, offset: int = 0, **asked: Any) -> list[str]:
            found = read.store.sessions.sessions(Filters(**asked), limit=limit, offset=offset)
            return [row["claude_session_id"] for row in found]

        assert listed() == ["early", "late"]
        assert listed(limit=1, offset=1) == ["late"]
        assert listed(project_id=read.project(ELSEWHERE)) == ["late"]
        assert listed(since=NOON + 2 * HOUR) == ["early"]
        assert listed(until=NOON + 1) == ["early"]
        assert listed(equal={"client": "cursor"}) == []

    def test_the_last_summaries_are_one_a_session_and_none_of_the_session_itself(
        self, read: ReadFixture, events: Events
    ) -> None:
        for number, session in enumerate(("a", "b", "a", "c")):
            at = NOON + number * HOUR
            read.store.events.accept(
                new_events(events.prompt(f"p{number}", session, at=at, cwd=f"/home/a/{session}"))
            )
            found = read.store.sessions.find(session)
            assert found is not None
            lease = read.store.queue.lease(10, found.id)
            assert lease is not None
            read.store.queue.settle(lease, Findings((), (Summary(request=f"r{number}"),)))
        project = read.project()
        assert read.store.sessions.last_summaries(project, "", 9) == [4, 3, 2]
        assert read.store.sessions.last_summaries(project, "c", 1) == [3]
        assert read.store.sessions.directories(project, 2) == ["/home/a/c", "/home/a/a"]
