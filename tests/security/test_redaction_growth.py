"""Row 27 of the promises, for all rules at once: redacting and scrubbing grow with the text, not its square.

Apart from test_growth.py, which has the rules one by one: the two take longest of all, so each has a process.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.harness.growth import Finish, assert_steps_grow_with_length, many_long_runs

from claude_mem.privacy import scrub, secrets

HOSTILE = [
    *(
        "=",
        "a=",
        "token=",
        "password=",
        'password="',
        "password=\\",
        'token="a1',
        "secret:",
        "api_key = ",
        "token is ",
    ),
    *(
        "password='a1b2c3d4",
        "password: x = ",
        "--token ",
        "::secret:",
        "<password>",
        "token=token:secret=password ",
    ),
    *(
        "Authorization: ",
        "Cookie: a=",
        "%3d",
        "&quot;",
        "\\x41",
        "\x1b[1m",
        "QUtJQQ==",
        "пароль ",
        "密码：",
        "sshpass -p '",
    ),
    *("://", "://a:", "://a:b", "://a:b@", ":\\/\\/a:b", "a://u:p/", "http://localhost:80/@"),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "BEGIN PRIVATE KEY",
        "private key",
        "-----",
    ),
    *(
        '"-----BEGIN PRIVATE KEY-----" ',
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n",
        "private key-",
    ),
    *(
        "[redacted:",
        "password=[redacted:",
        "\\",
        '\\"',
        '"',
        "'",
        "bearer ",
        "authorization: basic ",
        "curl -u a:",
    ),
]


AROUND = (("", ""), ("password=a1://a:b", "-----END PRIVATE KEY-----"))
PAYLOADS = ("<private>", "password=", "://a:b", "-----BEGIN PRIVATE KEY-----", "a", "\\", "x y ")


# All in one would take minutes on a busy machine, where pytest's timeout is not far.
SOME = HOSTILE[::5]
THE_REST = [piece for piece in HOSTILE if piece not in SOME]


def parts(pieces: list[str]) -> list[Any]:
    return [pytest.param(pieces[part::4], marks=pytest.mark.prove, id=str(part)) for part in range(4)]


@pytest.mark.parametrize("pieces", [pytest.param(SOME, id="some"), *parts(THE_REST)])
def test_redacting_with_every_rule_takes_steps_in_proportion_to_the_text(
    subtests: pytest.Subtests, pieces: list[str]
) -> None:
    for piece in pieces:
        with subtests.test(piece):
            for prefix, suffix in AROUND:
                assert_steps_grow_with_length(secrets.redact, piece, prefix, suffix)


@many_long_runs
@pytest.mark.parametrize("pieces", parts(HOSTILE))
def test_many_thousand_characters_are_redacted_with_every_rule(finish: Finish, pieces: list[str]) -> None:
    for piece in pieces:
        for prefix, suffix in AROUND:
            finish(secrets.redact, piece, prefix, suffix)


def scrub_as_every_part(text: str) -> object:
    text = text[: len(text) // 2]  # the whole is more than twice as long as the text
    payload: dict[str, object] = {
        "prompt": text,
        "tool_input": {"command": text, "path": text},
        "tool_response": {
            "stdout": text,
            "lines": [text[at : at + 40] for at in range(0, len(text), 40)],
        },
    }
    return scrub.scrub(payload, field_cap=1000)


def test_scrubbing_a_whole_payload_takes_steps_in_proportion_to_it(subtests: pytest.Subtests) -> None:
    for piece in PAYLOADS:
        with subtests.test(piece):
            assert_steps_grow_with_length(scrub_as_every_part, piece)


@pytest.mark.prove
@many_long_runs
def test_a_payload_of_many_thousand_characters_in_every_part_is_scrubbed(finish: Finish) -> None:
    for piece in PAYLOADS:
        finish(scrub_as_every_part, piece)


def scrub_a_list_of(item: object, text: str) -> object:
    return scrub.scrub({"l": [item] * (len(text) // 4), "d": {text: item}}, field_cap=100)


def test_scrubbing_a_long_list_takes_steps_in_proportion_to_it(subtests: pytest.Subtests) -> None:
    for item in ("<private>", "a", "password=hunter2", 7, None, ["x"], {"k": "<private>"}):
        with subtests.test(repr(item)):
            assert_steps_grow_with_length(partial(scrub_a_list_of, item), "abcd")
