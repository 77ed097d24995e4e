"""How a path is written, and what kind of file it names."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from claude_mem.observe.offline.sentences import words

FileKind = Literal["code", "tests", "docs", "config"]

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_MSYS = re.compile(r"^/([A-Za-z])(?=/)")
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|spec|specs|__tests__|testdata|e2e)/|(?:^|[/_.-])(?:tests?|spec)[_.-]"
    r"|[_.-](?:tests?|spec)\.\w+$|Tests?\.\w+$"
)
_SCRATCH = re.compile(
    r"(?:^|/)(?:tmp|temp|var/folders|scratchpad|\.cache|node_modules|__pycache__)/|^/dev/|(?:^|/)\.git/", re.I
)
# Settings below a home folder, the system's own files.
_NOT_OURS = re.compile(
    r"^(?:(?:~|/root|/home/[^/]+|/Users/[^/]+|[A-Za-z]:/Users/[^/]+)/(?:\.|AppData/|Library/)"
    r"|/etc/|/usr/|/opt/|/proc/)"
    r"|/\.(?:claude|codex|copilot|gemini|cursor)/(?:plans|projects|session-state|todos)/",
    re.I,
)
AGENT_MEMORY = re.compile(r"/\.claude/.*\bmemory/[^/]+\.md$")

_DOCS = words("md mdx rst txt adoc markdown org tex html")
_CONFIG = words(
    """toml yaml yml json json5 jsonc ini cfg conf env properties xml lock plist tf hcl gradle nix
    csproj"""
)
_NAMED_CONFIG = words("""cmakelists.txt
    requirements.txt .dockerignore makefile procfile justfile .gitignore .editorconfig
    pipfile dockerfile go.sum gemfile go.mod""")


def name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


@lru_cache(maxsize=1024)
def kind(path: str) -> FileKind:
    base = name(path).lower()
    head, dot, tail = base.rpartition(".")
    suffix = tail if dot and head else ""
    if _TESTS.search(path):
        return "tests"
    if base in _NAMED_CONFIG or suffix in _CONFIG or (base.startswith(".") and not suffix):
        return "config"
    return "docs" if suffix in _DOCS else "code"


def is_scratch(path: str) -> bool:
    """Thrown away after use, or nobody's work: temporary files, caches, a repository's own inside."""
    return _SCRATCH.search(path) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the work is done; paths inside are written relative to it."""

    root: str = ""

    def shown(self, path: str) -> str:
        plain = canonical(path)
        if self.root and plain[: len(self.root) + 1].casefold() == self.root.casefold() + "/":
            return plain[len(self.root) + 1 :]
        return plain


def is_project_file(shown: str) -> bool:
    """Of the repository, or of one beside it (a worktree); not a draft, nor settings in a home folder."""
    return not is_scratch(shown) and _NOT_OURS.search(shown) is None


def is_inside(shown: str) -> bool:
    return not _is_absolute(shown) and not shown.startswith("../")


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or _DRIVE.match(path) is not None


def canonical(path: str) -> str:
    """Forward slashes; `/d/x` of a Unix shell on Windows is `D:/x`."""
    path = path.strip().strip("\"'")
    if _DRIVE.match(path) or ("\\" in path and "/" not in path):
        path = path.replace("\\", "/")
    path = _MSYS.sub(lambda m: m[1].upper() + ":", path) if _MSYS.match(path) else path
    return posixpath.normpath(path) if path else path


def place(project: str, folders: list[str]) -> Place:
    """The project's root: the folder of its name among the working directories, else the outermost."""
    plain = [canonical(folder) for folder in folders if folder]
    for folder in plain:
        parts = folder.split("/")
        if project and project in parts[1:]:
            return Place("/".join(parts[: parts.index(project, 1) + 1]))
    return Place(min(plain, key=len) if plain else "")
