"""Observations from commands with effects beyond files: installs, forges, clusters, deletions."""

from __future__ import annotations

from collections.abc import Iterator

from claude_mem.model.memory import Observation
from claude_mem.observe.offline import findings, user_request
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.wording import FACT, NARRATIVE, TITLE, clip, listed, unique


def observe(turn: Turn) -> Iterator[Observation]:
    asked = user_request.quoted(turn.request, 260)
    said = findings.gist(turn.message)
    narrative = (
        clip(" ".join(part for part in (f"Asked: “{asked}”" if asked else "", said) if part), NARRATIVE)
        or None
    )
    for manager in dict.fromkeys(install.manager for install in turn.installs):
        mine = [install for install in turn.installs if install.manager == manager]
        added = unique(package for install in mine if install.ok for package in install.packages)
        refused = [install for install in mine if not install.ok and not set(install.packages) <= set(added)]
        if added:
            yield Observation(
                "change",
                clip(f"{listed(added, 80)} installed with {manager}", TITLE),
                None,
                narrative,
                (f"{manager}: {listed(added, 170)}",),
                ("what-changed",),
            )
        for install in refused[-1:]:
            why = install.errors[0] if install.errors else "it failed"
            yield Observation(
                "discovery",
                clip(f"{listed(install.packages, 50)} could not be installed with {manager}: {why}", TITLE),
                None,
                None,
                unique(clip(error, FACT) for error in install.errors),
                ("gotcha",),
            )
    main = [operation for operation in turn.operations if operation.weight == "main"]
    if not main and not turn.commits and not turn.edits:
        main = turn.operations[-1:]  # a turn that only pushed, or only made a branch
    if turn.commits or turn.edits:
        main = [
            operation for operation in main if not operation.paths
        ]  # moves and deletions are part of the change
    stated = findings.facts(turn.message, 4) if not turn.commits and not turn.edits else ()
    seen = set[str]()
    for operation in main[:6]:
        if operation.title not in seen:
            seen.add(operation.title)
            facts = unique(
                [
                    *operation.facts,
                    *(
                        other.title
                        for other in turn.operations
                        if other.weight == "minor" and other is not operation
                    ),
                    *stated,
                ],
                6,
            )
            yield Observation(
                "change",
                clip(operation.title, TITLE),
                None,
                narrative,
                facts,
                ("what-changed",),
                (),
                unique(operation.paths, 20),
            )
