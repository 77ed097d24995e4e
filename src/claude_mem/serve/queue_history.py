"""How long the queue was over the last day, and when its length or age is worth an alert."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, field

from claude_mem.api.system import QueueHistory, QueueSample
from claude_mem.files import write_file
from claude_mem.hook.notices import age

EVERY_MS = 5 * 60 * 1000
MOST = 24 * 60 * 60 * 1000 // EVERY_MS
LARGEST = 1 << 20


def alert(waiting: int, oldest_age_ms: float, most_events: int, most_minutes: int) -> str | None:
    """One sentence when more wait, or for longer, than the settings allow; 0: no such limit."""
    reasons = []
    if most_events and waiting > most_events:
        reasons.append(f"more than {most_events:,} events (CLAUDE_MEM_QUEUE_ALERT_EVENTS)")
    if most_minutes and oldest_age_ms > most_minutes * 60_000:
        reasons.append(f"longer than {most_minutes:,} minutes (CLAUDE_MEM_QUEUE_ALERT_MINUTES)")
    if not reasons:
        return None
    many = "1 event is" if waiting == 1 else f"{waiting:,} events are"
    oldest = f", the oldest for {age(oldest_age_ms / 1000)}" if oldest_age_ms else ""
    return f"{many} waiting{oldest}: {' and '.join(reasons)}."


class Sampler(Struct):
    """The last day in steps of five minutes, of each the longest queue seen. Written to a file with each new
    step, so that a restart continues it; steps without a worker are missing."""

    path: Path | None = None
    samples: list[QueueSample] = field(default_factory=list)

    def load(self) -> None:
        """A file that cannot be read is a day that is not known."""
        with suppress(OSError, msgspec.DecodeError):
            if self.path is not None and self.path.stat().st_size <= LARGEST:
                self.samples = msgspec.json.decode(self.path.read_bytes(), type=list[QueueSample])[-MOST:]

    def add(self, now: int, waiting: int, oldest_age_ms: int) -> None:
        at = now - now % EVERY_MS
        last = self.samples[-1] if self.samples else None
        if last is not None and last.at == at:
            longest = QueueSample(at, max(last.waiting, waiting), max(last.oldest_age_ms, oldest_age_ms))
            self.samples = [*self.samples[:-1], longest]
            return
        # A clock that was set back: what it had noted for later never happened.
        kept = [each for each in self.samples if now - MOST * EVERY_MS < each.at < at]
        self.samples = [*kept, QueueSample(at, waiting, oldest_age_ms)][-MOST:]
        if self.path is not None:
            with suppress(OSError):  # a full disk: it is only a plot
                write_file(self.path, msgspec.json.encode(self.samples))

    def as_answer(self) -> QueueHistory:
        found = self.samples
        return QueueHistory(every_ms=EVERY_MS, since=found[0].at if found else None, samples=found)
