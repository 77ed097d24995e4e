"""What was added to a machine or a project by a package manager."""

from __future__ import annotations

import re
from dataclasses import dataclass

from claude_mem.observe.offline.wording import words
from claude_mem.observe.shell import SimpleCommand

_ADDS: dict[str, tuple[str, ...]] = {
    "pip": ("install",),
    "pip3": ("install",),
    "pipx": ("install",),
    "uv": ("add", "pip", "tool"),
    "poetry": ("add",),
    "pdm": ("add",),
    "conda": ("install",),
    "mamba": ("install",),
    "npm": ("install", "i", "add"),
    "pnpm": ("add", "install", "i"),
    "yarn": ("add",),
    "bun": ("add", "install"),
    "cargo": ("add", "install"),
    "go": ("get", "install"),
    "apt": ("install",),
    "apt-get": ("install",),
    "brew": ("install",),
    "dnf": ("install",),
    "yum": ("install",),
    "apk": ("add",),
    "pacman": ("-S",),
    "gem": ("install",),
    "bundle": ("add",),
    "composer": ("require",),
    "choco": ("install",),
    "winget": ("install",),
    "scoop": ("install",),
    "deno": ("add",),
    "helm": ("install",),
    "mix": ("deps.get",),
    "Install-Module": ("",),
}
_VALUED = words(
    """-c -t --python --target --index-url --cwd --requirement --prefix -r -C --extra-index-url -i
    --constraint"""
)
_NOT_A_NAME = re.compile(r"^[.~/$]|^\w:[\\/]|[<>|=]$|^https?://")


@dataclass(frozen=True, slots=True)
class Install:
    at: int
    manager: str
    packages: tuple[str, ...]
    ok: bool
    errors: tuple[str, ...] = ()


def read(simple: SimpleCommand) -> tuple[str, tuple[str, ...]] | None:
    """The manager and what it was asked to add; None if this adds nothing by name."""
    verbs = _ADDS.get(simple.program)
    words = list(simple.words[1:])
    if verbs is None:
        return None
    verb = next((word for word in words if not word.startswith("-") or word in verbs), "")
    if verb not in verbs:
        return None
    rest = words[words.index(verb) + 1 :]
    if simple.program == "uv" and verb in ("pip", "tool"):
        if rest[:1] != ["install"]:
            return None
        rest = rest[1:]
    packages, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif not word.startswith("-") and not _NOT_A_NAME.search(word):
            packages.append(word)
    return (simple.program, tuple(dict.fromkeys(packages))) if packages else None
