"""Routes for projects: lists and pages, costs, the context of the next session, renaming, merging,
cleanup."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from claude_mem.api import projects as api
from claude_mem.api.filters import FilterRequest, Page
from claude_mem.recall.answers import Json
from claude_mem.serve.http.router import NOT_FOUND, Answer, Call, ReadingCall, Routes, ok
from claude_mem.serve.requests import Refusal

routes = Routes()


@routes.get("/api/projects", "A page of projects, most recently used first.")
def listed(call: ReadingCall, query: api.ProjectsQuery) -> api.ProjectList:
    return call.memory.projects(Page(query.limit, query.offset))


@routes.get(
    "/api/projects/overview",
    "All projects with their size, most recently used first, and possible duplicates.",
)
def overview(call: Call) -> api.ProjectsOverview:
    return call.recall.projects.overview()


@routes.get("/api/project", "An overview of a project. Needs project or cwd.", NOT_FOUND)
def project(call: ReadingCall, query: api.ProjectQuery) -> api.ProjectAnswer:
    return call.memory.project(_one_project(query), days=query.days)


@routes.get("/api/facets", "The available values of the filters.")
def facets(call: ReadingCall, query: api.FacetsQuery) -> api.FacetsAnswer:
    return call.memory.facets(query.filters)


@routes.get(
    "/api/cost", "What memory costs, by day, model and project; what was injected; what batching saved."
)
def cost(call: Call, query: api.CostQuery) -> api.CostAnswer:
    return call.recall.costs.cost(query.project, days=query.days)


@routes.get(
    "/api/context/inject",
    "What is injected at the start of the next session in a project, as plain text. Needs project or cwd.",
    Answer(200, "The text.", media_type="text/plain"),
    ok(api.ContextAnswer),
)
def context(call: Call, query: api.ContextQuery) -> Json | Response:
    found = call.recall.injector.context(_one_project(query), source=query.source, session=query.session)
    return found if query.format == "json" else PlainTextResponse(str(found["text"]))


@routes.post(
    "/api/context/preview",
    "What would be injected at the next session start, and at a prompt, and why. Needs project or cwd.",
    ok(api.PreviewAnswer),
    NOT_FOUND,
)
def preview(call: Call, body: api.PreviewRequest) -> Json:
    return call.recall.injector.preview(_one_project(body), body.prompt, body.sizes)


@routes.post("/api/projects/rename", "Rename a project.", NOT_FOUND)
def rename(call: Call, body: api.RenameRequest) -> api.RenameAnswer:
    renamed = call.recall.projects.rename(body.project, body.name)
    call.running.notify_change()
    return renamed


@routes.post(
    "/api/projects/merge",
    "Merge one project into another, including future sessions. Without confirm: a dry run.",
    NOT_FOUND,
)
def merge(call: Call, body: api.MergeProjectsRequest) -> api.MergeProjectsAnswer:
    """A merge cannot be undone, so it needs `confirm`, like forgetting."""
    dry_run = body.dry_run is True or not body.confirm
    merged = call.recall.projects.merge(body.from_, body.into, dry_run=dry_run)
    call.running.notify_change()
    return merged


@routes.post("/api/gc", "Delete expired data and reclaim disk space.")
def collect(call: Call, body: api.GcRequest) -> api.GcAnswer:
    return call.recall.retention.collect(dry_run=body.dry_run is True)


def _one_project(given: api.ProjectParams) -> FilterRequest:
    if not given.project and not given.cwd:
        message = "Specify a project or a working directory (cwd)."
        raise Refusal(400, "missing_field", message, field="project")
    return given.filters
