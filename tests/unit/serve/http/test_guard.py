"""What the guard decides, without a network."""

import pytest

from claude_mem.serve.http.guard import MOST_BYTES, Key, judge

KEY = Key(37777, "t" * 43)
GOOD = {b"host": b"127.0.0.1:37777", b"authorization": b"Bearer " + b"t" * 43}


def verdict(**changed: bytes | None) -> int | None:
    headers = GOOD | {name.replace("_", "-").encode(): value for name, value in changed.items()}
    refusal = judge([(name, value) for name, value in headers.items() if value is not None], KEY)
    return refusal.status if refusal else None


@pytest.mark.parametrize("host", [b"127.0.0.1:37777", b"localhost:37777", b"LOCALHOST:37777", b"[::1]:37777"])
def test_the_loopbacks_own_names_are_allowed(host: bytes) -> None:
    assert verdict(host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        b"",
        b"evil.example",
        b"evil.example:37777",
        b"127.0.0.1",
        b"localhost",
        b"127.0.0.1:80",
        b"127.0.0.1:37777.evil.example",
        b"localhost.:37777",
        b"127.1:37777",
        b"user@127.0.0.1:37777",
        b"0.0.0.0:37777",
    ],
)
def test_any_other_host_is_misdirected(host: bytes | None) -> None:
    assert verdict(host=host) == 421


def test_two_hosts_are_misdirected() -> None:
    refusal = judge([*GOOD.items(), (b"host", b"127.0.0.1:37777")], KEY)
    assert refusal
    assert refusal.status == 421


@pytest.mark.parametrize(
    "origin", [b"http://127.0.0.1:37777", b"http://localhost:37777", b"http://[::1]:37777"]
)
def test_our_own_pages_are_allowed(origin: bytes) -> None:
    assert verdict(origin=origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        b"null",
        b"",
        b"http://evil.example",
        b"https://127.0.0.1:37777",
        b"http://127.0.0.1",
        b"http://127.0.0.1:1",
    ],
)
def test_other_origins_are_forbidden(origin: bytes) -> None:
    assert verdict(origin=origin) == 403


@pytest.mark.parametrize(
    ("site", "status"),
    [(b"same-origin", None), (b"none", None), (b"same-site", 403), (b"cross-site", 403), (b"", 403)],
)
def test_only_requests_from_our_own_site_are_allowed(site: bytes, status: int | None) -> None:
    assert verdict(sec_fetch_site=site) == status


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer wrong",
        b"t" * 43,
        b"Basic " + b"t" * 43,
        b"Bearer " + b"t" * 42,
        b"Bearer " + b"t" * 44,
        b"Bearer \xff",
    ],
)
def test_without_the_token_nobody_is_let_in(authorization: bytes | None) -> None:
    assert verdict(authorization=authorization) == 401


def test_two_tokens_are_none() -> None:
    refusal = judge([*GOOD.items(), (b"authorization", GOOD[b"authorization"])], KEY)
    assert refusal
    assert refusal.status == 401


def test_the_scheme_is_read_in_any_case() -> None:
    assert verdict(authorization=b"bearer " + b"t" * 43) is None


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize(
    ("length", "status"),
    [
        (b"0", None),
        (b"%d" % MOST_BYTES, None),
        (b"%d" % (MOST_BYTES + 1), 413),
        (b"9" * 30, 400),
        (b"-1", 400),
        (b"x", 400),
    ],
)
def test_the_size_is_bounded_on_both_listeners(key: Key | None, length: bytes, status: int | None) -> None:
    refusal = judge([*GOOD.items(), (b"content-length", length)], key)
    assert (refusal.status if refusal else None) == status


def test_on_the_socket_no_header_is_asked_for() -> None:
    assert (
        judge([(b"host", b"evil.example"), (b"origin", b"null"), (b"sec-fetch-site", b"cross-site")], None)
        is None
    )
