"""Applies tags, secrets, exclusions and trimming to one payload, before anything of it touches the disk.

Every hook imports this file to ask `is_suspect`, few go on to `scrub`; so the deciding modules are imported
by the few, and what the question needs is spelled out here. A test compares it with what they know.
"""

from __future__ import annotations

DEFAULT_GLOBS: tuple[str, ...]  # those of `exclude`; see __getattr__

# What can be in a payload that needs scrubbing, in lower case, by families: a member is looked for only where
# what its family has in common occurs. A search costs 1.5 µs, and there would be two hundred.
_FAMILIES: tuple[tuple[bytes, list[bytes]], ...] = (
    # Any ASCII character may be spelled as a JSON escape, and would hide the others.
    (rb"\u00", rb"\u002 \u003 \u004 \u005 \u006 \u007".split()),
    # Tags. Not `private` alone: it is a keyword of half the world's languages.
    (b"private", rb"<private </private \/private lt;private lt;/private private_key privatekey".split()),
    (b"private key", [b"private key-", b"private key -", b"private key block"]),
    (b"instruction", b"system_instruction system-instruction".split()),
    # Excluded files. Not `.env` or `.key` alone: code is full of process.env and item.key.
    (
        b".env",
        [
            *rb"""/.env \.env ".env '.env `.env =.env ;.env |.env <.env >.env (.env ).env &.env""".split(),
            *rb""":.env @.env ,.env {.env }.env \n.env \t.env \r.env""".split(),
            b" .env",
        ],
    ),
    (
        b".key",
        [
            *rb""".key\ .key" .key' .key` .key= .key; .key| .key< .key> .key( .key) .key&
                .key: .key@ .key, .key{ .key}""".split(),
            *(b".key ", b".key*", b".key?", b".keystore"),
        ],
    ),
    (b"config", rb".docker/config .kube/config .docker\\config .kube\\config".split()),
    (b"credentials", rb".git-credentials .credentials.json .aws/credentials .aws\\credentials".split()),
    (b"id_", b"id_rsa id_dsa id_ecdsa id_ed25519".split()),
    # Secrets.
    (b"key", b"api_key apikey api-key access_key accesskey access-key auth_key accountkey=".split()),
    (b"_key", b"encryption_key signing_key account_key".split()),
    (b"pass", b"password passwd passphrase _pass .pgpass".split()),
    (b"token", rb"""token= token: token" token' token\ token>""".split()),
    (b"token ", [b"token =", b"token :", b"token  ", b"-token ", b"token is "]),
    (b"gh", b"ghp_ gho_ ghu_ ghs_ ghr_".split()),
    (
        b"gl",
        b"glpat- gldt- glrt glptt- glcbt- glimt- glagent- glft- glsoat- glffct- gloas- glwt- glc_".split(),
    ),
    (b"~", [b"q~"]),
)
_ALONE: list[bytes] = [
    *b"claude-mem-context system-reminder persisted-output".split(),
    *b".pem .p12 .pfx .ppk .jks .kdbx netrc .pypirc".split(),
    *rb"""secret akia asia abia acca aiza ya29. gocspx- sig= _v1_ v1.0- ltai hrku- sbp_ pscale_ sk- gsk_ hf_
    r8_ pplx- xai- nvapi- lsv2_ github_pat_ gr1348941 atctt3 atatt3 atbb npm_ pypi-age cio rubygems_ dckr_ xox
    xapp- hooks.slack.com/ /api/webhooks/ discord :aa twilio sg. mailgun k_live_ k_test_ whsec_ sq0 eaaa
    shpat_ shpca_ shppa_ shpss_ lin_api_ lin_oauth_ ntn_ figd_ pmak- nrak- sntry hvs. hvb. hvr. .atlasv1.
    dapi glsa_ dp.pt. dp.st. eyj authorization cookie :\/\/ :\\/ _pwd ;pwd""".split(),
    *(b"bearer ", b"curl "),
]

# One of these, or a URL with a password, is in the lower case of every payload that needs scrubbing.
SUSPECT: tuple[bytes, ...] = (*_ALONE, *(member for _, family in _FAMILIES for member in family))

DEEPEST = 64
TOO_DEEP = "[too deep]"
MARGIN = 16 << 10  # read beyond what is kept: longer than any secret, a private key included
IDENTITY_KEYS = (
    *("session_id", "transcript_path", "cwd", "hook_event_name", "tool_name"),
    *("tool_use_id", "prompt_id", "agent_id", "agent_type"),
)
PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path", "filePath", "paths", "glob")
RESPONSE_KEYS = ("tool_response", "tool_output", "tool_result", "error")


def __getattr__(name: str) -> object:
    """Give DEFAULT_GLOBS without importing its module in the hooks that do not ask for it."""
    if name == "DEFAULT_GLOBS":
        from claude_mem.capture import exclude

        return exclude.DEFAULT_GLOBS
    raise AttributeError(name)


def is_suspect(payload: bytes) -> bool:
    """Whether the payload may hold anything to hide; False is certain, True is not."""
    low = payload.lower()
    if any(needle in low for needle in _ALONE):
        return True
    for common, family in _FAMILIES:
        if common in low and any(needle in low for needle in family):
            return True
    at = low.find(b"://")
    while at >= 0:
        authority = low[at + 3 : at + 515].partition(b'"')[0].partition(b" ")[0]
        if b":" in authority.rpartition(b"@")[0]:
            return True
        at = low.find(b"://", at + 3)
    return False


def scrub(
    payload: dict[str, object],
    *,
    field_cap: int,
    extra_rules: tuple[tuple[str, str], ...] = (),
    globs: tuple[str, ...] | None = None,
) -> tuple[dict[str, object], bool]:
    """Return the payload without what must not be kept, and whether private text was among it.

    `globs` are DEFAULT_GLOBS unless given.
    """
    scrubber = _Scrubber(payload, field_cap, extra_rules, globs)
    clean = scrubber.mapping(payload, 1, IDENTITY_KEYS)
    return clean, scrubber.hid_private


class _Scrubber:
    """One walk over one payload. A tag left open in a list stays open for the rest of that list."""

    def __init__(
        self,
        payload: dict[str, object],
        cap: int,
        extra: tuple[tuple[str, str], ...],
        globs: tuple[str, ...] | None,
    ) -> None:
        from claude_mem.capture import exclude, secrets, tags, trim

        self.exclude, self.secrets, self.tags, self.trim = exclude, secrets, tags, trim
        self.cap = cap
        self.extra = extra
        self.globs = exclude.DEFAULT_GLOBS if globs is None else globs
        strings = _all_strings(payload)
        low = "\n".join(strings).lower()
        self.has_tags = any(tag in low for tag in tags.HIDDEN_TAGS)
        self.rules = secrets.relevant("\n".join(t for t in strings if not self.is_far_too_long(t)))
        self.labels: dict[str, str] = {}
        self.hid_private = False
        self.lists = 0  # how many lists are open around the walk
        self.tag: str | None = None  # the tag left open in the list, and how often
        self.tag_depth = 0

    def value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return self.text(self.stripped(value))
        if isinstance(value, (dict, list)) and depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, dict):
            return self.mapping(value, depth)
        if isinstance(value, list):
            return self.items(value, depth)
        return value

    def mapping(
        self, owner: dict[str, object], depth: int, identity: tuple[str, ...] = ()
    ) -> dict[str, object]:
        file, whole = self.excluded(owner)
        clean: dict[str, object] = {}
        for key, value in owner.items():
            if file and key in RESPONSE_KEYS:
                kept = self.blank(value, file, depth + 1)
            elif whole and key == "tool_input":
                kept = self.blank(value, file, depth + 1, keep=PATH_KEYS)
            elif isinstance(value, str) and key in identity:
                kept = self.stripped(value)  # a session whose id were redacted would be another session
            elif isinstance(value, str):
                kept = self.value(self.secrets.redact_value(key, value), depth + 1)
            else:
                kept = self.value(value, depth + 1)
            clean[self.label(key)] = kept
        return clean

    def items(self, values: list[object], depth: int) -> list[object]:
        """A list. Strings side by side are read as lines of one text: a patch arrives so."""
        if {str, dict, list}.isdisjoint(map(type, values)):
            return values.copy()  # a million numbers are not worth a walk
        self.lists += 1
        clean: list[object] = []
        lines: list[str] = []
        for value in values:
            if isinstance(value, str):
                lines.append(value)
                continue
            if lines:
                clean += self.lines(lines)
                lines = []
            clean.append(self.value(value, depth + 1))
        clean += self.lines(lines)
        self.lists -= 1
        if not self.lists:
            self.tag, self.tag_depth = None, 0
        return clean

    def lines(self, lines: list[str]) -> list[str]:
        if not lines:
            return []
        whole = "\n".join(lines)
        rules = self.secrets.RULES if any(map(self.is_far_too_long, lines)) else self.rules
        clean = self.secrets.redact(self.stripped(whole), self.extra, rules).split("\n")
        if len(clean) != whole.count("\n") + 1:
            return [self.trim.trim(line, self.cap) for line in clean]
        again: list[str] = []
        at = 0
        for line in lines:
            end = at + line.count("\n") + 1
            again.append(self.trim.trim("\n".join(clean[at:end]), self.cap))
            at = end
        return again

    def label(self, text: str) -> str:
        """A key, or a file's name: not part of the text around it."""
        if text not in self.labels:
            kept, _, private = self.tags.strip(text)
            self.hid_private = self.hid_private or private
            self.labels[text] = self.text(kept)
        return self.labels[text]

    def text(self, text: str) -> str:
        """Redacted and trimmed. Of a text far over the cap only the ends are read: no more is kept of it."""
        if not self.is_far_too_long(text):
            return self.trim.trim(self.redacted(text), self.cap)
        head, tail = text[: 2 * self.cap + MARGIN], text[-self.cap - MARGIN :]
        if any(self.secrets.redact(end, self.extra) != end for end in (head, tail)):
            # Marks are short, and may bring the cut into what is kept: then no half of a secret, which no
            # rule would know, may stand there.
            head = self.secrets.redact(head[: head.replace("\n", " ").rfind(" ")], self.extra)
            tail = self.secrets.redact(tail[tail.replace("\n", " ").find(" ") + 1 :], self.extra)
        return self.trim.join(head, tail, len(text), self.cap)

    def is_far_too_long(self, text: str) -> bool:
        return len(text) > 4 * (self.cap + MARGIN)

    def stripped(self, text: str) -> str:
        if not self.has_tags:
            return text
        text, self.tag, self.tag_depth, private = self.tags.strip_nested(text, self.tag, self.tag_depth)
        self.hid_private = self.hid_private or private
        if not self.lists:
            self.tag, self.tag_depth = None, 0
        return text

    def redacted(self, text: str) -> str:
        if self.rules or self.extra:
            return self.secrets.redact(text, self.extra, self.rules)
        return text

    def excluded(self, owner: dict[str, object]) -> tuple[str, bool]:
        """The excluded file a tool use is about ("" for none), and whether all of it is about that file."""
        tool_input = owner.get("tool_input")
        if not isinstance(tool_input, dict):
            return "", False
        for key in PATH_KEYS:
            for path in _strings(tool_input.get(key)):
                if self.exclude.is_excluded(path.rstrip("*?"), self.globs):
                    return self.file_name(path), True
        word = self.exclude.excluded_word(" ".join(_strings(tool_input.get("command"))), self.globs)
        return (self.file_name(word), False) if word else ("", False)

    def file_name(self, path: str) -> str:
        return self.label(path.replace("\\", "/").rpartition("/")[2]) or "a file"

    def blank(self, value: object, file: str, depth: int, keep: tuple[str, ...] = ()) -> object:
        """The same shape without its strings, save those of the keys to keep."""
        if isinstance(value, str):
            return self.trim.trim(f"[excluded: contents of {file}]", self.cap)
        if isinstance(value, (dict, list)) and depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, dict):
            return {
                self.label(key): self.value(item, depth + 1)
                if key in keep
                else self.blank(item, file, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.blank(item, file, depth + 1) for item in value]
        return value


def _strings(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]


def _all_strings(payload: dict[str, object]) -> list[str]:
    """Every string of the payload, keys too, to learn which tags and keywords occur at all."""
    found: list[str] = []
    rest: list[object] = [payload]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            found.extend(value)
            rest.extend(value.values())
        elif isinstance(value, list) and not {str, dict, list}.isdisjoint(map(type, value)):
            rest.extend(value)
    return found
