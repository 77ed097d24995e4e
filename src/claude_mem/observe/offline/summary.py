"""What a turn's summary says, by the request and by the structure of the agent's last message."""

from __future__ import annotations

from collections.abc import Iterable

from claude_mem.model.memory import Observation, Summary
from claude_mem.observe.offline import file_names, filler, findings, fixed_failures, user_request
from claude_mem.observe.offline.findings import Statement
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.wording import FIELD, clip, listed, sentences, unique


def summarize(turn: Turn, observations: list[Observation]) -> Summary | None:
    """None when there is nothing to say: no request, no deed, no word."""
    stated = findings.statements(turn.message)
    edited = unique(edit.moved_to or edit.path for _, edit in turn.edits)
    worked = bool(turn.commits or edited or turn.operations or turn.installs)
    done = [
        s for s in stated if s.topic == "done" or s.done is True or (worked and s.topic == "other" and s.item)
    ]
    learned = [s for s in stated if s.topic == "learned" or (not worked and s.topic in ("other", "decided"))]
    later = [s for s in stated if (s.topic == "next" or s.done is False) and not s.text.endswith(":")]
    completed = _told(done) or "; ".join(
        observation.title or "" for observation in observations if observation.type != "discovery"
    )
    if not completed and worked:
        completed = findings.gist(turn.message, FIELD)
    mended = [mend.told for mend in fixed_failures.mended(turn) if mend.by_edits and not mend.own]
    todo = [what for what, finished in turn.todos if not finished]
    commits = [f"commit {commit.sha} {commit.subject}".replace("  ", " ") for commit in turn.commits]
    summary = Summary(
        request=user_request.quoted(turn.request, FIELD) or None,
        investigated=_investigated(turn) or None,
        learned=_joined([*mended, _told(learned)]),
        completed=clip(completed, FIELD) or None,
        next_steps=_joined([_told(later, least=4), *todo, *fixed_failures.still(turn)]),
        files_read=unique(
            [
                *turn.opened,
                *(hit for search in turn.searches for hit in search.hits if len(search.hits) <= 3),
            ],
            60,
        ),
        files_edited=edited,
        notes=_joined([fixed_failures.checked(turn) or "", *commits]),
    )
    said = summary.completed or summary.learned or summary.next_steps or summary.request
    return summary if said or edited else None


def _investigated(turn: Turn) -> str:
    """Areas read, things searched, pages looked up, work handed to others."""
    read = [path for path in turn.opened if not file_names.is_scratch(path)]
    parts = [
        f"read {listed(read, 260)}" if read else "",
        f"searched for {listed((clip(search.pattern, 60) for search in turn.searches), 160)}"
        if turn.searches
        else "",
        f"looked up {listed((clip(step.what, 80) for step in turn.fetched), 160)}" if turn.fetched else "",
        f"delegated {listed((report.task for report in turn.reports if report.task), 120)}"
        if any(report.task for report in turn.reports)
        else "",
    ]
    return clip("; ".join(part for part in parts if part), FIELD)


def _told(found: Iterable[Statement], least: int = 20) -> str:
    """The first sentence or two of each statement, as many as fit; none that says next to nothing."""
    taken: list[str] = []
    length = 0
    for statement in found:
        said = " ".join(
            [
                sentence
                for sentence in sentences(statement.text)
                if not sentence.endswith(("?", ":", "：")) and not filler.is_one(sentence)
            ][:2]
        )
        said = clip(said, 220)
        if (len(said) < least and not findings.informs(said)) or (taken and length + len(said) + 2 > FIELD):
            continue
        taken.append(said.rstrip("."))
        length += len(said) + 2
    return "; ".join(dict.fromkeys(taken))


def _joined(parts: Iterable[str]) -> str | None:
    return clip("; ".join(dict.fromkeys(part for part in parts if part)), FIELD) or None
