"""One hook's whole life: read, scrub, spool, wake the worker or ask it, answer, leave with 0.

Every tool call of the user's agent waits for this file, so it takes the short way wherever it may: `posix` in
place of `os` (which costs 1.2 ms), nothing parsed that holds neither tag nor secret, the rest imported late.
"""

from __future__ import annotations

import posix
import sys
import time

from claude_mem import __version__
from claude_mem.hook import paths, spool_writer, stdin, worker_link
from claude_mem.privacy import private_turns, suspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_mem.hook.translate import Translator


ALL_WITHIN_S = 8.0  # a starved machine is no reason to lose an event; installed hooks may take 10 s
COUNT_WITHIN_S = 0.5
ANSWER = b'{"continue": true, "suppressOutput": true}\n'
SILENT = "compact"
"""The verb of a compaction's hooks: what they print, the client takes for instructions to the model that
compacts, and shows to the user."""

EVENT = b'"hook_event_name":"'
RECORDED = frozenset(
    (
        b"SessionStart",
        b"UserPromptSubmit",
        b"PostToolUse",
        b"PostToolUseFailure",
        b"Stop",
        b"StopFailure",
        b"SubagentStop",
        b"PreCompact",
        b"PostCompact",
        b"SessionEnd",
    )
)
"""PreToolUse is answered but not recorded: its content comes again, with the outcome, after the tool."""


PLACES = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Claude Code's; after a tool, too, but before it is better."""

_when_answered: list[Callable[[], None]] = []
"""What may be done only once the answer is written: a client that has gone has seen nothing."""


def main(verb: str, agent: str = spool_writer.AGENT, plugin: str = "") -> None:
    """Never returns, never fails: exits 0 with a valid answer whatever happens. `plugin`: the version of the
    plugin that runs the hook (see `plugin_check`)."""
    answer = None
    try:
        _plugin.append(plugin)
        if plugin.startswith("static-"):
            from claude_mem.hook import plugin_check

            if plugin_check.is_doubled(posix.environ):
                posix._exit(0)
        if verb == "setup":
            answer = _check_version(plugin)
        elif not paths.is_observer(posix.environ):
            posix.umask(0o077)
            given = _read(verb, agent)
            if given and paths.is_off(posix.environ):
                from claude_mem.hook import pause

                pause.note_skipped(verb, *given)
            elif given:
                answer = _respond(verb, *given)
    except BaseException:  # noqa: S110 - even telling failed; the user's agent goes on all the same
        pass
    try:
        stdin.deadline(COUNT_WITHIN_S)
        rest = answer or (b"" if verb == SILENT else ANSWER)
        if _translator or agent != spool_writer.AGENT:
            rest = _translator[0].answer(rest) if _translator else b""
        while rest:
            rest = rest[posix.write(1, rest) :]
        for settle in _when_answered:
            settle()
    finally:
        posix._exit(0)


_translator: list[Translator] = []
"""Of the agent that runs the hook, if that is not Claude Code."""


def _read(verb: str, agent: str) -> tuple[bytes, bytes, bool] | None:
    """The payload's head, the tail of what was over the cap, and whether it is whole; another agent's in the
    words of Claude Code's. None: there is nothing to record."""
    began = time.monotonic()
    head, tail, whole = stdin.read(stdin.READ_WITHIN_S)
    stdin.deadline(ALL_WITHIN_S - (time.monotonic() - began))
    is_claude_codes = agent == spool_writer.AGENT
    if is_claude_codes and not _is_copilots(head):
        return head, tail, whole
    try:
        from claude_mem.hook import translate

        translator = translate.Translator(COPILOT if is_claude_codes else agent, verb)
        _translator.append(translator)
        if is_claude_codes and _has_own_hooks():
            translator.places = frozenset()
        given = translator.payload(head, tail, whole)
        stdin.deadline(translator.within_s(ALL_WITHIN_S) - (time.monotonic() - began))
    except BaseException as error:
        given = None
        if not paths.is_off(posix.environ):
            _enter()
            _count_loss(error)
    return given


COPILOT, COPILOT_HOOKS = "copilot", b"/hooks/claude-mem.json"
_TIMED, _TRANSCRIPT, _OF_COPILOT = b'"timestamp":', b'"transcript_path":', b"/session-state/"


def _is_copilots(head: bytes) -> bool:
    """Copilot runs a project's hooks for Claude Code, too. It says when; Claude Code, which may be run by
    Copilot, never does, and names the transcript in every payload."""
    begins = head[:1024] if b"COPILOT_CLI" in posix.environ else b""
    return _TIMED in begins and (_TRANSCRIPT not in begins or _OF_COPILOT in begins)


def _has_own_hooks() -> bool:
    """Copilot runs its own hooks of ours as well: those inject what there is."""
    home = posix.environ.get(b"COPILOT_HOME") or posix.environ.get(b"HOME", b"") + b"/.copilot"
    try:
        posix.stat(home + COPILOT_HOOKS)
    except OSError:
        return False
    return True


def _respond(verb: str, head: bytes, tail: bytes, whole: bool) -> bytes | None:
    """Returns an answer if there is one."""
    event = _named_event(head)
    if _translator and _translator[0].lacks_prompts:
        try:
            _note_prompt(event, head)
        except OSError:
            pass  # whatever keeps it from being recorded keeps the event from it, too, which is reported
    if event == b"PreToolUse":
        return _before_tool(head) if _reaches_model("PreToolUse") else None
    if _may_be_our_command(event, head):
        from claude_mem.hook import slash_command

        found = slash_command.find(verb, head)
        if found is not None:
            return slash_command.answer(verb, *found, head)
    return _capture(event, verb, head, tail, whole)


_entered: list[bool] = []


def _enter() -> None:
    """The data directory becomes the working directory, once: its path may be relative. Raises OSError."""
    if not _entered:
        paths.enter(paths.data_directory(posix.environ))
        _entered.append(True)


def _note_prompt(event: bytes, head: bytes) -> None:
    """Where no hook reports prompts, the first event after one does, before itself: else nothing would be
    known of the turn, not even that it is private."""
    from claude_mem.hook import transcript_peek

    session = private_turns.session_of(head)
    if session is None or event not in transcript_peek.TELLING:
        return
    _enter()
    prompt = transcript_peek.unreported_prompt(event, private_turns.spelled(session), _translator[0].prompt)
    if prompt:
        _capture(b"", "hook", prompt, b"", True)


def _reaches_model(event: str) -> bool:
    """Whether the agent shows its model what a hook says at that event."""
    return event in (_translator[0].places if _translator else PLACES)


def _capture(event: bytes, verb: str, head: bytes, tail: bytes, whole: bool) -> bytes | None:
    """Record an event."""
    if not whole or len(head) > 64 << 10 or not head.rstrip().endswith(b"}"):
        event = b""  # to be read carefully
    if event and event not in RECORDED:
        return None
    try:
        _enter()
    except OSError as error:
        from claude_mem.hook import notices

        return notices.tell(notices.describe("io_error", error), ANSWER) if _starts(verb, event) else None
    if _is_excluded(event, head, tail, whole):
        return None
    if paths.is_there(paths.OFF):
        from claude_mem.hook import pause

        named, switch = pause.find(verb, event, head, tail, whole)
        if switch:
            from claude_mem.hook import notices

            return notices.tell(pause.describe(switch, head), ANSWER) if _starts(verb, named) else None
    event, shown, problem = _record(verb, event, head, tail, whole)
    if _starts(
        verb, event
    ):  # else the user is working; what went wrong is counted, and shown at the next start
        from claude_mem.hook import notices

        message, was_shown = notices.due(problem)
        if differs := _version_news():
            message = f"{message}\n{differs}".strip()
        if message:
            shown = notices.tell(message, shown or ANSWER)
            _when_answered.append(was_shown)
    return shown


_plugin: list[str] = []


def _version_news() -> str:
    """One line, once, if the plugin is of another version than the program."""
    if not _plugin or _plugin[0].removeprefix("static-") in ("", __version__):
        return ""
    from claude_mem.hook import plugin_check

    says = plugin_check.news(_plugin[0])
    if says:
        _when_answered.append(lambda: plugin_check.was_told(says))
    return says


def _check_version(plugin: str) -> bytes | None:
    """For the client's Setup: nothing is recorded."""
    from claude_mem.hook import notices, plugin_check

    says = plugin_check.difference(plugin)
    return notices.tell(says, ANSWER) if says else None


def _before_tool(head: bytes) -> bytes | None:
    """What is known of the file that a tool is about to touch, or of the command it is about to run. Nothing
    is recorded, and no worker started."""
    asked = _tool_question(head)
    if asked is None:
        return None
    _enter()
    if paths.is_there(paths.OFF):
        from claude_mem.hook import pause

        if pause.find("", b"PreToolUse", asked)[1]:
            return None
    if _is_excluded(b"PreToolUse", asked):
        return None
    if _must_be_careful(asked):
        from claude_mem.privacy import scrub_payload

        _, asked, flags = scrub_payload.prepare("", asked, b"", True)
        if asked is None or not worker_link.may_be_asked(flags):
            return None
    return _about_tool(b"PreToolUse", asked)


def _tool_question(payload: bytes) -> bytes | None:
    from claude_mem.hook import json_peek

    return json_peek.tool_question(payload, starts=bool(_translator) and _translator[0].starts_at_a_tool)


def _about_tool(event: bytes, asked: bytes | None) -> bytes | None:
    """What the worker knows of a tool's file or command, as an answer to the event."""
    try:
        within = worker_link.TOOL_WITHIN_S
        return worker_link.ask(b"PreToolUse", asked, within, answers=event) if asked else None
    except worker_link.NobodyListens:
        return _rendered_start(asked) if asked else None


def _rendered_start(asked: bytes) -> bytes | None:
    """Once, what a start is shown, to a session that could not be shown it then, without a worker."""
    session = private_turns.session_of(asked)
    if not (_translator and _translator[0].starts_at_a_tool and session):
        return None
    marker = f"{private_turns.spelled(session)}.told"
    if paths.is_there(f"{paths.ASKED}/{marker}"):
        return None
    from claude_mem.hook import session_context, transcript_peek

    transcript_peek.leave_marker(marker)
    return session_context.find(asked, _translator[0].agent)[1]


def _is_excluded(event: bytes, head: bytes, tail: bytes = b"", whole: bool = True) -> bool:
    """It is of a project of which the user wants nothing recorded."""
    if b"CLAUDE_MEM_EXCLUDED_PROJECTS" not in _settings():
        return False
    from claude_mem.privacy import excluded_projects

    return excluded_projects.is_hook_excluded(_settings(), event, head, tail, whole)


def _starts(verb: str, event: bytes) -> bool:
    return event == b"SessionStart" or verb == "context"


def _record(
    verb: str, event: bytes, head: bytes, tail: bytes, whole: bool
) -> tuple[bytes, bytes | None, tuple[str, str] | None]:
    """Spool the event, and wake the worker or ask it. Returns the event's name, what the model is to be shown
    (as an answer), and what went wrong (the reason, counted by then, and a sentence)."""
    shown, asks = None, False  # where a start finds nothing rendered, and for every prompt
    try:
        payload: bytes | None = head
        flags: tuple[bytes, ...] = ()
        stamp = b""
        if not event or _must_be_careful(head) or _may_be_our_command(event, head):
            from claude_mem.privacy import scrub_payload

            event, payload, flags = scrub_payload.prepare(verb, head, tail, whole)
        if payload is None or event not in RECORDED:
            return event, None, None
        agent = _translator[0].agent if _translator else spool_writer.AGENT
        if event == b"SessionStart" and _reaches_model("SessionStart"):
            from claude_mem.hook import session_context

            stamp, shown, asks = session_context.find(payload, agent)
        spool_writer.put(event, payload, time.time_ns(), agent=agent, flags=flags, context=stamp)
    except BaseException as error:  # the hook's one catch-all: counted, shown to the user and by doctor
        if verb == "context" and (unnamed := _context_of_no_session(error, head)):
            payload, shown, asks = unnamed
            event, flags = b"SessionStart", ()
        else:
            return event, shown, _count_loss(error)
    try:
        if asks or (event == b"UserPromptSubmit" and _reaches_model("UserPromptSubmit")):
            shown = _ask(event, payload, flags) or shown
        else:
            worker_link.wake(sys.executable)
            # Where nothing can be said before a tool, it is said after it.
            after = _reaches_model("PostToolUse") and not _reaches_model("PreToolUse")
            if after and event == b"PostToolUse" and worker_link.may_be_asked(flags):
                shown = _about_tool(event, _tool_question(payload))
    except OSError:
        pass  # the event is safe; a worker finds it by itself
    return event, shown, None


def _context_of_no_session(error: BaseException, head: bytes) -> tuple[bytes, bytes | None, bool] | None:
    """What a start is shown that somebody typed, who has no session; nothing of it is recorded."""
    from claude_mem.hook import drop_counters

    if not isinstance(error, drop_counters.NoSession):
        return None
    from claude_mem.hook import session_context

    return session_context.of_no_session(head)


def _count_loss(error: BaseException) -> tuple[str, str]:
    """The reason under which a lost event is counted, and a sentence for the user."""
    from claude_mem.hook import drop_counters, notices

    stdin.deadline(COUNT_WITHIN_S)
    reason = drop_counters.reason(error)
    try:
        drop_counters.count(reason)
    except OSError:
        pass  # nothing can be written at all; the user still sees it
    return reason, notices.describe(reason, error)


def _ask(event: bytes, payload: bytes, flags: tuple[bytes, ...]) -> bytes | None:
    """What the worker remembers of it, as an answer. The query wakes it; there may be none yet."""
    from claude_mem.hook import worker_link

    if not worker_link.may_be_asked(flags):
        worker_link.wake(sys.executable)
        return None
    try:
        return worker_link.ask(event, payload, worker_link.WITHIN_S)
    except worker_link.NobodyListens:
        worker_link.start(sys.executable)
        return None


def _named_event(payload: bytes) -> bytes:
    """The event's name if the payload has the shape the client writes, with the head before all else."""
    if not payload.startswith(private_turns.HEAD):
        return b""
    start = payload.find(EVENT, 0, 2048) + len(EVENT)
    if start < len(EVENT) or payload.find(b'"tool_input"', 0, start) >= 0:
        return b""
    return payload[start : payload.find(b'"', start)]


def _must_be_careful(payload: bytes) -> bool:
    if suspect.is_suspect(payload):
        return True
    session = private_turns.session_of(payload)
    if session is None or b'"source":"fork"' in payload or b'"source":"resume"' in payload:
        return True  # which carries on another session, or may
    return private_turns.is_marked(session) or _has_custom_rules()


def _may_be_our_command(event: bytes, payload: bytes) -> bool:
    if event == b"UserPromptSubmit":
        at = payload.find(b'"prompt":"/')
        return at >= 0 and b"mem" in payload[at : at + 64]
    return not event and b'"prompt"' in payload and b"mem" in payload


def _has_custom_rules() -> bool:
    content = _settings()
    return b"CLAUDE_MEM_SECRET_PATTERNS" in content or b"CLAUDE_MEM_EXCLUDE_PATHS" in content


_settings_read: list[bytes] = []


def _settings() -> bytes:
    """What `settings.json` says, unparsed; read once. Empty for what is no file or cannot be read: the worker
    says so."""
    if not _settings_read:
        try:
            _settings_read.append(paths.content(paths.SETTINGS, paths.MOST_SETTINGS))
        except OSError:
            _settings_read.append(b"")
    return _settings_read[0]
