"""The viewer's part of the route table."""

from __future__ import annotations

from claude_mem.serve import choosing, correcting, fields, logtail, standing, viewing
from claude_mem.serve import recall_answers as answers
from claude_mem.serve import recall_fields as recall
from claude_mem.serve import viewer_fields as f
from claude_mem.serve.endpoint import Endpoint

_ANSWERS = (fields.BAD, fields.UNAVAILABLE)

_CORRECTING = (
    Endpoint(
        "POST",
        "/api/memory/edit",
        correcting.edit,
        "Say an observation in better words. What is not named stays; null or empty empties.",
        (f.WAS_EDITED, answers.NOT_THERE, *_ANSWERS),
        body=f.EDITED,
    ),
    Endpoint(
        "POST",
        "/api/memory/wrong",
        correcting.mark_wrong,
        "Mark observations wrong, or no longer: kept, and never recalled.",
        (f.WAS_MARKED, answers.NOT_THERE, *_ANSWERS),
        body=(recall.IDS, f.WRONG),
    ),
    Endpoint(
        "POST",
        "/api/memory/merge",
        correcting.merge,
        "Observations say the same: one stays, the others are superseded by it.",
        (f.WAS_MERGED, answers.NOT_THERE, *_ANSWERS),
        body=(f.INTO, recall.IDS),
    ),
    Endpoint(
        "POST",
        "/api/memory/select",
        viewing.select,
        "What a search comes to, or without q a list, to do something with all of it. Changes nothing.",
        (f.SELECTED, *_ANSWERS),
        body=(recall.QUERY, *recall.NARROWING, recall.ONLY_PINNED, recall.CURSOR),
    ),
    Endpoint(
        "POST",
        "/api/undo/{id}",
        correcting.undo,
        "Take back an edit, a pin, a mark or a merge; once, within an hour, while the worker runs.",
        (f.WAS_UNDONE, answers.NOT_THERE, f.MEANWHILE, *_ANSWERS),
        id=f.TOKEN,
    ),
)

_PAGES = (
    Endpoint(
        "GET",
        "/api/observation/{id}/provenance",
        viewing.provenance,
        "Where a memory comes from, what it replaced, what replaced it, and who was told of it.",
        (f.PROVENANCE, answers.NOT_THERE, fields.UNAVAILABLE),
        id=recall.MEMORY_ID,
    ),
    Endpoint(
        "GET",
        "/api/session/{id}/events",
        viewing.events,
        "All that happened in a session, in order, a page at a time.",
        (f.EVENTS, answers.NOT_THERE, *_ANSWERS),
        query=f.EVENTS_ASKED,
    ),
    Endpoint(
        "GET",
        "/api/project",
        viewing.project,
        "A project as a whole. Needs project or cwd.",
        (f.PROJECT_PAGE, answers.NOT_THERE, *_ANSWERS),
        query=(recall.PROJECT, recall.CWD, f.DAYS),
    ),
    Endpoint(
        "GET",
        "/api/facets",
        viewing.facets,
        "What the filters can be set to.",
        (f.FACETS, *_ANSWERS),
        query=(recall.PROJECT, recall.CWD),
    ),
    Endpoint(
        "GET",
        "/api/cost",
        viewing.cost,
        "What memory costs, by day, model and project; what sessions were told; what batching saved.",
        (f.COST, *_ANSWERS),
        query=(recall.PROJECT, f.COST_DAYS),
    ),
    Endpoint(
        "POST",
        "/api/context/preview",
        viewing.preview,
        "What the next session start, and a prompt, would be told, and why. Needs project or cwd.",
        (f.PREVIEW, answers.NOT_THERE, *_ANSWERS),
        body=f.PREVIEW_ASKED,
    ),
)

_WORKER = (
    Endpoint(
        "GET",
        "/api/status",
        standing.status,
        "Whether recording goes on, and if not, why and what helps.",
        (f.STANDING,),
    ),
    Endpoint(
        "POST",
        "/api/recording",
        standing.record,
        "Pause or resume recording: all of it, or a session's.",
        (f.STANDING, *_ANSWERS),
        body=(f.PAUSED, recall.SESSION),
    ),
    Endpoint(
        "GET",
        "/api/settings",
        choosing.show,
        "Every setting: what it means, what it is, and who says so. Keys are never shown.",
        (f.SETTINGS, f.UNREADABLE),
    ),
    Endpoint(
        "POST",
        "/api/settings",
        choosing.change,
        "Change settings.json.",
        (f.SAVED, f.UNREADABLE, *_ANSWERS),
        body=(f.CHANGES,),
    ),
    Endpoint(
        "GET",
        "/api/logs",
        logtail.tail,
        "The end of the worker's log, or what came since.",
        (f.LOGS, fields.BAD),
        query=f.LOGS_ASKED,
    ),
)

ROWS: tuple[Endpoint, ...] = (*_CORRECTING, *_PAGES, *_WORKER)
