"""claude-mem: a memory for coding agents.

One tool call, followed through the tree in the order of its folders:

    hook      in the hook process: read the payload, write one file to the spool, wake the worker, exit
    privacy   remove private text and secrets before anything is written
    agents    what each coding agent sends and expects
    queue     in the worker: move spool files into the database once each, hand out batches under a lease
    observe   turn a batch into observations, with a model of `providers` or without one
    store     the only code that knows SQL
    recall    find, rank and render memories; `vectors` finds what is similar
    serve     the worker: hook socket, HTTP, MCP, viewer

`model` holds the values that travel, `api` the shapes that cross a process, `settings` what the user has
chosen. `wiring` puts it all together, and `cli` is what people type. Beside the tool call's way: `imports`
brings memory from elsewhere, `team` exchanges it with a team's server.

Nothing is imported here: a hook pays for this file on every tool call.
"""

__version__ = "0.1.0"
