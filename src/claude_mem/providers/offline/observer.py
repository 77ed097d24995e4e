"""Decides what of a batch is kept, in which order, and that nothing is told twice."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from claude_mem.model.batch import Batch
from claude_mem.model.observation import Memory, Observation, Summary
from claude_mem.providers.offline import changes, decisions, discoveries, errands, summary
from claude_mem.providers.offline.turns import turns
from claude_mem.providers.offline.wording import (
    FACT,
    FACTS,
    NARRATIVE,
    SUBTITLE,
    TITLE,
    clip,
    one_line,
    unique,
)

MOST = 20  # observations of one turn


class Offline:
    """Total, deterministic, linear in the length of the batch."""

    def observe(self, batch: Batch) -> Memory:
        known = {_folded(title) for title in batch.recorded}
        kept: list[Observation] = []
        summaries: list[Summary] = []
        for turn in turns(batch):
            found = chain(
                changes.observe(turn, frozenset(known)),
                errands.observe(turn),
                decisions.observe(turn),
                discoveries.observe(turn),
            )
            fresh: list[Observation] = []
            for observation in found:
                title = _folded(observation.title or "")
                if title and title not in known:
                    known.add(title)
                    fresh.append(_bounded(observation))
                if len(fresh) == MOST:
                    break  # the rest is not even worked out: that keeps the whole linear
            kept += fresh
            if turn.stopped and batch.wants_summary:
                told = summary.summarize(turn, fresh)
                summaries += [told] if told else []
        return Memory(tuple(kept), tuple(summaries))


def _folded(title: str) -> str:
    return one_line(title).casefold()


def _bounded(observation: Observation) -> Observation:
    return replace(
        observation,
        title=clip(observation.title or "", TITLE),
        subtitle=clip(observation.subtitle, SUBTITLE) if observation.subtitle else None,
        narrative=clip(observation.narrative, NARRATIVE) if observation.narrative else None,
        facts=unique((clip(fact, FACT) for fact in observation.facts), FACTS),
    )
