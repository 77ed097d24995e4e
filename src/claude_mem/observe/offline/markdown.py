"""What a message's structure is: sections, paragraphs, items, with the markup taken off."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from claude_mem.observe.offline import next_steps
from claude_mem.observe.offline.wording import one_line

LONGEST = 60_000
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(([^)\s\n]{1,400})(?:\s+\"[^\"\n]{0,200}\")?\)")
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^\n]{1,400}?\S|\S)\1")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,200})\*(?![\w*])|(?<!\w)_(?=[^\s_])([^_\n]{1,200})_(?!\w)"
)
_TICKS = re.compile(r"`([^`\n]{1,400})`")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.+?)\s*#*$")
_BOLD_LINE = re.compile(r"^\s*\*\*([^*\n]{2,100})\*\*\s*:?\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(.+)$")
_LEAD = re.compile(r"^\*\*([^*\n]{2,160}?)[:：.]?\*\*\s*[:：.—–-]?\s*(.*)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ROW = re.compile(r"^\s*\|(.+)\|\s*$")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$")


@dataclass(slots=True)
class Part:
    """A paragraph or a list item."""

    text: str
    lead: str = ""  # its bold beginning, if it has one
    item: bool = False
    done: bool | None = None  # of a checkbox


@dataclass(slots=True)
class Section:
    heading: str = ""
    level: int = 0
    parts: list[Part] = field(default_factory=list)


def plain(text: str) -> str:
    """Without markup. A link to a file becomes the file's path: that is what people search for."""
    text = _LINK.sub(_linked, text)
    text = _TICKS.sub(r"\1", text)
    text = _BOLD.sub(r"\2", text)
    text = _EMPHASIS.sub(lambda found: found[1] or found[2], text)
    return one_line(text)


def _linked(found: re.Match[str]) -> str:
    label, target = found[1], found[2]
    if "://" in target or target.startswith(("#", "mailto:")):
        return label or target
    path = target.split(":")[0].replace("\\", "/")
    if len(target) > 1 and target[1] == ":":  # C:\…: the label says enough
        return label
    return (
        target if path.rsplit("/", 1)[-1] and path.rsplit("/", 1)[-1] in label.replace("\\", "/") else label
    )


def sections(text: str) -> list[Section]:
    """The message in order: each heading with what stands under it. Code blocks are left out."""
    found = [Section()]
    lines: list[str] = []
    fence = ""

    def close() -> None:
        if lines:
            joined = " ".join(lines)
            lead = _LEAD.match(joined)
            found[-1].parts.append(Part(plain(joined), plain(lead[1]) if lead else ""))
            lines.clear()

    in_item = False
    for line in text[:LONGEST].splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
            continue
        if fence:
            continue
        heading = _HEADING.match(line)
        bold = None if heading else _BOLD_LINE.match(line)
        item = _ITEM.match(line)
        row = _ROW.match(line)
        if heading or bold:
            close()
            found.append(
                Section(
                    plain(heading[2] if heading else bold[1] if bold else "").rstrip(":："),
                    len(heading[1]) if heading else 7,
                )
            )
            in_item = False
        elif not line.strip() or _RULE.match(line):
            close()
        elif item:
            close()
            deep = len(item[1]) >= 2 and in_item
            lead = _LEAD.match(item[3])
            part = Part(
                plain(item[3]),
                plain(lead[1]) if lead else "",
                True,
                None if item[2] is None else item[2] != " ",
            )
            if deep and found[-1].parts and len(found[-1].parts[-1].text) < 400:
                found[-1].parts[-1].text += "; " + part.text
            else:
                found[-1].parts.append(part)
            in_item = True
        elif row:
            close()
            cells = [plain(cell) for cell in row[1].split("|")]
            found[-1].parts.append(Part(" — ".join(cell for cell in cells if cell), item=True))
        elif in_item and line[:1] in (" ", "\t") and found[-1].parts and not lines:
            found[-1].parts[-1].text += " " + plain(line)
        else:
            in_item = False
            if next_steps.begins(line.strip()):
                close()
            lines.append(line.strip())
    close()
    return [section for section in found if section.heading or section.parts]
