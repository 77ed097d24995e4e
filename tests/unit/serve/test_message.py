import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.serve import message
from claude_mem.serve.refusal import Refusal


def nested(depth: int) -> bytes:
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.parametrize("empty", [b"", b"  \n"])
def test_nothing_counts_as_an_empty_object(empty: bytes) -> None:
    assert message.parse(empty) == {}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", "bad_json"),
        (b"[1]", "bad_json"),
        (b'"text"', "bad_json"),
        (b"\xff{}", "bad_json"),
        ('{"a":1}'.encode("utf-16"), "bad_json"),
        (b'{"a":NaN}', "bad_json"),
        (b'{"a":-Infinity}', "bad_json"),
        (b'{"a":' + b"9" * 5000 + b"}", "bad_json"),
        (nested(message.DEEPEST + 1), "too_deep"),
        (b"[" * 1_000_000, "too_deep"),
        (b'{"a":' * 1_000_000, "too_deep"),
    ],
)
def test_nonsense_is_refused_by_name(raw: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        message.parse(raw)
    assert (refused.value.status, refused.value.code) == (400, code)


def test_deep_is_allowed_up_to_the_bound() -> None:
    assert message.parse(nested(message.DEEPEST))


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert message.parse(json.dumps({"a": [[]] * 10_000}).encode())


def test_half_a_character_becomes_a_question_mark_and_a_whole_one_stays() -> None:
    assert message.parse(rb'{"a":"x\ud800y","b":["\uDE00"],"c":"\ud83d\ude00"}') == {
        "a": "x?y",
        "b": ["?"],
        "c": "\N{GRINNING FACE}",
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_refused(raw: bytes) -> None:
    try:
        found = message.parse(raw)
    except Refusal:
        return
    json.dumps(found, ensure_ascii=False).encode("utf-8")


@given(
    st.dictionaries(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists),
    )
)
def test_what_was_said_is_what_is_heard(said: dict[str, object]) -> None:
    assert message.parse(json.dumps(said).encode()) == json.loads(json.dumps(said))
