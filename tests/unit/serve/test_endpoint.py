import pytest
from starlette.datastructures import QueryParams

from claude_mem.serve.endpoint import Field, pick, pick_query
from claude_mem.serve.refusal import Refusal

SESSION = Field("session", "string", "", required=True, also=("sessionId",))
NUMBER = Field("number", "integer", "", least=1, most=9)
FLAG = Field("flag", "boolean", "")
ANY = Field("any", "any", "")
LIST = Field("list", "array", "", items="string", also=("lists",), choices=("a", "b", "c"))


def test_what_is_missing_is_none_and_what_is_not_asked_for_is_ignored() -> None:
    assert pick((NUMBER, FLAG, ANY), {"other": 1}) == {"number": None, "flag": None, "any": None}


def test_a_field_is_found_under_its_other_names() -> None:
    assert pick((SESSION,), {"sessionId": "s"}) == {"session": "s"}
    assert pick((SESSION,), {"session": None, "sessionId": "s"}) == {"session": "s"}


def test_a_bad_value_under_another_name_is_refused_too() -> None:
    with pytest.raises(Refusal):
        pick((SESSION,), {"session": "s", "sessionId": 5})


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert pick((NUMBER,), {"number": 3.0}) == {"number": 3}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (SESSION, None),
        (SESSION, ""),
        (SESSION, 5),
        (SESSION, ["s"]),
        (NUMBER, "3"),
        (NUMBER, True),
        (NUMBER, 1.5),
        (NUMBER, 0),
        (NUMBER, 10),
        (NUMBER, 10**400),
        (FLAG, 1),
        (FLAG, "true"),
        (LIST, "a"),
        (LIST, ["a", 5]),
        (LIST, ["a", "z"]),
        (LIST, {"a": 1}),
    ],
)
def test_a_bad_value_is_refused_naming_the_field(field: Field, value: object) -> None:
    with pytest.raises(Refusal) as refused:
        pick((field,), {field.name: value})
    assert (refused.value.status, refused.value.field) == (400, field.name)


@pytest.mark.parametrize("value", [0, "", [], {}, False, {"a": [1]}])
def test_anything_goes_where_anything_is_asked_for(value: object) -> None:
    assert pick((ANY,), {"any": value}) == {"any": value}


def test_a_query_holds_text_and_numbers_are_read_from_it() -> None:
    assert pick_query((NUMBER,), {"number": "7"}) == {"number": 7}
    for bad in ("x", "", "-1", "٣", "1" * 40, "1.0"):
        with pytest.raises(Refusal):
            pick_query((NUMBER,), {"number": bad})


@pytest.mark.parametrize(("text", "meant"), [("true", True), ("1", True), ("No", False), ("off", False)])
def test_yes_and_no_are_read_from_a_query(text: str, meant: bool) -> None:
    assert pick_query((FLAG,), {"flag": text}) == {"flag": meant}


def test_a_list_in_a_query_has_commas_or_its_name_again_under_any_of_its_names() -> None:
    for query in ("list=a,b", "list=a&list=b", "lists=a, b,", "list=a&list=%20b"):
        assert pick_query((LIST,), QueryParams(query)) == {"list": ["a", "b"]}
    assert pick_query((LIST,), QueryParams("")) == {"list": None}
    with pytest.raises(Refusal):
        pick_query((LIST,), QueryParams("list=a,z"))


def test_of_what_is_no_list_the_last_counts() -> None:
    assert pick_query((NUMBER,), QueryParams("number=1&number=2")) == {"number": 2}
