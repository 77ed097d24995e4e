"""Imports the notes of Claude Code's agent (MEMORY.md): one observation per section.

The notes are `memory/MEMORY.md` in the client's folder for a project, and the files in the same folder that
it links to. CLAUDE.md is not imported: it contains instructions, which the client reads itself.

A file's time says when it was last touched, not when a section was written. So known sections are recognized
by their content, which the caller passes.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from claude_mem.agents.claude_code.transcript_files import INDEX
from claude_mem.imports.import_report import Clean, SourceReport, own_session_id
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import Record

CLIENT = "claude-code-memory"
INSTRUCTIONS = ("claude.md", "claude.local.md", "agents.md")
MOST_FILES = 200
MOST_BYTES = 1 << 20
MOST_TITLE = 200

_LINK = re.compile(r"\]\(([^()\n]{1,300})\)|@([\w./-]{1,200}\.md)\b")
_INDEX_LINE = re.compile(
    r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[[^\]\n]{0,300}\]\([^)\n]{1,600}\.md\)|@\S+\.md)(?:\s*[-–—:].*)?\s*"
)
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+(.*)")
_FENCE = re.compile(r"\s*(```|~~~)")
_RULES = re.compile(r"\b(?:decisions?|conventions?|preferences?|rules?|feedback|agreed|always|never)\b", re.I)


def read(
    path: Path, project: Origin, *, clean: Clean, report: SourceReport, known: Collection[str] = ()
) -> Iterator[Record]:
    """`path`: the folder with MEMORY.md, or that file. `known`: the content keys of what the
    project's session holds already."""
    index = path / INDEX if path.is_dir() else path
    observations = []
    for file in _files(index, report):
        text, at = _text(file)
        if text is None:
            report.skip("note", "unreadable")
            continue
        for note in sections(text, file.stem if file != index else project.name, clean):
            if content_key(note) in known:
                report.skip("note", "already imported")
            else:
                observations.append((at, note))
    if not observations:
        return
    observations.sort(key=lambda each: each[0])
    title = f"The agent's own notes on {project.name}"
    yield from report.begin(CLIENT, project, title, observations[0][0], observations[-1][0])
    for at, note in observations:
        yield report.record(
            "observation",
            session_id=own_session_id(CLIENT, project),
            type=note.type,
            title=note.title,
            narrative=note.narrative,
            facts=list(note.facts),
            client=CLIENT,
            provider=CLIENT,
            source="work",
            at=at,
        )


def sections(text: str, name: str, clean: Clean) -> Iterator[Observation]:
    """Each heading of a note with the text below it. `name`: the subject of text without a heading."""
    head, body = _front_matter(text)
    title = head.get("description") or head.get("name") or name
    is_rule = head.get("type") in ("user", "feedback")
    lines: list[str] = []
    fenced = False
    for line in body.splitlines():
        fenced ^= _FENCE.match(line) is not None
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield from _section(title, lines, is_rule, clean)
        title, lines = heading[2], []
    yield from _section(title, lines, is_rule, clean)


def _section(title: str, lines: list[str], is_rule: bool, clean: Clean) -> Iterator[Observation]:
    paragraphs: list[str] = []
    bullets: list[str] = []
    new_paragraph, fenced, in_bullet = True, False, False
    for line in lines:
        opens = _FENCE.match(line) is not None
        bullet = None if fenced or opens else _BULLET.fullmatch(line)
        fenced ^= opens
        if not fenced and not opens and not line.strip():
            new_paragraph, in_bullet = True, False
        elif not fenced and _INDEX_LINE.fullmatch(line):
            continue  # only points to a note, which is read itself
        elif bullet:
            bullets.append(bullet[1])
            in_bullet = True
        elif in_bullet and line[:1].isspace():
            bullets[-1] += f"\n{line.strip()}"
        elif new_paragraph or not paragraphs:
            paragraphs.append(line.rstrip())
            new_paragraph = in_bullet = False
        else:
            paragraphs[-1] += f"\n{line.rstrip()}"
    if any(map(str.strip, (*paragraphs, *bullets))):
        yield Observation(
            "decision" if is_rule or _RULES.search(title) else "discovery",
            title=clean(title).strip()[:MOST_TITLE],
            narrative=clean("\n\n".join(paragraphs)).strip() or None,
            facts=tuple(filter(None, (clean(bullet).strip() for bullet in bullets if bullet.strip()))),
        )


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    if not text.startswith("---\n"):
        return {}, text
    head, found, body = text[4:].partition("\n---\n")
    if not found:
        return {}, text
    pairs = (line.partition(":") for line in head.splitlines())
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs if value.strip()}, body


def _files(index: Path, report: SourceReport) -> list[Path]:
    """The index, and the notes in its folder that it links to, or that those do."""
    folder = index.parent.resolve()
    found = [index]
    for file in found:
        text, _ = _text(file)
        for link in _LINK.finditer(text or ""):
            name = (link[1] or link[2]).strip(" <>").partition(" ")[0].partition("#")[0]
            if not name.endswith(".md") or "://" in name:
                continue
            linked = file.parent / name
            if linked.name.lower() in INSTRUCTIONS or linked.name == INDEX or linked in found:
                continue
            if not linked.resolve().is_relative_to(folder) or len(found) >= MOST_FILES:
                report.skip("note", "outside the folder" if len(found) < MOST_FILES else "too many notes")
                continue
            found.append(linked)
    return found


def _text(file: Path) -> tuple[str | None, int]:
    """A note's text and time; None: it does not exist, is too large, or is not a file."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            return None, 0
        text = file.read_text("utf-8", "replace")
    except OSError:
        return None, 0
    return text.replace("\r\n", "\n").removeprefix("\N{BYTE ORDER MARK}"), int(found.st_mtime * 1000)
