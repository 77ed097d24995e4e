"""Which commands changed something outside the files: a forge, a cluster, a container, a branch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from claude_mem.observe.shell import SimpleCommand

Weight = Literal["main", "minor"]  # minor: worth a fact beside something else, not a memory of its own

_URL = re.compile(r"https?://[^\s\"'<>)]{4,200}")
_GH = {
    "pr": ("create", "merge", "close", "edit", "comment", "review", "ready", "reopen"),
    "issue": ("create", "close", "edit", "comment", "reopen"),
    "release": ("create", "edit", "delete"),
    "repo": ("create", "fork", "edit", "rename", "delete"),
    "workflow": ("run", "enable", "disable"),
    "gist": ("create",),
    "label": ("create",),
    "secret": ("set",),
    "run": ("rerun", "cancel"),
}
_STATEFUL: dict[str, tuple[str, ...]] = {
    "kubectl": (
        "apply",
        "delete",
        "create",
        "scale",
        "rollout",
        "patch",
        "set",
        "annotate",
        "label",
        "drain",
        "cordon",
    ),
    "terraform": ("apply", "destroy", "import"),
    "tofu": ("apply", "destroy", "import"),
    "helm": ("install", "upgrade", "uninstall", "rollback"),
    "docker": ("push", "run", "stop", "rm", "rmi", "compose", "tag", "build"),
    "podman": ("push", "run", "stop", "rm", "build"),
    "docker-compose": ("up", "down", "restart"),
    "systemctl": ("start", "stop", "restart", "enable", "disable"),
    "npm": ("publish", "version", "uninstall"),
    "cargo": ("publish",),
    "twine": ("upload",),
    "alembic": ("upgrade", "downgrade", "revision"),
    "flyctl": ("deploy",),
    "fly": ("deploy",),
    "vercel": ("deploy",),
    "heroku": ("releases",),
    "aws": (),
    "gcloud": (),
    "az": (),
    "pulumi": ("up", "destroy"),
    "ansible-playbook": ("",),
    "prisma": ("migrate", "db"),
    "rails": ("db:migrate",),
    "wrangler": ("deploy", "publish"),
}
_LISTS = frozenset({"-l", "--list", "--contains", "-n", "--abort"})
_PUSHED = re.compile(r"^\s*[*+ ]?\s*(?:[0-9a-f]+\.{2,3}[0-9a-f]+|\[new \w+\])\s+(\S+)\s+->\s+(\S+)", re.M)
_REMOVERS = frozenset({"rm", "Remove-Item", "del", "rmdir", "ri", "unlink"})
_MOVERS = frozenset({"mv", "Move-Item", "Rename-Item", "ren", "move"})


@dataclass(frozen=True, slots=True)
class Operation:
    at: int
    title: str
    facts: tuple[str, ...] = ()
    weight: Weight = "main"
    paths: tuple[str, ...] = ()


def read(at: int, simple: SimpleCommand, output: str) -> Operation | None:
    program, words, plain = simple.program, simple.words, simple.plain()
    said = " ".join(words)[:100]
    if program == "gh" and len(plain) > 1 and plain[1] in _GH.get(plain[0], ()):
        return _forge(at, simple, output)
    if program == "git":
        return _git(at, simple, output)
    if program in _REMOVERS or program in _MOVERS:
        return _files(at, simple)
    verbs = _STATEFUL.get(program)
    if verbs and simple.sub in verbs and not {"--dry-run", "--help", "--rm"} & set(words):
        minor = program in ("docker", "podman") and simple.sub in ("run", "build", "rm", "tag")
        if simple.sub == "compose" and not {"up", "down", "restart"} & set(words):
            return None
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
        return Operation(at, said, (last[:180],) if last else (), "minor" if minor else "main")
    return None


def _forge(at: int, simple: SimpleCommand, output: str) -> Operation:
    noun, verb = simple.plain()[:2]
    title = _option(simple, "--title", "-t")
    url = _URL.search(output)
    number = re.search(r"/(\d+)\b", url[0]) if url else None
    target = next((word for word in simple.plain()[2:] if re.match(r"^#?\d+$|^https?://", word)), "")
    names = {"pr": "Pull request", "issue": "Issue"}
    subject = f"{names.get(noun, noun)} {'#' + number[1] if number else target}".strip()
    past = {
        "create": "opened",
        "close": "closed",
        "merge": "merged",
        "edit": "edited",
        "comment": "commented on",
        "review": "reviewed",
    }.get(verb, verb)
    body = _option(simple, "--body", "-b")
    facts = [
        fact
        for fact in (
            url[0] if url else "",
            " ".join(body.split())[:190] if body and "HEREDOC" not in body else "",
        )
        if fact
    ]
    return Operation(at, f"{subject} {past}" + (f": {title}" if title else ""), tuple(facts))


def _git(at: int, simple: SimpleCommand, output: str) -> Operation | None:
    plain, words = simple.plain(), set(simple.words)
    said = " ".join(simple.words)[:100]
    match simple.sub:
        case "checkout" | "switch" if words & {"-b", "-c", "-B", "-C"}:
            branch = _option(simple, "-b", "-c", "-B", "-C")
            found = Operation(at, f"branch {branch} created", weight="minor") if branch else None
        case "branch" if words & {"-m", "-M", "-d", "-D"}:
            found = Operation(at, said, weight="minor")
        case "rm" if len(plain) > 1:
            found = Operation(at, f"{', '.join(plain[1:4])} deleted", paths=tuple(plain[1:]))
        case "mv" if len(plain) == 3:
            found = Operation(at, f"{plain[1]} moved to {plain[2]}", paths=tuple(plain[1:]))
        case "merge" | "revert" | "cherry-pick" if plain[1:]:
            found = Operation(at, said)
        case "rebase" | "tag" | "worktree" if plain[1:] and "list" not in words and not words & _LISTS:
            found = Operation(at, said, weight="minor")
        case "push":
            pushed = _PUSHED.search(output)
            found = Operation(at, f"pushed {pushed[1]} to {pushed[2]}" if pushed else said, weight="minor")
        case _:
            found = None
    return found


def _files(at: int, simple: SimpleCommand) -> Operation | None:
    targets = [
        word
        for word in simple.plain()
        if not word.startswith("$") and "*" not in word and not word.startswith("(")
    ]
    if not targets:
        return None
    if simple.program in _MOVERS:
        return (
            Operation(at, f"{targets[0]} moved to {targets[-1]}", paths=tuple(targets))
            if len(targets) > 1
            else None
        )
    return Operation(
        at,
        f"{', '.join(targets[:3])} deleted" + (f" and {len(targets) - 3} more" if len(targets) > 3 else ""),
        paths=tuple(targets),
    )


def _option(simple: SimpleCommand, *names: str) -> str:
    for index, word in enumerate(simple.words):
        if word in names and index + 1 < len(simple.words):
            return simple.words[index + 1]
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
    return ""
