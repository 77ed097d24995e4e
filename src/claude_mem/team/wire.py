"""The HTTP client for the team's server: each request has a deadline, and a failure has a reason.

The key is sent only to the address that was joined: redirects are not followed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from claude_mem.api.memories import ImportAnswer
from claude_mem.api.team import ForgetsAnswer, ForgetStatus, ForgottenAnswer, TeamAnswer
from claude_mem.http_client import OpenCalls, Trouble, Unreached, call
from claude_mem.model.errors import InvalidInput, TeamFailure
from claude_mem.model.records import Record
from claude_mem.model.sharing import ForgetAnswer, ForgetLine, Pull

if TYPE_CHECKING:
    import ssl

WITHIN_S = 20.0
LATE: Trouble = "did not answer in time"
LINES = "application/x-ndjson"
TOO_LONG = "sent more than 4 MiB"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CODE = re.compile(r"[a-z]+(_[a-z]+){0,5}")
_KEY = re.compile(r"[A-Za-z0-9._~+/=-]{16,200}")

S = TypeVar("S")


def is_late(failure: TeamFailure) -> bool:
    """Whether the server, or a proxy in front of it, did not answer in time."""
    return failure.status == 504 or failure.code == LATE


def checked_url(url: str, *, insecure: bool) -> str:
    """The address without a slash at its end. Raises InvalidInput: a key is not sent in the clear."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput("url", "The address must look like https://memory.example.")
    if parts.username or parts.password:
        raise InvalidInput("url", "The address must not contain a user name or a password.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
        raise InvalidInput(
            "url", "The address must begin with https://. To use plain HTTP anyway: --insecure-http"
        )
    return url.strip().rstrip("/")


def checked_key(key: str) -> str:
    """Raises InvalidInput."""
    if not _KEY.fullmatch(key.strip()):
        raise InvalidInput("key", "This is not a valid key.")
    return key.strip()


class TeamServer:
    """`calls` ends what is under way when the worker stops."""

    def __init__(self, url: str, key: str, *, ca: str | None = None, calls: OpenCalls | None = None) -> None:
        self._url, self._key, self._ca, self._calls = url, key, ca, calls

    def fetch_team(self) -> TeamAnswer:
        return _read(self._request("GET", "/api/team"), TeamAnswer)

    def push(self, lines: bytes) -> ImportAnswer:
        return _read(self._request("POST", "/api/team/push", lines, LINES), ImportAnswer)

    def pull(self, cursor: str, limit: int) -> Pull:
        return _pull(self._request("GET", f"/api/team/pull?cursor={quote(cursor, safe='')}&limit={limit}"))

    def forget(self, names: Sequence[str]) -> tuple[str, ...]:
        """The forgets' ids, in the order of the names; empty: not there, or not for this member to delete."""
        return _read(self._post("/api/team/forget", {"names": names}), ForgottenAnswer).ids

    def acknowledge(self, ids: Sequence[str], answer: ForgetAnswer) -> None:
        self._post("/api/team/acknowledge", {"ids": ids, "answer": answer})

    def forgets(self) -> tuple[ForgetStatus, ...]:
        return _read(self._request("GET", "/api/team/forgets"), ForgetsAnswer).items

    def leave(self) -> None:
        self._post("/api/team/leave", {})

    def manage(self, method: str, path: str, shape: type[S], body: Struct | None = None) -> S:
        """A request of an admin."""
        sent = None if body is None else msgspec.json.encode(body)
        return _read(self._request(method, path, sent, "application/json"), shape)

    def _post(self, path: str, body: object) -> bytes:
        return self._request("POST", path, msgspec.json.encode(body), "application/json")

    def _request(self, method: str, path: str, body: bytes | None = None, media_type: str = "") -> bytes:
        headers = {"Authorization": f"Bearer {self._key}"}
        if body is not None:
            headers["Content-Type"] = media_type
        url = self._url + path
        found = call(method, url, body, headers, deadline_s=WITHIN_S, tls=self._tls, calls=self._calls)
        if isinstance(found, Unreached):
            raise TeamFailure(_unreached(found.trouble), code=found.trouble)
        if found.status != 200:
            code, field = _word(found.body, "code"), _word(found.body, "field")
            raise TeamFailure(
                _refused(found.status, code),
                status=found.status,
                code=code,
                field=field,
                retry_after=found.headers.get("retry-after"),
            )
        return found.body

    @cached_property
    def _tls(self) -> ssl.SSLContext | None:
        if not self._url.startswith("https:"):
            return None
        import ssl

        try:
            return ssl.create_default_context(cafile=self._ca)
        except (OSError, ssl.SSLError) as error:
            raise TeamFailure(f"The certificates in {self._ca} cannot be read: {error}.") from error


def _unreached(trouble: str) -> str:
    hint = " If its certificate is private: claude-mem join URL --ca FILE" if "TLS" in trouble else ""
    return f"The team's server {trouble}.{hint}"


def _refused(status: int, code: str) -> str:
    """The meaning of a rejection, if the user can do something about it."""
    returned = f"status {status}{f', {code}' if code else ''}"
    if 300 <= status < 400:
        return f"The address redirects to another one ({returned}). Join with that address."
    match status, code:
        case 401, _:
            return (
                f"The team's server rejected this key ({returned}): it was revoked, has expired, or "
                "belongs to another server. Ask an admin for a new key, and join with it."
            )
        case 404, "no_route" | "":
            return f"This is not the address of a team's server ({returned}). Check it, and join again."
        case 421, _:
            return f"The team's server has another address ({returned}): join with its --public-url."
        case _:
            return f"The team's server returned {returned}."


def _word(body: bytes, name: str) -> str:
    """Of an error: its code, or the field that caused it; "" if that is no such word."""
    try:
        word = json.loads(body)["error"][name]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return word if isinstance(word, str) and len(word) <= 40 and _CODE.fullmatch(word) else ""


def _read(body: bytes, shape: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TeamFailure("The team's server sent an unexpected response.") from error


def _pull(body: bytes) -> Pull:
    records: list[Record] = []
    forgets: list[ForgetLine] = []
    end: Record = {}
    try:
        for line in body.splitlines():
            found = json.loads(line)
            if found["kind"] == "forget":
                forgets.append(msgspec.convert(found, ForgetLine))
            elif found["kind"] == "cursor":
                end = found
            else:
                records.append(found)
        cursor, more = end["cursor"], end["more"]
    except (ValueError, RecursionError, LookupError, TypeError, msgspec.ValidationError) as error:
        raise TeamFailure("The team's server sent an unexpected response to a pull.") from error
    return Pull(tuple(records), tuple(forgets), str(cursor), more is True)
