"""Projects: their pages, statistics and costs, the context of their next session, and maintenance."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from claude_mem.api.fields import Params, Session, doc
from claude_mem.api.filters import FilterRequest
from claude_mem.api.memories import Confirm, DryRun, FoundMemory, Limit, ListAnswer, Offset
from claude_mem.api.sessions import SessionSummary

SIZES = ("context_characters", "context_tokens", "prompt_characters")


class ProjectParams(Params, frozen=True, kw_only=True):
    project: Annotated[str, doc("The project's name or key.", "shop")] = ""
    cwd: Annotated[str, doc("Or a directory of it.", "/home/ada/shop")] = ""

    @property
    def filters(self) -> FilterRequest:
        return FilterRequest(project=self.project, cwd=self.cwd)


# -- Requests --


class ProjectsQuery(Params, frozen=True, kw_only=True):
    limit: Limit = 20
    offset: Offset = 0


class ProjectQuery(ProjectParams, frozen=True, kw_only=True):
    days: Annotated[int, Meta(ge=1, le=3_660), doc("How many days to look back.", 365)] = 365


class FacetsQuery(ProjectParams, frozen=True, kw_only=True):
    pass


class CostQuery(Params, frozen=True, kw_only=True):
    project: Annotated[str, doc("Only this project: its name or key.", "shop")] = ""
    days: Annotated[int, Meta(ge=1, le=366), doc("How many days (UTC), including today.", 30)] = 30


class ContextQuery(ProjectParams, frozen=True, kw_only=True):
    source: Annotated[
        Literal["startup", "resume", "clear", "compact"], doc("How the session starts.", "startup")
    ] = "startup"
    session: Session = ""
    format: Annotated[Literal["text", "json"], doc("As text or as JSON.", "text")] = "text"


class PreviewRequest(ProjectParams, frozen=True, kw_only=True):
    session: Session = ""
    prompt: Annotated[str, doc("A prompt to try.", "Why does the login fail?")] = ""
    context_characters: Annotated[
        Annotated[int, Meta(ge=0, le=9_900)] | None, doc("Overrides the setting for this request.", 9500)
    ] = None
    context_tokens: Annotated[Annotated[int, Meta(ge=0, le=10_000)] | None, doc("Likewise.", 3000)] = None
    prompt_characters: Annotated[Annotated[int, Meta(ge=0, le=9_900)] | None, doc("Likewise.", 2400)] = None

    @property
    def filters(self) -> FilterRequest:
        return FilterRequest(project=self.project, cwd=self.cwd, session=self.session)

    @property
    def sizes(self) -> dict[str, int]:
        return {name: value for name in SIZES if (value := getattr(self, name)) is not None}


class RenameRequest(Params, frozen=True, kw_only=True):
    project: Annotated[str, doc("Its key, or its name if only one project has it.", "shop")]
    name: Annotated[str, doc("The new name.", "the shop")]


class MergeProjectsRequest(Params, frozen=True, kw_only=True):
    from_: Annotated[str, doc("The project to merge: its key or name.", "shop-old")] = field(name="from")
    into: Annotated[str, doc("The project to keep.", "shop")]
    dry_run: DryRun = None
    confirm: Confirm = False


class GcRequest(Params, frozen=True, kw_only=True):
    dry_run: DryRun = None


# -- Answers --


class ProjectSummary(Struct, frozen=True, kw_only=True):
    id: Annotated[int, doc("The database's id of the project.", 3)]
    name: Annotated[str, doc("Its name.", "shop")]
    key: Annotated[str, doc("Its key.", "git.example/acme/shop")]
    root: Annotated[str, doc("Its directory.", "/home/ada/shop")]
    sessions: Annotated[int, doc("How many sessions.", 12)]
    observations: Annotated[int, doc("How many observations.", 140)]
    last_at: Annotated[str | None, doc("When it was last worked on, in UTC.", "2026-01-31T10:00:00.000Z")]
    last_at_epoch: Annotated[int | None, doc("The same in milliseconds.", 1769853600000)]


class ProjectList(ListAnswer, kw_only=True):
    items: Annotated[list[ProjectSummary], doc("Projects, most recently used first.")]


class ProjectOverview(ProjectSummary, frozen=True, kw_only=True):
    remote: Annotated[str | None, doc("Its git remote.", "git.example/acme/shop")]
    characters: Annotated[int, doc("How much text is stored.", 48000)]
    merged: Annotated[tuple[str, ...], doc("Keys of the projects merged into it.", [])]
    is_there: Annotated[bool, doc("Whether its directory exists.", True)]


class MergeHint(Struct, kw_only=True):
    from_: Annotated[str, doc("The key of the possible duplicate.", "/home/ada/shop")] = field(name="from")
    into: Annotated[str, doc("The key of the project it may belong to.", "git.example/acme/shop")]
    names: Annotated[list[str], doc("Their names.", ["shop", "shop"])]
    why: Annotated[str, doc("Why they may be the same.", "both are in /home/ada/shop")]


class ProjectsOverview(Struct):
    items: Annotated[list[ProjectOverview], doc("Projects, most recently used first.")]
    hints: Annotated[list[MergeHint], doc("Suggested merges.")]


class RenameAnswer(Struct):
    key: Annotated[str, doc("The project's key, which stays.", "git.example/acme/shop")]
    before: Annotated[str, doc("The old name.", "shop")]
    name: Annotated[str, doc("The new name.", "the shop")]


class ProjectName(Struct):
    key: Annotated[str, doc("Its key.", "git.example/acme/shop")]
    name: Annotated[str, doc("Its name.", "shop")]


class MergeProjectsAnswer(Struct, kw_only=True):
    dry_run: Annotated[bool, doc("Nothing was changed.", True)]
    from_: Annotated[ProjectName, doc("The project that was merged.")] = field(name="from")
    into: Annotated[ProjectName, doc("The project it was merged into.")]
    sessions: Annotated[int, doc("How many sessions it had.", 3)]
    observations: Annotated[int, doc("How many observations.", 40)]


class Freed(Struct):
    what: Annotated[str, doc("evidence_old, evidence_large, contexts, markers, backups or free.", "backups")]
    count: Annotated[int, doc("How many.", 2)]
    bytes: Annotated[int, doc("Approximate size.", 1048576)]


class GcAnswer(Struct):
    dry_run: Annotated[bool, doc("Nothing was changed.", True)]
    items: Annotated[list[Freed], doc("What was freed, or would be.")]
    bytes: Annotated[int, doc("Approximate size on disk.", 1048576)]
    database: Annotated[
        dict[str, int], doc("The size of the database now.", {"size": 4096, "free": 0, "log": 0})
    ]


class ProjectAnswer(Struct):
    project: Annotated[ProjectSummary, doc("Its name, key, directory and counts.")]
    days: int
    activity: Annotated[
        list[Any],
        doc(
            "Days with activity, in the user's time zone.",
            [{"day": "2026-01-31", "observations": 4, "prompts": 2, "summaries": 2}],
        ),
    ]
    types: Annotated[dict[str, int], doc("How many observations of each type.", {"bugfix": 3})]
    files: Annotated[list[Any], doc("Most changed files: `path`, `changes`, `last_at`.", [])]
    next_steps: Annotated[list[Any], doc("Open next steps: `ref`, `session_id`, `at`, `text`.", [])]
    pinned: Annotated[list[FoundMemory], doc("What is pinned.")]
    sessions: Annotated[list[SessionSummary], doc("The latest sessions.")]


class FacetsAnswer(Struct, kw_only=True):
    """The available values of the filters."""

    projects: tuple[str, ...]
    types: tuple[str, ...]
    branches: tuple[str, ...]
    clients: tuple[str, ...]
    authors: Annotated[tuple[str, ...], doc("The other members of the team.", ["ada"])]
    concepts: tuple[str, ...]


class CostRow(Struct, frozen=True, kw_only=True):
    """The calls of a day, a project or a model, in tokens, and in money where the price is known."""

    day: Annotated[str | UnsetType, doc("In UTC.", "2026-01-31")] = UNSET
    project: str | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: Annotated[float | None, doc("null: unknown for all calls.", 0.02)]


class InjectedRow(Struct, frozen=True, kw_only=True):
    day: str | UnsetType = UNSET
    event: str | UnsetType = UNSET
    times: int
    tokens: int


class Batching(Struct, frozen=True, kw_only=True):
    """What one call per tool use would have cost."""

    tool_uses: int
    calls: int
    input_tokens: int
    estimated_input_tokens: int
    saved_tokens: int
    saved_usd: float | None
    explained: Annotated[str, doc("How it was computed.")]


class CostBudget(Struct, frozen=True, kw_only=True):
    """Limits; 0: none."""

    daily_tokens: int
    daily_usd: float
    session_tokens: int
    session_usd: float
    today: Annotated[dict[str, Any], doc("What today has cost.", {"tokens": 1200, "usd": 0.01})]


class CostAnswer(Struct, kw_only=True):
    days: int
    since: Annotated[str, doc("The first day.", "2026-01-02")]
    rows: Annotated[list[CostRow], doc("By day, project, provider and model.")]
    by_day: Annotated[list[CostRow], doc("Every day, including days without calls.")]
    by_model: Annotated[list[CostRow], doc("By provider and model.")]
    by_project: Annotated[list[CostRow], doc("By project.")]
    total: Annotated[CostRow, doc("All of them.")]
    injected: Annotated[list[InjectedRow], doc("What was injected into sessions, by day.")]
    injected_by_event: Annotated[list[InjectedRow], doc("The same by hook event.")]
    batching: Batching
    budget: CostBudget


class ContextAnswer(Struct):
    text: Annotated[str, doc("What is injected, fenced; empty if there is nothing.", "<claude-mem-context>…")]
    plain: Annotated[str, doc("The same for people, without the fence.", "Memory of shop, …")]
    tokens: Annotated[int, doc("Approximate tokens to read it.", 640)]
    refs: Annotated[list[str], doc("The memories in it.", ["12", "s3"])]
    project: Annotated[str | None, doc("The project's name; null: there is no such project.", "shop")]


class PreviewAnswer(Struct, kw_only=True):
    """What would be injected. Nothing is recorded."""

    project: Annotated[str | None, doc("The project's name.", "shop")]
    start: Annotated[Any, doc("At the session's start: `text`, `plain`, `characters`, `tokens`, `refs`.", {})]
    prompt: Annotated[
        Any,
        doc(
            "At the prompt: the same, and `hits`: memories with score `parts`; `selected` ones are injected.",
            {},
        ),
    ] = None
    settings: Annotated[Any, doc("The limits it was rendered with.", {"context_characters": 9500})]
    in_force: Annotated[Any, doc("The limits currently in force.", {"context_characters": 9500})]
