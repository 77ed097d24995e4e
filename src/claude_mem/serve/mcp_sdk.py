"""Implements MCP with the official SDK. Importing this file is expensive; only `mcp` does so, at the first
message.

It uses the low-level server: the other one configures the process's logging, and offers prompts and
resources, which we do not have. Server and transport are created for each message, which takes microseconds
and leaves nothing open.
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from msgspec import to_builtins
from starlette.types import Message

from claude_mem.api.tool_arguments import input_schema
from claude_mem.model.errors import InvalidInput, NotFound, StoreError
from claude_mem.serve import mcp_tools
from claude_mem.serve.http import guard
from claude_mem.serve.mcp import Headers, McpClient
from claude_mem.serve.mcp_tools import Tool, ToolServer
from claude_mem.serve.requests import Refusal, read_arguments

HIDES_TEXT = frozenset(("claude-code", "codex-mcp-client", "opencode"))
"""Agents that show their model only `structuredContent`, if there is any: ten times the tokens, and no
fence."""


async def answer(server: ToolServer, client: McpClient, headers: Headers, body: bytes) -> tuple[int, bytes]:
    """The status and the body of the response."""
    status, answered = 500, bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = int(message.get("status", status))
        answered.extend(message.get("body", b""))

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": list(headers),
    }
    # Without its own check of Host and Origin: the guard has made ours.
    transport = StreamableHTTPSessionManager(
        _server(server, client),
        json_response=True,
        stateless=True,
        max_request_body_size=guard.MOST_BYTES,
    )
    async with transport.run():
        await transport.handle_request(scope, receive, send)
    return status, bytes(answered)


def _server(server: ToolServer, client: McpClient) -> Server[Any]:
    async def list_tools(_: ServerRequestContext[Any], __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe(tool) for tool in server.tools.values()])

    async def call_tool(
        _: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = server.tools.get(params.name)
        if tool is None:
            known = ", ".join(server.tools)
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool. Available: {known}.")
        return await _call(server, client, tool, params.arguments or {})

    return Server(
        "claude-mem",
        version=server.version,
        title="claude-mem",
        instructions=mcp_tools.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(
    server: ToolServer, client: McpClient, tool: Tool, arguments: dict[str, Any]
) -> types.CallToolResult:
    try:
        given = read_arguments(tool.arguments, arguments)
        found = to_builtins(await asyncio.to_thread(tool.run, server, given, client.cwd))
        text = tool.to_text(found).text()
    except (Refusal, InvalidInput, NotFound, StoreError) as error:
        return _failed(str(error))
    except Exception as error:  # its message may quote a memory
        server.state.record_mishap("mcp", error)
        return _failed(server.went_wrong)
    if not tool.only_reads:
        server.state.notify_change()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=None if client.name in HIDES_TEXT else found,
    )


def _failed(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)


def _describe(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=input_schema(tool.arguments),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads, destructive_hint=tool.destroys, open_world_hint=False
        ),
    )
