"""Excluded projects, in which nothing is recorded and nothing is injected.

    ~/clients/*, /srv/secret, **/vault     with a slash: that directory and everything below it
    payroll, *-private                     without: a project's name, that is, the name of its directory

Hooks import this file only if `settings.json` contains the setting.
"""

from __future__ import annotations

import posix
import time

from claude_mem.hook import json_text, paths
from claude_mem.hook.stdin import Payload
from claude_mem.privacy import excluded_files

KEY = "CLAUDE_MEM_EXCLUDED_PROJECTS"
HOLDS_S = 2.0
MOST_CACHED = 256
_GIT_FILE = 4096
_LONGEST = 4096  # characters of a path that a system opens; looking at all above it takes their square


def is_hook_excluded(settings: bytes, event: bytes, given: Payload) -> bool:
    """Of a payload. What can be read of the setting holds. A payload that was cut before it named its
    directory counts as excluded."""
    globs = _plain_globs(settings)
    if globs is None:
        globs = read(settings)
    if not globs:
        return False
    home = posix.environ.get(b"HOME", b"").decode(errors="surrogateescape")
    cwd = _directory(event, given)
    return cwd is None or is_excluded(cwd, globs, home)


class ExcludedProjects:
    """For the worker, which checks every event: answers are cached for a moment."""

    def __init__(self, globs: tuple[str, ...]) -> None:
        from os.path import expanduser

        self._globs, self._home = globs, expanduser("~")
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    def holds(self, cwd: str | None, name: str | None) -> bool:
        """Whether nothing is recorded of a working directory, or of a project of that name. Each may be
        missing."""
        if not self._globs:
            return False
        key, now = (cwd or "", name or ""), time.monotonic()
        at, answer = self._known.get(key, (-HOLDS_S, False))
        if now - at >= HOLDS_S:
            if len(self._known) >= MOST_CACHED:
                self._known.clear()
            answer = is_excluded(key[0], self._globs, self._home, key[1])
            self._known[key] = now, answer
        return answer


def read(settings: bytes) -> tuple[str, ...]:
    """The user's globs, as far as they can be read; `settings` explains what cannot."""
    from claude_mem.privacy import rules

    return rules.globs(rules.table(settings)[0].get(KEY, []))[0]


def _plain_globs(settings: bytes) -> tuple[str, ...] | None:
    """A list of plain strings under a key that stands there once, read without `json`, which costs as much
    as the rest of the hook; None for anything else."""
    key = b'"%s"' % KEY.encode()
    before, _, after = settings.partition(key)
    after = after.lstrip()
    rest = after[1:].lstrip()
    if key in after or KEY.encode() in before or after[:1] != b":" or rest[:1] != b"[":
        return None
    inside, closed, _ = rest[1:].partition(b"]")
    parts = inside.split(b'"')
    between = [part.strip() for part in parts[::2]]
    if not closed or b"\\" in inside or len(parts) % 2 == 0:
        return None
    if between[0] or between[-1] or any(part != b"," for part in between[1:-1]):
        return None
    return tuple(part.decode(errors="replace").strip() for part in parts[1::2] if part.strip())


def is_excluded(cwd: str, globs: tuple[str, ...], home: str, name: str = "") -> bool:
    """`name`: what a caller says the project is called."""
    if not cwd and not name:
        return False
    places, names = _places(cwd) if cwd else ([], [])
    return any(_matches(glob.lower(), places, [*names, name.lower()], home.lower()) for glob in globs)


def _directory(event: bytes, given: Payload) -> str | None:
    """The working directory; None if it may be in the part that was cut off."""
    if event:
        return json_text.text_of(json_text.member(given.head, b"cwd")).decode(errors="surrogateescape")
    from claude_mem.privacy import scrub_payload

    payload, is_whole = scrub_payload.peek(given)
    cwd = payload.get("cwd")
    return cwd if isinstance(cwd, str) else "" if is_whole else None


def _matches(glob: str, places: list[str], names: list[str], home: str) -> bool:
    if "/" not in glob:
        return any(name and excluded_files.like(name, glob) for name in names)
    if glob.startswith("~/"):
        glob = home.rstrip("/") + glob[1:]
    pattern = glob.rstrip("/").split("/")
    if pattern[0] not in ("", "**"):
        pattern.insert(0, "**")  # wherever it is found
    pattern.append("**")  # and all below it
    return any(excluded_files.walk(place.split("/"), pattern) for place in places)


def _places(cwd: str) -> tuple[list[str], list[str]]:
    """Where a directory is, in lower case: its own path and its repository's, whose name is the project's."""
    cwd = cwd[:_LONGEST].replace("\\", "/").rstrip("/") or "/"
    places, top = [cwd], cwd
    while top:
        try:
            mode = posix.lstat(f"{top}/.git").st_mode
        except (OSError, ValueError):
            top = top.rpartition("/")[0]
            continue
        places.append(top)
        if mode & 0o170000 != 0o040000:
            places += _main(f"{top}/.git")
        break
    names = [place.rpartition("/")[2] for place in (places[1:] or places)]
    return [place.lower() for place in places], [name.lower() for name in names]


def _main(link: str) -> list[str]:
    """The repository of a linked worktree, whose `.git` is a file that says where its directory is."""
    try:
        content = paths.content(link, _GIT_FILE).decode(errors="surrogateescape")
    except OSError:
        return []  # a link to a directory, or a pipe
    root, inside, _ = content.partition("gitdir:")[2].strip().rpartition("/.git/")
    return [root] if inside and root else []
