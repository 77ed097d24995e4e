import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType
from starlette.datastructures import QueryParams

from claude_mem.api.fields import Body, Params, doc
from claude_mem.serve.requests import DEEPEST, Refusal, parse, read, read_arguments, read_query


class Session(Params, frozen=True, kw_only=True):
    session: Annotated[str, doc("A session.", aliases=("sessionId",))]


class Values(Body, frozen=True, kw_only=True):
    number: Annotated[int, Meta(ge=1, le=9)] | None = None
    flag: bool | None = None
    any: Any = None
    list: Annotated[tuple[Literal["a", "b", "c"], ...] | None, doc("", aliases=("lists",))] = None
    facts: tuple[str, ...] | None = None
    text: str | UnsetType | None = UNSET


def test_what_is_missing_has_its_default_and_what_is_not_known_is_ignored() -> None:
    assert read(Values, {"other": 1}) == Values()


def test_a_field_is_found_under_its_other_names() -> None:
    assert read(Session, {"sessionId": "s"}).session == "s"
    assert read(Session, {"session": None, "sessionId": "s"}).session == "s"
    assert read(Session, {"session": "  ", "sessionId": "s"}).session == "s"


def test_a_bad_value_under_another_name_is_refused_too() -> None:
    with pytest.raises(Refusal):
        read(Session, {"session": "s", "sessionId": 5})


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read(Values, {"number": 3.0}).number == 3


def test_what_may_be_null_tells_null_from_missing() -> None:
    assert read(Values, {}).text is UNSET
    assert read(Values, {"text": None}).text is None
    assert read(Values, {"text": ""}).text == ""


def test_only_parameters_are_trimmed() -> None:
    assert read(Session, {"session": " s "}).session == "s"
    assert read(Values, {"text": " s "}).text == " s "


@pytest.mark.parametrize(
    ("shape", "name", "value", "code", "message"),
    [
        (Session, "session", None, "missing_field", "`session` is missing."),
        (Session, "session", "", "missing_field", "`session` is missing."),
        (Session, "session", 5, "bad_field", "`session` must be a string."),
        (Session, "session", ["s"], "bad_field", "`session` must be a string."),
        (Values, "number", "3", "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "number", True, "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "number", 1.5, "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "number", 0, "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "number", 10, "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "number", 10**400, "bad_field", "`number` must be an integer from 1 to 9."),
        (Values, "flag", 1, "bad_field", "`flag` must be true or false."),
        (Values, "flag", "true", "bad_field", "`flag` must be true or false."),
        (Values, "list", "a", "bad_field", "`list` must be a list, each one of: a, b, c."),
        (Values, "list", ["a", 5], "bad_field", "`list` must be a list, each one of: a, b, c."),
        (Values, "list", ["a", "z"], "bad_field", "`list` must be a list, each one of: a, b, c."),
        (Values, "list", {"a": 1}, "bad_field", "`list` must be a list, each one of: a, b, c."),
        (Values, "facts", [1], "bad_field", "`facts` must be a list of strings."),
    ],
)
def test_a_bad_value_is_refused_naming_the_field(
    shape: type[Body], name: str, value: object, code: str, message: str
) -> None:
    with pytest.raises(Refusal) as refused:
        read(shape, {name: value})
    assert (refused.value.status, refused.value.code, refused.value.field) == (400, code, name)
    assert str(refused.value) == message


@pytest.mark.parametrize("value", [0, "", [], {}, False, {"a": [1]}])
def test_anything_goes_where_anything_is_asked_for(value: object) -> None:
    assert read(Values, {"any": value}).any == value


def test_a_query_holds_text_and_numbers_are_read_from_it() -> None:
    assert read_query(Values, {"number": "7"}).number == 7
    for bad in ("x", "", "-1", "٣", "1" * 40, "1.0"):
        with pytest.raises(Refusal):
            read_query(Values, {"number": bad})


@pytest.mark.parametrize(("text", "meant"), [("true", True), ("1", True), ("No", False), ("off", False)])
def test_yes_and_no_are_read_from_a_query(text: str, meant: bool) -> None:
    assert read_query(Values, {"flag": text}).flag is meant


def test_a_list_in_a_query_has_commas_or_its_name_again_under_any_of_its_names() -> None:
    for query in ("list=a,b", "list=a&list=b", "lists=a, b,", "list=a&list=%20b"):
        assert read_query(Values, QueryParams(query)).list == ("a", "b")
    assert read_query(Values, QueryParams("")).list is None
    with pytest.raises(Refusal):
        read_query(Values, QueryParams("list=a,z"))


def test_of_what_is_no_list_the_last_counts() -> None:
    assert read_query(Values, QueryParams("number=1&number=2")).number == 2


def test_what_a_model_writes_is_understood_and_unknown_names_are_refused() -> None:
    given = {"number": "5", "flag": "true", "list": "a, b", "facts": 7, "text": ["x", "y"]}
    with pytest.raises(Refusal):
        read_arguments(Values, given)  # a fact is text
    found = read_arguments(Values, given | {"facts": "one"})
    assert found == Values(number=5, flag=True, list=("a", "b"), facts=("one",), text="x,y")
    with pytest.raises(Refusal) as refused:
        read_arguments(Values, {"nmber": 5})
    assert refused.value.field == "nmber"


def nested(depth: int) -> bytes:
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.parametrize("empty", [b"", b"  \n"])
def test_nothing_counts_as_an_empty_object(empty: bytes) -> None:
    assert parse(empty) == {}


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
        (nested(DEEPEST + 1), "too_deep"),
        (b"[" * 1_000_000, "too_deep"),
        (b'{"a":' * 1_000_000, "too_deep"),
    ],
)
def test_nonsense_is_refused_by_name(raw: bytes, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(raw)
    assert (refused.value.status, refused.value.code) == (400, code)


def test_deep_is_allowed_up_to_the_bound() -> None:
    assert parse(nested(DEEPEST))


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert parse(json.dumps({"a": [[]] * 10_000}).encode())


def test_half_a_character_becomes_a_question_mark_and_a_whole_one_stays() -> None:
    assert parse(rb'{"a":"x\ud800y","b":["\uDE00"],"c":"\ud83d\ude00"}') == {
        "a": "x?y",
        "b": ["?"],
        "c": "\N{GRINNING FACE}",
    }


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_refused(raw: bytes) -> None:
    try:
        found = parse(raw)
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
    assert parse(json.dumps(said).encode()) == json.loads(json.dumps(said))
