"""What the tool calls prove, regardless of a model's claims: which files were read and modified, and whether
external text was read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from claude_mem.model.events import Event, Kind
from claude_mem.model.full_text import significant_words
from claude_mem.model.memory import DEEDS, Findings, Observation
from claude_mem.model.structs import replace
from claude_mem.model.text import lazy_pattern
from claude_mem.observe import shell
from claude_mem.observe.shell import Use
from claude_mem.observe.tool_calls import ParsedEvent, ToolKind, ToolUse

MOST_FILES = 200
_MOST_SHOWN = 4_000  # characters, of either end of what a program printed
_LOOKING = frozenset((Use.STATE, Use.LOOK, Use.FETCH))
_COMMITS = frozenset(("add", "am", "cherry-pick", "commit", "merge", "push", "rebase", "revert"))
_READERS = (ToolKind.READ, ToolKind.LOOK, ToolKind.WEB, ToolKind.AGENT)  # a subagent reports what it read
_BEGIN, _END = r"(?:^|[\s;&|(`'\"/])", r"(?=$|[\s;&|)`'\"])"
_PRINTS = lazy_pattern(
    rf"{_BEGIN}(?:curl|wget|http|cat(?!\s*>)|bat|head|tail|less|more|sed|awk|grep|rg|strings|man|pydoc|pdftotext|lynx|w3m|unzip|zcat|gh|git\s+(?:clone|fetch|pull"
    rf"|show|log|diff)){_END}"
)

_CLIENTS_NOTICE = lazy_pattern(
    r"\s*(?:\[?API Error\b|You[’']ve (?:hit|reached) your [\w ./-]{0,40}limit\b"
    r"|Claude (?:AI )?usage limit reached|Credit balance is too low|Invalid API key|Please run /login"
    r"|(?:\d+-hour|daily|weekly|monthly|session|usage|spend|Opus)(?: \w{1,20})? limit reached"
    r"|OAuth token (?:has expired|revoked)|Prompt is too long\s*$|Request timed out"
    r"|stream (?:error|disconnected)\b|Quota exceeded|No response requested\.)",
    re.IGNORECASE,
)
LONGEST_NOTICE = 600


def is_clients_notice(text: str) -> bool:
    """Whether a last message is not from the agent but from the client: a limit was reached, or the API
    failed."""
    return len(text) <= LONGEST_NOTICE and _CLIENTS_NOTICE.match(text) is not None


def has_evidence(seen: Iterable[ParsedEvent]) -> bool:
    """Whether anything happened besides the prompt: a tool use, or a message of the agent."""
    for event, call in seen:
        if event.private or event.kind in (Kind.PROMPT, Kind.STOP_FAILURE):
            continue
        if call is not None or (event.text and not is_clients_notice(event.text)):
            return True
    return False


def correct(findings: Findings, seen: Sequence[ParsedEvent]) -> Findings:
    """Corrects a model's claims about files by what the tools did."""
    read, modified = files(seen)
    known = _KnownPaths(dict.fromkeys((*read, *modified)))
    altered = _KnownPaths(modified)
    observations = [
        replace(
            each,
            files_read=tuple(known.matching(each.files_read)),
            files_modified=tuple(altered.matching(each.files_modified)),
        )
        for each in findings.observations
    ]
    silent = _owner_of_unclaimed_edits(findings.observations)
    if silent is not None:
        claimed = {path for each in observations for path in each.files_modified}
        left = tuple(path for path in modified if path not in claimed)[:MOST_FILES]
        observations[silent] = replace(observations[silent], files_modified=left)
    summaries = tuple(
        replace(each, files_read=read[:MOST_FILES], files_edited=modified[:MOST_FILES])
        for each in findings.summaries
    )
    return replace(findings, observations=tuple(observations), summaries=summaries)


def _owner_of_unclaimed_edits(observations: Sequence[Observation]) -> int | None:
    """The observation to which unclaimed edits must belong, if only one is possible."""
    silent = [
        index
        for index, each in enumerate(observations)
        # If there are other observations, a discovery or a decision may have changed no file.
        if not each.files_modified and (len(observations) == 1 or each.type in DEEDS)
    ]
    return silent[0] if len(silent) == 1 else None


def files(seen: Sequence[ParsedEvent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(read, modified), each in order of first mention, as seen from the session's directory."""
    base = base_of(each.event for each in seen)
    read: dict[str, None] = {}
    modified: dict[str, None] = {}
    for _, call in seen:
        if call is None or call.failed:
            continue  # a failed call shows nothing but the attempt
        read.update((seen_from(base, path, call.cwd), None) for path in call.read_paths())
        modified.update((seen_from(base, path, call.cwd), None) for path in _modified(call))
    return tuple(read), tuple(modified)


def _modified(call: ToolUse) -> Iterator[str]:
    if call.kind is ToolKind.COMMAND:
        return shell.surely_changed(call.command)
    return call.written_paths()


def with_provenance(findings: Findings, seen: Sequence[ParsedEvent]) -> Findings:
    """Adds the evidence for the claims, by which `Findings.source_of` decides.

    External text may say anything, including instructions for the next session. A wrong "external" costs a
    mark on a memory, but a wrong "work" presents untrusted text as the agent's own. So a program that was run
    supports what the memory says about it, but not anything else that was read.
    """
    calls = [call for _, call in seen if call is not None]
    fetched = any(map(_is_from_afar, calls))
    request = "\n".join(e.text or "" for e, _ in seen if e.kind is Kind.PROMPT and not e.private)
    deeds = [call for call in calls if _acts(call)]
    ran, shown, did = _words([call for event, call in seen if call is not None and not event.private])
    looked = [uses for call in calls if (uses := _looks(call))]
    return replace(
        findings,
        read_outside=any(map(reads_outside, calls)),
        fetched=fetched,
        ran=ran,
        shown=shown,
        did=did,
        saw_state=bool(looked) and all(uses == {Use.STATE} for uses in looked),
        acted=any(_alters(call) for call in deeds) if fetched else bool(deeds),
        committed=any(map(_commits, calls)) and not fetched,
        request=request,
        is_question=_is_question(request),
        decided=any(map(_is_users_word, calls)),
    )


# "Why not ...?", "should we ...?" and "how about ...?" may want it done.
_ASKS = lazy_pattern(
    r"(?:(?:ok(?:ay)?|and|so|but|now|also|hmm+|well|hey|q|question|genuine|then)\b[\s,:.!]*)*(?:"
    r"(?:what|how|where|when|which|who|is|are|was|were|do|does|did|has|have)\b(?! (?:about|if)\b).*\?"
    r"|(?:(?:can|could|would) you )?(?:please |also |just )?(?:double[- ]?)?"
    r"(?:check|compare|confirm|explain|find out|investigate|tell me|verify)\b"
    r"(?!.*\b(?:add|change|fix|implement|make|remove|replace|update)\b).*)",
    re.IGNORECASE,
)
_LONGEST_QUESTION = 1_000


def _is_question(request: str) -> bool:
    """Whether each sentence is a question, or a request to look at something."""
    if len(request) > _LONGEST_QUESTION:
        return False
    sentences = list(filter(None, map(str.strip, re.split(r"(?<=[?.!])\s|\n", request))))
    return bool(sentences) and all(map(_ASKS.fullmatch, sentences))


def _words(calls: Iterable[ToolUse]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Of what was run, of what that printed, and of what was done."""
    ran, shown, did = [""], [""], [""]
    for call in calls:
        kinds = {use for use, _ in call.uses}
        for use, simple in call.uses:
            if use is Use.RUN or (use is Use.DEED and not call.failed):
                (ran if use is Use.RUN else did).append(f"{' '.join(simple.words)} {simple.heredoc or ''}")
        if Use.RUN in kinds:
            ran.append(call.word("description"))
            shown.append("" if {Use.LOOK, Use.FETCH} & kinds else _ends(call.text()))
        elif Use.DEED in kinds:
            did.append(call.word("description"))
        elif call.kind is ToolKind.OTHER and _acts(call):
            did.append(f"{call.tool.name} {call.tool.input}")
    return (
        significant_words("\n".join(ran)),
        significant_words("\n".join(shown)),
        significant_words("\n".join(did)),
    )


def _looks(call: ToolUse) -> set[Use]:
    """In which ways the agent looked at something."""
    if call.kind is ToolKind.COMMAND:
        return {use for use, _ in call.uses} & _LOOKING
    return {Use.LOOK} if reads_outside(call) and not _acts(call) else set()


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\n{text[-_MOST_SHOWN:]}"


_DEED = lazy_pattern(
    r"(?:^|[_-])(?:add|close|commit|create|delete|dismiss|edit|insert|mark|merge|move|post|push|put|remove"
    r"|reply|send"
    r"|set|spawn|start|stop|submit|update|upload|write)(?:$|[_-])"
)
# Text written by others. A forge's states, numbers and file names do not count, nor does local output.
_FETCHES = lazy_pattern(
    rf"{_BEGIN}(?:(?:curl|wget|http)(?![^;&|\n]*\shttps?://(?:localhost|127\.0\.0\.1|\[::1\])[:/])"
    r"|(?:gh|glab)\s+(?:api|search|(?:pr|mr|issue|release|repo|gist|discussion)\s+(?:view|list|diff))"
    r"(?![^;&|\n]* --name-only)"
    r"(?![^;&|\n]* --json (?![^;&|\n]*(?:body|comm(?:ent|it)s|[rR]eviews|title|description))))" + _END
)


def _is_from_afar(call: ToolUse) -> bool:
    if call.kind is ToolKind.COMMAND:
        return _FETCHES.search(call.command or call.tool.input or "") is not None
    return call.kind is ToolKind.WEB or (call.tool.name.startswith("mcp__") and not _acts(call))


def _acts(call: ToolUse) -> bool:
    """Whether the agent changed something: a file, a commit, a ticket."""
    if call.failed:
        return False
    if call.kind is ToolKind.COMMAND:
        does = any(use in (Use.DEED, Use.MOVE) for use, _ in call.uses)
        return does or any(True for _ in _modified(call))
    if call.tool.name.startswith("mcp__"):
        return _DEED.search(call.tool.name.rpartition("__")[2]) is not None
    return call.kind in (ToolKind.EDIT, ToolKind.WRITE)


def _alters(call: ToolUse) -> bool:
    return (
        call.kind in (ToolKind.EDIT, ToolKind.WRITE) or _commits(call) or any(True for _ in _modified(call))
    )


def _commits(call: ToolUse) -> bool:
    commits = (each.program == "git" and each.sub in _COMMITS for _, each in call.uses)
    return not call.failed and any(commits)


def _is_users_word(call: ToolUse) -> bool:
    """An answer to a question; or a plan that passed."""
    is_answer = "questions" in call.fields and bool(call.answered.get("answers"))
    return is_answer or (call.tool.name == "ExitPlanMode" and not call.failed)


def reads_outside(call: ToolUse) -> bool:
    """Whether its output was written by others, judging by its name and command."""
    if call.kind in _READERS or call.tool.name.startswith("mcp__"):
        return True
    if call.kind is ToolKind.OTHER:
        # An MCP server's, perhaps: other agents mark those by no prefix. Claude Code's own have a capital.
        return call.tool.name[:1].islower() and bool(call.answer)
    if call.kind is not ToolKind.COMMAND:
        return False
    command = call.fields.get("command")
    # Cut short, or given in another way: then its text is all there is.
    line = command if isinstance(command, str) else call.tool.input or ""
    return _PRINTS.search(line) is not None and not _only_runs(line)


def _only_runs(line: str) -> bool:
    """Whether it only filters the output of tests, builds and linters."""
    if _FETCHES.search(line) or re.search(r"\$\(|`|<", line):
        return False
    found = list(shell.uses(line))
    runs = [" ".join(command.words) for use, command in found if use is Use.RUN]
    return bool(runs) and all(map(shell.proves, runs)) and _LOOKING.isdisjoint(use for use, _ in found)


class _KnownPaths:
    """The known paths, with which claims are compared. A claimed path may be shorter or longer than the
    actual one."""

    def __init__(self, known: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in known:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def matching(self, claims: Iterable[str]) -> dict[str, None]:
        return {path: None for claim in claims if (path := self._match(seen_from(None, claim)))}

    def _match(self, claim: str) -> str | None:
        near = self._by_name.get(claim.rpartition("/")[2], [])
        if claim in near:
            return claim
        fitting = [path for path in near if path.endswith(f"/{claim}") or claim.endswith(f"/{path}")]
        # If two files match, neither is used: a wrong file is worse than none.
        return fitting[0] if len(fitting) == 1 else None


def base_of(events: Iterable[Event]) -> str | None:
    """The directory that paths are relative to. An agent may enter folders below it; the outermost stays."""
    return min((event.cwd for event in events if event.cwd), key=len, default=None)


def seen_from(base: str | None, path: str, cwd: str | None = None) -> str:
    """A path with forward slashes: inside the base relative to it; outside as it is."""
    plain = _plain(path)
    if cwd and not _is_absolute(plain):
        plain = posixpath.normpath(posixpath.join(_plain(cwd), plain))
    root = _plain(base).rstrip("/") + "/" if base else ""
    inside = plain[: len(root)]
    # Windows names a folder D:\Repo in one place and d:\repo in the next.
    if root and (inside == root or (_has_drive(root) and inside.lower() == root.lower())):
        return plain[len(root) :] or "."
    return plain


def _plain(path: str) -> str:
    windows = _has_drive(path) or ("\\" in path and "/" not in path)
    return posixpath.normpath(path.replace("\\", "/") if windows else path)


def _has_drive(path: str) -> bool:
    return len(path) > 2 and path[0].isalpha() and path[1] == ":" and path[2] in "\\/"


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or _has_drive(path)
