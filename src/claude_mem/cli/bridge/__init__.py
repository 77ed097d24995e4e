"""`claude-mem mcp`: between a client's pipes and the worker, which speaks the protocol.

A client keeps one of these for every session it has open, so it is kept small: `posix`, `_socket` and
`select` in place of `os`, `socket` and `asyncio`, and no `json` unless something goes wrong.
"""
