"""claude-mem: what a coding agent did, remembered.

One tool call, followed through the tree in the order of its folders:

    capture   in the hook process: scrub the payload, write one file to the spool, wake the worker, leave
    queue     in the worker: move spool files into the database once each, hand them out under a lease
    store     the only code that knows SQL
    serve     the worker's life, its sockets and its HTTP application

`model` holds the values that travel, `ports` the shapes the stages see each other by, `clients` the dialects
of the coding agents, `wiring` puts one of each together, and `cli` is what a person types.

Nothing is imported here: a hook pays for this file on every tool call.
"""

__version__ = "0.1.0"
