"""Judges whether what is remembered can be found and told: the index, the vectors, the rendered contexts."""

from __future__ import annotations

from claude_mem.cli import say
from claude_mem.cli.doctor.facts import Recall
from claude_mem.cli.doctor.finding import Finding

ALONE = "Full text answers alone"
WITHOUT = "or do without: CLAUDE_MEM_VECTORS=off"


def judge(fact: Recall) -> list[Finding]:
    return [*_index(fact), _vectors(fact), *_context(fact), *_told(fact)]


def _index(fact: Recall) -> list[Finding]:
    if fact.unindexed is None:
        return []
    if not fact.unindexed:
        return [Finding("index", "ok", "all that is remembered can be found")]
    behind = f"{say.many(fact.unindexed, 'row')} cannot be found yet"
    if not fact.told_by_worker:
        return [Finding("index", "ok", f"{behind}; the worker goes on with them when it runs")]
    if fact.unindexed_before is None or fact.unindexed < fact.unindexed_before:
        return [Finding("index", "ok", f"{behind}, and it gets fewer")]
    return [
        Finding(
            "index",
            "warn",
            f"{behind}, and it does not get fewer",
            next="claude-mem worker logs; if they say nothing: claude-mem worker restart",
        )
    ]


def _vectors(fact: Recall) -> Finding:
    if fact.wanted == "off" and fact.vectors in (None, "off"):
        return Finding("vectors", "ok", f"off, as CLAUDE_MEM_VECTORS says. {ALONE}")
    if fact.vectors == "off":
        says = f"the worker keeps none; from here it would be {fact.wanted}. {ALONE}"
        return Finding("vectors", "warn", says, next="claude-mem worker restart")
    missing = _missing(fact)
    if missing is not None:
        return missing
    if fact.vectors == "unavailable":
        says = f"unavailable: {fact.trouble or 'the worker does not say why.'} {ALONE} until they are back"
        return Finding("vectors", "warn", says, next=_way_back(fact))
    kept = "in the database" if fact.wanted == "builtin" else f"by Chroma, {_where(fact)}"
    if fact.unembedded:
        many = say.many(fact.unembedded, "memory", "memories")
        return Finding("vectors", "ok", f"kept {kept}; {many} still without; full text finds all")
    return Finding("vectors", "ok", f"kept {kept}")


def _missing(fact: Recall) -> Finding | None:
    """What is not installed. Known without a worker, and said better than by the failure it leads to."""
    if not fact.model_there:
        says = f"the package wordllama, which holds the embedding model, is not installed. {ALONE}"
        return Finding("vectors", "warn", says, next=f"install claude-mem anew: make install; {WITHOUT}")
    if fact.wanted == "chroma" and not fact.chroma_there:
        step = 'pip install "claude-mem-py[chroma]"; or keep them in the database: CLAUDE_MEM_VECTORS=builtin'
        return Finding("vectors", "warn", f"the package chromadb is not installed. {ALONE}", next=step)
    return None


def _way_back(fact: Recall) -> str:
    if fact.wanted == "chroma" and fact.chroma_url:
        return f"see that Chroma answers at {fact.chroma_url}; it is tried again every half minute"
    if fact.wanted == "chroma":
        return "it is tried again every half minute; or keep them in the database: CLAUDE_MEM_VECTORS=builtin"
    return f"it is tried again every half minute; {WITHOUT}"


def _where(fact: Recall) -> str:
    return f"at {fact.chroma_url}" if fact.chroma_url else "in chroma/"


def _context(fact: Recall) -> list[Finding]:
    if not fact.context_exists:
        says = "nothing is rendered yet for sessions that start; the worker is asked instead"
        return [Finding("context", "ok", says)]
    if fact.context_writable:
        return [Finding("context", "ok", "rendered ahead for sessions that start")]
    return [
        Finding(
            "context",
            "bad",
            f"{fact.context} cannot be written: sessions that start are told what is old, or nothing",
            next=f"move it away: mv {fact.context} {fact.context}.old; then: claude-mem worker restart",
        )
    ]


def _told(fact: Recall) -> list[Finding]:
    if fact.told is None:
        return []
    if not fact.told:
        return [Finding("told", "ok", "nothing to any session yet")]
    return [Finding("told", "ok", f"sessions were told something {say.many(fact.told, 'time')}")]
