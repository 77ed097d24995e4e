"""Keeps house because somebody asks for it: projects looked at, renamed and merged, room given back."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from claude_mem.ports.house import House
from claude_mem.serve import asked
from claude_mem.serve import fields as f
from claude_mem.serve.endpoint import Answer, Call, Endpoint, Field
from claude_mem.serve.recall_answers import NOT_THERE
from claude_mem.serve.recall_fields import CONFIRM, DRY_RUN
from claude_mem.serve.refusal import Refusal

_ANSWERS = (f.BAD, f.UNAVAILABLE)

_WHICH = {"key": "git.example/acme/shop", "name": "shop"}
_HINT = (
    Field("from", "string", "The key of the one that may be another.", "/home/ada/shop"),
    Field("into", "string", "The key of that one.", "git.example/acme/shop"),
    Field("names", "array", "Their names.", ["shop", "shop"], items="string"),
    Field("why", "string", "What speaks for it.", "both lie in /home/ada/shop"),
)
_OVERVIEW = Answer(
    200,
    "All of them, and which may be the same.",
    (
        Field(
            "items", "array", "Projects, with `characters` (what was said and done).", items="any", example=[]
        ),
        Field("hints", "array", "Merges that are worth a look.", fields=_HINT),
    ),
)
_RENAMED = Answer(
    200,
    "Committed.",
    (
        Field("key", "string", "The project's key, which stays.", "git.example/acme/shop"),
        Field("before", "string", "What it was called.", "shop"),
        Field("name", "string", "What it is called.", "the shop"),
    ),
)
_MERGED = Answer(
    200,
    "What was merged, or would be.",
    (
        Field("dry_run", "boolean", "Nothing was changed.", True),
        Field("from", "object", "The one that is gone.", {"key": "/home/ada/shop", "name": "shop"}),
        Field("into", "object", "The one it is part of.", _WHICH),
        Field("sessions", "integer", "How many sessions it had.", 3),
        Field("observations", "integer", "How many observations.", 40),
    ),
)
_COLLECTED = Answer(
    200,
    "What was freed, or would be.",
    (
        Field("dry_run", "boolean", "Nothing was changed.", True),
        Field(
            "items",
            "array",
            "By what it is: evidence_old, evidence_large, contexts, markers, backups, free.",
            fields=(
                Field("what", "string", "Which.", "backups"),
                Field("count", "integer", "How many.", 2),
                Field("bytes", "integer", "How much, about.", 1048576),
            ),
        ),
        Field("bytes", "integer", "How much on the disk, about.", 1048576),
        Field("database", "object", "What the database takes now.", {"size": 4096, "free": 0, "log": 0}),
    ),
)


async def overview(call: Call) -> Response:
    return JSONResponse(await asyncio.to_thread(_house(call).overview))


async def rename(call: Call) -> Response:
    given, name = asked.text(call.body, "project"), asked.text(call.body, "name")
    renamed = await asyncio.to_thread(_house(call).rename, given, name)
    call.running.tell_change()
    return JSONResponse(renamed)


async def merge(call: Call) -> Response:
    """What is merged does not come apart again, so it takes two words, as forgetting does."""
    given, into = asked.text(call.body, "from"), asked.text(call.body, "into")
    dry_run = call.body["dry_run"] is True or call.body["confirm"] is not True
    merged = await asyncio.to_thread(_house(call).merge, given, into, dry_run=dry_run)
    call.running.tell_change()
    return JSONResponse(merged)


async def collect(call: Call) -> Response:
    dry_run = call.body["dry_run"] is True
    return JSONResponse(await asyncio.to_thread(_house(call).collect, dry_run=dry_run))


def _house(call: Call) -> House:
    found = call.running.parts.house
    if found is None:
        raise Refusal(503, "unavailable", "This worker only captures; it keeps no house.")
    return found


ROWS = (
    Endpoint(
        "GET",
        "/api/projects/overview",
        overview,
        "All projects with their size, the most recently worked on first, and which may be one.",
        (_OVERVIEW, f.UNAVAILABLE),
    ),
    Endpoint(
        "POST",
        "/api/projects/rename",
        rename,
        "Give a project another name; all that is remembered of it goes by it.",
        (_RENAMED, NOT_THERE, *_ANSWERS),
        body=(
            Field("project", "string", "Its key, or its name if only one has it.", "shop", required=True),
            Field("name", "string", "What it is to be called.", "the shop", required=True),
        ),
    ),
    Endpoint(
        "POST",
        "/api/projects/merge",
        merge,
        "Make all of one project another's, also what comes later. Without confirm: only tell what would be.",
        (_MERGED, NOT_THERE, *_ANSWERS),
        body=(
            Field("from", "string", "The one that goes: its key, or its name.", "shop-old", required=True),
            Field("into", "string", "The one that stays.", "shop", required=True),
            DRY_RUN,
            CONFIRM,
        ),
    ),
    Endpoint(
        "POST",
        "/api/gc",
        collect,
        "Let go of what is too old or too much, and give room back to the disk.",
        (_COLLECTED, *_ANSWERS),
        body=(DRY_RUN,),
    ),
)
