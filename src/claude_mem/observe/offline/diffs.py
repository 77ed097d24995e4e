"""What changed between two texts, from whichever form of difference the client gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from claude_mem.observe.offline.steps import Edited, Hunk

BEGIN = "*** Begin Patch"  # Codex's patches
MOST = 5_000  # lines of one change that are looked at
_AROUND = 3


def structured(patch: object) -> tuple[Hunk, ...]:
    """Claude Code's `structuredPatch`."""
    if not isinstance(patch, Sequence) or isinstance(patch, str):
        return ()
    hunks = []
    for part in patch:
        lines = part.get("lines") if isinstance(part, Mapping) else None
        if isinstance(part, Mapping) and isinstance(lines, Sequence) and not isinstance(lines, str):
            start = part.get("oldStart")
            kept = tuple(
                line for line in lines[:MOST] if isinstance(line, str) and line[:1] in (" ", "+", "-")
            )
            hunks.append(Hunk(start if isinstance(start, int) else 0, kept))
    return tuple(hunks)


def between(old: str, new: str) -> tuple[Hunk, ...]:
    """One hunk: what is left when the lines both begin and end with are taken away. Linear."""
    before, after = old.splitlines()[:MOST], new.splitlines()[:MOST]
    most = min(len(before), len(after))
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    if not removed and not added:
        return ()
    around = [" " + line for line in after[max(0, head - _AROUND) : head]]
    return (Hunk(0, (*around, *("-" + line for line in removed), *("+" + line for line in added))),)


def patched(text: str) -> Iterator[Edited]:
    """`*** Update File: path` and its kin, one edit per file."""
    path, mark, moved, lines = "", "", None, list[str]()

    def done() -> Iterator[Edited]:
        if path:
            yield Edited(
                path, (Hunk(0, tuple(lines[:MOST])),) if lines else (), mark == "Add", mark == "Delete", moved
            )

    for line in text[text.find(BEGIN) :].splitlines():
        head, _, rest = line.partition(" File: ")
        if head in ("*** Add", "*** Update", "*** Delete") and rest.strip():
            yield from done()
            path, mark, moved, lines = rest.strip(), head[4:], None, []
        elif line.startswith("*** Move to: "):
            moved = line[13:].strip()
        elif path and line[:1] in ("+", "-", " "):
            lines.append(line)
        elif path and line.startswith("@@ "):
            lines.append(" " + line[3:])
    yield from done()
