"""How a path is written, and what kind of file it names."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from claude_mem.observe.offline.wording import words

Nature = Literal["code", "tests", "docs", "config"]

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_MSYS = re.compile(r"^/([A-Za-z])(?=/)")
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|spec|specs|__tests__|testdata|e2e)/|(?:^|[/_.-])(?:tests?|spec)[_.-]|[_.-](?:tests?|spec)\.\w+$|Tests?\.\w+$"
)
_SCRATCH = re.compile(
    r"(?:^|/)(?:tmp|temp|var/folders|scratchpad|\.cache|node_modules|__pycache__)/|^/dev/|(?:^|/)\.git/", re.I
)
MEMORY = re.compile(r"/\.claude/.*\bmemory/[^/]+\.md$")
PLAN = re.compile(r"/\.claude/plans/")

DOCS = words("""md mdx rst txt adoc markdown org tex html""")
CONFIG = words(
    """toml yaml yml json json5 jsonc ini cfg conf env properties xml lock plist tf hcl gradle nix csproj"""
)
_NAMED_CONFIG = words(
    """cmakelists.txt requirements.txt .dockerignore makefile procfile justfile .gitignore .editorconfig
    pipfile dockerfile go.sum gemfile go.mod"""
)
MANIFESTS = words(
    """package.json composer.json setup.cfg build.gradle mix.exs pubspec.yaml pipfile requirements.txt
    pom.xml gemfile pyproject.toml go.mod cargo.toml"""
)


def name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def suffix(path: str) -> str:
    head, dot, tail = name(path).rpartition(".")
    return tail.lower() if dot and head else ""


@lru_cache(maxsize=1024)
def nature(path: str) -> Nature:
    base = name(path).lower()
    if _TESTS.search(path):
        return "tests"
    if base in _NAMED_CONFIG or suffix(path) in CONFIG or (base.startswith(".") and not suffix(path)):
        return "config"
    return "docs" if suffix(path) in DOCS else "code"


def is_scratch(path: str) -> bool:
    """Thrown away after use, or nobody's work: temporary files, caches, a repository's own inside."""
    return _SCRATCH.search(path) is not None


def short(path: str, limit: int = 60) -> str:
    """For people: a temporary file by its name, a long path by its end."""
    if is_scratch(path):
        return name(path)
    return path if len(path) <= limit else "…/" + "/".join(path.split("/")[-3:])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the work is done; paths inside are written relative to it."""

    root: str = ""

    def shown(self, path: str) -> str:
        plain = canonical(path)
        if self.root and plain[: len(self.root) + 1].casefold() == self.root.casefold() + "/":
            return plain[len(self.root) + 1 :]
        return plain


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
