"""Selects and orders the observations of a batch, without duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from claude_mem.model.memory import Batch, Memory, Observation, Summary
from claude_mem.model.structs import replace
from claude_mem.observe.offline import changes, decisions, discoveries, errands, summary
from claude_mem.observe.offline.turns import turns
from claude_mem.observe.offline.wording import FACT, FACTS, NARRATIVE, SUBTITLE, TITLE, clip, folded, unique
from claude_mem.observe.tool_calls import ReadEvent

MOST = 20  # observations of one turn

Said = tuple[str, tuple[str, ...], str | None]


class Offline:
    """Total, deterministic, linear in the length of the batch."""

    def observe(self, batch: Batch, seen: Sequence[ReadEvent]) -> Memory:
        """`seen`: the batch's events, read."""
        known = {folded(title) for title in batch.recorded}
        told: set[Said] = set()
        kept: list[Observation] = []
        summaries: list[Summary] = []
        for turn in turns(batch, seen):
            found = chain(
                changes.observe(turn, frozenset(known)),
                errands.observe(turn),
                decisions.observe(turn),
                discoveries.observe(turn),
            )
            fresh: list[Observation] = []
            for observation in found:
                bounded = _bounded(observation)
                if bounded.title and _said(bounded) not in told:
                    told.add(_said(bounded))
                    fresh.append(bounded)
                if len(fresh) == MOST:
                    break  # the rest is not even worked out: that keeps the whole linear
            kept += fresh
            known.update(folded(observation.title or "") for observation in fresh)
            if turn.stopped and batch.wants_summary:
                ended = summary.summarize(turn, fresh)
                summaries += [ended] if ended else []
        return Memory(tuple(kept), tuple(summaries))


def _said(observation: Observation) -> Said:
    """The same title may tell of another change; only with the same words is it the same thing."""
    return folded(observation.title or ""), observation.facts, observation.narrative


def _bounded(observation: Observation) -> Observation:
    return replace(
        observation,
        title=clip(observation.title or "", TITLE),
        subtitle=clip(observation.subtitle, SUBTITLE) if observation.subtitle else None,
        narrative=clip(observation.narrative, NARRATIVE) if observation.narrative else None,
        facts=unique((clip(fact, FACT) for fact in observation.facts if not _is_bare(fact)), FACTS),
    )


def _is_bare(fact: str) -> bool:
    """One plain word, such as `commit` where git told no more; a name in mixed letters is not one."""
    return fact.isalpha() and (fact.islower() or fact.istitle())
