"""Finds, ranks and renders memories: `search` finds, `inject` decides what a session is shown,
`session_start` and `reminders` render it."""
