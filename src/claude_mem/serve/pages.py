"""Serves the viewer's files, and lets a browser in: a link that works once is exchanged for a cookie."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from pathlib import Path

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from claude_mem.serve import asked, guard, plainpage
from claude_mem.serve.endpoint import Answer, Call, Endpoint, Field
from claude_mem.serve.fields import BAD, ERROR, UNAVAILABLE
from claude_mem.serve.refusal import Refusal
from claude_mem.serve.visitors import COOKIE_S, LINK_MS

FOLDER = Path(__file__).with_name("viewer")
HOME = "index.html"
SIGN_IN = "/signin"
OPEN = (SIGN_IN,)
LOOKED_AT = ("/", SIGN_IN)

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", re.ASCII)


async def home(call: Call) -> Response:
    return await _served(call, HOME)


async def file(call: Call) -> Response:
    return await _served(call, call.id)


async def _served(call: Call, name: str) -> Response:
    """Asked for again each time and mostly not sent again: a new version is seen at the next look."""
    content = await asyncio.to_thread(_read, name)
    if content is None:
        raise Refusal(404, "no_route", "The viewer has no such file.")
    headers = {"Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if "gzip" in call.request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = gzip.compress(content, mtime=0), "gzip"
    tag = headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if tag in [each.strip() for each in call.request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


def _read(name: str) -> bytes | None:
    """A file of ours, by a plain name: nothing that leads elsewhere is even looked at."""
    parts = name.split("/")
    if len(parts) > 3 or not all(_PART.fullmatch(part) for part in parts) or Path(name).suffix not in _TYPES:
        return None
    path = FOLDER.joinpath(*parts)
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


async def invite(call: Call) -> Response:
    if call.running.port is None:
        raise Refusal(503, "unavailable", "The worker could not open a port; no browser can reach it.")
    once = call.running.visitors.invite()
    link = f"http://127.0.0.1:{call.running.port}{SIGN_IN}?once={once}"
    return JSONResponse({"link": link, "expiresInMs": LINK_MS, "port": call.running.port})


async def sign_in(call: Call) -> Response:
    if call.request.method == "HEAD":
        return Response(status_code=204)  # who only looks uses nothing up
    visitors, port = call.running.visitors, call.running.port
    cookie = visitors.admit(asked.text(call.query, "once"))
    if cookie is None:
        if visitor(call) is None:
            return HTMLResponse(plainpage.html(403), status_code=403)
        return RedirectResponse("/", status_code=303)  # the link was used here before, and worked
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        guard.cookie_name(port), cookie, max_age=COOKIE_S, path="/", httponly=True, samesite="strict"
    )
    return response


async def sign_out(call: Call) -> Response:
    visitors, port, cookie = call.running.visitors, call.running.port, visitor(call)
    count = 0
    try:
        if call.body["everywhere"] is True:
            count = visitors.dismiss_all()
        elif cookie:
            visitors.dismiss(cookie)
            count = 1
    except OSError as error:
        told = f"They may come in again once the worker has restarted: {error.strerror}."
        raise Refusal(503, "unavailable", told) from None
    finally:
        call.running.tell_change()  # who listens by it, is told nothing more
    response = JSONResponse({"status": "signed_out", "browsers": count})
    response.delete_cookie(guard.cookie_name(port), path="/", httponly=True, samesite="strict")
    return response


def visitor(call: Call) -> str | None:
    """The cookie of a browser that is signed in; None: this is none."""
    given = call.request.headers.get("cookie", "").encode("latin-1", "replace")
    cookie = guard.given_cookie([given], call.running.port)
    return cookie if cookie is not None and call.running.visitors.knows(cookie) else None


_NO_FILE = Answer(404, "The viewer has no such file.", (ERROR,))

ROWS = (
    Endpoint("GET", "/", home, "The viewer.", (Answer(200, "A page.", media_type="text/html"), _NO_FILE)),
    Endpoint(
        "GET",
        "/viewer/{id}",
        file,
        "A file of the viewer.",
        (Answer(200, "The file, by its type.", media_type="*/*"), _NO_FILE),
        id=Field("id", "string", "The file's name.", "main.js"),
        is_deep=True,
    ),
    Endpoint(
        "GET",
        SIGN_IN,
        sign_in,
        "Exchange the link of `claude-mem open` for a cookie. Works once, for a minute.",
        (
            Answer(303, "Signed in; on to the viewer.", media_type="text/plain"),
            Answer(403, "The link was used, or is too old.", media_type="text/html"),
            BAD,
        ),
        query=(Field("once", "string", "The word in the link.", "Zm9v"),),
        is_open=True,
    ),
    Endpoint(
        "POST",
        "/api/signin",
        invite,
        "Make a link that signs a browser in.",
        (
            Answer(
                200,
                "The link.",
                (
                    Field("link", "string", "What to open.", "http://127.0.0.1:37777/signin?once=Zm9v"),
                    Field("expiresInMs", "integer", "How long it works.", LINK_MS),
                    Field("port", "integer", "The worker's port.", 37777),
                ),
            ),
        ),
        socket_only=True,
    ),
    Endpoint(
        "POST",
        "/api/signout",
        sign_out,
        "Sign this browser out, or all: their cookies open nothing any more.",
        (
            Answer(
                200,
                "Done.",
                (
                    Field("status", "string", "signed_out", "signed_out"),
                    Field("browsers", "integer", "How many were signed in.", 1),
                ),
            ),
            BAD,
            UNAVAILABLE,
        ),
        body=(Field("everywhere", "boolean", "Every browser, not only this one.", False),),
    ),
)
