"""Files whose contents are never recorded, by their paths."""

from __future__ import annotations

# A glob without a slash is matched against the path's last part, one with a slash against the whole path.
DEFAULT_GLOBS: tuple[str, ...] = (
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    ".credentials.json",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.kube/config",
)

# Written to be shared, and the first thing an agent reads in a new project.
_SHARED = (".example", ".sample", ".template", ".dist", ".pub")


def is_excluded(path: str, globs: tuple[str, ...] = DEFAULT_GLOBS) -> bool:
    return _is_excluded(path, tuple(glob.lower() for glob in globs))


def excluded_word(command: str, globs: tuple[str, ...] = DEFAULT_GLOBS) -> str | None:
    """The first excluded path among a shell command's words."""
    for separator in "\"'`=;|<>()&:@,{}":  # `git show HEAD:.env`, `scp host:.env`, `cat {.env,x}`
        command = command.replace(separator, " ")
    lowered = tuple(glob.lower() for glob in globs)
    for word in dict.fromkeys(command.split()):
        # `cat .env*` reads .env as surely as `cat .env` does.
        path = word.rstrip("*?")
        if path and _is_excluded(path, lowered):
            return path
    return None


def _is_excluded(path: str, globs: tuple[str, ...]) -> bool:
    parts = path.replace("\\", "/").lower().split("/")
    return not parts[-1].endswith(_SHARED) and any(_matches(parts, glob) for glob in globs)


def _matches(parts: list[str], glob: str) -> bool:
    if "/" not in glob:
        return like(parts[-1], glob)
    wanted = glob.removeprefix("~/").split("/")
    if wanted[0] not in ("", "**"):
        wanted.insert(0, "**")  # a relative glob holds in whichever directory it is found
    return walk(parts, wanted)


def walk(parts: list[str], wanted: list[str]) -> bool:
    """Match path parts against glob parts, ** standing for any number of them."""
    at = goal = 0
    star = mark = -1
    while at < len(parts):
        if goal < len(wanted) and wanted[goal] == "**":
            star, mark = goal, at
            goal += 1
        elif goal < len(wanted) and like(parts[at], wanted[goal]):
            at += 1
            goal += 1
        elif star >= 0:
            # Only the last star is ever retried: what an earlier one matched cannot need to change.
            mark += 1
            at, goal = mark, star + 1
        else:
            return False
    return all(rest == "**" for rest in wanted[goal:])


def like(name: str, glob: str) -> bool:
    """Match a name against a glob of literals, * and ?; fnmatch would cost the import of re.

    The literals between stars are looked for from left to right, each once.
    """
    chunks = glob.split("*")
    if len(chunks) == 1:
        return len(name) == len(glob) and _at(name, 0, glob)
    first, last = chunks[0], chunks[-1]
    end = len(name) - len(last)
    if end < len(first) or not _at(name, 0, first) or not _at(name, end, last):
        return False
    at = len(first)
    for chunk in chunks[1:-1]:
        while at + len(chunk) <= end and not _at(name, at, chunk):
            at += 1
        at += len(chunk)
        if at > end:
            return False
    return True


def _at(name: str, at: int, chunk: str) -> bool:
    if "?" not in chunk:
        return name.startswith(chunk, at)
    here = name[at : at + len(chunk)]
    return len(here) == len(chunk) and all(c in ("?", h) for c, h in zip(chunk, here, strict=True))
