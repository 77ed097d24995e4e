"""Decides which lines of an edit are shown: the changed ones, never the whole file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from claude_mem.observe import call


def changed_lines(given: Mapping[str, object], answer: object) -> str:
    """By the client's own patch when it gave one, else by what was to be replaced by what."""
    patch = call.fields(answer).get("structuredPatch")
    if isinstance(patch, list) and patch:
        return "\n".join(_of_patch(patch))
    edits = given.get("edits")
    parts = edits if isinstance(edits, list) else [given]
    return "\n".join(line for part in parts for line in _of_strings(call.fields(part)))


def _of_patch(hunks: list[object]) -> Iterator[str]:
    for hunk in hunks:
        fields = call.fields(hunk)
        lines = fields.get("lines")
        if not isinstance(lines, list):
            continue
        start = fields.get("newStart")
        if isinstance(start, int):
            yield f"@{start}"
        yield from (line for line in lines if isinstance(line, str) and line[:1] in "+-" and line[1:].strip())


def _of_strings(part: Mapping[str, object]) -> Iterator[str]:
    old = call.word(part, "old_string", "oldString", "old_str")
    new = call.word(part, "new_string", "newString", "new_str", "new_source", "content", "file_text")
    before, after = old.splitlines(), new.splitlines()
    # What both begin and end with is context. (difflib would find more, in quadratic time.)
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    left = shorter - head
    tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
    yield from (f"-{line}" for line in before[head : len(before) - tail] if line.strip())
    yield from (f"+{line}" for line in after[head : len(after) - tail] if line.strip())
