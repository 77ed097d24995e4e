"""Serves MCP at `/mcp`: one message in, one response out, no state in between.

The official SDK implements the protocol (`mcp_sdk`). Importing it takes most of a second and 56 MiB, so it is
imported at the first message, in a thread. A client can continue after the worker restarts, because
everything that must be known about it is in its session id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct
from starlette.responses import JSONResponse, Response

from claude_mem.api.system import McpAnswer, McpMessage
from claude_mem.serve.http import guard
from claude_mem.serve.http.router import Answer, ReadingCall, Routes, ok
from claude_mem.serve.mcp_tools import ToolServer

SESSION_ID = "Mcp-Session-Id"
CWD = "X-Claude-Mem-Cwd"
LONGEST_NAME = 64
INVALID_REQUEST = -32600

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


Headers = Iterable[tuple[bytes, bytes]]


class McpClient(Struct, frozen=True):
    """The calling client, as far as it is known."""

    name: str = ""  # the program's
    cwd: str = ""  # the directory it works in


def add_route(routes: Routes, server_of: Callable[[Any], ToolServer], **options: Any) -> None:
    """`server_of`: which server answers a call."""

    @routes.post(
        "/mcp",
        "One message of the Model Context Protocol (streamable HTTP, stateless, answers in JSON).",
        ok(McpAnswer),
        Answer(202, "Accepted; there is no response.", media_type=None),
        Answer(400, "Invalid message.", McpAnswer),
        **options,
    )
    async def post_message(call: ReadingCall, body: McpMessage) -> Response:
        del body  # described and checked; the message itself goes to the SDK as it came
        return await post(call, server_of(call))


async def post(call: ReadingCall, server: ToolServer) -> Response:
    message = call.json or {}
    if not isinstance(message.get("method"), str) and not message.keys() & {"result", "error"}:
        return JSONResponse(_invalid(message), status_code=400)
    answer = await asyncio.to_thread(_sdk)
    trusted = bool(call.request.scope.get(guard.TRUSTED))
    version, name = _parse_session_id(call.request.headers.get(SESSION_ID, ""))
    meta = _object(_object(message.get("params")).get("_meta"))
    client = McpClient(_name(meta.get(_CLIENT_KEY)) or name, _cwd(call) if trusted else "")
    headers = _headers(message, meta, version) if trusted else call.request.headers.raw
    status, body = await answer(server, client, headers, json.dumps(message).encode())
    if "method" in message and "id" not in message:
        return Response(status_code=202)  # a notification has no response, even if it failed
    more = {}
    if message.get("method") == "initialize" and status == 200:
        more[SESSION_ID] = _session_id(message, body)
    return Response(_with_id(body, message), status, more, "application/json")


def _invalid(message: dict[str, object]) -> dict[str, object]:
    """A short error message; the SDK's has twenty lines."""
    id = message.get("id")
    error = {"code": INVALID_REQUEST, "message": "The message has no method."}
    return {"jsonrpc": "2.0", "id": id if isinstance(id, str | int) else None, "error": error}


def _sdk() -> Callable[[ToolServer, McpClient, Headers, bytes], Awaitable[tuple[int, bytes]]]:
    from claude_mem.serve import mcp_sdk

    return mcp_sdk.answer


def _headers(message: dict[str, object], meta: dict[str, object], version: str) -> list[tuple[bytes, bytes]]:
    """The HTTP headers of a message that came over a pipe, from what it and the first message say."""
    found = {"content-type": "application/json", "accept": "application/json"}
    method, modern = message.get("method"), meta.get(_VERSION_KEY)
    if isinstance(modern, str) and isinstance(method, str):
        found |= {"mcp-protocol-version": modern, "mcp-method": method}
        name = _object(message.get("params")).get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            found["mcp-name"] = name
    elif version:
        found["mcp-protocol-version"] = version
    return [(name.encode(), value.encode(errors="replace")) for name, value in found.items()]


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _session_id(message: dict[str, object], body: bytes) -> str:
    """As `2025-11-25.claude-code`."""
    client = _name(_object(message.get("params")).get("clientInfo"))
    result = json.loads(body).get("result") or {}
    return f"{result.get('protocolVersion', '')}.{quote(client, safe='')}"


def _parse_session_id(session_id: str) -> tuple[str, str]:
    """The protocol's version and the client's name."""
    version, _, client = session_id.partition(".")
    return version, unquote(client)[:LONGEST_NAME]


def _name(info: object) -> str:
    name = _object(info).get("name")
    return name[:LONGEST_NAME] if isinstance(name, str) else ""


def _cwd(call: ReadingCall) -> str:
    try:
        return bytes.fromhex(call.request.headers.get(CWD, "")).decode()
    except ValueError:
        return ""  # no text: there is no such project


def _with_id(body: bytes, message: dict[str, object]) -> bytes:
    """Adds the id to an error: the transport rejects some messages before it reads their ids, and over a pipe
    nothing else tells which message it was."""
    if not body.startswith(b'{"jsonrpc":"2.0","id":null') or not isinstance(message.get("id"), str | int):
        return body
    return json.dumps(json.loads(body) | {"id": message["id"]}, separators=(",", ":")).encode()
