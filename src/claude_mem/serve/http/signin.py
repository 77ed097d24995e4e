"""Signing in to the viewer: a single-use link is exchanged for a cookie, which lasts a month, and a page key.

Browsers send a cookie to every port of 127.0.0.1, including the servers of other users. So a cookie gives
access only to the viewer's files. Everything else also needs the page key. The page keeps it in its storage,
where only pages of this address and port can read it, and sends it as a header. The key is derived from the
cookie and the token, so nothing more is stored.

Cookies are stored as hashes, so that a reader of the file cannot sign in. They stay valid when the worker
restarts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from contextlib import suppress
from pathlib import Path

from claude_mem.files import read_object, write_file
from claude_mem.model.clock import Clock, now

LINK_MS = 60_000
COOKIE_S = 30 * 24 * 60 * 60
MOST_LINKS = 16
MOST_COOKIES = 32


class Visitors:
    """`path`: where cookies are remembered; None: in memory alone. `secret`: what page keys are made with."""

    def __init__(self, path: Path | None = None, clock: Clock = now, secret: str | None = None) -> None:
        self._path, self._clock = path, clock
        self._secret = (secret or secrets.token_urlsafe(32)).encode()
        self._links: dict[str, int] = {}  # hash: good until
        self._cookies = _read(path) if path else {}

    def invite(self) -> str:
        """A code that signs in one browser, once."""
        self._links = _unexpired(self._links, self._clock(), MOST_LINKS - 1)
        once = secrets.token_urlsafe(32)
        self._links[_hash(once)] = self._clock() + LINK_MS
        return once

    def admit(self, once: str) -> str | None:
        """The cookie for a link's code; None: it is unknown, or has expired."""
        until = self._links.pop(_hash(once), 0)
        if not self._clock() < until <= self._clock() + LINK_MS:
            return None
        cookie = secrets.token_urlsafe(32)
        self._cookies = _unexpired(self._cookies, self._clock(), MOST_COOKIES - 1)
        self._cookies[_hash(cookie)] = self._clock() + COOKIE_S * 1000
        with suppress(OSError):  # on a full disk it is good until the worker ends
            self._write()
        return cookie

    def knows(self, cookie: str) -> bool:
        # Looked up by its hash: how long that takes says nothing about the cookie.
        return self._clock() < self._cookies.get(_hash(cookie), 0)

    def page_key(self, cookie: str) -> str:
        """The key that the page sends in addition to its cookie."""
        made = hmac.digest(self._secret, b"page " + cookie.encode(errors="replace"), "sha256")
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def fits(self, cookie: str, page_key: bytes) -> bool:
        return hmac.compare_digest(page_key, self.page_key(cookie).encode())

    def dismiss(self, cookie: str) -> None:
        if self._cookies.pop(_hash(cookie), None) is not None:
            self._write()

    def dismiss_all(self) -> int:
        """Signs out all browsers; returns how many there were."""
        count = len(_unexpired(self._cookies, self._clock(), MOST_COOKIES))
        self._cookies, self._links = {}, {}
        self._write()
        return count

    def _write(self) -> None:
        """Raises OSError."""
        if self._path is not None:
            write_file(self._path, json.dumps(self._cookies).encode() + b"\n")


def _unexpired(sessions: dict[str, int], now: int, most: int) -> dict[str, int]:
    """The newest ones that have not expired."""
    return dict([(name, until) for name, until in sessions.items() if until > now][-most:])


def _hash(word: str) -> str:
    return hashlib.sha256(word.encode(errors="replace")).hexdigest()


def _read(path: Path) -> dict[str, int]:
    """Reads the file; if it cannot be read, no browser is signed in."""
    return {name: until for name, until in read_object(path).items() if type(until) is int}


_PAGES = {
    401: ("You are not signed in.", "To sign in, run this in a terminal:"),
    403: (
        "This link no longer works.",
        "It was already used, is more than a minute old, or came from another page. "
        "For a new one, run this in a terminal:",
    ),
    421: ("This is not the address of the viewer.", "To open the viewer, run this in a terminal:"),
}
_OTHERWISE = ("The viewer cannot be shown.", "Try again, or run this in a terminal:")


def sign_in_page(status: int) -> str:
    """The page for a browser that is not signed in: it shows which command to run, without scripts or
    memory."""
    what, then = _PAGES.get(status, _OTHERWISE)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>claude-mem</title>\n<h1>claude-mem</h1>\n<p>{what}</p>\n<p>{then}</p>\n"
        "<pre>claude-mem open</pre>\n</html>\n"
    )
