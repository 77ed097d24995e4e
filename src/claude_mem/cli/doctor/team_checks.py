"""Whether memory is exchanged with the team: what the worker says of it, and what that means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from claude_mem import settings
from claude_mem.api.sharing import SharingStatus
from claude_mem.cli import output
from claude_mem.cli.doctor.checks import Finding, ok, warn
from claude_mem.cli.doctor.facts import ANSWER_WITHIN_S, Question, Unknown
from claude_mem.hook import notices
from claude_mem.model.clock import DAY_MS
from claude_mem.serve import control
from claude_mem.team.membership import KEY_FILE

SOON_MS = 14 * DAY_MS
JOIN = "ask for a new key, then: claude-mem join URL"


def gather(environ: Mapping[str, str] | None = None) -> Question[SharingStatus | None]:
    """None: this machine has joined no team, or no worker can say so."""
    data_dir = settings.data_directory(environ)

    def look() -> SharingStatus | None:
        if not (data_dir / KEY_FILE).exists() or control.status(data_dir).state != "running":
            return None
        status, answer = control.request(data_dir, "GET", "/api/sharing", deadline_s=ANSWER_WITHIN_S)
        return msgspec.convert(answer, SharingStatus) if status == 200 else None

    return Question(look)


def judge(found: SharingStatus | Unknown | None, now_s: float) -> Iterator[Finding]:
    """`now_s`: seconds since the epoch."""
    if isinstance(found, Unknown):
        yield warn("team", f"could not be checked: {found.why}")
    elif found is not None and found.joined:
        yield from _joined(found, now_s)


def _joined(found: SharingStatus, now_s: float) -> Iterator[Finding]:
    who = f"{found.member} on {found.machine}"
    if found.stopped is not None:
        yield warn("team", f"{who}: {found.stopped}", JOIN)
    elif found.failing_since is not None:
        ago = notices.age(now_s - found.failing_since / 1000)
        says = f"{who}: no exchange for {ago}. {found.error} Hooks, search and recall work without it"
        yield warn("team", says, "claude-mem team")
    else:
        last = found.last_exchange_at
        exchanged = f"last exchange {notices.age(now_s - last / 1000)} ago" if last else "no exchange yet"
        waiting = sum(each.memories for each in found.waiting)
        many = f", {output.plural(waiting, 'memory', 'memories')} waiting" if waiting else ""
        yield ok("team", f"{who}: {exchanged}{many}")
    if found.expires_at is not None and found.expires_at / 1000 - now_s < SOON_MS / 1000:
        left = max(0, int((found.expires_at / 1000 - now_s) // 86_400))
        yield warn("team key", f"this machine's key ends in {output.plural(left, 'day')}", JOIN)
