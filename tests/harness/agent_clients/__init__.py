"""The real coding agents except Claude Code (see `tests.harness.claude`), run without an account.

packages   which versions, from the npm registry, installed once in a cache of the user
clients    how each is configured and called, and what it calls its tools
homes      one of them in a throwaway home, against a scripted model server
recorder   a hook that writes down what it is given: how tests/fixtures/agents was made
"""
