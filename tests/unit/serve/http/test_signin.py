from pathlib import Path

import pytest

from claude_mem.serve.http.signin import COOKIE_S, LINK_MS, MOST_COOKIES, MOST_LINKS, Visitors


class Clock:
    now = 1_760_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_word_lets_one_in_once(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    once = visitors.invite()
    cookie = visitors.admit(once)
    assert cookie is not None
    assert visitors.knows(cookie)
    assert visitors.admit(once) is None
    assert not visitors.knows(once)


def test_a_word_is_good_for_a_minute(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    early, late = visitors.invite(), visitors.invite()
    clock.now += LINK_MS - 1
    assert visitors.admit(early) is not None
    clock.now += 1
    assert visitors.admit(late) is None


def test_a_clock_that_is_set_back_lengthens_nothing(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    once = visitors.invite()
    clock.now -= 1_000
    assert visitors.admit(once) is None


def test_a_cookie_is_good_for_a_month(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    cookie = visitors.admit(visitors.invite()) or ""
    clock.now += COOKIE_S * 1000 - 1
    assert visitors.knows(cookie)
    clock.now += 1
    assert not visitors.knows(cookie)


def test_who_was_dismissed_is_not_known(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    cookie, other = (visitors.admit(visitors.invite()) or "" for _ in range(2))
    visitors.dismiss(cookie)
    assert not visitors.knows(cookie)
    assert visitors.knows(other)


def test_there_are_only_so_many_and_the_last_ones_count(clock: Clock) -> None:
    visitors = Visitors(clock=clock)
    words = [visitors.invite() for _ in range(MOST_LINKS + 1)]
    assert visitors.admit(words[0]) is None
    assert visitors.admit(words[-1]) is not None
    cookies = [visitors.admit(visitors.invite()) or "" for _ in range(MOST_COOKIES + 1)]
    assert not visitors.knows(cookies[0])
    assert visitors.knows(cookies[-1])


def test_cookies_survive_the_worker_as_hashes(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "signed-in.json"
    cookie = Visitors(path, clock).admit(Visitors(path, clock).invite())
    assert cookie is None  # an invitation does not survive
    visitors = Visitors(path, clock)
    cookie = visitors.admit(visitors.invite()) or ""
    assert Visitors(path, clock).knows(cookie)
    assert cookie not in path.read_text()
    visitors.dismiss(cookie)
    assert not Visitors(path, clock).knows(cookie)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": "b"}', "[" * 100_000])
def test_a_file_that_cannot_be_read_lets_nobody_in(tmp_path: Path, clock: Clock, content: str) -> None:
    path = tmp_path / "signed-in.json"
    path.write_text(content)
    visitors = Visitors(path, clock)
    assert not visitors.knows("a")
    assert visitors.knows(visitors.admit(visitors.invite()) or "")


def test_a_full_disk_keeps_nobody_out_until_the_worker_ends(tmp_path: Path, clock: Clock) -> None:
    nowhere = tmp_path / "gone" / "signed-in.json"
    visitors = Visitors(nowhere, clock)
    cookie = visitors.admit(visitors.invite())
    assert cookie is not None
    assert visitors.knows(cookie)
    with pytest.raises(OSError, match="gone"):  # signing out must not be forgotten in silence
        visitors.dismiss(cookie)
    assert not visitors.knows(cookie)
