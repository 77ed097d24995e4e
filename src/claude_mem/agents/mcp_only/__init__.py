"""Agents without hooks that can be used: they search memory by MCP."""
