"""Which programs a command line runs, with which words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from claude_mem.observe.offline.wording import words

LONGEST = 20_000
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_PIECE = re.compile(
    r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\\.|&&|\|\||\d?>&\d|[;|\n]|&|[^\s'\"`\\;|&]+|\s|.", re.S
)
_ASSIGNED = re.compile(r"^[A-Za-z_]\w*=")
_WRAPPERS = words("""nohup command rtk sudo bunx doas else ! nice env then npx time xargs do exec""")
_RUNNERS = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "hatch": "run",
    "bundle": "exec",
    "pdm": "run",
    "rye": "run",
    "pnpm": "exec",
}
_REDIRECT = re.compile(r"^\d?>{1,2}(?!&)(.*)$")


@dataclass(frozen=True, slots=True)
class Simple:
    """One program and its words, quotes taken off."""

    words: tuple[str, ...]
    piped: bool = False  # what it said went into another program
    into: str | None = None  # or a file
    heredoc: str | None = None

    @property
    def program(self) -> str:
        return re.split(r"[\\/]", self.words[0])[-1].removesuffix(".exe") if self.words else ""

    def plain(self) -> list[str]:
        """The words after the program that are not options."""
        return [word for word in self.words[1:] if not word.startswith("-")]

    @property
    def sub(self) -> str:
        return next(iter(self.plain()), "")


def commands(line: str) -> list[Simple]:
    """The programs a line runs, in their order. Total: an odd line gives odd words, never an error."""
    text, bodies = _without_heredocs(line[:LONGEST])
    found: list[Simple] = []
    words: list[str] = []
    word: list[str] = []
    documents = iter(bodies)

    def flush() -> None:
        if word:
            words.append("".join(word))
            word.clear()

    def close(piped: bool) -> None:
        flush()
        if words:
            found.append(_simple(words, piped, documents))
        words.clear()

    for piece in _PIECE.findall(text):
        if piece in ("&&", "||", ";", "|", "\n", "&"):
            close(piece == "|")
        elif piece.isspace():
            flush()
        elif piece[0] in "'\"" and len(piece) > 1:
            word.append(piece[1:-1].replace('\\"', '"') if piece[0] == '"' else piece[1:-1])
        elif piece == "\\\n":
            flush()
        elif piece[0] == "\\" and len(piece) == 2 and not piece[1].isalnum():
            word.append(piece[1])
        else:
            word.append(piece)
    close(False)
    return [simple for simple in found if simple.words]


def short(line: str, limit: int = 80) -> str:
    """The line as a person would quote it: without changes of folder and without where its output went."""
    text, _ = _without_heredocs(line[:2000])
    text = re.sub(r"^\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&]+)\s*(?:&&|;)\s*)+", "", text)
    text = re.sub(
        r"\s*\d?>&\d|\s*\d?>\s*/dev/null|\s*\|\s*(?:head|tail|Select-Object|cat|less|tee)\b[^|;&\n]*",
        "",
        text,
    )
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _without_heredocs(line: str) -> tuple[str, list[str]]:
    bodies: list[str] = []
    kept: list[str] = []
    at = 0
    while found := _HEREDOC.search(line, at):
        end_of_line = line.find("\n", found.end())
        if end_of_line < 0:
            break
        closing = re.compile(rf"^\s*{found[2]}\s*$", re.M).search(line, end_of_line)
        kept.append(line[at : found.start()] + f" <<HEREDOC{len(bodies)} " + line[found.end() : end_of_line])
        bodies.append(line[end_of_line + 1 : closing.start() if closing else len(line)])
        at = closing.end() if closing else len(line)
        if len(bodies) > 50:
            break
    kept.append(line[at:])
    return "".join(kept), bodies


_MARK = re.compile(r"<<HEREDOC\d+")


def _simple(words: list[str], piped: bool, documents: Iterator[str]) -> Simple:
    heredoc, into = None, None
    kept: list[str] = []
    take_next = False
    for word in words:
        if take_next:
            into, take_next = word, False
            continue
        if _MARK.search(word):
            heredoc = next(documents, None)
            if word == _MARK.search(word)[0]:  # type: ignore[index]  # it was just found
                continue
        redirect = _REDIRECT.match(word)
        if redirect and kept:
            into, take_next = redirect[1] or None, not redirect[1]
            continue
        kept.append(word)
    while kept and (_ASSIGNED.match(kept[0]) or kept[0] in _WRAPPERS or kept[0] in "({" or kept[0] == "$("):
        kept.pop(0)
    if len(kept) > 2 and _RUNNERS.get(kept[0]) == kept[1]:
        kept = kept[2:]
    if len(kept) > 2 and re.match(r"^(?:python[\d.]*|py)$", kept[0].rsplit("/", 1)[-1]) and kept[1] == "-m":
        kept = kept[2:]
    if kept and kept[0] == "git":  # `git -C path commit` is `git commit`
        while len(kept) > 2 and kept[1] in ("-C", "-c"):
            del kept[1:3]
        while len(kept) > 2 and kept[1].startswith("--"):
            del kept[1]
    return Simple(tuple(kept), piped, into, heredoc)
