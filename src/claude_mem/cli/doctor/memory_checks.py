"""Judges whether what was captured becomes memory, and whether memory can be found and injected. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from claude_mem.cli import output
from claude_mem.cli.doctor.facts import (
    Database,
    Facts,
    Finding,
    Observing,
    Recall,
    Unknown,
    Worker,
    bad,
    ok,
    warn,
)
from claude_mem.hook import notices

OFFLINE = "offline"
RESTART = "claude-mem worker restart"
FULL_TEXT = "Search uses full text only"
VECTORS_OFF = "or turn vectors off: CLAUDE_MEM_VECTORS=off"
RETRIED = "it is retried every 30 seconds"
BUILTIN = "or store them in the database: CLAUDE_MEM_VECTORS=builtin"


def judge_observing(facts: Facts) -> Iterator[Finding]:
    """Who observes, what holds it up, what is left to spend."""
    chosen = facts.observing
    if isinstance(chosen, Unknown):
        yield warn("observer", f"could not be checked: {chosen.why}")
        return
    worker = facts.worker if isinstance(facts.worker, Worker) else Worker("unknown")
    database = facts.database if isinstance(facts.database, Database) else Database()
    says = f"{chosen.provider}: {chosen.why}"
    if worker.observer in (None, chosen.provider):
        yield ok("observer", says)
    else:
        says = f"the worker uses {worker.observer}; with the current settings it would be {says}"
        yield warn("observer", says, f"to apply the current settings: {RESTART}")
    if worker.paused:
        step = "when fixed: claude-mem queue retry"
        yield bad("paused", worker.paused, step, hinders=worker.paused.rstrip("."))
    if chosen.mode_problem is not None:
        yield warn("mode", chosen.mode_problem, f"fix it, then: {RESTART}")
    if (worker.observer or chosen.provider) != OFFLINE:
        yield from _budget(chosen, database, worker)
    if database.figures is not None:
        age = database.last_observation_age_s
        yield ok("remembered", "nothing yet" if age is None else f"last one {notices.age(age)} ago")


def _budget(chosen: Observing, database: Database, worker: Worker) -> Iterator[Finding]:
    tokens, usd = database.spent_tokens, database.spent_usd
    most_tokens, most_usd = chosen.daily_tokens, chosen.daily_usd
    if tokens is None or usd is None:
        return
    says = (
        f"{tokens:,}{f' of {most_tokens:,}' if most_tokens else ''} tokens and "
        f"${usd:,.2f}{f' of ${most_usd:,.2f}' if most_usd else ''} spent today"
    )
    if (most_tokens and tokens >= most_tokens) or (most_usd and usd >= most_usd):
        says = f"{says}: the budget is used up. The offline observer takes over until midnight UTC"
        yield warn("budget", says, f"raise CLAUDE_MEM_DAILY_TOKENS or CLAUDE_MEM_DAILY_USD, then: {RESTART}")
    elif worker.spent_up:
        says = f"{says}. {worker.spent_up} The offline observer took over"
        yield warn(
            "budget", says, f"raise CLAUDE_MEM_SESSION_TOKENS or CLAUDE_MEM_SESSION_USD, then: {RESTART}"
        )
    else:
        yield ok("budget", says)


def judge_recall(fact: Recall) -> Iterator[Finding]:
    if fact.unindexed is not None:
        yield _index(fact, fact.unindexed)
    yield _vectors(fact)
    if not fact.context_exists:
        yield ok("context", "no pre-rendered context yet; new sessions will ask the worker")
    elif fact.context_writable:
        yield ok("context", "pre-rendered for new sessions")
    else:
        says = f"{fact.context} is not writable: new sessions get stale context, or none"
        yield bad("context", says, f"move it away: mv {fact.context} {fact.context}.old; then: {RESTART}")
    if fact.told is not None:
        times = output.plural(fact.told, "time")
        yield ok("told", f"memory was injected into sessions {times}" if fact.told else "nothing yet")


def _index(fact: Recall, unindexed: int) -> Finding:
    behind = f"{output.plural(unindexed, 'row')} not indexed yet"
    if not unindexed:
        return ok("index", "up to date")
    if not fact.told_by_worker:
        return ok("index", f"{behind}; the worker continues when it runs")
    if fact.unindexed_before is None or unindexed < fact.unindexed_before:
        return ok("index", f"{behind}, catching up")
    step = f"claude-mem worker logs; if they show nothing: {RESTART}"
    return warn("index", f"{behind}, not catching up", step)


def _vectors(fact: Recall) -> Finding:
    is_chroma = fact.wanted == "chroma"
    if fact.wanted == "off" and fact.vectors in (None, "off"):
        return ok("vectors", f"off (CLAUDE_MEM_VECTORS). {FULL_TEXT}")
    if fact.vectors == "off":
        says = f"off in the worker; with the current settings it would be {fact.wanted}. {FULL_TEXT}"
        return warn("vectors", says, RESTART)
    # What is not installed is known without a worker, and says more than the failure it leads to.
    if not fact.model_there:
        says = f"the package wordllama (the embedding model) is not installed. {FULL_TEXT}"
        return warn("vectors", says, f"reinstall claude-mem: make install; {VECTORS_OFF}")
    if is_chroma and not fact.chroma_there:
        step = f'pip install "claude-mem-py[chroma]"; {BUILTIN}'
        return warn("vectors", f"the package chromadb is not installed. {FULL_TEXT}", step)
    if fact.vectors == "unavailable":
        says = f"unavailable: {fact.trouble or 'the worker gives no reason.'} {FULL_TEXT} for now"
        step = f"{RETRIED}; {BUILTIN if is_chroma else VECTORS_OFF}"
        if is_chroma and fact.chroma_url:
            step = f"check that Chroma is reachable at {fact.chroma_url}; {RETRIED}"
        return warn("vectors", says, step)
    where = f"at {fact.chroma_url}" if fact.chroma_url else "in chroma/"
    says = "stored in the database" if fact.wanted == "builtin" else f"stored by Chroma, {where}"
    if fact.unembedded:
        many = output.plural(fact.unembedded, "memory", "memories")
        says = f"{says}; {many} still without one, found by full text"
    return ok("vectors", says)
