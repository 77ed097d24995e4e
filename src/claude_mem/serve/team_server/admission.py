"""Decides whether a request may reach a team server's application: authentication and rate limits.

It knows nothing of HTTP except headers, and does not read a clock or the database itself.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from urllib.parse import urlsplit

from msgspec import Struct

from claude_mem.serve.requests import Refusal
from claude_mem.store.team import Identity

Headers = Iterable[tuple[bytes, bytes]]

LONGEST_KEY = 200
CACHE_S = 2.0
"""How long a key is cached before the database is queried again; a revoked key may still work for this
long."""
MOST_CACHED = 10_000


class Allowance(Struct, frozen=True):
    """A rate limit: requests per second in the long run, and in a burst."""

    per_s: float
    at_once: int


UNCACHED_KEYS = Allowance(100.0, 400)
"""The rate limit for looking up keys that are not cached. It stops callers who try keys at random before they
burden the database; keys in use are not affected."""


class RateLimiter:
    """A token bucket for each name. Any thread may call it."""

    def __init__(self, allowance: Allowance, most_names: int = MOST_CACHED) -> None:
        self._allowance, self._most = allowance, most_names
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was left, and when
        self._lock = Lock()

    def wait_s(self, name: str, now_s: float) -> float:
        """0: the request is allowed, and counted. Otherwise, how many seconds to wait."""
        full, per_s = float(self._allowance.at_once), self._allowance.per_s
        with self._lock:
            left, at = self._buckets.pop(name, (full, now_s))
            left = min(full, left + max(0.0, now_s - at) * per_s)
            allowed = left >= 1.0
            self._buckets[name] = (left - 1.0 if allowed else left, now_s)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - left) / per_s


class KeyChecker:
    """Identifies the member of a key. `authenticate` queries the database; its answers are cached for a
    moment."""

    def __init__(
        self,
        authenticate: Callable[[str], Identity | None],
        now_s: Callable[[], float],
        uncached: Allowance = UNCACHED_KEYS,
    ) -> None:
        self._authenticate, self._now_s = authenticate, now_s
        self._found: OrderedDict[bytes, tuple[float, Identity | None]] = OrderedDict()
        self._lookups = RateLimiter(uncached, 1)
        self._lock = Lock()

    def cached(self, key: str) -> tuple[bool, Identity | None]:
        """Whether it is known whose the key is, and whose it was. By its digest: how long that takes to find
        says nothing of another key."""
        with self._lock:
            at, identity = self._found.get(_digest(key), (-math.inf, None))
        return self._now_s() - at < CACHE_S, identity

    def identify(self, key: str) -> Identity | None:
        """The key's identity; None: it is unknown, expired or revoked. May block. Raises StoreError, and
        Refusal if too many keys are tried."""
        is_known, identity = self.cached(key)
        if is_known:
            return identity
        was_good = identity is not None
        if not was_good and (wait_s := self._lookups.wait_s("", self._now_s())):
            raise too_many(wait_s)
        at = self._now_s()  # before: what is revoked meanwhile is not believed for longer
        identity = self._authenticate(key)
        with self._lock:
            self._found[_digest(key)] = (at, identity)
            self._found.move_to_end(_digest(key))
            while len(self._found) > MOST_CACHED:
                self._found.popitem(last=False)
        return identity

    def forget_all(self) -> None:
        """Empties the cache, because something was revoked on this process."""
        with self._lock:
            self._found.clear()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


def key_in(headers: Headers) -> str | None:
    """The key in a request, if there is one."""
    given = [value for name, value in headers if name == b"authorization"]
    if len(given) != 1:
        return None
    scheme, _, credentials = given[0].strip().partition(b" ")
    credentials = credentials.strip()
    if scheme.lower() != b"bearer" or not credentials.isascii() or not 0 < len(credentials) <= LONGEST_KEY:
        return None
    return credentials.decode("ascii")


def hosts_of(public_url: str | None, listen: tuple[str, int]) -> frozenset[bytes] | None:
    """The Host headers that are ours; None: any, for it is not known by which names we are called."""
    host, port = listen
    names = set[str]()
    if public_url:
        found = urlsplit(public_url)
        default = 443 if found.scheme == "https" else 80
        names.add(_host(found.hostname or "", None))
        names.add(_host(found.hostname or "", found.port or default))
    if host not in ("", "0.0.0.0", "::"):  # noqa: S104 - it is looked for, not bound
        names.add(_host(host, port))
        if host in ("127.0.0.1", "::1", "localhost"):
            names |= {_host(each, port) for each in ("127.0.0.1", "localhost", "::1")}
    elif not public_url:
        return None
    return frozenset(name.lower().encode() for name in names)


def _host(name: str, port: int | None) -> str:
    name = f"[{name}]" if ":" in name else name
    return name if port is None else f"{name}:{port}"


def judge_host(headers: Headers, hosts: frozenset[bytes] | None) -> Refusal | None:
    given = [value.strip().lower() for name, value in headers if name == b"host"]
    if hosts is None or (len(given) == 1 and given[0] in hosts):
        return None
    return Refusal(421, "foreign_host", "The Host header is not this server's. Its address is --public-url.")


def no_key() -> Refusal:
    """The rejection, which is the same for a key that is missing, unknown, expired or revoked."""
    return Refusal(
        401,
        "no_key",
        "The key is missing, wrong, expired or revoked. Send: Authorization: Bearer …",
        headers={"WWW-Authenticate": 'Bearer realm="claude-mem"'},
    )


def no_scope(scope: str) -> Refusal:
    return Refusal(403, "no_scope", f"The key does not have the scope `{scope}`.")


def too_many(wait_s: float) -> Refusal:
    headers: Mapping[str, str] = {"Retry-After": str(max(1, math.ceil(wait_s)))}
    return Refusal(
        429, "too_many", "Too many requests. Try again after Retry-After seconds.", headers=headers
    )
