"""What the tests of the intake share: how a hook's file is put into the spool, and what became of it."""

from pathlib import Path

from claude_mem.model.jobs import JobState
from claude_mem.serve.services import Services


def spool(data: Path, name: str, content: bytes) -> Path:
    path = data / "spool" / f"{name}.json"
    path.write_bytes(content)
    return path


def envelope(id: str, payload: bytes, event: str = "PostToolUse", at: int = 1_700_000_000_000) -> bytes:
    return b'{"v":1,"id":"%s","at":%d,"event":"%s","payload":%s}\n' % (
        id.encode(),
        at,
        event.encode(),
        payload,
    )


def queued(parts: Services) -> list[str]:
    jobs = parts.store.queue.jobs(JobState.READY, 10_000)
    return [job.event.tool.use_id or "" for job, _ in jobs if job.event.tool]
