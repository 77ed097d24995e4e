"""JSON strings are read where they stand as `json` reads them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.hook import json_text

# Strings of what matters here: quotes, backslashes, keys, and anything else.
texts = st.text(alphabet=st.one_of(st.sampled_from('"\\:,{}ucwd01'), st.characters(codec="utf-8")))
bytes_of_strings = st.lists(st.sampled_from([b'"', b"\\", b"u", b"0012", b"n", b"x", b"\xc3", b"\x01"])).map(
    b"".join
)
MOST = 1000


def is_json_string(text: bytes) -> bool:
    try:
        return (
            isinstance(json.loads(text.decode()), str) and not text[:1].isspace() and not text[-1:].isspace()
        )
    except ValueError:
        return False


@given(inside=bytes_of_strings)
def test_what_json_takes_for_a_string_is_one_and_nothing_else_is(inside: bytes) -> None:
    text = b'"' + inside + b'"'
    assert json_text.is_string(text, MOST) == is_json_string(text)


@given(text=texts, ascii_only=st.booleans())
def test_a_string_that_was_written_as_json_is_one(text: str, ascii_only: bool) -> None:
    assert json_text.is_string(json.dumps(text, ensure_ascii=ascii_only).encode(), 10_000)


@pytest.mark.parametrize("text", [b"", b'"', b"x", b'"x', b'x"', b"1", b"null", b' "x"', b'"x" ', b'"x""'])
def test_what_is_no_string_is_none(text: bytes) -> None:
    assert not json_text.is_string(text, MOST)


def test_a_string_over_the_bound_is_none() -> None:
    assert json_text.is_string(b'"' + b"x" * (MOST - 2) + b'"', MOST)
    assert not json_text.is_string(b'"' + b"x" * (MOST - 1) + b'"', MOST)


@given(before=texts, value=texts, after=texts, ascii_only=st.booleans())
def test_a_member_is_found_whatever_the_strings_around_it_hold(
    before: str, value: str, after: str, ascii_only: bool
) -> None:
    payload = {"a": before, "cwd": value, "b": after}
    text = json.dumps(payload, separators=(",", ":"), ensure_ascii=ascii_only).encode()
    found = json_text.member(text, b"cwd")
    assert json.loads(found) == value
    assert json_text.text_of(found) == value.encode()


@given(value=texts)
def test_a_key_inside_a_string_is_no_key(value: str) -> None:
    text = json.dumps({"a": '"cwd":"/forged"' + value, "b": value}, separators=(",", ":")).encode()
    assert json_text.member(text, b"cwd") == b""


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b'{"cwd":7}', b'{"cwd":', b'{"cwd":"', b'{"cwd":"x', b'{"cwd":"x\\"', b'{"cwd": "x"}'],
)
def test_a_member_that_is_not_a_whole_string_is_not_there(text: bytes) -> None:
    assert json_text.member(text, b"cwd") == b""


def test_half_a_character_and_a_bad_escape_are_no_obstacle() -> None:
    assert json_text.text_of(rb'"\ud800"') == "\ud800".encode(errors="surrogatepass")
    assert json_text.text_of(rb'"\x"') == b""


def before_bash(command: str, **more: object) -> bytes:
    payload = {"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps(
        payload | {"tool_input": {"command": command, "description": "Build it"}} | more,
        separators=(",", ":"),
    ).encode()


def test_before_a_shell_command_the_worker_is_asked_about_that_alone() -> None:
    question = json_text.tool_question(before_bash('echo "a" \\ b'))
    assert question is not None
    assert json.loads(question) == {
        "session_id": "s",
        "cwd": "/p",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "command": 'echo "a" \\ b',
    }


def test_before_a_script_of_a_command_nothing_is_asked() -> None:
    assert json_text.tool_question(before_bash("x" * json_text.MOST_COMMAND)) is None
    assert json_text.tool_question(before_bash("")) is not None
