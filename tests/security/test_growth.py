"""Row 27 of the promises: hostile text costs time in proportion to its length, never its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from claude_mem.capture import exclude, salvage, scrub, secrets, tags

SIZE = 12_000
MOST = 3.0
NOISE_S = 0.004  # under this a ratio measures the machine; a square would be far above it at these sizes


def cpu(work: Callable[[], object], times: int = 2) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def assert_linear(work: Callable[[str], object], piece: str, prefix: str = "", suffix: str = "") -> None:
    """Doubling the input twice must not treble the CPU time either time."""
    small, middle, large = (prefix + piece * (SIZE * factor // len(piece)) + suffix for factor in (1, 2, 4))
    work(small)  # compiles what is compiled once
    measured = ""
    for _ in range(3):
        four = cpu(lambda: work(large))
        if four < NOISE_S:
            return
        once, twice = cpu(lambda: work(small)), cpu(lambda: work(middle))
        if twice < MOST * once and four < MOST * twice:
            return
        measured = f"{once:.4f} s, {twice:.4f} s, {four:.4f} s"
    pytest.fail(f"{piece[:40]!r}: {measured}")


HOSTILE_TAGS = [
    *(
        "<private>",
        "</private>",
        "<private",
        "</private",
        "</private ",
        "<private></private>",
        "<",
        "<<<<<",
        "</",
    ),
    *("private", "<pri<private>x</private>vate>", "</private>x<private>", "&lt;", "&lt;private", "&amp;lt;"),
    *(
        "\\",
        "\\u003c",
        "\\\\\\u003cprivate",
        "\\u003cprivate\\u003e",
        "u003c",
        "<\\/private>",
        " ",
        "İ<private>",
    ),
    *("<system-reminder><private>", "<private><system-reminder></private>"),
]


@pytest.mark.parametrize("piece", HOSTILE_TAGS)
def test_stripping_tags_is_linear(piece: str) -> None:
    assert_linear(tags.strip, piece)
    assert_linear(tags.strip, piece, "<private>")
    assert_linear(tags.strip, piece, "</private", "private>")


def hostile_pieces(keyword: str, example: str) -> list[str]:
    return [
        keyword,
        keyword + "a",
        keyword + "=",
        example,
        example[: len(example) * 2 // 3],
        example.upper(),
        example + " ",
    ]


# Rows that differ in the keyword alone share their pattern or scanner.
RULES = list({(rule[0], rule[2], rule[3]): rule for rule in secrets.RULES}.values())


@pytest.mark.parametrize(("name", "keyword", "pattern", "example"), RULES)
def test_every_rule_is_linear(name: str, keyword: str, pattern: str, example: str) -> None:
    rule = ((name, keyword, pattern, example),)

    def work(text: str) -> str:
        return secrets.redact(text, rules=rule)

    for piece in hostile_pieces(keyword, example):
        assert_linear(work, piece, keyword)
    for run in ("a", "A", "0", "-", "_", ".", "=", "/", "eyJ", "\\n", ":", "Aa0", " "):
        assert_linear(work, run, keyword)
        assert_linear(work, run, f"{keyword} {example[: len(example) // 2]}", keyword)


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


@pytest.mark.parametrize("piece", HOSTILE)
def test_redacting_with_every_rule_is_linear(piece: str) -> None:
    assert_linear(secrets.redact, piece)
    assert_linear(secrets.redact, piece, "password=a1://a:b", "-----END PRIVATE KEY-----")


@pytest.mark.parametrize("piece", ["a", "*", "a/", "/", ".env", " ", ".", "b*", "aab", "**/", "\\"])
def test_matching_globs_is_linear(piece: str) -> None:
    globs = (*exclude.DEFAULT_GLOBS, "*a*a*a*a*a*b", "**/a/**/a/**/a/**/b", "a*?a*?a*?b")
    assert_linear(lambda text: exclude.is_excluded(text, globs), piece)
    assert_linear(lambda text: exclude.excluded_word(text, globs), piece)


@pytest.mark.parametrize(
    "piece", ["<private>", "password=", "://a:b", "-----BEGIN PRIVATE KEY-----", "a", "\\", "x y "]
)
def test_scrubbing_a_whole_payload_is_linear(piece: str) -> None:
    def work(text: str) -> object:
        payload: dict[str, object] = {
            "prompt": text,
            "tool_input": {"command": text, "path": text},
            "tool_response": {
                "stdout": text,
                "lines": [text[at : at + 40] for at in range(0, len(text), 40)],
            },
        }
        return scrub.scrub(payload, field_cap=1000)

    assert_linear(work, piece)


@pytest.mark.parametrize("item", ["<private>", "a", "password=hunter2", 7, None, ["x"], {"k": "<private>"}])
def test_scrubbing_a_long_list_is_linear(item: object) -> None:
    assert_linear(
        lambda text: scrub.scrub({"l": [item] * (len(text) // 4), "d": {text: item}}, field_cap=100), "abcd"
    )


@pytest.mark.parametrize("piece", ["://", "://a:", "<private", "\\", "token ", ".env", "x"])
def test_asking_whether_a_payload_is_suspect_is_linear(piece: str) -> None:
    assert_linear(lambda text: scrub.is_suspect(text.encode()), piece)


HOSTILE_CUTS = [
    *('\\"', "\\\\", "\\u00e9", "\\n", "{", "}", "[", "]", "{}", "[]", ",", ":", "x", " ", '"', "[1,", "[{"),
    *('"a":"b",', '"a",', "1,", "[],", '\\"a\\": {', "\\\\\\u12", '"a":1,'),
]


@pytest.mark.parametrize("inside", ['"', "[", "{", ""])
@pytest.mark.parametrize("piece", HOSTILE_CUTS)
def test_salvaging_looks_at_each_character_once(piece: str, inside: str) -> None:
    """Counted, not timed: a token that is begun is taken, so that no search begins in it again."""
    head = '{"session_id":"s","a":' + inside + piece * (SIZE // len(piece))
    assert not set('"{}[]') & set(salvage.TOKEN.sub("", head))
    if '"' not in piece.replace('\\"', "") and inside == '"':
        kept = salvage.salvage(head, "")
        assert kept is not None
        assert kept["session_id"] == "s"
