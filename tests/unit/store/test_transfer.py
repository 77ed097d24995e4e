"""Records of any content: what was taken in comes out, and goes in elsewhere, the same."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.store_contract import NOON
from tests.contracts.transfer_contract import made

from claude_mem.model.events import Kind
from claude_mem.model.jobs import SessionStatus
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import FIELDS, FLAG, INT, LIST, REQUIRED, name_of, parse_name
from claude_mem.model.refs import TYPES
from claude_mem.serve.http.routes.memory_routes import line
from claude_mem.store.relational.transfer import SOURCES, Transfer
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.connection import queries
from claude_mem.store.sqlite.copies import scratch
from claude_mem.store.values import ExportSelection

TEXTS = st.text(max_size=12) | st.sampled_from(
    ["", " ", "\0", "\ud83d", "<private>x", "a/b/1", "\u2028", "é" * 9]
)
SESSIONS = ["s1", "s2", "a/1/b"]
PROJECTS = ["k1", "k2"]
TIMES = st.sampled_from([0, 1, NOON])
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "session_id": st.sampled_from(SESSIONS),
    "project": st.sampled_from(PROJECTS),
    "key": st.sampled_from(PROJECTS),
    "name": st.text(min_size=1, max_size=5),
    "status": st.sampled_from([*SessionStatus]),
    "event_kind": st.sampled_from([*Kind]),
    "type": st.sampled_from(TYPES),
    "source": st.sampled_from(SOURCES),
}


@st.composite
def record(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": kind}
    for name, shape in FIELDS[kind].items():
        if name not in REQUIRED[kind] and draw(st.booleans()):
            continue
        if name in ("supersedes", "observation"):
            title = draw(TEXTS.filter(str.strip))
            said = content_key(Observation("decision", title)) if draw(st.booleans()) else None
            found[name] = name_of(draw(st.sampled_from(SESSIONS)), draw(TIMES), said)
        elif name in SPECIAL:
            found[name] = draw(SPECIAL[name])
        elif shape == INT:
            found[name] = draw(TIMES if name.endswith("at") else st.integers(0, 3))
        elif shape == FLAG:
            found[name] = draw(st.booleans())
        elif shape == LIST:
            found[name] = draw(st.lists(TEXTS, max_size=2))
        else:
            found[name] = draw(TEXTS)
    return found


RECORDS = st.lists(st.sampled_from([*FIELDS]).flatmap(record), max_size=25)
KNOWN = [
    *(made("project", key=key) for key in PROJECTS),
    *(made("session", session_id=each, project="k1") for each in SESSIONS),
]


@contextmanager
def portable() -> Iterator[Transfer]:
    with TemporaryDirectory() as folder:
        opened = SqliteStore.open(Path(folder, "m.db"), clock=lambda: NOON, backups=Path(folder, "b"))
        with opened as store:
            yield Transfer(store.readers, store.writer, lambda: NOON)


def out(store: Transfer) -> bytes:
    return b"".join(map(line, store.records(ExportSelection())))


@given(RECORDS, st.booleans())
def test_whatever_was_taken_in_goes_out_and_in_again_the_same(
    records: list[dict[str, Any]], own: bool
) -> None:
    with portable() as one, portable() as other:
        first = one.absorb([*KNOWN, *records], own=own)
        assert sum(first.taken.values()) + sum(first.known.values()) + len(first.refused) == len(
            [*KNOWN, *records]
        )
        told = out(one)
        again = one.absorb([*KNOWN, *records], own=own)
        assert not {"project", "session", "prompt", "event", "observation"} & again.taken.keys()
        moved = other.absorb([json.loads(each) for each in told.splitlines()], own=True)
        assert (moved.refused, moved.known) == ((), {})
        assert out(other) == told


def test_an_observation_supersedes_none_that_was_made_later() -> None:
    later = made("observation", session_id="s1", at=NOON, title="later")
    key = content_key(Observation(later["type"], later["title"]))
    earlier = made("observation", session_id="s1", at=0, title="earlier", supersedes=name_of("s1", NOON, key))
    with portable() as one, portable() as other:
        one.absorb([*KNOWN, later, earlier], own=True)
        told = out(one)
        assert b"supersedes" not in told
        other.absorb([json.loads(each) for each in told.splitlines()], own=True)
        assert out(other) == told


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXTS, lambda x: st.lists(x) | st.dictionaries(TEXTS, x)
    )
)
def test_anything_at_all_is_taken_or_refused_and_never_a_fault(value: Any) -> None:
    kinds = [made(kind) | {name: value} for kind in FIELDS for name in FIELDS[kind]]
    with portable() as store:
        done = store.absorb([value, *KNOWN, *kinds], own=False)
        assert all(why.endswith(".") for _, why in done.refused)
        out(store)


@given(st.text(min_size=1), st.integers(0, 10**14), st.none() | st.just("beef"))
def test_a_name_says_what_it_was_made_of(session: str, at: int, key: str | None) -> None:
    assert parse_name(name_of(session, at, key)) == (session, at, key)


@pytest.mark.parametrize("name", ["", "x", "a/b", "/1/-", "a/x/-", "a/-1/-", "a/1234567890123456/-"])
def test_what_is_no_name_is_none(name: str) -> None:
    assert parse_name(name) is None


def test_memory_does_not_grow_with_what_goes_out() -> None:
    """Ten times as much, of which each session's events would fill more than is allowed."""
    with portable() as store:
        store.absorb(KNOWN, own=True)
        for number in range(200):
            events = [
                made("event", session_id="s1", event_id=f"{number}-{each}", tool_response="x" * 10_000)
                for each in range(10)
            ]
            store.absorb(events, own=True)
        tracemalloc.start()
        size = sum(len(line(each)) for each in store.records(ExportSelection()))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert size > 20_000_000
    assert most < 2_000_000


@pytest.mark.parametrize("name", ["export_observations", "export_events", "export_summaries"])
def test_nothing_long_is_sorted_before_it_goes_out(name: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "m.db")
        with SqliteStore.open(path, clock=lambda: NOON, backups=Path(folder, "b")) as store:
            asked = dict.fromkeys(("sessions", "some", "ids"), "[]")
            with store.readers.read() as db:
                plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {queries()[name]}", asked)]
    assert plan
    assert not [step for step in plan if "ORDER BY" in step]


def test_what_is_tried_on_a_copy_changes_nothing(tmp_path: Path) -> None:
    database = tmp_path / "m.db"
    with SqliteStore.open(database, clock=lambda: NOON, backups=tmp_path / "b") as store:
        Transfer(store.readers, store.writer, lambda: NOON).absorb(KNOWN[:1], own=True)
        before = {path.name for path in tmp_path.iterdir()}
        with scratch(database, lambda: NOON) as copy:
            assert copy.absorb(KNOWN, own=True).taken == {"project": 1, "session": 3}
            assert copy.absorb(KNOWN, own=True).taken == {}, "it is a store like any other"
            assert {path.name for path in tmp_path.iterdir()} == before, "nothing of it lies there"
        assert [
            each["kind"]
            for each in Transfer(store.readers, store.writer, lambda: NOON).records(ExportSelection())
        ] == ["claude-mem"], "a project without a session is none to tell of"
