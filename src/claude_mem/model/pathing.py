"""Whether a path is one that was asked for. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase


def is_of_file(path: str, asked: str) -> bool:
    """`asked` is the path or the end of it, a directory above it (`src/`), or a glob (`src/*.py`)."""
    path, asked = f"/{plain(path)}", plain(asked)
    if is_glob(asked):
        return fnmatchcase(path, f"*/{asked}")
    if asked.endswith("/"):
        return f"/{asked}" in path
    return path.endswith(f"/{asked}") or f"/{asked}".endswith(path)


def is_glob(asked: str) -> bool:
    return any(sign in asked for sign in "*?[")


def plain(path: str) -> str:
    """One spelling: slashes one way, letters small, for not all file systems tell them apart."""
    return path.replace("\\", "/").strip().removeprefix("./").lstrip("/").lower()
