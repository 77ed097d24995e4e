"""Shows what a session would be told, and why, without telling it to any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from claude_mem.api.filters import SearchFilters
from claude_mem.ports.desk import Data, NotThere
from claude_mem.ports.library import Project
from claude_mem.recall import shown
from claude_mem.recall.occasions import BESIDE_THE_BEST, FLOOR, Occasions, Size, relevance
from claude_mem.recall.packing import Rendered
from claude_mem.recall.question import Questions

LONGEST_PROMPT = 20_000
SIZES = {
    "context_characters": "start_characters",
    "context_tokens": "start_tokens",
    "prompt_characters": "prompt_characters",
}
"""Settings that decide how much is told, and what they are called where it is packed."""


class Preview:
    def __init__(self, questions: Questions, occasions: Occasions) -> None:
        self._questions, self._occasions = questions, occasions

    def preview(self, narrowing: SearchFilters, prompt: str, sizes: Mapping[str, int]) -> Data:
        project = self._questions.project(narrowing)
        if project is None:
            raise NotThere("Nothing is remembered of that directory; a session there is told nothing.")
        told = {SIZES[name]: value for name, value in sizes.items()}
        occasions = replace(self._occasions, size=replace(self._occasions.size, **told))
        session = narrowing.session
        return {
            "project": project.name,
            "start": {
                **_rendered(occasions.start(project, session)),
                "plain": occasions.start(project, session, plain=True).text,
            },
            "prompt": self._prompted(occasions, project, session, prompt) if prompt.strip() else None,
            "settings": _sizes(occasions.size),
            "in_force": _sizes(self._occasions.size),
        }

    def _prompted(self, occasions: Occasions, project: Project, session: str, prompt: str) -> Data:
        considered = occasions.considered(project, session, project.root, prompt[:LONGEST_PROMPT])
        rendered = occasions.told_at(prompt, [hit for hit, told in considered if told])
        return {
            **_rendered(rendered),
            "floor": FLOOR,
            "beside": BESIDE_THE_BEST,
            "hits": [
                shown.result(hit, explain=True)
                | {"relevance": round(relevance(hit), 4), "told": hit.card.ref in rendered.refs}
                for hit, _ in considered
            ],
        }


def _rendered(told: Rendered) -> Data:
    return {
        "text": told.text,
        "characters": len(told.text),
        "tokens": told.tokens,
        "refs": [str(ref) for ref in told.refs],
    }


def _sizes(size: Size) -> dict[str, int]:
    return {name: getattr(size, field) for name, field in SIZES.items()}
