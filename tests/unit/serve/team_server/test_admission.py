import pytest

from claude_mem.serve.requests import Refusal
from claude_mem.serve.team_server import admission
from claude_mem.serve.team_server.admission import Allowance, KeyChecker, RateLimiter
from claude_mem.store.team import Identity

ADA = Identity(member="ada", machine="laptop", key_id=1, scopes=("read",))


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


class Keys:
    """A database of one key."""

    def __init__(self) -> None:
        self.valid = True
        self.asked = 0

    def __call__(self, key: str) -> Identity | None:
        self.asked += 1
        return ADA if key == "cmk_ada" and self.valid else None


def test_so_many_requests_may_come_at_once_and_then_so_many_a_second() -> None:
    limiter = RateLimiter(Allowance(per_s=2.0, at_once=3))
    assert [limiter.wait_s("k1", 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert limiter.wait_s("k1", 0.0) == 0.5
    assert limiter.wait_s("k1", 0.5) == 0.0
    assert limiter.wait_s("k1", 0.5) > 0.0


def test_one_key_does_not_use_up_anothers_requests() -> None:
    limiter = RateLimiter(Allowance(per_s=1.0, at_once=1))
    assert limiter.wait_s("k1", 0.0) == 0.0
    assert limiter.wait_s("k1", 0.0) > 0.0
    assert limiter.wait_s("k2", 0.0) == 0.0


def test_a_clock_that_is_set_back_gives_nobody_more() -> None:
    limiter = RateLimiter(Allowance(per_s=1.0, at_once=1))
    assert limiter.wait_s("k1", 10.0) == 0.0
    assert limiter.wait_s("k1", 5.0) > 0.0


def test_names_that_are_not_seen_again_are_dropped() -> None:
    limiter = RateLimiter(Allowance(per_s=1.0, at_once=1), most_names=2)
    for name in ("k1", "k2", "k3"):
        limiter.wait_s(name, 0.0)
    assert limiter.wait_s("k1", 0.0) == 0.0
    assert limiter.wait_s("k3", 0.0) > 0.0


def test_a_key_is_looked_up_once_in_a_moment_and_a_revoked_one_works_no_longer_than_that() -> None:
    clock, keys = Clock(), Keys()
    checker = KeyChecker(keys, clock)
    assert checker.identify("cmk_ada") == ADA
    keys.valid = False
    assert checker.identify("cmk_ada") == ADA
    assert keys.asked == 1
    clock.now_s += admission.CACHE_S
    assert checker.identify("cmk_ada") is None


def test_a_key_that_is_revoked_here_ends_at_once() -> None:
    keys = Keys()
    checker = KeyChecker(keys, Clock())
    assert checker.identify("cmk_ada") == ADA
    keys.valid = False
    checker.forget_all()
    assert checker.identify("cmk_ada") is None


def test_who_tries_keys_is_held_off_and_who_has_one_in_use_is_not() -> None:
    clock, keys = Clock(), Keys()
    checker = KeyChecker(keys, clock, uncached=Allowance(per_s=1.0, at_once=3))
    assert checker.identify("cmk_ada") == ADA
    assert checker.identify("cmk_1") is None
    assert checker.identify("cmk_2") is None
    with pytest.raises(Refusal) as refused:
        checker.identify("cmk_3")
    assert refused.value.status == 429
    assert refused.value.headers["Retry-After"] == "1"
    assert checker.identify("cmk_ada") == ADA
    assert keys.asked == 3


def test_a_key_in_use_is_looked_up_again_however_many_others_are_tried() -> None:
    clock, keys = Clock(), Keys()
    checker = KeyChecker(keys, clock, uncached=Allowance(per_s=0.001, at_once=1))
    assert checker.identify("cmk_ada") == ADA
    with pytest.raises(Refusal):
        checker.identify("cmk_1")
    for _ in range(3):
        clock.now_s += admission.CACHE_S
        assert checker.identify("cmk_ada") == ADA
    assert keys.asked == 4


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b"Bearer cmk_1", "cmk_1"),
        (b"bearer  cmk_1 ", "cmk_1"),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"Basic cmk_1", None),
        (b"cmk_1", None),
        (b"Bearer \xff", None),
        (b"Bearer " + b"x" * 201, None),
    ],
)
def test_a_key_is_read_from_one_header_alone(value: bytes, key: str | None) -> None:
    assert admission.key_in([(b"authorization", value)]) == key
    assert admission.key_in([(b"authorization", value), (b"authorization", value)]) is None


@pytest.mark.parametrize(
    ("public_url", "listen", "host", "is_ours"),
    [
        (None, ("127.0.0.1", 37780), b"localhost:37780", True),
        (None, ("127.0.0.1", 37780), b"evil.example:37780", False),
        (None, ("0.0.0.0", 37780), b"anything.example", True),
        ("https://memory.example.com", ("0.0.0.0", 443), b"memory.example.com", True),
        ("https://memory.example.com", ("0.0.0.0", 443), b"Memory.Example.com:443", True),
        ("https://memory.example.com", ("0.0.0.0", 443), b"memory.example.com:80", False),
        ("https://memory.example.com:8443", ("0.0.0.0", 8443), b"memory.example.com:8443", True),
        ("https://memory.example.com", ("0.0.0.0", 443), b"evil.example", False),
        ("https://memory.example.com", ("10.0.0.5", 37780), b"10.0.0.5:37780", True),
        ("http://[2001:db8::1]:37780", ("::", 37780), b"[2001:db8::1]:37780", True),
    ],
)
def test_the_hosts_that_are_ours_are_those_of_the_public_address_and_of_where_it_listens(
    public_url: str | None, listen: tuple[str, int], host: bytes, is_ours: bool
) -> None:
    hosts = admission.hosts_of(public_url, listen)
    refusal = admission.judge_host([(b"host", host)], hosts)
    assert (refusal is None) == is_ours


def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    hosts = admission.hosts_of("https://memory.example.com", ("0.0.0.0", 443))
    ours = (b"host", b"memory.example.com")
    for headers in ([], [ours, ours]):
        refusal = admission.judge_host(headers, hosts)
        assert refusal is not None
        assert refusal.status == 421
