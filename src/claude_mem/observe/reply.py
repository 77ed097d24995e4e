"""Parses a model's reply: memory, an explicit nothing, or an unexpected format.

It accepts any text, in time linear in its length. A block that contains anything, even just a type or a file
name, is used; empty blocks are only counted. A reply without such a block and without an explicit "nothing"
is Unreadable, so its batch stays in the queue.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from claude_mem.model.memory import Findings, Nothing, Observation, Observed, Summary, Unreadable
from claude_mem.model.refs import TYPES, ObservationType
from claude_mem.model.text import lazy_pattern, one_line, storable

# Tags: a scanner, not a parser, because a reply is rarely well formed, and everything except our tags is
# text. The pattern cannot cross a '<' and does not backtrack, so every character is examined once.


CDATA = "<![CDATA["
CDATA_END = "]]>"

_TAG = lazy_pattern(r"<!\[CDATA\[|<\s*+(/?+)\s*+([a-z][a-z_-]*+)([^<>]*+)>", re.IGNORECASE | re.ASCII)


class Tag(Struct):
    start: int
    end: int
    name: str  # lower case, with underscores
    closing: bool
    void: bool  # <name/>
    closed_by: int | None = None  # the index of its closing tag, when none of its name opens before that


def find_tags(text: str, names: Collection[str]) -> list[Tag]:
    """Finds the tags with these names, in order; a CDATA section is text."""
    found: list[Tag] = []
    skip = 0
    for match in _TAG.finditer(text):
        if match.start() < skip:
            continue
        if match[2] is None:
            # Without an end there is no section. Searching for it again after each of a thousand openings
            # would be quadratic.
            end = text.find(CDATA_END, match.end()) if skip >= 0 else -1
            skip = end + len(CDATA_END) if end >= 0 else -1
            continue
        name = match[2].lower().replace("-", "_")
        rest = match[3]
        if name in names and (not rest or rest[0].isspace() or rest[0] == "/"):
            void = rest.endswith("/") and not match[1]
            found.append(Tag(match.start(), match.end(), name, closing=bool(match[1]), void=void))
    _pair(found)
    return found


def _pair(tags: list[Tag]) -> None:
    following: dict[str, int] = {}
    for index in range(len(tags) - 1, -1, -1):
        tag = tags[index]
        if tag.void:
            continue
        after = following.get(tag.name)
        if not tag.closing and after is not None and tags[after].closing:
            tag.closed_by = after
        following[tag.name] = index


# Fields and their text.


MOST_CHARS = 4_000
MOST_TITLE = 120

_ENTITY = lazy_pattern(r"&(?:#[0-9]{1,7}+|#[xX][0-9a-fA-F]{1,6}+|lt|gt|amp|quot|apos);")
_NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"}


def plain_text(raw: str) -> str:
    """A field's text: entities decoded once, CDATA sections taken as they stand."""
    pieces: list[str] = []
    position = 0
    while True:
        start = raw.find(CDATA, position)
        end = raw.find(CDATA_END, start) if start >= 0 else -1
        if end < 0:
            pieces.append(_ENTITY.sub(_decoded, raw[position:]))
            return "".join(pieces).strip()
        pieces += (_ENTITY.sub(_decoded, raw[position:start]), raw[start + len(CDATA) : end])
        position = end + len(CDATA_END)


def _decoded(match: re.Match[str]) -> str:
    entity = match[0]
    if entity in _NAMED:
        return _NAMED[entity]
    code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
    storable = 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if storable else entity


def shortened(text: str | None, most: int = MOST_CHARS) -> str | None:
    """None for no text at all."""
    if not text:
        return None
    return text if len(text) <= most else text[: most - 1] + "…"


def first_texts(values: Iterable[str], most: int) -> tuple[str, ...]:
    """The first different ones that say something, each within its cap."""
    return tuple(shortened(value) or "" for value in list(dict.fromkeys(filter(None, values)))[:most])


def first_sentence(text: str) -> str | None:
    start = text.strip().partition("\n")[0]
    ends = [at for at in (start.find(". "), start.find("。")) if at >= 0]
    return shortened(one_line(start[: min(ends)] if ends else start.rstrip(".")), MOST_TITLE)


# Blocks: observations and summaries.


MOST_BLOCKS = 50
MOST_ITEMS = 20
MOST_FILES = 200
MOST_PREVIEW = 200

_TYPES: dict[str, ObservationType] = {name: name for name in TYPES}
ITEMS = {"facts": "fact", "concepts": "concept"} | dict.fromkeys(
    ("files_read", "files_modified", "files_edited"), "file"
)
BLOCKS = {
    "observation": frozenset((*Observation.__struct_fields__, "text")),
    "summary": frozenset(Summary.__struct_fields__),
}
SKIP = "skip_summary"
EMPTY = frozenset(("nothing", SKIP))
WRAPPER = "observations"  # not requested, often given; empty it is an answer too
NAMES = frozenset().union(*BLOCKS.values(), BLOCKS, ITEMS.values(), EMPTY, (WRAPPER,))

_BULLETS = ("- ", "* ", "• ")


class _Block(Struct, frozen=True):
    name: str
    texts: dict[str, str]
    lists: dict[str, tuple[str, ...]]
    is_complete: bool  # it has its end, or another block follows


def read(text: str) -> Observed | Nothing | Unreadable:
    text = storable(text)
    if not text.strip():
        return Unreadable("The model's reply is empty.")
    found = find_tags(text, NAMES)
    observations: list[Observation] = []
    summaries: list[Summary] = []
    damaged, empty = False, 0
    for block in _blocks(text, found):
        made = _observation(block) if block.name == "observation" else _summary(block)
        observations += [made] if isinstance(made, Observation) else []
        summaries += [made] if isinstance(made, Summary) else []
        damaged = damaged or not (block.is_complete or made)
        empty += made is None
    skipped = _skip_reason(text, found)
    if observations or summaries:
        findings = Findings(tuple(observations[:MOST_BLOCKS]), tuple(summaries[:MOST_BLOCKS]))
        return Observed(findings, empty, skipped)
    # A reply that was cut off before its first complete field had content: it is not "nothing".
    if not damaged and _is_empty_reply(text, found):
        return Nothing(empty, skipped)
    has_our_tags = any(tag.name in BLOCKS or tag.name == WRAPPER for tag in found)
    problem = "has tags without text" if has_our_tags else "is not in the expected format"
    return Unreadable(_unreadable_reason(f"The model's reply {problem}", text))


def _blocks(text: str, found: Sequence[Tag]) -> Iterator[_Block]:
    index = 0
    while index < len(found):
        tag = found[index]
        index += 1
        if tag.name not in BLOCKS or tag.closing:
            continue
        if tag.void:
            yield _Block(tag.name, {}, {}, is_complete=True)
            continue
        block, index = _block(text, found, index, tag.name)
        yield block


def _block(text: str, found: Sequence[Tag], index: int, name: str) -> tuple[_Block, int]:
    """The block whose opening tag ends at index, and where to continue."""
    fields = BLOCKS[name]
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    while index < len(found):
        tag = found[index]
        if tag.name in BLOCKS:
            closes = tag.closing and tag.name == name
            if closes or not tag.closing:
                return _Block(name, texts, lists, is_complete=True), index + closes
        index += 1
        if tag.name not in fields or tag.closing or tag.void:
            continue
        end = tag.closed_by if tag.closed_by is not None else _next_part(found, index, fields)
        cut = end >= len(found)
        until = len(text) if cut else found[end].start
        if tag.name in ITEMS:
            items = _items(text, tag, found[index:end], until, cut=cut)
            lists[tag.name] = lists.get(tag.name) or items
        elif not cut:  # half a sentence is not what the model had to say
            texts[tag.name] = texts.get(tag.name) or plain_text(text[tag.end : until])
        index = end + 1 if tag.closed_by is not None else end
    return _Block(name, texts, lists, is_complete=False), index


def _next_part(found: Sequence[Tag], index: int, fields: frozenset[str]) -> int:
    """Where a field without its closing tag ends: at whatever begins or ends a part of the reply."""
    while index < len(found):
        tag = found[index]
        if tag.name in BLOCKS or (tag.name in fields and not tag.closing):
            break
        index += 1
    return index


def _items(text: str, opening: Tag, inside: Sequence[Tag], until: int, *, cut: bool) -> tuple[str, ...]:
    """A list's items: the texts in its tags, or its lines if it has none."""
    name = ITEMS[opening.name]
    items = [tag for tag in inside if tag.name == name and not tag.void]
    opened = [tag for tag in items if not tag.closing]
    if opened:
        spans = zip(opened, _ends(opened, [tag.start for tag in items], until), strict=True)
        values = [text[tag.end : end] for tag, end in spans if not (cut and end == until)]
    else:
        lines = text[opening.end : until].split("\n")
        values = [_unbulleted(line) for line in (lines[:-1] if cut else lines)]
        if name == "concept":
            values = [part for value in values for part in value.split(",")]
    return tuple(one_line(plain_text(value)) for value in values)


def _ends(opened: Sequence[Tag], starts: Sequence[int], until: int) -> Iterator[int]:
    """For each opening tag the next tag of its name, or the end of the list."""
    following = iter([*starts, until])
    end = next(following)
    for tag in opened:
        while end <= tag.start:
            end = next(following)
        yield end


def _unbulleted(line: str) -> str:
    line = line.strip()
    return line[2:] if line.startswith(_BULLETS) else line


def _observation(block: _Block) -> Observation | None:
    texts, lists = block.texts, block.lists
    kind = _TYPES.get("".join(texts.get("type", "").lower().replace("-", " ").split()))
    text = texts.get("text", "")  # the older form: type and text, nothing else
    title = shortened(one_line(texts.get("title", ""))) or first_sentence(text)
    subtitle = shortened(one_line(texts.get("subtitle", "")))
    narrative = shortened(texts.get("narrative") or text)
    facts = first_texts(lists.get("facts", ()), MOST_ITEMS)
    concepts = [concept.partition(":")[0].strip() for concept in lists.get("concepts", ())]
    made = Observation(
        type=kind or "change",
        title=title,
        subtitle=subtitle,
        narrative=narrative,
        facts=facts,
        concepts=first_texts((each for each in concepts if each.lower() != (kind or "change")), MOST_ITEMS),
        files_read=first_texts(lists.get("files_read", ()), MOST_FILES),
        files_modified=first_texts(lists.get("files_modified", ()), MOST_FILES),
    )
    # Only a placeholder for a type: the model repeated the template without filling it in.
    return None if kind is None and made == Observation("change") else made


def _summary(block: _Block) -> Summary | None:
    fields: dict[str, Any] = {name: shortened(text) for name, text in block.texts.items()}
    fields |= {name: first_texts(items, MOST_FILES) for name, items in block.lists.items()}
    made = Summary(**fields)
    return None if made == Summary() else made


_REASON = lazy_pattern(r"""\breason\s*+=\s*+["']([^"'<>]*+)["']""", re.IGNORECASE)


def _skip_reason(text: str, found: Sequence[Tag]) -> str | None:
    """The model's reason for giving no summary: in the tag, or between it and its end."""
    for tag in found:
        if tag.name == SKIP and not tag.closing:
            given = _REASON.search(text[tag.start : tag.end])
            reason = one_line(plain_text(given[1] if given else _inside(text, found, tag) or ""))
            return shortened(reason, MOST_PREVIEW)
    return None


def _is_empty_reply(text: str, found: Sequence[Tag]) -> bool:
    for tag in found:
        if tag.name in EMPTY and not tag.closing:
            return True
        inside = "" if tag.void else _inside(text, found, tag)
        if tag.name == WRAPPER and inside is not None and not inside.strip():
            return True
    return False


def _inside(text: str, found: Sequence[Tag], tag: Tag) -> str | None:
    """None: the tag is not closed."""
    return None if tag.closed_by is None else text[tag.end : found[tag.closed_by].start]


def _unreadable_reason(what: str, text: str) -> str:
    start = text.lstrip()[: 2 * MOST_PREVIEW]
    shown = one_line("".join(char if char.isprintable() else " " for char in start))
    return shortened(f"{what}: {shown}", MOST_PREVIEW) or what
