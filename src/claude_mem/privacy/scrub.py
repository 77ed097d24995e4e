"""Removes tagged text, secrets and excluded contents from a payload, and trims it, before it reaches the
disk."""

from __future__ import annotations

from claude_mem.privacy import excluded_files, secrets, tags


def trim(text: str, cap: int) -> str:
    """Trims text to cap characters: two thirds from its beginning, one third from its end."""
    return text if len(text) <= cap else join_ends(text, text, len(text), cap)


def join_ends(head: str, tail: str, length: int, cap: int) -> str:
    """Joins the start of head, a mark for the omitted part of a text of that length, and the end of tail."""
    # Sized with the largest count it could show, so that the real one never overruns the cap.
    room = cap - len(_marker(length))
    if room <= 0:
        return head[: max(cap, 0)]
    behind = room // 3
    return head[: room - behind] + _marker(length - room) + tail[max(len(tail) - behind, 0) :]


def _marker(elided: int) -> str:
    return f"\n[… {elided} characters elided …]\n"


FIELD_CAP = 64 << 10
DEEPEST = 64
TOO_DEEP = "[too deep]"
MARGIN = 16 << 10  # read beyond what is stored: longer than any secret, a private key included
IDENTITY_KEYS = (
    *("session_id", "transcript_path", "cwd", "hook_event_name", "tool_name"),
    *("tool_use_id", "prompt_id", "agent_id", "agent_type"),
)
PATH_KEYS = (
    *("file_path", "path", "notebook_path", "absolute_path", "filePath", "paths", "glob"),
    # Other agents' and editors': `observe.tool_calls` reads files by the same names.
    *("target_file", "TargetFile", "AbsolutePath", "filename", "fileName", "filepath", "file"),
    *("uri", "fsPath"),
)
COMMAND_KEYS = ("command", "commands", "input")
PATCH = "*** Begin Patch"
RESPONSE_KEYS = ("tool_response", "tool_output", "tool_result", "error")


def scrub(
    payload: dict[str, object],
    *,
    field_cap: int,
    extra_rules: tuple[tuple[str, str], ...] = (),
    globs: tuple[str, ...] | None = None,
) -> tuple[dict[str, object], bool]:
    """Return the payload without what must not be stored, and whether private text was among it.

    `globs` are `excluded_files.DEFAULT_GLOBS` unless given.
    """
    scrubber = _Scrubber(payload, field_cap, extra_rules, globs)
    clean = scrubber.mapping(payload, 1, IDENTITY_KEYS)
    return clean, scrubber.hid_private


def scrub_text(
    text: str, *, extra_rules: tuple[tuple[str, str], ...] = (), extra_globs: tuple[str, ...] = ()
) -> str:
    """Removes from a text of any length what must not be stored, by our rules and the user's own."""
    globs = (*excluded_files.DEFAULT_GLOBS, *extra_globs)
    scrubbed, _ = scrub(
        {"text": text}, field_cap=max(len(text), FIELD_CAP), extra_rules=extra_rules, globs=globs
    )
    return str(scrubbed["text"])


class _Scrubber:
    """One walk over one payload. A tag left open in a list stays open for the rest of that list, a private
    one also in an object within the payload, for the members that follow."""

    def __init__(
        self,
        payload: dict[str, object],
        cap: int,
        extra: tuple[tuple[str, str], ...],
        globs: tuple[str, ...] | None,
    ) -> None:
        self.cap = cap
        self.extra = extra
        self.globs = tuple(map(str.lower, excluded_files.DEFAULT_GLOBS if globs is None else globs))
        strings = _all_strings(payload)
        self.has_tags = tags.may_hide("\n".join(strings))
        self.rules = secrets.relevant("\n".join(t for t in strings if not self.is_far_too_long(t)))
        self.labels: dict[str, str] = {}
        self.hid_private = False
        self.searching = False  # in what a search has found
        self.lists = 0  # how many lists are open around the walk
        self.objects = 0  # and how many objects, without the payload itself
        self.tag: str | None = None  # the tag left open in them, and how often
        self.tag_depth = 0

    def value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return self.text(self.stripped(value))
        if isinstance(value, (dict, list)) and depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, dict):
            return self.mapping(value, depth)
        if isinstance(value, list):
            return self.items(value, depth)
        return value

    def mapping(
        self, owner: dict[str, object], depth: int, identity: tuple[str, ...] = ()
    ) -> dict[str, object]:
        file, whole = self.excluded(owner)
        searching = not file and self.is_search(owner)
        clean: dict[str, object] = {}
        self.objects += depth > 1
        for key, value in owner.items():
            name = self.member(key)
            self.searching = (searching and key in RESPONSE_KEYS) or (self.searching and depth > 1)
            if file and key in RESPONSE_KEYS:
                scrubbed = self.blank(value, file, depth + 1)
            elif whole and key == "tool_input":
                scrubbed = self.blank(value, file, depth + 1, keep=PATH_KEYS)
            elif isinstance(value, str) and key in identity:
                scrubbed = self.stripped(value)  # a session whose id were redacted would be another session
            elif isinstance(value, str):
                scrubbed = self.value(secrets.redact_value(key, value), depth + 1)
            else:
                scrubbed = self.value(value, depth + 1)
            clean[name] = scrubbed
        self.objects -= depth > 1
        self.close_tags()
        return clean

    def member(self, key: str) -> str:
        """Scrubs a member's name, which may also open or close a tag for what follows."""
        if self.objects and self.has_tags and "private" in key.lower():
            _, self.tag, self.tag_depth, _ = tags.strip_nested(key, self.tag, self.tag_depth)
        return self.label(key)

    def items(self, values: list[object], depth: int) -> list[object]:
        """Scrubs a list. Adjacent strings are read as lines of one text, because a patch may arrive in this
        form."""
        if {str, dict, list}.isdisjoint(map(type, values)):
            return values.copy()  # a million numbers are not worth a walk
        self.lists += 1
        clean: list[object] = []
        lines: list[str] = []
        for value in values:
            if isinstance(value, str):
                lines.append(value)
                continue
            if lines:
                clean += self.lines(lines)
                lines = []
            clean.append(self.value(value, depth + 1))
        clean += self.lines(lines)
        self.lists -= 1
        self.close_tags()
        return clean

    def close_tags(self) -> None:
        """Closes all tags at the end of a text that does not continue."""
        if not self.lists and not (self.objects and self.tag == tags.PRIVATE):
            self.tag, self.tag_depth = None, 0

    def lines(self, lines: list[str]) -> list[str]:
        if not lines:
            return []
        whole = "\n".join(lines)
        rules = secrets.RULES if any(map(self.is_far_too_long, lines)) else self.rules
        clean = secrets.redact(self.stripped(whole), self.extra, rules).split("\n")
        if len(clean) != whole.count("\n") + 1:
            return [trim(line, self.cap) for line in clean]
        trimmed: list[str] = []
        at = 0
        for line in lines:
            end = at + line.count("\n") + 1
            trimmed.append(trim("\n".join(clean[at:end]), self.cap))
            at = end
        return trimmed

    def label(self, text: str) -> str:
        """Scrubs a key or a file name, which is not part of the text around it."""
        if text not in self.labels:
            stripped, _, private = tags.strip(text)
            self.hid_private = self.hid_private or private
            self.labels[text] = self.text(stripped)
        return self.labels[text]

    def text(self, text: str) -> str:
        """Redacts and trims a text. If it is far longer than the cap, only its ends are read, because no more
        is stored."""
        if not self.is_far_too_long(text):
            return trim(secrets.redact(text, self.extra, self.rules), self.cap)
        head, tail = text[: 2 * self.cap + MARGIN], text[-self.cap - MARGIN :]
        if any(secrets.redact(end, self.extra) != end for end in (head, tail)):
            # Marks are shorter than what they replace, so the position of the cut may become part of the
            # stored text. It must not contain half of a secret, which no rule would recognize.
            head = secrets.redact(head[: head.replace("\n", " ").rfind(" ")], self.extra)
            tail = secrets.redact(tail[tail.replace("\n", " ").find(" ") + 1 :], self.extra)
        return join_ends(head, tail, len(text), self.cap)

    def is_far_too_long(self, text: str) -> bool:
        return len(text) > 4 * (self.cap + MARGIN)

    def stripped(self, text: str) -> str:
        if self.searching:
            text = excluded_files.without_excluded_lines(text, self.globs)
        if not self.has_tags:
            return text
        text, self.tag, self.tag_depth, private = tags.strip_nested(text, self.tag, self.tag_depth)
        self.hid_private = self.hid_private or private
        self.close_tags()
        return text

    def excluded(self, owner: dict[str, object]) -> tuple[str, bool]:
        """The excluded file a tool use is about ("" for none), and whether all of it is about that file."""
        tool_input = owner.get("tool_input")
        if not isinstance(tool_input, dict):
            return "", False
        folder = str(owner.get("cwd") or "")
        for path in _paths(tool_input):
            if excluded_files.is_excluded(path.rstrip("*?"), self.globs, folder):
                return self.file_name(path), True
        word = excluded_files.excluded_word(_command(tool_input), self.globs, folder)
        return (self.file_name(word), False) if word else ("", False)

    def is_search(self, owner: dict[str, object]) -> bool:
        tool_input = owner.get("tool_input")
        command = _command(tool_input) if isinstance(tool_input, dict) else ""
        return "tool_name" in owner and excluded_files.searches(owner["tool_name"], command)

    def file_name(self, path: str) -> str:
        return self.label(path.replace("\\", "/").rpartition("/")[2]) or "a file"

    def blank(self, value: object, file: str, depth: int, keep: tuple[str, ...] = ()) -> object:
        """The same structure without its strings, except those of the keys to keep."""
        if isinstance(value, str):
            return trim(f"[excluded: contents of {file}]", self.cap)
        if isinstance(value, (dict, list)) and depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, dict):
            return {
                self.label(key): self.value(item, depth + 1)
                if key in keep
                else self.blank(item, file, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.blank(item, file, depth + 1) for item in value]
        return value


def _paths(tool_input: dict[str, object]) -> list[str]:
    """The files that a tool is given: by their keys, as a list of objects (Cline), or in a patch (Codex)."""
    listed = tool_input.get("files")
    several = listed if isinstance(listed, list) else ()
    objects = [tool_input, *(each for each in several if isinstance(each, dict))]
    named = [path for each in objects for key in PATH_KEYS for path in _strings(each.get(key))]
    patch = _command(tool_input)
    if PATCH in patch:
        lines = [line for line in patch.splitlines() if line.startswith("*** ")]
        named += [line.partition(": ")[2].strip() for line in lines if ": " in line]
    return [*named, *_strings(listed)]


def _command(tool_input: dict[str, object]) -> str:
    return " ".join(text for key in COMMAND_KEYS for text in _strings(tool_input.get(key)))


def _strings(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]


def _all_strings(payload: dict[str, object]) -> list[str]:
    """Every string of the payload, keys too, to learn which tags and keywords occur at all."""
    found: list[str] = []
    rest: list[object] = [payload]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found.extend(value)
            rest.extend(value.values())
        elif isinstance(value, list) and not {str, dict, list}.isdisjoint(map(type, value)):
            rest.extend(value)
    return found
