"""`claude-mem mcp`: between a client's pipes and the worker, which speaks the protocol.

A client keeps one of these for every session it has open, so it is small: `posix`, `_socket` and
`_thread` in place of `os`, `socket` and `threading`, and no `json` unless something goes wrong.
"""
