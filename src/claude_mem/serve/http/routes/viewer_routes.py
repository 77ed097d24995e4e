"""Routes for the viewer: its files, signing browsers in and out, and the stream of events."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

from starlette.responses import HTMLResponse, RedirectResponse, Response

from claude_mem.api import system as api
from claude_mem.api.fields import Error
from claude_mem.serve.http import guard, stream
from claude_mem.serve.http.router import Answer, Call, Routes, ok, respond
from claude_mem.serve.http.signin import COOKIE_S, LINK_MS, sign_in_page
from claude_mem.serve.http.stream import MEDIA_TYPE
from claude_mem.serve.requests import Refusal

FOLDER = Path(__file__).parents[2] / "viewer"
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
_NO_FILE = Answer(404, "The viewer has no such file.", Error)

routes = Routes()


@routes.get("/", "The viewer.", Answer(200, "A page.", media_type="text/html"), _NO_FILE)
def home(call: Call) -> Response:
    return _served(call, HOME)


@routes.get(
    "/viewer/{id}",
    "A file of the viewer.",
    Answer(200, "The file, by its type.", media_type="*/*"),
    _NO_FILE,
    id=("The file's name.", "main.js"),
    is_deep=True,
)
def file(call: Call) -> Response:
    return _served(call, call.id)


def _served(call: Call, name: str) -> Response:
    """Serves a file. Browsers revalidate it each time, so a new version is used on the next load."""
    content = _read(name)
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
    """Reads one of the viewer's files by a plain name: any other path is rejected unread."""
    parts = name.split("/")
    if len(parts) > 3 or not all(_PART.fullmatch(part) for part in parts) or Path(name).suffix not in _TYPES:
        return None
    path = FOLDER.joinpath(*parts)
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


@routes.get(
    SIGN_IN,
    "Exchange the link from `claude-mem open` for a cookie. Works once, within a minute.",
    Answer(303, "Signed in; redirects to the viewer.", media_type="text/plain"),
    Answer(403, "The link was already used or has expired.", media_type="text/html"),
    is_open=True,
)
async def sign_in(call: Call, query: api.SignInQuery) -> Response:
    if call.request.method == "HEAD":
        return Response(status_code=204)  # who only looks uses nothing up
    cookie = call.running.visitors.admit(query.once)
    if cookie is None:
        if stream.visitor(call) is None:
            return HTMLResponse(sign_in_page(403), status_code=403)
        return RedirectResponse("/", status_code=303)  # the link was used here before, and worked
    # In the query, not in the fragment, which stays in the browser and may lead to a memory.
    response = RedirectResponse(f"/?key={call.running.visitors.page_key(cookie)}", status_code=303)
    name = guard.cookie_name(call.running.port)
    response.set_cookie(name, cookie, max_age=COOKIE_S, path="/", httponly=True, samesite="strict")
    return response


@routes.post("/api/signin", "Make a link that signs a browser in.", socket_only=True)
async def invite(call: Call) -> api.SignInLink:
    port = call.running.port
    if port is None:
        raise Refusal(
            503,
            "unavailable",
            "The worker could not open a port, so no browser can reach it. Run: claude-mem doctor",
        )
    once = call.running.visitors.invite()
    return api.SignInLink(f"http://127.0.0.1:{port}{SIGN_IN}?once={once}", LINK_MS, port)


@routes.post(
    "/api/signout", "Sign this browser out, or all of them: their cookies no longer work.", ok(api.SignedOut)
)
async def sign_out(call: Call, body: api.SignOutRequest) -> Response:
    visitors, cookie = call.running.visitors, stream.visitor(call)
    count = 0
    try:
        if body.everywhere:
            count = visitors.dismiss_all()
        elif cookie:
            visitors.dismiss(cookie)
            count = 1
    except OSError as error:
        message = f"The sign-out could not be saved and lasts until the worker restarts: {error.strerror}."
        raise Refusal(503, "unavailable", message) from None
    finally:
        call.running.notify_change()  # its listeners get nothing more
    response = respond(api.SignedOut("signed_out", count))
    response.delete_cookie(guard.cookie_name(call.running.port), path="/", httponly=True, samesite="strict")
    return response


@routes.get(
    "/stream",
    "Live updates as server-sent events. Send Last-Event-ID to resume.",
    Answer(200, "Events, until the caller disconnects.", media_type=MEDIA_TYPE),
)
async def listen(call: Call, query: api.StreamQuery) -> Response:
    return stream.listen(call, query.project)
