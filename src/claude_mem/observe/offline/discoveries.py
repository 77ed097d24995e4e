"""What was found out: by reading and searching, on the web, and from commands that would not work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from claude_mem.model.memory import Observation
from claude_mem.observe.offline import (
    failures,
    file_names,
    findings,
    fixed_failures,
    markdown,
    outline,
    user_request,
)
from claude_mem.observe.offline.steps import Fetched, Searched
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.wording import FACT, FACTS, NARRATIVE, SUBTITLE, TITLE, clip, listed, unique

_HIT = re.compile(r"^((?:[A-Za-z]:)?[^:\n]{1,300}):(\d+):(.*)$")
_SOURCE = re.compile(r"^Source: (https?://\S+)|\"(?:url|link)\":\s*\"(https?://[^\"\s]+)\"", re.M)


def observe(turn: Turn) -> Iterator[Observation]:
    worked = turn.commits or any(not file_names.is_scratch(edit.path) for _, edit in turn.edits)
    wrote = worked or any(file_names.nature(edit.path) == "docs" for _, edit in turn.edits)
    yield from _broken(turn, bool(worked))
    yield from _gotchas(turn)
    if turn.fetched:
        yield from _looked_up(turn)
    acted = (
        any(operation.weight == "main" for operation in turn.operations)
        and not turn.opened
        and not turn.searches
    )
    if not wrote and not acted:
        yield from _found(turn)


def _found(turn: Turn) -> Iterator[Observation]:
    """A turn that only explored: what the agent reports, else where its searches led."""
    report = (
        turn.message
        if findings.weighs(turn.message)
        else next((told.report for told in turn.reports if findings.weighs(told.report)), "")
    )
    defined = list(_definitions(turn.searches))
    read = unique(
        [*turn.opened, *(hit for search in turn.searches for hit in search.hits if len(search.hits) <= 5)], 30
    )
    if report:
        title = findings.subject(report)
        stated = [fact for fact in findings.facts(report) if fact[:80] != title[:80]]
        facts = unique([*stated, *defined[:2]], FACTS)
        if title and facts:
            cause = any(
                s.topic == "learned"
                and re.search(r"cause|ursache|原因|причин|causa", f"{s.lead} {s.text}"[:200], re.I)
                for s in findings.statements(report)
            )
            asked = user_request.quoted(turn.request, 260)
            narrative = " ".join(
                part for part in (f"Asked: “{asked}”" if asked else "", findings.gist(report, 400)) if part
            )
            files = unique([*findings.sources(report), *read], 30)
            subtitle = clip(f"from {listed(map(file_names.name, files), 130)}", SUBTITLE) if files else None
            yield Observation(
                "discovery",
                title,
                subtitle,
                clip(narrative, NARRATIVE),
                facts,
                ("problem-solution",) if cause else ("how-it-works",),
                files,
            )
        return
    led = [
        search
        for search in turn.searches
        if 0 < len(search.hits) <= 8 and set(search.hits) & set(turn.opened)
    ]
    if defined or led:
        facts = unique([*defined, *(_occurs(search) for search in led)], FACTS)
        asked = user_request.quoted(turn.request, 260)
        yield Observation(
            "discovery",
            clip(facts[0], TITLE),
            None,
            f"Asked: “{asked}”" if asked else None,
            facts,
            ("how-it-works",),
            read,
        )


def _occurs(search: Searched) -> str:
    return clip(f"{clip(search.pattern, 80)} occurs in {listed(search.hits, 100)}", FACT)


def _definitions(searches: list[Searched]) -> Iterator[str]:
    """`x is defined in a.go:12`, for hits on lines that define what was searched."""
    for search in searches:
        for line in search.lines[:60]:
            hit = _HIT.match(line)
            name = (
                outline.defines(hit[3], hit[1])
                if hit and file_names.nature(hit[1]) in ("code", "tests")
                else None
            )
            bare = name.removesuffix("()").rpartition(".")[2] if name else ""
            if hit and len(bare) > 3 and bare in search.pattern:
                yield clip(f"{name} is defined in {hit[1]}:{hit[2]}", FACT)


def _looked_up(turn: Turn) -> Iterator[Observation]:
    told = [(step, _heading(step)) for step in turn.fetched if step.told.strip()]
    if not told:
        return
    told = [(step, heading) for step, heading in told if not heading.endswith((":", "："))] or told
    facts = unique(
        (clip(f"{_where(step)}: {heading}" if heading else _where(step), FACT) for step, heading in told),
        FACTS,
    )
    first, heading = told[0]
    title = (
        f"Looked up {first.what}"
        if not first.what.startswith("http")
        else f"{heading or 'Read'} ({_site(first.what)})"
    )
    asked = user_request.quoted(turn.request, 200)
    gist = findings.gist(first.told, 400)
    narrative = " ".join(part for part in (f"Asked: “{asked}”" if asked else "", gist) if part)
    yield Observation(
        "discovery",
        clip(title, TITLE),
        clip(f"{len(told)} look-ups on the web or in documentation", SUBTITLE),
        clip(narrative, NARRATIVE) or None,
        facts,
        ("how-it-works",),
    )


def _where(step: Fetched) -> str:
    source = _SOURCE.search(step.told[:20_000])
    link = (source[1] or source[2]) if source else (step.address if step.address.startswith("http") else "")
    return f"{clip(step.what, 110)}" + (f" → {link[:80]}" if link and link != step.what else "")


def _site(address: str) -> str:
    return re.sub(r"^https?://(?:www\.)?", "", address).split("?")[0][:70]


def _heading(step: Fetched) -> str:
    """The page's title: its first heading, else its first line."""
    for section in markdown.sections(step.told[:8_000]):
        if section.heading:
            return clip(section.heading, 90)
        if section.parts and len(section.parts[0].text) > 8:
            return clip(section.parts[0].text, 90)
    return ""


def _gotchas(turn: Turn) -> Iterator[Observation]:
    """Failed, then worked when run another way: the environment's traps."""
    for mend in fixed_failures.mended(turn)[:4]:
        failed, passed = mend.failed, mend.passed
        if (
            mend.by_edits
            or not failed.errors
            or (failed.sort == "test" and failed.run and failed.run.failing)
        ):
            continue
        error = failed.errors[0]
        if failures.SLIP.search(error) or failed.command == passed.command or len(error) < 12:
            continue
        title = clip(f"{failed.key} fails with “{clip(error, 60)}” unless run another way", TITLE)
        facts = (
            clip(f"failed: {failed.command}", FACT),
            clip(f"error: {error}", FACT),
            clip(f"worked: {passed.command}", FACT),
        )
        yield Observation(
            "discovery",
            title,
            None,
            clip(f"{failed.command} failed: {error} Then this worked: {passed.command}", 500),
            facts,
            ("gotcha",),
        )


def _broken(turn: Turn, worked: bool) -> Iterator[Observation]:
    """What fails at the turn's end, when no change is there to carry it as a fact."""
    if worked:
        return
    for verdict in fixed_failures.broken(turn)[:2]:
        if verdict.sort == "command":
            continue
        names = verdict.run.failing if verdict.run else ()
        what = listed(names, 70) if names else (clip(verdict.errors[0], 70) if verdict.errors else "")
        title = clip(f"{verdict.key} fails" + (f": {what}" if what else ""), TITLE)
        facts = unique(
            [
                clip(verdict.told, FACT),
                *(clip(f"failing: {name}", FACT) for name in names[:4]),
                *verdict.errors[:3],
            ],
            FACTS,
        )
        yield Observation(
            "discovery", title, verdict.run.counts if verdict.run else None, None, facts, ("gotcha",)
        )
