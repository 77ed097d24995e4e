"""claude-mem: long-term memory for coding agents.

A tool call passes through these folders, in this order:

    hook      in the hook process: read the payload, write one file to the spool, wake the worker, exit
    privacy   remove private text and secrets before anything is written
    agents    what each coding agent sends and expects
    queue     in the worker: move each spool file into the database once, lease batches
    observe   turn a batch into observations, with a model from `providers` or without one
    store     the only code that knows SQL
    recall    find, rank and render memories; `vectors` finds similar ones
    serve     the worker: hook socket, HTTP, MCP, viewer

`model` contains the values that are passed between the folders, `api` the types that cross a process
boundary, and `settings` the user's settings. `wiring` builds everything, and `cli` is the command line. Not
on the path of a tool call: `imports` imports memory from elsewhere, and `team` exchanges it with a team's
server.

This file imports nothing, because a hook loads it on every tool call.
"""

__version__ = "0.1.0"
