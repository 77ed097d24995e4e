"""Names and places of memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.refs import (
    KINDS,
    MemoryKind,
    Ref,
    id_at,
    idf,
    keys_by_kind,
    kind_at,
    memory_key,
    project_at,
    ref_at,
    session_at,
    sessions_at,
    span,
    wide_key,
)

places = st.tuples(
    st.integers(0, 2**14 - 1), st.integers(0, 2**22 - 1), st.sampled_from(KINDS), st.integers(0, 2**25 - 1)
)
wide_places = st.tuples(st.integers(0, 2**30 - 1), st.sampled_from(KINDS), st.integers(0, 2**31 - 1))


@given(st.sampled_from(KINDS), st.integers(0, 10**12 - 1))
def test_a_ref_is_read_as_it_is_written(kind: MemoryKind, id: int) -> None:
    assert Ref.parse(str(Ref(kind, id))) == Ref(kind, id)


@pytest.mark.parametrize(("written", "ref"), [(" #12 ", Ref("observation", 12)), ("S3", Ref("summary", 3))])
def test_people_may_write_a_ref_in_their_own_way(written: str, ref: Ref) -> None:
    assert Ref.parse(written) == ref


@given(st.text())
@pytest.mark.parametrize("not_one", ["", "s", "x1", "-1", "1.5", "١٢", "²", "1" * 13, "s 1", "12s"])
def test_anything_else_is_no_ref(not_one: str, text: str) -> None:
    assert Ref.parse(not_one) is None
    found = Ref.parse(text)
    assert found is None or found.id >= 0


@given(places)
def test_a_spot_tells_its_memory_and_its_session_and_lies_in_its_projects_span(
    place: tuple[int, int, MemoryKind, int],
) -> None:
    project, session, kind, id = place
    at = memory_key(project, session, Ref(kind, id))
    assert (ref_at(at), session_at(at)) == (Ref(kind, id), session)
    assert project_at(at) == project
    first, last = span(project)
    assert 0 <= first <= at <= last < 2**63, "SQLite's integers hold it"


@given(wide_places)
def test_a_wide_key_tells_its_memory_and_its_session(place: tuple[int, MemoryKind, int]) -> None:
    session, kind, id = place
    key = wide_key(session, Ref(kind, id))
    assert -(2**63) <= key < 0, "PostgreSQL's integers hold it, and no other key is like it"
    assert (ref_at(key), kind_at(key), id_at(key)) == (Ref(kind, id), kind, id)
    assert (session_at(key), sessions_at([key, key])) == (session, [session, session])
    assert keys_by_kind([key]) == {kind: {key}}


@given(wide_places, wide_places)
def test_wide_keys_are_in_the_order_of_sessions(
    one: tuple[int, MemoryKind, int], other: tuple[int, MemoryKind, int]
) -> None:
    places = [(session, KINDS.index(kind), id) for session, kind, id in (one, other)]
    keys = [wide_key(session, Ref(kind, id)) for session, kind, id in (one, other)]
    assert (keys[0] < keys[1]) == (places[0] < places[1])


@pytest.mark.parametrize(("session", "id"), [(2**30, 1), (1, 2**31)])
def test_nor_has_a_wide_key_a_place_for_everything(session: int, id: int) -> None:
    with pytest.raises(OverflowError):
        wide_key(session, Ref("observation", id))


@given(places, places)
def test_no_two_memories_have_one_spot(
    one: tuple[int, int, MemoryKind, int], other: tuple[int, int, MemoryKind, int]
) -> None:
    one_at, other_at = (memory_key(p, s, Ref(kind, id)) for p, s, kind, id in (one, other))
    assert (one_at == other_at) == (one == other)


@pytest.mark.parametrize(("project", "session", "id"), [(2**14, 1, 1), (1, 2**22, 1), (1, 1, 2**25)])
def test_what_has_no_place_is_said_and_never_wrapped_around(project: int, session: int, id: int) -> None:
    with pytest.raises(OverflowError):
        memory_key(project, session, Ref("observation", id))


def test_a_word_says_more_the_rarer_it_is_and_never_less_than_nothing() -> None:
    assert idf(0, 100) > idf(1, 100) > idf(50, 100) > idf(100, 100) > 0
    assert idf(7, 5) > 0, "counted a moment later than all of them"
