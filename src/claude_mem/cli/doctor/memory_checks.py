"""Judges whether what was captured becomes memory, and whether memory can be found and injected. Pure."""

from __future__ import annotations

from claude_mem.cli import output
from claude_mem.cli.doctor.facts import Database, Facts, Finding, Observing, Recall, Unknown, Worker
from claude_mem.hook import notices

OFFLINE = "offline"


def judge_observing(facts: Facts) -> list[Finding]:
    if isinstance(facts.observing, Unknown):
        return [Finding("observer", "warn", f"could not be checked: {facts.observing.why}")]
    chosen = facts.observing
    worker = facts.worker if isinstance(facts.worker, Worker) else None
    database = facts.database if isinstance(facts.database, Database) else None
    asks = worker.observer if worker and worker.observer else chosen.provider
    return [
        _observer(chosen, worker),
        *_paused(worker),
        *_mode(chosen),
        *([] if asks == OFFLINE or database is None else _budget(chosen, database, worker)),
        *_last(database),
    ]


def _observer(chosen: Observing, worker: Worker | None) -> Finding:
    said = f"{chosen.provider}: {chosen.why}"
    if worker is None or worker.observer in (None, chosen.provider):
        return Finding("observer", "ok", said)
    return Finding(
        "observer",
        "warn",
        f"the worker uses {worker.observer}; with the current settings it would be {said}",
        next="to apply the current settings: claude-mem worker restart",
    )


def _paused(worker: Worker | None) -> list[Finding]:
    if worker is None or not worker.paused:
        return []
    return [
        Finding(
            "paused",
            "bad",
            worker.paused,
            next="when fixed: claude-mem queue retry",
            hinders=worker.paused.rstrip("."),
        )
    ]


def _mode(chosen: Observing) -> list[Finding]:
    if chosen.mode_problem is None:
        return []
    return [
        Finding(
            "mode",
            "warn",
            chosen.mode_problem,
            next="fix it, then: claude-mem worker restart",
        )
    ]


def _budget(chosen: Observing, database: Database, worker: Worker | None) -> list[Finding]:
    if database.spent_tokens is None or database.spent_usd is None:
        return []
    tokens, most_tokens = database.spent_tokens, chosen.daily_tokens
    usd, most_usd = database.spent_usd, chosen.daily_usd
    says = (
        f"{tokens:,}{f' of {most_tokens:,}' if most_tokens else ''} tokens and "
        f"${usd:,.2f}{f' of ${most_usd:,.2f}' if most_usd else ''} spent today"
    )
    if (most_tokens and tokens >= most_tokens) or (most_usd and usd >= most_usd):
        return [
            Finding(
                "budget",
                "warn",
                f"{says}: the budget is used up. The offline observer takes over until midnight UTC",
                next="raise CLAUDE_MEM_DAILY_TOKENS or CLAUDE_MEM_DAILY_USD, then: claude-mem worker restart",
            )
        ]
    if worker is not None and worker.spent_up:
        return [
            Finding(
                "budget",
                "warn",
                f"{says}. {worker.spent_up} The offline observer took over",
                next="raise CLAUDE_MEM_SESSION_TOKENS or CLAUDE_MEM_SESSION_USD, then: claude-mem "
                "worker restart",
            )
        ]
    return [Finding("budget", "ok", says)]


def _last(database: Database | None) -> list[Finding]:
    if database is None or database.figures is None:
        return []
    age = database.last_observation_age_s
    return [Finding("remembered", "ok", "nothing yet" if age is None else f"last one {notices.age(age)} ago")]


ALONE = "Search uses full text only"
WITHOUT = "or turn vectors off: CLAUDE_MEM_VECTORS=off"


def judge_recall(fact: Recall) -> list[Finding]:
    return [*_index(fact), _vectors(fact), *_context(fact), *_injected(fact)]


def _index(fact: Recall) -> list[Finding]:
    if fact.unindexed is None:
        return []
    if not fact.unindexed:
        return [Finding("index", "ok", "up to date")]
    behind = f"{output.plural(fact.unindexed, 'row')} not indexed yet"
    if not fact.told_by_worker:
        return [Finding("index", "ok", f"{behind}; the worker continues when it runs")]
    if fact.unindexed_before is None or fact.unindexed < fact.unindexed_before:
        return [Finding("index", "ok", f"{behind}, catching up")]
    return [
        Finding(
            "index",
            "warn",
            f"{behind}, not catching up",
            next="claude-mem worker logs; if they show nothing: claude-mem worker restart",
        )
    ]


def _vectors(fact: Recall) -> Finding:
    if fact.wanted == "off" and fact.vectors in (None, "off"):
        return Finding("vectors", "ok", f"off (CLAUDE_MEM_VECTORS). {ALONE}")
    if fact.vectors == "off":
        says = f"off in the worker; with the current settings it would be {fact.wanted}. {ALONE}"
        return Finding("vectors", "warn", says, next="claude-mem worker restart")
    missing = _missing(fact)
    if missing is not None:
        return missing
    if fact.vectors == "unavailable":
        says = f"unavailable: {fact.trouble or 'the worker gives no reason.'} {ALONE} for now"
        return Finding("vectors", "warn", says, next=_way_back(fact))
    kept = "in the database" if fact.wanted == "builtin" else f"by Chroma, {_where(fact)}"
    if fact.unembedded:
        many = output.plural(fact.unembedded, "memory", "memories")
        return Finding("vectors", "ok", f"stored {kept}; {many} still without one, found by full text")
    return Finding("vectors", "ok", f"stored {kept}")


def _missing(fact: Recall) -> Finding | None:
    """What is not installed. Known without a worker, and said better than by the failure it leads to."""
    if not fact.model_there:
        says = f"the package wordllama (the embedding model) is not installed. {ALONE}"
        return Finding("vectors", "warn", says, next=f"reinstall claude-mem: make install; {WITHOUT}")
    if fact.wanted == "chroma" and not fact.chroma_there:
        step = (
            'pip install "claude-mem-py[chroma]"; or store them in the database: CLAUDE_MEM_VECTORS=builtin'
        )
        return Finding("vectors", "warn", f"the package chromadb is not installed. {ALONE}", next=step)
    return None


def _way_back(fact: Recall) -> str:
    if fact.wanted == "chroma" and fact.chroma_url:
        return f"check that Chroma is reachable at {fact.chroma_url}; it is retried every 30 seconds"
    if fact.wanted == "chroma":
        return "it is retried every 30 seconds; or store them in the database: CLAUDE_MEM_VECTORS=builtin"
    return f"it is retried every 30 seconds; {WITHOUT}"


def _where(fact: Recall) -> str:
    return f"at {fact.chroma_url}" if fact.chroma_url else "in chroma/"


def _context(fact: Recall) -> list[Finding]:
    if not fact.context_exists:
        says = "no pre-rendered context yet; new sessions will ask the worker"
        return [Finding("context", "ok", says)]
    if fact.context_writable:
        return [Finding("context", "ok", "pre-rendered for new sessions")]
    return [
        Finding(
            "context",
            "bad",
            f"{fact.context} is not writable: new sessions get stale context, or none",
            next=f"move it away: mv {fact.context} {fact.context}.old; then: claude-mem worker restart",
        )
    ]


def _injected(fact: Recall) -> list[Finding]:
    if fact.told is None:
        return []
    if not fact.told:
        return [Finding("told", "ok", "nothing yet")]
    return [Finding("told", "ok", f"memory was injected into sessions {output.plural(fact.told, 'time')}")]
