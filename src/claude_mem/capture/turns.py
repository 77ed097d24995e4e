"""Remembers which turns are private while a story of the past is told again, for as long as it is told.

What `private` keeps in files for hooks, which are a process each. Told twice, a story must begin twice with
nothing known: a marker left by the first time would make the second differ.
"""

from __future__ import annotations

from claude_mem.capture import private


class Turns:
    """Of any number of sessions; asked and changed as `private` is."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def is_marked(self, session: str) -> bool:
        return session in self._sessions

    def read(self, session: str) -> tuple[str, tuple[str, ...]] | None:
        return self._sessions.get(session)

    def had_turns(self, session: str) -> bool:
        state, ids = self._sessions.get(session, (private.OURS, ()))
        return state not in (private.OURS, private.OPEN) or (state == private.OPEN and any(ids))

    def note(self, session: str, state: str, prompt_id: str | None = None) -> None:
        _, ids = self._sessions.get(session, ("", ()))
        spelled = private.spelled_id(prompt_id) if prompt_id else None
        if spelled and spelled not in ids:
            ids = (*ids, spelled)
        self._sessions[session] = state, ids

    def clear(self, session: str) -> None:
        if self._sessions.get(session, ("", ()))[0] == private.OURS:
            del self._sessions[session]
