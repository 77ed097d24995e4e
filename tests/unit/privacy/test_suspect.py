"""Which payloads are worth scrubbing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.privacy import credential_names, scrub, secret_rules, secrets, suspect, tags

CAP = 10_000
# What can stand before a file name, or after it, in a JSON payload: a path separator, a separator of shell
# words, the escape of a quote or a newline. Needed for names that ordinary code is full of: process.env.
_BETWEEN = ('"', "'", "`", " ", "=", ";", "|", "<", ">", "(", ")", "&", ":", "@", ",", "{", "}")
_BEFORE = ("/", "\\", *_BETWEEN, "\\n", "\\t", "\\r")
_AFTER = ("\\", *_BETWEEN, "*", "?")

# Rules with a keyword that is too common to make a payload suspicious by itself: they are tried in payloads
# that something else made so.
IN_COMPANY = frozenset(("octopus-key", "trello-token"))

# Lower-case strings one of which occurs in every payload that names a file of DEFAULT_GLOBS.
NEEDLES = (
    *(before + ".env" for before in _BEFORE),
    *(".key" + after for after in _AFTER),
    *(".pem", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
    *("_netrc", ".netrc", ".pgpass", ".pypirc", ".htpasswd", ".git-credentials", ".credentials.json"),
    *(".aws/credentials", ".docker/config", ".kube/config"),
    *(".aws\\\\credentials", ".docker\\\\config", ".kube\\\\config"),
)


def test_every_tag_and_every_excluded_file_is_suspect(subtests: pytest.Subtests) -> None:
    for needle in (*NEEDLES, *(f"<{tag}" for tag in tags.HIDDEN_TAGS)):
        with subtests.test(needle):
            assert suspect.is_suspect(f'{{"a":"{needle} "}}'.encode())


def test_every_prefix_of_a_token_is_suspect(subtests: pytest.Subtests) -> None:
    for name, keywords, _, example in secret_rules.VENDOR_TOKENS:
        for keyword in keywords.split("|"):
            if keyword[-1] in "_-." and name not in IN_COMPANY:
                with subtests.test(name, keyword=keyword):
                    assert suspect.is_suspect(json.dumps({"a": f"x {keyword}{example[-40:]}"}).encode())


def test_the_word_for_password_in_every_language_is_suspect(subtests: pytest.Subtests) -> None:
    for word in credential_names.FOREIGN:
        with subtests.test(word):
            assert suspect.is_suspect(json.dumps({"a": f"{word} a1b2c3d4"}, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "payload",
    [
        {"tool_response": {"headers": {"cookie": "sid=0123456789abcdef"}}},
        {
            "tool_response": {
                "stdout": json.dumps({"dsn": "mysql://app:hunter2hunter2@db/x"}).replace("/", "\\/")
            }
        },
        {"tool_response": {"stdout": "https://me@corp.example:hunter2hunter2@git.corp.example/x.git"}},
        {"tool_response": {"filePatch": [{"lines": ["+ ghp_" + "a1B2" * 9 + " var a=1" * 50_000]}]}},
        {"tool_input": {"command": "git show HEAD:.env"}, "tool_response": {"stdout": "PLAIN"}},
    ],
)
def test_what_the_careful_way_would_take_out_is_suspect(payload: dict[str, object]) -> None:
    clean, _ = scrub.scrub(payload, field_cap=1 << 20)
    assert clean != payload
    assert suspect.is_suspect(json.dumps(payload).encode())


def test_what_is_searched_is_lower_case_and_in_its_family() -> None:
    members = [member for _, family in suspect._FAMILIES for member in family]
    for searched in (
        *suspect._ALONE,
        *members,
        *suspect._WORDS,
        *suspect._FOURS,
        *suspect._THREES,
        *suspect._EIGHTS,
    ):
        assert searched == searched.lower()
    for common, family in (*suspect._FAMILIES, *suspect._FILES):
        assert all(common in member for member in family), common
    assert {len(first) for first in suspect._FOURS} == {4}
    assert {len(first) for first in suspect._THREES} == {3}
    assert {len(first) for first in suspect._EIGHTS} == {8}


def test_a_payload_with_any_kind_of_secret_is_suspect(subtests: pytest.Subtests) -> None:
    for name, _, _, example in secrets.RULES:
        if name in IN_COMPANY:
            continue
        with subtests.test(name, example=example):
            assert suspect.is_suspect(json.dumps({"a": example}).encode())
            assert suspect.is_suspect(json.dumps({"a": json.dumps({"b": example})}).encode())
            assert _is_suspect(json.dumps({"b": json.dumps({"c": example})}))


def test_no_other_rule_has_an_example_that_is_not_suspect_alone() -> None:
    alone = {name for name, _, _, example in secrets.RULES if not _is_suspect(example)}
    assert alone == IN_COMPANY


def test_a_name_of_a_credential_is_company_enough(subtests: pytest.Subtests) -> None:
    for name, _, _, example in secrets.RULES:
        with subtests.test(name, example=example):
            assert _is_suspect(f"API_TOKEN={example}")


def _is_suspect(text: str) -> bool:
    return suspect.is_suspect(json.dumps({"a": text}).encode())


@pytest.mark.parametrize(
    "payload",
    [
        {"a": "<Private>x"},
        {"a": "x</PRIVATE>"},
        {"a": r"\u003cprivate\u003e"},
        {"a": "&lt;private&gt;"},
        {"a": r"<\/private>"},
        {"tool_input": {"file_path": "/p/.env"}},
        {"tool_input": {"file_path": "C:\\p\\.env"}},
        {"tool_input": {"file_path": ".env"}},
        {"tool_input": {"file_path": "a/server.key"}},
        {"tool_input": {"command": "cat a\n.env"}},
        {"tool_input": {"command": "cat .env"}},
        {"tool_input": {"command": "cat x.key\nls"}},
        {"password": "hunter2"},
        {"token": "a1b2c3d4e5f6"},
        {"a": "https://u:p4ssw0rd@host/"},
    ],
)
def test_whatever_scrubbing_would_change_is_suspect(payload: dict[str, object]) -> None:
    assert suspect.is_suspect(json.dumps(payload).encode())


@pytest.mark.parametrize("character", "<p.k")
def test_an_ascii_character_spelled_as_an_escape_is_suspect(character: str) -> None:
    assert suspect.is_suspect(b'{"a":"\\u%04X"}' % ord(character))


@pytest.mark.parametrize(
    "text",
    [
        "private int x; public: private:",
        "const v = process.env.HOME; os.environ; item.key.name; dict.keys(); e.keyCode",
        "max_tokens=4096 tokens, input_tokens: 3",
        "see https://example.com/a@b and http://localhost:3000/x",
        "\x1b[0m ansi \u2028",
    ],
)
def test_ordinary_payloads_are_not_suspect(text: str) -> None:
    assert not suspect.is_suspect(json.dumps({"tool_name": "Read", "a": text}, ensure_ascii=False).encode())


PIECES = st.sampled_from(
    [
        *(example for name, _, _, example in secrets.RULES if name not in IN_COMPANY),
        *(
            "<private>",
            "</private>",
            "token",
            "password",
            " = ",
            ": ",
            "=",
            '"',
            "'",
            "\n",
            "a1b2c3d4e5f6",
            "\\",
            "/",
        ),
        *(".env", ".key", "cat ", "://", "u:p1@h", " is ", "--", "\t"),
    ]
)
SOUP = st.lists(PIECES, max_size=6).map("".join)


@given(st.sampled_from(["a", "token", "password", "prompt"]), SOUP, SOUP)
def test_a_payload_that_is_not_suspect_is_not_changed_by_scrubbing(key: str, text: str, command: str) -> None:
    payload: dict[str, object] = {key: text, "tool_input": {"command": command}, "tool_response": text}
    if not suspect.is_suspect(json.dumps(payload, ensure_ascii=False).encode()):
        assert scrub.scrub(payload, field_cap=CAP) == (payload, False)


def test_asking_whether_a_payload_is_suspect_imports_nothing_dear() -> None:
    program = (
        "import sys; sys.path[:0] = [sys.argv[1]]; from claude_mem.privacy import suspect;"
        "suspect.is_suspect(b'{}');"
        "extra = {'re', 'os', 'json', 'typing', 'claude_mem.privacy.secrets'};"
        "sys.exit(bool(extra & set(sys.modules)))"
    )
    source = suspect.__file__.rsplit("/", 3)[0]
    assert subprocess.run([sys.executable, "-I", "-S", "-c", program, source], check=False).returncode == 0
