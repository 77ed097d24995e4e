"""What a turn's summary says, by the request and by the structure of the agent's last message."""

from __future__ import annotations

from collections.abc import Iterable

from claude_mem.model.memory import Observation, Summary
from claude_mem.observe.offline import file_kinds, request, titles
from claude_mem.observe.offline.message import Statement, statements
from claude_mem.observe.offline.sentences import (
    FIELD,
    informs,
    is_courtesy,
    is_status,
    listed,
    paragraph,
    sentences,
    shortened,
    unique,
    without_pleasantry,
)
from claude_mem.observe.offline.turns import Turn


def summarize(turn: Turn, observations: list[Observation]) -> Summary | None:
    """None when there is nothing to say: no request, no deed, no word."""
    stated = statements(turn.message)
    edited = unique(change.path for change in turn.changes())
    worked = bool(turn.commits or edited)
    done = [s for s in stated if s.topic == "done" or s.done is True or (worked and s.topic == "other")]
    learned = [
        s for s in stated if s.topic == "learned" or (not worked and s.topic in ("other", "decided", "done"))
    ]
    later = [s for s in stated if (s.topic == "next" or s.done is False) and not s.text.endswith(":")]
    outcome = [each.title or "" for each in observations if each.type not in ("discovery", "decision")]
    told = _told(done)
    fresh = [title for title in outcome if not any(title.casefold() in each.casefold() for each in told)]
    completed = _joined([*fresh, *told]) if worked else None
    todo = [what for what, finished in turn.todos if not finished]
    checks = [check.told for check in turn.last_checks() if check.ok][-1:]
    commits = [f"commit {commit.sha} {commit.subject}".replace("  ", " ") for commit in turn.commits]
    summary = Summary(
        request=wanted(turn, observations) or None,
        investigated=_investigated(turn) or None,
        learned=_joined(_told(learned)),
        completed=completed,
        next_steps=_joined([*_told(later, least=4), *todo, *turn.still_failing()], "\n"),
        files_read=unique(turn.opened, 60),
        files_edited=edited,
        notes=_joined([*checks, *commits]),
    )
    said = summary.completed or summary.learned or summary.next_steps or summary.request
    return summary if said or edited else None


def wanted(turn: Turn, observations: list[Observation]) -> str:
    """The request; where it is a bare “yes” or a link, what came of it."""
    if planned := request.plan_heading(turn.request):
        return paragraph(" ".join([f"{planned}.", *request.plan_context(turn.request)]), FIELD)
    if turn.request and not request.is_assent(turn.request):
        return request.quoted(turn.request, FIELD)
    told = next((each.title for each in observations if each.title), "")
    return told or titles.from_message(turn.message, "", worked=bool(turn.edits))[0]


def _investigated(turn: Turn) -> str:
    """Files read and pages looked up."""
    read = [path for path in turn.opened if file_kinds.is_project_file(path)]
    parts = [
        f"read {listed(read, 260)}" if read else "",
        f"looked up {listed((shortened(what, 80) for what in turn.fetched), 160)}" if turn.fetched else "",
    ]
    return shortened("; ".join(part for part in parts if part), FIELD)


def _told(found: Iterable[Statement], least: int = 20) -> list[str]:
    """The first sentence or two of each statement; none that says next to nothing."""
    taken: list[str] = []
    for statement in found:
        said = " ".join(
            [
                without_pleasantry(sentence)
                for sentence in sentences(statement.text)
                if not sentence.endswith(("?", ":", "："))
                and not is_courtesy(sentence)
                and not is_status(sentence)
            ][:2]
        )
        if len(said) >= least or informs(said):
            taken.append(paragraph(said, 220).rstrip("."))
    return taken


def _joined(parts: Iterable[str], joint: str = "; ") -> str | None:
    """As many of them as fit, whole."""
    taken: list[str] = []
    for part in dict.fromkeys(parts):
        if part and sum(map(len, taken)) + 2 * len(taken) + len(part) <= FIELD:
            taken.append(part)
    return joint.join(taken) or None
