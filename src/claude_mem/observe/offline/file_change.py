"""What became of one file: its names added, changed and removed, its values, its size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from claude_mem.observe.offline import file_names, outline
from claude_mem.observe.offline.outline import Outline
from claude_mem.observe.offline.steps import Edited, Hunk
from claude_mem.observe.offline.wording import clip, listed

_IMPORT = re.compile(
    r"^\s*(?:import\s+(?:static\s+|type\s+)?(?:[\w*${}, ]{1,120}\s+from\s+)?[\"'<]?([\w@./:-]+)"
    r"|from\s+([\w.]+)\s+import\b|use\s+([\w:]+)|using\s+([\w.]+)\s*;|#include\s*[<\"]([^>\"]+)"
    r"|(?:const|let|var)\s+[\w${}, ]{1,80}=\s*require\([\"']([^\"']+)|require(?:_relative)?\s+[\"']([^\"']+))"
)
_GO_IMPORT = re.compile(r"^\s*(?:\w+\s+)?\"([\w.-]+(?:/[\w.-]+)+)\"\s*$")
_VALUE = re.compile(
    r"^\s*(?:-\s+)?(?:(?:export|const|final|static|let|var|val|pub|public|private)\s+){0,4}"
    r"[\"']?([\w.$/@-]{1,60})[\"']?\s*(?::\s*[\w\[\]<>| ]{1,40}?\s*=|:=|=>|=|:)\s*"
    r"([\"'`][^\"'`]{0,60}[\"'`]|-?[\d][\w.%-]{0,30}|true|false|True|False|None|null|nil|(?P<bare>[\w.^~><=*-]{1,40}))\s*[,;]?\s*(?:(?:#|//).*)?$"
)
_REQUIRED = re.compile(
    r"^\s*(?:require\s+)?[\"']?([\w@./-]{2,80}?)[\"']?(?:\s+|\s*[=~><!]=\s*|[\"']?\s*[:=]\s*[\"']?[\^~>=<]*\s*)(v?\d[\w.+-]*)[\"',;]*\s*(?://.*|#.*)?$"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]{2,}")
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|<!--)")


@dataclass(slots=True)
class FileChange:
    """All edits of one file in one stretch of work."""

    path: str
    created: bool = False
    deleted: bool = False
    moved_to: str | None = None
    plus: int = 0
    minus: int = 0
    added: dict[str, None] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)
    values: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)  # key: before, after
    words_in: Counter[str] = field(default_factory=Counter)
    words_out: Counter[str] = field(default_factory=Counter)
    came: set[str] = field(default_factory=set)  # lines, to see what only moved
    went: set[str] = field(default_factory=set)

    @property
    def nature(self) -> file_names.Nature:
        return file_names.nature(self.path)

    @property
    def size(self) -> str:
        if self.deleted:
            return "deleted"
        return f"new file, {self.plus} lines" if self.created else f"+{self.plus} −{self.minus}"

    def take(self, edit: Edited, outlines: Iterable[Outline] = ()) -> None:
        self.created = self.created or edit.created
        self.deleted = edit.deleted
        self.moved_to = edit.moved_to or self.moved_to
        for hunk in edit.hunks:
            self._take(hunk, tuple(outlines))

    def _take(self, hunk: Hunk, outlines: tuple[Outline, ...]) -> None:
        came, went, inside = dict[str, None](), dict[str, None](), dict[str, None]()
        before, after = dict[str, str](), dict[str, str]()
        above: list[tuple[int, str]] = []
        depths: dict[str, int] = {}
        number, nests = hunk.start - 1, outline.nests(self.path)
        fenced = False
        for marked in hunk.lines:
            mark, line = marked[:1], marked[1:]
            number += mark != "+"
            fenced ^= line.lstrip().startswith("```")
            name = None if fenced else outline.defines(line, self.path)
            depth = outline.indent(line)
            if name and mark != "-":
                while above and above[-1][0] >= depth:
                    above.pop()
                above.append((depth, name))
            if mark == " " or not line.strip():
                continue
            self._count(mark, line, before, after)
            if name:
                depths[name] = min(depth, depths.get(name, depth))
                (came if mark == "+" else went)[name] = None
            elif nests:
                # A heading holds all below it; a function only what is indented more.
                reach = depth if self.nature != "docs" else 99
                holder = next((held for deep, held in reversed(above) if deep < reach), None)
                holder = holder or _outlined(outlines, number, reach)
                if holder:
                    inside[holder] = None
        if not nests:  # of keys inside keys the outermost tell enough
            outermost = min((depths[name] for name in (*came, *went)), default=0)
            came, went = ({name: None for name in side if depths[name] <= outermost} for side in (came, went))
        self._name(came, went, inside)
        for key in before.keys() | after.keys():
            first = self.values[key][0] if key in self.values else before.get(key)
            self.values[key] = (first, after.get(key))

    def _count(self, mark: str, line: str, before: dict[str, str], after: dict[str, str]) -> None:
        added = mark == "+"
        self.plus += added
        self.minus += not added
        stripped = line.strip()
        if len(stripped) > outline.LONGEST:
            return
        (self.came if added else self.went).add(stripped)
        if not _COMMENT.match(line):
            (self.words_in if added else self.words_out).update(_WORD.findall(line))
        found = _IMPORT.match(line) or (_GO_IMPORT.match(line) if self.path.endswith(".go") else None)
        if found and self.nature in ("code", "tests"):
            if added and (module := next((group for group in found.groups() if group), "")):
                self.imports[module] = None
            return
        value = _REQUIRED.match(line) if file_names.name(self.path).lower() in file_names.MANIFESTS else None
        value = value or (_VALUE.match(line) if self.nature != "docs" else None)
        # A bare word is a value in a configuration; in code it is a name, and says nothing.
        if value and (self.nature == "config" or not value.groupdict().get("bare")):
            (after if added else before)[value[1]] = value[2]

    def _name(self, came: dict[str, None], went: dict[str, None], inside: dict[str, None]) -> None:
        for name in came:
            if name in went or name in self.removed:
                self.removed.pop(name, None)
                if name not in self.added:
                    self.changed[name] = None
            elif name not in self.changed:
                self.added[name] = None
        for name in went:
            if name in came:
                continue
            if name in self.added:
                del self.added[name]
            else:
                self.changed.pop(name, None)
                self.removed[name] = None
        for name in inside:
            if name not in self.added and name not in self.removed:
                self.changed[name] = None

    def value_facts(self) -> Iterator[str]:
        """Constants and versions that changed, dependencies that came and went."""
        manifest = file_names.name(self.path).lower() in file_names.MANIFESTS
        for key, (before, after) in self.values.items():
            if before and after and before != after:
                yield f"{key} changed from {before} to {after} in {self.path}"
            elif manifest and re.match(r"^[\"'^~>=<v]*\d", after or before or ""):
                yield f"dependency {'added' if after else 'removed'} in {self.path}: {key} {after or before}"

    def told(self) -> str:
        """One line: what happened to this file."""
        if self.deleted:
            return f"{self.path} deleted"
        if self.moved_to:
            return f"{self.path} moved to {self.moved_to}"
        parts = [
            f"{listed(names, 70)} {verb}"
            for names, verb in ((self.added, "added"), (self.changed, "changed"), (self.removed, "removed"))
            if names and not (self.created and verb != "added")
        ]
        what = "; ".join(parts)
        if self.created:
            return clip(
                f"{file_names.short(self.path, 110)} created"
                + (f": {listed(self.added, 110)}" if self.added else ""),
                200,
            )
        return clip(f"{file_names.short(self.path, 110)} ({self.size})" + (f": {what}" if what else ""), 200)


def _outlined(outlines: tuple[Outline, ...], number: int, depth: int) -> str | None:
    if number <= 0:
        return None
    return next((name for known in outlines if (name := known.around(number, depth))), None)
