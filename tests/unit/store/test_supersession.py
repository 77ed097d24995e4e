"""When two observations say the same, and when one stands in another's place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.memory import Observation, content_key
from claude_mem.model.structs import replace
from claude_mem.store.relational.observations import supersedes

TIMEOUT = Observation(
    "decision",
    title="Session timeout is 30 minutes",
    narrative="Sessions end after half an hour.",
    facts=("SESSION_TIMEOUT = 30 in auth/keys.py",),
    concepts=("how-it-works",),
    files_modified=("auth/keys.py",),
)
LATER = replace(
    TIMEOUT,
    title="Session timeout is 60 minutes",
    narrative="Users were logged out while reading.",
    facts=("SESSION_TIMEOUT = 60 in auth/keys.py",),
)


@pytest.mark.parametrize(
    "same",
    [
        replace(TIMEOUT, title="session  timeout is 30 minutes."),
        replace(TIMEOUT, title="“Session timeout” is **30** minutes"),
        replace(TIMEOUT, narrative="Sessions end\n  after half an hour"),
        replace(TIMEOUT, type="change", subtitle="another", concepts=(), files_modified=()),
    ],
)
def test_the_same_words_set_otherwise_are_the_same_content(same: Observation) -> None:
    assert content_key(same) == content_key(TIMEOUT)


def test_the_order_of_the_facts_does_not_matter() -> None:
    assert content_key(Observation("change", facts=("a", "b"))) == content_key(
        Observation("change", facts=("B.", "a"))
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timeout is 30", "timeout is 60"),
        ("version 1.5", "version 15"),
        ("when x > 3", "when x < 3"),
        ("if a != b", "if a == b"),
        ("returns -1", "returns 1"),
        ("!ready is tested", "ready is tested"),
        ("_private is called", "private is called"),
        ("登录超时", "登录失败"),
    ],
)
def test_what_means_something_else_is_not_the_same(one: str, other: str) -> None:
    assert content_key(Observation("change", title=one)) != content_key(Observation("change", title=other))


def test_one_that_says_nothing_has_no_key() -> None:
    assert content_key(Observation("change", title=" ", narrative="\n", facts=("",), subtitle="S")) is None


def test_a_title_alone_is_the_same_only_for_the_same_files_and_type() -> None:
    bare = Observation("change", title="Tests added", files_modified=("a.py", "b.py"))
    assert content_key(bare) == content_key(
        replace(bare, title="tests added.", files_modified=("b.py", "a.py"))
    )
    assert content_key(bare) != content_key(replace(bare, files_modified=("c.py",)))
    assert content_key(bare) != content_key(replace(bare, type="feature"))
    assert content_key(replace(bare, title=None)) is None


@given(st.text(), st.text(), st.lists(st.text(), max_size=3))
def test_any_text_has_a_key_or_none(title: str, narrative: str, facts: list[str]) -> None:
    observation = Observation("change", title=title, narrative=narrative, facts=tuple(facts))
    key = content_key(observation)
    assert key is None or len(key) == 32
    assert key == content_key(replace(observation, facts=tuple(reversed(facts))))
    assert not supersedes(observation, observation)


def test_a_later_state_of_the_same_thing_supersedes_the_former() -> None:
    assert supersedes(LATER, TIMEOUT)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Pump retries when the store fails", "Pump retries when the store fails twice"),
        ("Pump retries when the store fails twice", "Pump retries when the store fails"),
        ("Retries of the pump raised to 5", "Retries of the pump raised to 3"),
        (
            "Pump backoff factor of slow local providers = 2.75",
            "Pump backoff factor of slow local providers = 1.5",
        ),
        (
            "Pump backoff factor of slow local providers is 2.75 now",
            "Pump backoff factor of slow local providers is 1.5",
        ),
    ],
)
def test_one_that_tells_more_or_less_or_another_number_of_the_same_supersedes(new: str, old: str) -> None:
    one = replace(TIMEOUT, title=old, narrative="one")
    assert supersedes(replace(TIMEOUT, title=new, narrative="two"), one)


def test_the_same_content_supersedes_nothing() -> None:
    assert not supersedes(replace(TIMEOUT, title="session timeout is 30 minutes!"), TIMEOUT)


def test_another_place_is_another_thing() -> None:
    assert not supersedes(replace(LATER, files_modified=("cart/keys.py",)), TIMEOUT)
    assert not supersedes(replace(LATER, files_modified=()), TIMEOUT)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Parser accepts trailing commas", "Parser reports the line of an error"),
        ("Fixed issue 13 in the parser", "Fixed issue 12 in the parser"),
        ("auth/keys.py changed", "auth/keys.py changed (+3 −1)"),
        ("Login", "Login"),
        ("Pump retries when the provider fails", "Pump retries when the store fails"),
        ("Test test_login_rejects_empty_username added", "Test test_login_rejects_empty_password added"),
        ("Fixed issue 13 in the parser of dates", "Fixed issue 12 in the parser of dates"),
        ("Session timeout of guests is 60 minutes", "Session timeout of staff is 30 minutes"),
    ],
)
def test_two_things_done_to_one_file_both_stand(new: str, old: str) -> None:
    one = replace(TIMEOUT, title=old, narrative="one")
    assert not supersedes(replace(TIMEOUT, title=new, narrative="two"), one)


def test_the_name_of_the_file_is_no_subject() -> None:
    title = "load_key() changed in auth/keys.py"
    file = ("src/auth/keys.py", "src/load/key.py")
    one, two = (Observation("change", title=title, narrative=n, files_modified=file) for n in "ab")
    assert not supersedes(two, one)


def test_without_files_only_a_near_identical_subject_of_the_same_concepts_counts() -> None:
    old = replace(TIMEOUT, title="Deploys to staging run at night in Frankfurt", files_modified=())
    new = replace(old, title="Deploys to staging run at noon in Frankfurt", narrative="moved")
    assert not supersedes(new, old)
    same_title = replace(old, narrative="They run on another machine now.")
    assert supersedes(same_title, old)
    assert not supersedes(replace(same_title, concepts=("gotcha",)), old)
    assert not supersedes(replace(same_title, concepts=()), replace(old, concepts=()))


def test_titles_written_without_spaces_are_compared_too() -> None:
    old = replace(TIMEOUT, title="会话超时设置为三十分钟")
    assert supersedes(replace(old, title="会话超时设置为三十分钟左右", narrative="新"), old)
    assert not supersedes(replace(old, title="会话超时显示为三十分钟", narrative="新"), old)
    assert not supersedes(replace(old, title="登录页面增加验证码", narrative="新"), old)
