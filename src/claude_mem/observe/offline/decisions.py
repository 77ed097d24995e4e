"""Which choices were made, and why: answers, plans, stated decisions, conventions written down."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_mem.model.memory import Observation
from claude_mem.observe.offline import file_names, findings, user_request, vocabulary
from claude_mem.observe.offline.findings import Statement
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.wording import FACT, FACTS, NARRATIVE, TITLE, clip, sentences, unique

_DESCRIBED = re.compile(r"^\+?description:\s*[\"']?(.{10,400}?)[\"']?\s*$")

# After a word of deciding: what was not taken, or what a colon or a dash gives as the reason.
_ELSE = re.compile(r"\b(?:instead of|rather than|in favou?r of)\b|, not \w|[:—–] \w")
_OVER = re.compile(r"(?! to\b)[^.]{1,200}? over \w")  # "chose to go over it" chose nothing over another
_OPEN = re.compile(r"(?:if|when|once|unless|until|whether|before)\b", re.I)


def observe(turn: Turn) -> Iterator[Observation]:
    asked = user_request.quoted(turn.request, 260)
    asked = f"Asked: “{asked}”" if asked else ""
    for choice in turn.chosen:
        pairs = [
            (clip(question, 110), clip(answer, 110)) for question, answer in choice.answers if answer.strip()
        ]
        if pairs:
            title = clip(f"{pairs[0][1]} — {pairs[0][0]}", TITLE)
            facts = unique((clip(f"{question} → {answer}", FACT) for question, answer in pairs), FACTS)
            yield Observation(
                "decision", title, "the user's answer", asked or None, facts, ("why-it-exists",)
            )
    for plan in turn.plans[-1:]:
        facts = findings.facts(plan.text)
        title = next((s.lead for s in findings.statements(plan.text) if s.lead), "") or findings.gist(
            plan.text, TITLE
        )
        if title and facts:
            files = unique(findings.sources(plan.text), 20)
            yield Observation(
                "decision",
                clip(title, TITLE),
                "plan",
                clip(f"{asked} {findings.gist(plan.text, 400)}".strip(), NARRATIVE),
                facts,
                ("why-it-exists",),
                files,
            )
    yield from _written(turn, asked)
    stated = unique(
        (clip(_sentence(s), FACT) for s in findings.statements(turn.message) if _decides(s)), FACTS
    )
    if stated:
        weighed = any(vocabulary.INSTEAD.search(text) for text in stated)
        rest = stated if len(stated[0]) > TITLE else stated[1:]
        yield Observation(
            "decision",
            clip(stated[0], TITLE),
            None,
            clip(f"{asked} {stated[0]}".strip(), NARRATIVE),
            rest,
            ("trade-off",) if weighed else ("why-it-exists",),
            unique(findings.sources(turn.message), 20),
        )


def _decides(statement: Statement) -> bool:
    """Under a heading that speaks of decisions; or one thing instead of another, with a reason."""
    text = statement.text
    if statement.topic == "next" or text.endswith("?") or not findings.informs(text):
        return False
    if statement.topic == "decided":
        return statement.item or bool(statement.lead) or bool(vocabulary.REASON.search(text))
    return any(_chooses(sentence) for sentence in sentences(text))


def _chooses(sentence: str) -> bool:
    """One thing instead of another with a reason; or a word of deciding, with the one or the other."""
    if not findings.informs(sentence):
        return False
    reason = vocabulary.REASON.search(sentence)
    if reason and vocabulary.INSTEAD.search(sentence):
        return True
    decided = vocabulary.DECIDED.search(sentence)
    if decided is None or _OPEN.match(sentence):
        return False
    after = sentence[decided.end() :]
    return bool(reason or _ELSE.search(after) or (not decided[0].endswith("to") and _OVER.match(after)))


def _sentence(statement: Statement) -> str:
    if statement.topic == "decided":
        return statement.text
    return next((sentence for sentence in sentences(statement.text) if _chooses(sentence)), statement.text)


def _written(turn: Turn, asked: str) -> Iterator[Observation]:
    """A convention the agent wrote into its own memory: the user's rule, in one line."""
    for _, edit in turn.edits:
        if not edit.created or not file_names.MEMORY.search(edit.path):
            continue
        lines = [line for hunk in edit.hunks for line in hunk.lines]
        said = next((found[1] for line in lines[:12] if (found := _DESCRIBED.match(line))), "")
        body = "\n".join(line[1:] for line in lines)
        body = body.split("\n---\n", 1)[-1]
        if said:
            yield Observation(
                "decision",
                clip(said, TITLE),
                "a rule of this project",
                clip(f"{asked} {said}".strip(), NARRATIVE),
                findings.facts(body, 4),
                ("why-it-exists",),
            )
