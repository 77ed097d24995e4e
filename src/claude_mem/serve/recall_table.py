"""Recall's part of the route table."""

from __future__ import annotations

from claude_mem.serve import correcting, fields, memory, recalling, stream, travelling
from claude_mem.serve import recall_answers as answers
from claude_mem.serve import recall_fields as f
from claude_mem.serve.endpoint import Endpoint

_ANSWERS = (fields.BAD, fields.UNAVAILABLE)

_SEARCHING = (
    Endpoint(
        "GET",
        "/api/search",
        recalling.search,
        "Search memory. Without q: the newest.",
        (answers.FOUND, *_ANSWERS),
        query=(f.QUERY, *f.NARROWING, f.ONLY_PINNED, *f.PAGING, f.CURSOR, f.EXPLAIN),
    ),
    Endpoint(
        "GET",
        "/api/timeline",
        recalling.timeline,
        "What was before and after a memory, a session, a time, or the best hit of q; without any, now.",
        (answers.TIMELINE, answers.NOT_THERE, *_ANSWERS),
        query=(f.ANCHOR, f.QUERY, f.BEFORE, f.AFTER, *f.NARROWING),
    ),
    Endpoint(
        "GET",
        "/api/file",
        recalling.file,
        "A file's history across sessions.",
        (answers.HISTORY, *_ANSWERS),
        query=(f.PATH, f.PROJECT, f.CWD, f.WRONG, f.LIMIT),
    ),
    Endpoint(
        "GET",
        "/api/context/inject",
        recalling.context,
        "What the next session of a project is told at its start, as text for people. Needs project or cwd.",
        (answers.INJECTED, answers.INJECTED_AS_JSON, *_ANSWERS),
        query=(f.PROJECT, f.CWD, f.SOURCE, f.SESSION, f.FORMAT),
    ),
)

_LISTS = tuple(
    Endpoint(
        "GET",
        f"/api/{kind}",
        recalling.listing(kind),
        f"A page of {kind}, the newest first.",
        (answers.LISTED, *_ANSWERS),
        query=(*f.NARROWING, f.ONLY_PINNED, *f.LONG_PAGING),
    )
    for kind in ("observations", "summaries", "prompts", "sessions")
)

_READING = (
    Endpoint(
        "GET",
        "/api/projects",
        recalling.listing("projects"),
        "A page of projects, the most recently worked on first.",
        (answers.LISTED, *_ANSWERS),
        query=f.PAGING,
    ),
    Endpoint(
        "GET",
        "/api/observation/{id}",
        recalling.observation,
        "One memory, whole.",
        (answers.ONE, answers.NOT_THERE, fields.UNAVAILABLE),
        id=f.MEMORY_ID,
    ),
    Endpoint(
        "POST",
        "/api/observations/batch",
        recalling.batch,
        "Many memories at once, whole.",
        (answers.DETAILED, *_ANSWERS),
        body=(f.IDS, f.ORDER, f.LIMIT),
    ),
    Endpoint(
        "GET",
        "/api/session/{id}",
        recalling.session,
        "One session, whole: by its database's id, or the agent's own or the beginning of that.",
        (answers.WHOLE_SESSION, answers.NOT_THERE, *_ANSWERS),
    ),
    Endpoint(
        "GET",
        "/api/export",
        travelling.export,
        "Memory as records, one JSON object a line. Without q or another narrowing: everything.",
        (answers.EXPORTED, *_ANSWERS),
        query=(f.QUERY, *f.NARROWING),
    ),
    Endpoint(
        "GET", "/api/stats", recalling.stats, "What is remembered, in figures.", (answers.STATS, *_ANSWERS)
    ),
    Endpoint(
        "GET",
        "/stream",
        stream.listen,
        "What happens, as it happens: server-sent events. Last-Event-ID takes it up again.",
        (answers.STREAMED, *_ANSWERS),
        query=(f.PROJECT,),
    ),
)

_CHANGING = (
    Endpoint(
        "POST",
        "/api/memory/save",
        memory.save,
        "Remember something because somebody said so.",
        (answers.WAS_SAVED, *_ANSWERS),
        body=f.SAVED,
    ),
    Endpoint(
        "POST",
        "/api/memory/pin",
        correcting.pin,
        "Keep memories in front, or no longer.",
        (answers.WAS_PINNED, answers.NOT_THERE, *_ANSWERS),
        body=(f.IDS, f.PINNED),
    ),
    Endpoint(
        "POST",
        "/api/memory/forget",
        memory.forget,
        "Forget for good whatever meets all that is said. Without confirm: only tell what would go.",
        (answers.WENT, answers.NOT_THERE, *_ANSWERS),
        body=(*f.SELECTION, f.EXPORTS, f.DRY_RUN, f.CONFIRM),
    ),
    Endpoint(
        "POST",
        "/api/import",
        memory.take_in,
        "Take in observations from elsewhere, or the records of an export; at most 1,000 at a time.",
        (answers.IMPORTED, *_ANSWERS),
        body=(f.RECORDS,),
        query=(f.OWN,),
        takes_lines=True,
    ),
)

ROWS: tuple[Endpoint, ...] = (*_SEARCHING, *_LISTS, *_READING, *_CHANGING)
