"""Every prefix of a payload that still names its session gives an object that names it, in one pass."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.harness import payloads

from claude_mem.hook.json_text import parse
from claude_mem.hook.stdin import Payload
from claude_mem.privacy import scrub_payload

SESSION = payloads.SESSION
TRANSCRIPTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts"

CODE = 'if (a[0] === "}") { return {"k": [1, "\\"", \'\\\\\']}; } // "unbalanced: ]]}}'
TEXTS = {
    "prose": "say hi and go on. " * 4,
    "code": CODE,
    "JSON": json.dumps({"packages": {"node_modules/a": {"version": "1.0.0", "cpu": ["x64", "}"]}}}, indent=2),
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps({"a": ['"', {"b": "\\"}]}))),
    "braces": "{{[[{" + "}" * 9 + "]" * 9,
    "escaped quotes": '"' * 40 + 'a"b' * 10,
    "backslashes": "\\" * 41,
    "windows paths": r"C:\new\users\u12\temp",
    "controls": "\x00\x01\x1f\t\n\r\b\f\x7f",
    "what looks like an escape": r"\u12 \ud83d \\u00e9",
    "beyond the basic plane": "héllo \U0001f980\U0001f600 日本語 \u2028",
    "lone surrogates": "\ud83d\ud83d x \ude00 \ud83d",
}


def real(text: str) -> list[bytes]:
    """Payloads of every shape, with the text wherever the client puts text."""
    return [
        payloads.prompt(text),
        payloads.bash("toolu_1", command=text, stdout=text),
        payloads.read_file("toolu_1", "/home/u/proj/a.py", text),
        payloads.payload(
            "PostToolUse",
            prompt_id="p-1",
            tool_name="Edit",
            tool_input={"file_path": "/home/u/proj/a.py", "old_string": text, "new_string": "b"},
            tool_response={
                "filePath": "/home/u/proj/a.py",
                "originalFile": text,
                "structuredPatch": [{"oldStart": 1, "oldLines": 7, "lines": [f" {text}", f"-{text}", "+b"]}],
                "userModified": False,
                "ratio": -1.5e-7,
                "none": None,
            },
            tool_use_id="toolu_1",
        ),
    ]


def spelled(payload: bytes) -> list[bytes]:
    """The same as the client writes it, and as others do: in lines, with escapes for all but ASCII."""
    return [payload, json.dumps(json.loads(payload.decode(errors="replace")), indent=1).encode()]


def prefixes(payload: bytes) -> Iterator[bytes]:
    named = payload.index(SESSION.encode()) + len(SESSION) + 1
    yield from (payload[:end] for end in range(named, len(payload)))


def salvaged(head: bytes) -> dict[str, Any]:
    kept = scrub_payload.salvage(head.decode(errors="replace"), "")
    assert kept is not None, head[-80:]
    assert kept["session_id"] == SESSION
    return kept


def assert_is_of(kept: object, is_complete: object, path: str = "") -> None:
    """All that was saved is there in the whole: equal, or the beginning of it, with the mark."""
    if isinstance(kept, dict):
        assert isinstance(is_complete, dict), path
        for key, value in kept.items():
            assert_is_of(value, is_complete[key], f"{path}.{key}")
    elif isinstance(kept, list):
        assert isinstance(is_complete, list), path
        for at, value in enumerate(kept):
            assert_is_of(value, is_complete[at], f"{path}[{at}]")
    elif isinstance(kept, str) and kept.endswith(scrub_payload.MARK) and kept != is_complete:
        assert isinstance(is_complete, str), path
        # What was cut inside a pair of surrogates has half of it.
        start = kept.removesuffix(scrub_payload.MARK).encode("utf-16-le", "surrogatepass")
        assert is_complete.encode("utf-16-le", "surrogatepass").startswith(start), path
    else:
        assert kept == is_complete, path


@pytest.mark.parametrize("name", TEXTS)
def test_every_prefix_of_every_payload_keeps_its_session_and_tells_nothing_new(name: str) -> None:
    for payload in real(TEXTS[name]):
        for spelling in spelled(payload):
            is_complete = json.loads(spelling.decode(errors="replace"))
            for head in prefixes(spelling):
                kept = salvaged(head)
                if spelling[len(head) - 1 : len(head)].isascii() and b"\xef\xbf\xbd" not in spelling:
                    assert_is_of(kept, is_complete)


PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ['"', "\\", '\\"', "{", "}", "[", "]", ":", ",", "\\u12", "\ud83d", "\U0001f980", " ", "\n"]
    ),
)
texts = st.lists(PIECES, max_size=30).map("".join)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5), st.booleans(), st.sampled_from([None, 1]), st.data())
@example({"a": "say hi and {x"}, True, None, None)
def test_whatever_a_payload_holds_each_cut_of_it_keeps_its_session(
    fields: dict[str, object], ascii_only: bool, indent: int | None, data: st.DataObject | None
) -> None:
    is_complete = {"session_id": SESSION} | {f"x{key}": value for key, value in fields.items()}
    text = json.dumps(is_complete, ensure_ascii=ascii_only, indent=indent)
    named = text.index(SESSION) + len(SESSION) + 1
    ends = range(named, len(text)) if data is None else [data.draw(st.integers(named, len(text)))]
    for end in ends:
        kept = scrub_payload.salvage(text[:end], "")
        assert kept is not None
        assert kept["session_id"] == SESSION
        assert_is_of(kept, parse(text))


@given(texts, st.integers(0, 400))
def test_no_token_is_begun_and_given_up(text: str, end: int) -> None:
    """So nothing is looked at twice. An unclosed string that were no token would be tried anew at every quote
    in it: that took 8 s for 30 KiB."""
    head = json.dumps({"session_id": SESSION, "a": [text, {"b": text}], "c": text})[:end]
    between = re.sub(scrub_payload.LEXEME, "\n", head)
    assert not set(between) & set('"{}[]')


@pytest.mark.parametrize(
    "member",
    ["session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "tool_name", "tool_use_id"],
)
def test_half_a_name_is_another_name_and_is_not_kept(member: str) -> None:
    """Else the event would belong to a session, a project or a turn that does not exist."""
    payload = payloads.bash("toolu_1").decode()
    is_complete = str(json.loads(payload)[member])
    start = payload.index(f'"{member}":"') + len(member) + 4
    for length in range(len(is_complete) + 1):
        kept = scrub_payload.salvage(payload[: start + length], "")
        assert kept is not None
        assert member not in kept


def test_half_a_number_and_half_a_word_are_not_kept() -> None:
    for value in ("1234", "-1", "1.5e10", "true", "null"):
        text = f'{{"session_id":"{SESSION}","list":[7,{value},8],"n":{value},"m":1}}'
        for end in range(text.index(value), len(text)):
            kept = scrub_payload.salvage(text[:end], "")
            assert kept is not None
            assert kept.get("n", json.loads(value)) == json.loads(value)
            assert kept["list"] == [7, json.loads(value), 8][: len(kept["list"])]  # type: ignore[arg-type]


@pytest.mark.parametrize("before", ["", "the key is ", '{\n  "token": "', "x" * 2000])
@pytest.mark.parametrize("length", [12, 20, 38])
def test_half_a_secret_at_the_cut_is_not_kept(before: str, length: int) -> None:
    secret = "AIza" + "x1Y2z3" * 5 + "abcde"
    is_complete = payloads.prompt(before + secret).decode()
    kept = scrub_payload.salvage(is_complete[: is_complete.index(secret) + length], "")
    assert kept is not None
    assert secret[:12] not in str(kept)


def test_endless_nesting_is_cut_where_it_is_too_deep() -> None:
    for opening in ("[", '{"a":', '[{"a":"b","c":'):
        kept = salvaged(
            payloads.payload("PostToolUse", tool_name="X")[:-1]
            + b',"tool_input":'
            + opening.encode() * 100_000
        )
        assert kept["tool_name"] == "X"


def test_what_never_was_an_object_gives_none() -> None:
    for text in ("", " ", "garbage", "[1,2]", '["a', '"text', "7", "}{", '"a":1'):
        assert scrub_payload.salvage(text, "") is None


def test_the_tool_uses_id_is_found_behind_what_was_cut_out() -> None:
    text = payloads.bash("toolu_9", stdout=CODE * 50).decode()
    at = text.index("unbalanced")
    for spelling in (text, json.dumps(json.loads(text), indent=1)):
        kept = scrub_payload.salvage(spelling[:at], spelling[-60:])
        assert kept is not None
        assert kept["tool_use_id"] == "toolu_9"


def test_a_payload_that_was_cut_before_it_came_is_marked_too() -> None:
    is_complete = payloads.bash("toolu_1")
    assert scrub_payload.read(Payload(is_complete))[1]
    assert not scrub_payload.read(Payload(is_complete[:-40], is_complete=True))[1]
    assert not scrub_payload.read(Payload(is_complete, is_complete=False))[1]


def of_transcripts() -> Iterator[bytes]:
    """Tool uses of real sessions as a hook would have been given them."""
    for file in sorted(TRANSCRIPTS.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                said = json.loads(line)
                if isinstance(said, dict) and "toolUseResult" in said:
                    yield payloads.payload(
                        "PostToolUse", tool_name="Edit", tool_response=said["toolUseResult"]
                    )


@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="needs recorded sessions")
def test_real_tool_uses_keep_their_session_wherever_they_are_cut() -> None:
    chance = random.Random(7)
    for payload in of_transcripts():
        is_complete = json.loads(payload)
        named = payload.index(SESSION.encode()) + len(SESSION) + 1
        for end in chance.sample(range(named, len(payload)), 3):
            kept = salvaged(payload[:end])
            if payload[end : end + 1].isascii():
                assert_is_of(kept, is_complete)


LONG = "TOKEN=abc " * 20


@pytest.mark.parametrize(
    "members",
    [
        {"tool_input": {"content": LONG, "path": "/p/.env"}},
        {"tool_response": LONG, "tool_input": {"path": "/p/.env"}},
        {"tool_response": {"file": {"content": LONG}}, "tool_input": {"file_path": "/p/.env"}},
    ],
    ids=["in its input", "in its response", "deep in its response"],
)
def test_contents_whose_file_is_named_behind_the_cut_are_left_out(members: dict[str, Any]) -> None:
    raw = payloads.payload("PostToolUse", tool_name="mcp__files__write", **members)
    for end in range(raw.index(b"TOKEN"), len(raw) - 1):
        found, _ = scrub_payload.read(Payload(raw[:end], b'"tool_use_id":"toolu_9"}', False))
        assert found["session_id"] == SESSION
        assert found["tool_use_id"] == "toolu_9"
        is_named = "/p/.env" in json.dumps(found)
        assert is_named or "TOKEN" not in json.dumps(found)


def test_contents_whose_file_is_named_before_the_cut_are_kept() -> None:
    raw = payloads.payload(
        "PostToolUse", tool_name="Write", tool_input={"file_path": "/p/a", "content": LONG}
    )
    cut = raw[: raw.rindex(b"TOKEN")]
    assert "TOKEN" in json.dumps(scrub_payload.read(Payload(cut, is_complete=False))[0])
