"""The title of a change: what changed where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from claude_mem.observe.offline import file_names
from claude_mem.observe.offline.file_change import FileChange
from claude_mem.observe.offline.renames import renames
from claude_mem.observe.offline.wording import SUBTITLE, TITLE, clip, counted, listed


def title(changes: Sequence[FileChange]) -> str:
    """What changed where: the names first, new ones before changed ones, then how many files besides."""
    renamed = renames(changes)
    ranked = sorted(
        changes,
        key=lambda c: (
            c.nature == "tests",
            c.nature in ("docs", "config"),
            not c.created,
            -len(c.added),
            -(c.plus + c.minus),
        ),
    )
    lead = ranked[0]
    short = file_names.short(lead.path)
    others = [file_names.name(change.path) for change in ranked[1:]]
    room = TITLE - len(short) - 22
    if renamed and not any(change.created for change in changes):
        old, new, _ = max(renamed, key=lambda item: item[2])
        head = f"{old} renamed to {new} in {short}"
    elif lead.deleted:
        head = f"{short} deleted"
    elif lead.moved_to:
        head = f"{short} moved to {lead.moved_to}"
    elif lead.created:
        head = f"{short} created" + (f": {listed(lead.added, max(30, room))}" if lead.added else "")
    elif lead.nature == "docs" and (lead.added or lead.changed):
        named, verb = (lead.added, "added") if lead.added else (lead.changed, "changed")
        if len(named) > 3 and not lead.added:
            head = f"{short} revised ({lead.size}): {listed(list(named)[1:], max(30, room - 12))}"
        else:
            head = f"{short}: section “{listed(named, max(30, room - 12))}” {verb}"
    elif lead.added:
        head = f"{listed(lead.added, max(30, room))} added in {short}"
    elif lead.changed:
        head = f"{listed(lead.changed, max(30, room))} changed in {short}"
    elif lead.removed:
        head = f"{listed(lead.removed, max(30, room))} removed from {short}"
    else:
        head = f"{short} changed ({lead.size})"
    left = TITLE - len(head) - 4
    if others and left > 24:
        return f"{head}; {listed(others, left, 'more files')}"
    return head + (f" (+{counted(len(others), 'file')})" if others and left > 10 else "")


def subtitle(changes: Sequence[FileChange]) -> str:
    if len(changes) == 1:
        change = changes[0]
        return clip(f"{change.size}, {change.nature}" if change.nature != "code" else change.size, SUBTITLE)
    plus, minus = sum(change.plus for change in changes), sum(change.minus for change in changes)
    new = sum(change.created for change in changes)
    natures = Counter(change.nature for change in changes)
    kinds = (
        ", ".join(f"{count} {nature}" for nature, count in natures.items())
        if len(natures) > 1
        else next(iter(natures))
    )
    return clip(
        f"{len(changes)} files ({kinds}), +{plus} −{minus}" + (f", {new} new" if new else ""), SUBTITLE
    )
