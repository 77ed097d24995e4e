"""Files whose contents are never recorded, by their paths."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Split = tuple[frozenset[str], tuple[str, ...], tuple[str, ...], tuple[str, ...]]

# A glob without a slash is matched against the path's last part, one with a slash against all of the path.
DEFAULT_GLOBS: tuple[str, ...] = (
    # Variables, and files of a tool's settings that exist for its secrets.
    *(".env", ".env.*", ".env~", ".env_*", ".env-*", "*.env", "*.env~", ".envrc", ".dev.vars"),
    *("secrets.yaml", "secrets.yml", "secrets.json", "secrets.toml", "local.settings.json"),
    *("*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json", ".terraformrc", "credentials.tfrc.json"),
    *(".vault-token", ".vault_pass*", ".vault-pass*", "key.properties", "keystore.properties"),
    # Keys and key stores.
    *("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdb", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "secring.*", "*.ovpn", "wallet.dat", "*.agekey"),
    # Logins of commands and package registries.
    *(".netrc", "_netrc", ".authinfo", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".pypirc"),
    *(".npmrc", ".htpasswd", ".git-credentials", "**/git/credentials", "**/.gem/credentials"),
    *("**/.cargo/credentials", "**/.cargo/credentials.toml", "**/gh/hosts.yml", "**/etc/shadow"),
    *(".boto", ".s3cfg", "rclone.conf", ".dockercfg", "**/.docker/config.json", "**/.codex/auth.json"),
    *("**/.composer/auth.json", ".msmtprc", "**/.oci/config", "**/.config/hub"),
    # Clouds and clusters.
    *(".credentials.json", "credentials.json", "application_default_credentials.json"),
    *("client_secret*.json", "*service-account*.json", "*service_account*.json", "*serviceaccount*.json"),
    *("**/.aws/credentials", "**/gcloud/credentials.db", "**/gcloud/access_tokens.db"),
    *("**/.azure/accesstokens.json", "**/.azure/msal_token_cache.json", "*accesskeys.csv"),
    *("**/.kube/config", "kubeconfig", "kubeconfig.*", "*.kubeconfig"),
    # Command histories, which include passwords; and the variables of a process.
    *(".*_history", "fish_history", ".histfile", "consolehost_history.txt", "**/proc/*/environ"),
)

# Written to be shared, and often the first file that an agent reads in a new project.
_SHARED = (".example", ".sample", ".template", ".dist", ".pub")


_CODE = ("process.env", "import.meta.env")
"""Expressions in programs that are not files."""
_SEPARATORS = "\"'`=;|<>()&:@,{}"  # `git show HEAD:.env`, `scp host:.env`, `cat {.env,x}`
_BETWEEN_COMMANDS = ";|&()`{}\n"
_BEFORE = ("sudo", "command", "builtin", "exec", "time", "nohup", "!")
_SEARCHERS = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack", "findstr"))
# A search, options other than those that name files (-g, --glob, --include), and its quoted pattern.
_SEARCH_PATTERN = (
    r"(?:^|[\s|;&(/])(?:[ef]?grep|rg|ag|ack)(?:\s+-(?:[A-Za-z]*[a-fh-zA-FH-Z]|-(?!\w*(?:glob|clude|file))[\w-]+))*"
    r"\s+(?:\"[^\"]*\"|'[^']*')"
)
ENVIRONMENT = "the environment"
NEAREST = 256
"""Characters of a folder's path that are examined: the closest folders decide whether a file is excluded."""


def is_excluded(path: str, globs: tuple[str, ...] = DEFAULT_GLOBS, folder: str = "") -> bool:
    """`globs`: in lower case, as everywhere below. `folder`: what a relative path is relative to, as far as
    that is known."""
    path = path.replace("\\", "/").lower()
    parts = path.split("/")
    if parts[-1].endswith(_SHARED) or parts[-1] in _CODE:
        return False
    if folder and not path.startswith(("/", "~")):
        parts = [*folder.replace("\\", "/").lower().split("/"), *parts]
    names, starts, ends, others = _split(globs)
    name = parts[-1]
    if name in names or name.startswith(starts) or name.endswith(ends):
        return True
    return any(_matches(parts, glob) for glob in others)


def excluded_word(command: str, globs: tuple[str, ...] = DEFAULT_GLOBS, folder: str = "") -> str | None:
    """The first excluded path among a shell command's words, wildcards among them; or the environment, if it
    prints that."""
    if prints_environment(command):
        return ENVIRONMENT
    command = _without_search_wildcards(command)
    for text in dict.fromkeys((command, _with_wildcards(command))):
        found = _among_words(text, globs, folder)
        if found:
            return found
    return None


def _without_search_wildcards(command: str) -> str:
    """In a search's pattern `.*` is no wildcard: a shell leaves quoted text as it is. Names still count."""
    if "*" not in command or not any(name in command for name in ("grep", "rg", "ag", "ack")):
        return command
    import re  # 6 ms: only for a search with a `*`

    return re.sub(_SEARCH_PATTERN, lambda found: found[0].replace("*", " ").replace("?", " "), command)


def _among_words(command: str, globs: tuple[str, ...], folder: str) -> str | None:
    for separator in _SEPARATORS:
        command = command.replace(separator, " ")
    words = command.split()
    enters = False
    for word in words if "cd" in words or "pushd" in words else dict.fromkeys(words):
        if enters:
            folder = word if word.startswith(("/", "~", "$")) else f"{folder}/{word}"[-NEAREST:]
        enters = word in ("cd", "pushd")
        # `cat .env*` reads .env as surely as `cat .env` does.
        path = word.rstrip("*?")
        if path and is_excluded(path, globs, folder):
            return path
        if ("*" in word or "?" in word) and _may_name(word, globs, folder):
            return word
    return None


def prints_environment(command: str) -> bool:
    """`printenv`, `env`, `set`, `export -p` and the like, wherever they stand among commands."""
    if "env" not in command and "set" not in command and "-" not in command and "export" not in command:
        return False
    for separator in _BETWEEN_COMMANDS:
        command = command.replace(separator, "\0")
    for each in command.split("\0"):
        words = [word for word in each.split() if not word.startswith((">", "<", "2>"))]
        while words and (words[0] in _BEFORE or ("=" in words[0] and not words[0].startswith("-"))):
            words.pop(0)
        if not words:
            continue
        name, rest = words[0].rpartition("/")[2], words[1:]
        if name == "printenv" or (name in ("set", "export") and not rest):
            return True
        if name == "env" and all(word.startswith("-") or "=" in word for word in rest):
            return True
        if name in ("export", "declare", "typeset") and rest and {"-p", "-x", "-px"}.issuperset(rest):
            return True
    return False


def searches(tool: object, command: str) -> bool:
    """Whether a tool prints lines of files that its call does not name."""
    words = command.replace("|", " ").replace("/", " ").split()
    named = str(tool or "").lower()
    return "grep" in named or "search" in named or not _SEARCHERS.isdisjoint(words)


def without_excluded_lines(text: str, globs: tuple[str, ...] = DEFAULT_GLOBS) -> str:
    """A search's output without the lines of excluded files: `.env:1:…`, `.env-2-…`, or those under a
    line that is the file's name."""
    lines: list[str] = []
    under = False
    for line in text.split("\n"):
        name = line.strip()
        if not name:
            under = False
        elif under and name[:1].isdigit():
            continue
        else:
            under = " " not in name and ":" not in name and is_excluded(name, globs)
        file = _searched_file(line, globs)
        lines.append(f"{file}:[excluded: contents of {file}]" if file else line)
    return "\n".join(lines)


def _searched_file(line: str, globs: tuple[str, ...]) -> str | None:
    """The excluded file that a line of a search's result begins with."""
    head = line[:512].lstrip()
    for mark in ":-":
        at = head.find(mark, 1)
        while at > 0:
            end = at + 1
            while end < len(head) and head[end].isdigit():
                end += 1
            is_numbered = end > at + 1 and head.startswith(mark, end)
            if (is_numbered or mark == ":") and is_excluded(head[:at], globs) and " " not in head[:at]:
                return head[:at]
            at = head.find(mark, at + 1) if mark == "-" else -1
    return None


_splits: dict[tuple[str, ...], Split] = {}


def _split(globs: tuple[str, ...]) -> Split:
    """Names, beginnings and ends of names, which are looked up; and the others, which are matched one by one:
    a command may have thousands of words."""
    if globs not in _splits:
        plain = [glob for glob in globs if "/" not in glob and "?" not in glob]
        names = [glob for glob in plain if "*" not in glob]
        starts = [glob for glob in plain if glob.find("*") == len(glob) - 1 > 0]
        ends = [glob for glob in plain if glob.rfind("*") == 0 < len(glob) - 1]
        known = {*names, *starts, *ends}
        others = tuple(glob for glob in globs if glob not in known)
        _splits.clear()
        _splits[globs] = (
            frozenset(names),
            tuple(glob[:-1] for glob in starts),
            tuple(glob[1:] for glob in ends),
            others,
        )
    return _splits[globs]


def _with_wildcards(command: str) -> str:
    """The pattern with a wildcard in place of each of a shell's alternatives: `.e{nv,x}`, `.en[v]`."""
    for opening, closing, wildcard in (("{", "}", "*"), ("[", "]", "?")):
        pieces = command.split(opening)
        command = pieces[0]
        for piece in pieces[1:]:
            inside, closed, rest = piece.partition(closing)
            command += wildcard + rest if closed and " " not in inside else opening + piece
    return command


def _may_name(word: str, globs: tuple[str, ...], folder: str) -> bool:
    """Whether a shell's pattern may name an excluded file. One that begins with a wildcard counts only in a
    folder that is named: elsewhere it would name almost any."""
    word = word.replace("\\", "/").lower()
    parts = word.split("/")
    is_begun = _begins(parts[-1])
    if folder and not word.startswith(("/", "~")):
        parts = [*folder.lower().split("/"), *parts]
    begun = _literal(parts[-1])
    for glob in globs:
        if "/" in glob:
            may = len(parts) > 1
        else:
            prefix = _literal(glob)
            may = is_begun and _begins(glob) and (prefix.startswith(begun) or begun.startswith(prefix))
        if may and _matches(parts, glob, _meet):
            return True
    return False


def _begins(pattern: str) -> bool:
    return pattern[:1] == "." or len(_literal(pattern)) > 1


def _literal(pattern: str) -> str:
    """The literal beginning of a pattern, before its first wildcard."""
    return pattern.replace("?", "*").partition("*")[0]


def _meet(one: str, other: str) -> bool:
    """Whether a name can match both patterns."""
    reached = {0}  # where in `other` one may be after the characters of `one` so far
    for letter in (*one, ""):
        for at in sorted(reached):
            after = at
            while after < len(other) and other[after] == "*":
                after += 1
                reached.add(after)
        if not letter:
            break
        if letter == "*":
            reached = set(range(min(reached), len(other) + 1)) if reached else reached
            continue
        fits = {at for at in reached if at < len(other)}
        reached = {at for at in fits if other[at] == "*"}
        reached |= {at + 1 for at in fits if other[at] == letter or "?" in (other[at], letter)}
        if not reached:
            return False
    return len(other) in reached


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
    part = name[at : at + len(chunk)]
    return len(part) == len(chunk) and all(c in ("?", h) for c, h in zip(chunk, part, strict=True))


def _matches(parts: list[str], glob: str, fits: Callable[[str, str], bool] = like) -> bool:
    if "/" not in glob:
        return fits(parts[-1], glob)
    last = glob.rpartition("/")[2]
    if fits is like and last != parts[-1] and "*" not in last and "?" not in last:
        return False
    pattern = glob.removeprefix("~/").split("/")
    if pattern[0] not in ("", "**"):
        pattern.insert(0, "**")  # a relative glob holds in whichever directory it is found
    return walk(parts, pattern, fits)


def walk(parts: list[str], pattern: list[str], fits: Callable[[str, str], bool] = like) -> bool:
    """Matches path parts against glob parts; `**` matches any number of them."""
    at = goal = 0
    star = mark = -1
    while at < len(parts):
        if goal < len(pattern) and pattern[goal] == "**":
            star, mark = goal, at
            goal += 1
        elif goal < len(pattern) and fits(parts[at], pattern[goal]):
            at += 1
            goal += 1
        elif star >= 0:
            # Only the last star is ever retried: what an earlier one matched cannot need to change.
            mark += 1
            at, goal = mark, star + 1
        else:
            return False
    return all(rest == "**" for rest in pattern[goal:])
