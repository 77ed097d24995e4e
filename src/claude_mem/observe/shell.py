"""Shell command lines: which programs they run, their purpose, and which files they certainly changed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise

from msgspec import Struct

from claude_mem.model.text import lazy_pattern

LONGEST = 20_000
_HEREDOC = lazy_pattern(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_PIECE = lazy_pattern(
    r"'[^']*(?:'|$)|\"(?:[^\"\\]|\\.)*(?:\"|$)|`[^`]*`|\\.|&&|\|\||\d?>&\d|[;|\n]|&|[^\s'\"`\\;|&]+|\s|.",
    re.S,
)
_ASSIGNED = lazy_pattern(r"^[A-Za-z_]\w*=")
_WRAPPED_BY = "nohup command rtk sudo bunx doas else ! nice env then npx time xargs do exec"
_WRAPPERS = frozenset(_WRAPPED_BY.split())
_RUNNERS = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pdm", "rye"), "run"),
    **dict.fromkeys(("bundle", "pnpm"), "exec"),
}
_REDIRECT = lazy_pattern(r"^\d?>{1,2}(?!&)(.*)$")


class SimpleCommand(Struct, frozen=True):
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


def commands(line: str) -> list[SimpleCommand]:
    """The programs that a line runs, in order. It never fails: an odd line only gives odd words."""
    text, bodies = _without_heredocs(line[:LONGEST])
    found: list[SimpleCommand] = []
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
            inner = piece[1:-1] if piece[-1] == piece[0] else piece[1:]  # or it was cut off
            word.append(inner.replace('\\"', '"') if piece[0] == '"' else inner)
        elif piece == "\\\n":
            flush()
        elif piece[0] == "\\" and len(piece) == 2 and not piece[1].isalnum():
            word.append(piece[1])
        else:
            word.append(piece)
    close(False)
    return [simple for simple in found if simple.words]


def quoted_command(line: str, limit: int = 80) -> str:
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
    left: list[str] = []
    at = 0
    while found := _HEREDOC.search(line, at):
        end_of_line = line.find("\n", found.end())
        if end_of_line < 0:
            break
        closing = re.compile(rf"^\s*{found[2]}\s*$", re.M).search(line, end_of_line)
        left.append(line[at : found.start()] + f" <<HEREDOC{len(bodies)} " + line[found.end() : end_of_line])
        bodies.append(line[end_of_line + 1 : closing.start() if closing else len(line)])
        at = closing.end() if closing else len(line)
        if len(bodies) > 50:
            break
    left.append(line[at:])
    return "".join(left), bodies


_MARK = lazy_pattern(r"<<HEREDOC\d+")


def _simple(words: list[str], piped: bool, documents: Iterator[str]) -> SimpleCommand:
    heredoc, into = None, None
    left: list[str] = []
    take_next = False
    for word in words:
        if take_next:
            into, take_next = word, False
            continue
        if mark := _MARK.search(word):
            heredoc = next(documents, None)
            if word == mark[0]:
                continue
        redirect = _REDIRECT.match(word)
        if redirect and left:
            into, take_next = redirect[1] or None, not redirect[1]
            continue
        left.append(word)
    while left and (_ASSIGNED.match(left[0]) or left[0] in _WRAPPERS or left[0] in "({" or left[0] == "$("):
        left.pop(0)
    if len(left) > 2 and _RUNNERS.get(left[0]) == left[1]:
        left = left[2:]
    if len(left) > 2 and re.match(r"^(?:python[\d.]*|py)$", left[0].rsplit("/", 1)[-1]) and left[1] == "-m":
        left = left[2:]
    if left and left[0] == "git":  # `git -C path commit` is `git commit`
        while len(left) > 2 and left[1] in ("-C", "-c"):
            del left[1:3]
        while len(left) > 2 and left[1].startswith("--"):
            del left[1]
    return SimpleCommand(tuple(left), piped, into, heredoc)


_LOOKS = """
    ls dir tree find fd cat bat head tail less sed awk nl grep rg ag wc sort uniq cut file stat du df pwd
    which where type echo printf env date get-childitem get-content select-string get-command test-path gci
    gc get-item resolve-path measure-object select-object
"""
_STEPS = "cd pushd popd export set true source . sleep"
LOOKS = frozenset(f"{_LOOKS} {_STEPS}".split())
GIT_LOOKS = frozenset(("status", "rev-parse", "ls-files", "describe", "remote"))


class Use(Enum):
    """What a program was run for."""

    STEP = auto()
    MOVE = auto()  # of files
    STATE = auto()  # of a repository or its forge: numbers, names, whether it is merged
    LOOK = auto()  # it prints existing text
    FETCH = auto()  # so does it, from afar
    DEED = auto()  # to the repository, its forge, a tracker
    RUN = auto()  # a test, a build, a check, a measurement: the machine itself answers


_STEPPING = f"""
    {_STEPS} unset false for while if case do done fi break [ [[ wait echo printf pwd date which where type
"""
_MOVING = "rm mv cp mkdir ln chmod touch rmdir remove-item move-item copy-item new-item"
_LOOKING = """
    more jq yq strings xxd od diff cmp comm tr column tee xargs basename dirname realpath readlink
    json.tool base64 tmux man pydoc pdftotext lynx w3m unzip zcat
"""
# For an unknown program, its next words decide, such as a tracker's `show` or `close`.
_SHOWING = """
    api ask capture cat describe diff fetch find get help info list log logs ls outdated owner pack prime
    query read ready search show stats status version view why
"""
_DOING = """
    add assign close comment create delete dep edit label merge note publish remove reopen rerun review
    send submit update upload
"""
_GIT_DOING = "add am apply cherry-pick commit merge mv push rebase reset restore revert rm"
_USES = {
    **dict.fromkeys(LOOKS | set(_LOOKING.split()), Use.LOOK),
    **dict.fromkeys(_STEPPING.split(), Use.STEP),
    **dict.fromkeys(_MOVING.split(), Use.MOVE),
    **dict.fromkeys(("docker", "kubectl"), Use.RUN),  # what they get and list is how things are
}
_SHOW, _DO, _GIT_DO = (frozenset(words.split()) for words in (_SHOWING, _DOING, _GIT_DOING))
_GIT_STATE = lazy_pattern(
    r"git (?:status|branch|rev-parse|rev-list|merge-base|count-objects|ls-remote|fetch|worktree list|tag"
    r"|stash list|symbolic-ref|for-each-ref"
    r"|diff(?= .*--(?:\w*stat|name-only|name-status))"
    r"|(?:log|show)(?= .*--(?:oneline|format=\S*%))"  # other forms print what people wrote
    r"(?!.* (?:-[pSGLu]|--patch|--format=\S*%[bB])))(?: |$)"
)
_GIT_MAY_DO = lazy_pattern(
    r"git (?:branch|stash|tag|worktree) .*(?:-[dDfmM]|\b(?:add|remove|push|pop|drop|apply))\b"
)
_FORGE_STATE = lazy_pattern(
    r" (?:view|list) .*--json (?!.*(?:body|title|comm(?:ent|it)s|[rR]eviews|description))| pr checks"
)
_FORGE_DOES = lazy_pattern(r" api .*(?: -[fF] | --(?:raw-)?field | -X (?!GET)| --method (?!GET))")
_COMPUTES = lazy_pattern(r"jq [\s\S]*\b(?:add|length|max_by|min_by|group_by)\b")
_HERE = lazy_pattern(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])[:/]")
_PROGRAM = lazy_pattern(r"\.(?:go|py|js|mjs|ts|rs|sh|rb)$")
_SHELLS = ("bash", "sh", "zsh")


def uses(line: str) -> Iterator[tuple[Use, SimpleCommand]]:
    """The purpose of each program of a line. A program whose input is existing text counts as printing it."""
    fed_by: Use | None = None
    for simple in commands(line):
        if simple.program in _SHELLS and len(simple.words) > 2 and simple.words[1].endswith("c"):
            yield from uses(simple.words[2])  # bash -lc '...'
            continue
        use = _use(simple)
        computes = fed_by is not Use.FETCH and _COMPUTES.match(" ".join(simple.words))
        if fed_by in (Use.STATE, Use.LOOK, Use.FETCH) and not computes:
            use = fed_by
        elif fed_by is not None and use is Use.LOOK:
            use = Use.STEP  # it only picks from what a program printed
        yield use, simple
        fed_by = use if simple.piped else None


def _use(simple: SimpleCommand) -> Use:
    program, line = simple.program.lower(), " ".join(simple.words)
    if line.endswith(")") and "(" not in line:
        return Use.STEP  # the end of a $(...)
    if program in ("curl", "wget", "http"):
        return Use.RUN if any(map(_HERE.match, simple.words)) else Use.FETCH
    if program == "git":
        does = simple.sub in _GIT_DO or _GIT_MAY_DO.match(line)
        return Use.DEED if does else Use.STATE if _GIT_STATE.match(line) else Use.LOOK
    if program in _USES:
        is_program = simple.heredoc and _PROGRAM.search(simple.into or "")
        return Use.RUN if is_program or _COMPUTES.match(line) else _USES[program]
    return _use_of_forge(simple, line) if program in ("gh", "glab") else _use_of_any(simple)


def _use_of_forge(simple: SimpleCommand, line: str) -> Use:
    if not _DO.isdisjoint(simple.plain()[:2]) or _FORGE_DOES.search(line):
        return Use.DEED
    if simple.sub == "run":
        return Use.RUN
    asks = _FORGE_STATE.search(line)  # of one thing, or of many
    return Use.FETCH if asks is None else Use.STATE if " list " in line else Use.RUN


def _use_of_any(simple: SimpleCommand) -> Use:
    words = simple.plain()[:3]
    if any(re.match(r"https?://", word) and not _HERE.match(word) for word in simple.words):
        return Use.FETCH
    if any(_USES.get(word) is Use.LOOK for word in words):
        return Use.LOOK  # timeout 5 head README.md
    if not _DO.isdisjoint(words[:2]):
        return Use.DEED
    is_known = re.match(r"[\w.@~]", simple.program) is not None and simple.program not in _SHOW
    is_help = not {"--help", "--version"}.isdisjoint(simple.words)
    return Use.RUN if is_known and not is_help and _SHOW.isdisjoint(words) else Use.LOOK


_PROVES = lazy_pattern(
    r"\b(?:tests?|pytest|unittest|jest|vitest|mocha|rspec|phpunit|ctest|tox|nox|check|lint|vet|clippy|mypy|pyright"
    r"|ruff|eslint|tsc|build|compile|make)\b",
    re.IGNORECASE,
)
_COMMITS = lazy_pattern(
    r"\bgit\s++(?:-[cC]\s++\S++\s++)?(?:commit|merge|revert|cherry-pick|tag|push)\b|\bgh\s++(?:pr|release)\s"
)
_CHANGES = lazy_pattern(r">(?!&|\s*/dev/null|\s*\$null)|\s-i\b|\s-exec\b|\s-delete\b|\btee\b")

MOST_CHARS = 4_000
_DOUBTFUL = ("`", "$", "<<", "||", "(", "{", "~", "\\")
# Once split, a quoted '>' looks like a real one.
_QUOTED = tuple(quote + sign for quote in "'\"" for sign in ">&;|")
_DOUBTFUL_WORDS = frozenset(
    ("if", "then", "else", "for", "while", "until", "do", "case", "cd", "pushd", "function", "set")
)
_SEPARATORS = frozenset(("&&", ";", "|", "&"))


class Purpose(Enum):
    LOOK = auto()
    PROVE = auto()  # a test, a build, a check: its end shows how it went
    COMMIT = auto()
    WORK = auto()


def proves(line: str) -> bool:
    """Whether it runs tests, a build or a linter."""
    return _PROVES.search(line) is not None


def purpose(command: str) -> Purpose:
    if _COMMITS.search(command):
        return Purpose.COMMIT
    is_known = len(command) <= LONGEST and not _CHANGES.search(command)
    if is_known and all(map(_looks, commands(command))):
        return Purpose.LOOK
    return Purpose.PROVE if _PROVES.search(command) else Purpose.WORK


def _looks(command: SimpleCommand) -> bool:
    if command.program == "git":
        return command.sub in GIT_LOOKS
    return command.program.lower() in LOOKS


def surely_changed(command: str) -> Iterator[str]:
    """The files that it redirects to, removes, or moves under git, if the command line alone proves it. A
    variable, a pattern, a loop or a change of directory makes it uncertain, and uncertain files are left
    out."""
    words = _split(command)
    start = 0
    for index in range(len(words) + 1):
        if index == len(words) or words[index] in _SEPARATORS:
            # In `a; b` or `a | b` the command can succeed where `a` failed, so only && and the end prove it.
            proved = index == len(words) or words[index] == "&&"
            yield from _changed_by(words[start:index], proved=proved)
            start = index + 1


def _split(command: str) -> list[str]:
    if len(command) > MOST_CHARS or any(sign in command for sign in (*_DOUBTFUL, *_QUOTED)):
        return []
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quotation
        return []
    return [] if _DOUBTFUL_WORDS.intersection(words) else words


def _changed_by(words: list[str], *, proved: bool) -> Iterator[str]:
    for sign, target in pairwise(words):
        if sign in (">", ">>", "&>") and _is_file(target):
            yield target
    plain = [word for word in words if not word.startswith("-")]
    if not proved or any(sign in words for sign in (">", ">>", "<", "&>")):
        return
    if plain[:1] == ["rm"] and not any(word.startswith("-") and "r" in word.lower() for word in words):
        yield from filter(_is_file, plain[1:])
    if plain[:2] == ["git", "mv"] and len(plain) == 4 and "." in plain[3].rpartition("/")[2].strip("."):
        yield from filter(_is_file, plain[2:])


def _is_file(word: str) -> bool:
    return not (
        word.startswith(("/dev/", "&", "-")) or word.endswith("/") or set(word) & set("*?[") or not word
    )
