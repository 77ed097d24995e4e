"""The hook process: reads, scrubs and spools the payload, wakes or queries the worker, answers, exits 0.

    main > _read > _respond > _record_and_answer > _spool_and_query    an event that is recorded
                            > _answer_before_tool                      PreToolUse: answered, not recorded
                            > slash_command                            /mem

The agent waits for this file at every tool call. So it uses `posix` instead of `os` (which costs 1.2 ms),
does not parse a payload that contains neither tags nor secrets, and imports everything else only when needed.
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


ALL_WITHIN_S = 8.0  # generous, so that a busy machine loses no event; installed hooks may take 10 s
COUNT_WITHIN_S = 0.5
ANSWER = b'{"continue": true, "suppressOutput": true}\n'
SILENT = "compact"
"""The verb of the compaction hooks. They print nothing: the client would take it as instructions to the model
that compacts, and show it to the user."""

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
"""PreToolUse is answered but not recorded: PostToolUse repeats its content, with the outcome."""


INJECTION_EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""The events at which Claude Code shows its model what a hook returns. It does so after a tool, too, but
before the tool is more useful."""

_after_answer: list[Callable[[], None]] = []
"""Callbacks that run once the answer is written: if the client has gone, nothing was shown to it."""


def main(verb: str, agent: str = spool_writer.AGENT, plugin: str = "") -> None:
    """Never returns and never fails: exits 0 with a valid answer, whatever happens. `plugin`: the version of
    the plugin that runs the hook (see `plugin_check`)."""
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
    except BaseException:  # noqa: S110 - not even reporting it worked; the agent must go on
        pass
    try:
        stdin.deadline(COUNT_WITHIN_S)
        rest = answer or (b"" if verb == SILENT else ANSWER)
        if _translator or agent != spool_writer.AGENT:
            rest = _translator[0].answer(rest) if _translator else b""
        while rest:
            rest = rest[posix.write(1, rest) :]
        for settle in _after_answer:
            settle()
    finally:
        posix._exit(0)


_translator: list[Translator] = []
"""The translator for the agent that runs the hook; empty for Claude Code."""


def _read(verb: str, agent: str) -> tuple[bytes, bytes, bool] | None:
    """The payload's head, the tail of what exceeded the cap, and whether the head is complete. Another
    agent's payload is translated to Claude Code's format. None: there is nothing to record."""
    began = time.monotonic()
    head, tail, is_complete = stdin.read(stdin.READ_WITHIN_S)
    stdin.deadline(ALL_WITHIN_S - (time.monotonic() - began))
    is_claude_codes = agent == spool_writer.AGENT
    if is_claude_codes and not _is_from_copilot(head):
        return head, tail, is_complete
    try:
        from claude_mem.hook import translate

        translator = translate.Translator(COPILOT if is_claude_codes else agent, verb)
        _translator.append(translator)
        if is_claude_codes and _copilot_has_own_hooks():
            translator.injection_events = frozenset()
        given = translator.payload(head, tail, is_complete)
        stdin.deadline(translator.within_s(ALL_WITHIN_S) - (time.monotonic() - began))
    except BaseException as error:
        given = None
        if not paths.is_off(posix.environ):
            _enter_data_directory()
            _count_loss(error)
    return given


COPILOT, COPILOT_HOOKS = "copilot", b"/hooks/claude-mem.json"
_TIMED, _TRANSCRIPT, _OF_COPILOT = b'"timestamp":', b'"transcript_path":', b"/session-state/"


def _is_from_copilot(head: bytes) -> bool:
    """Copilot also runs the hooks that a project has for Claude Code. Its payloads have a timestamp; those of
    Claude Code (which Copilot may run) never do, and always name the transcript."""
    begins = head[:1024] if b"COPILOT_CLI" in posix.environ else b""
    return _TIMED in begins and (_TRANSCRIPT not in begins or _OF_COPILOT in begins)


def _copilot_has_own_hooks() -> bool:
    """Whether Copilot also runs our hooks from its own settings. If so, only those inject context."""
    home = posix.environ.get(b"COPILOT_HOME") or posix.environ.get(b"HOME", b"") + b"/.copilot"
    try:
        posix.stat(home + COPILOT_HOOKS)
    except OSError:
        return False
    return True


def _respond(verb: str, head: bytes, tail: bytes, is_complete: bool) -> bytes | None:
    """Dispatches by event. Returns the answer, if there is one."""
    event = _named_event(head)
    if _translator and _translator[0].lacks_prompts:
        try:
            _record_unreported_prompt(event, head)
        except OSError:
            pass  # the event itself will fail for the same reason, and that is reported
    if event == b"PreToolUse":
        return _answer_before_tool(head) if _reaches_model("PreToolUse") else None
    if _may_be_slash_command(event, head):
        from claude_mem.hook import slash_command

        found = slash_command.find(verb, head)
        if found is not None:
            return slash_command.answer(verb, *found, head)
    return _record_and_answer(event, verb, head, tail, is_complete)


_entered: list[bool] = []


def _enter_data_directory() -> None:
    """Makes the data directory the working directory, once: its path may be relative. Raises OSError."""
    if not _entered:
        project = posix.environ.get(b"CLAUDE_PROJECT_DIR", b"")
        paths.enter(paths.data_directory(posix.environ), project)
        _entered.append(True)


def _record_unreported_prompt(event: bytes, head: bytes) -> None:
    """If the agent has no prompt hook, the first event after a prompt records the prompt, before itself.
    Otherwise nothing would be known about the turn, not even that it is private."""
    from claude_mem.hook import transcript_peek

    session = private_turns.session_of(head)
    if session is None or event not in transcript_peek.MAY_FOLLOW_A_PROMPT:
        return
    _enter_data_directory()
    prompt = transcript_peek.unreported_prompt(event, private_turns.file_name(session), _translator[0].prompt)
    if prompt:
        _record_and_answer(b"", "hook", prompt, b"", True)


def _reaches_model(event: str) -> bool:
    """Whether the agent shows its model what a hook returns at that event."""
    return event in (_translator[0].injection_events if _translator else INJECTION_EVENTS)


def _record_and_answer(event: bytes, verb: str, head: bytes, tail: bytes, is_complete: bool) -> bytes | None:
    """Records an event, unless it is excluded or paused. Returns the answer: what the model is shown and, at
    a session's start, notices for the user."""
    if not is_complete or len(head) > 64 << 10 or not head.rstrip().endswith(b"}"):
        event = b""  # unknown until the payload is parsed
    if event and event not in RECORDED:
        return None
    try:
        _enter_data_directory()
    except OSError as error:
        from claude_mem.hook import notices

        return (
            notices.with_message(notices.describe("io_error", error), ANSWER)
            if _is_session_start(verb, event)
            else None
        )
    if _is_excluded(event, head, tail, is_complete):
        return None
    if paths.is_there(paths.OFF):
        from claude_mem.hook import pause

        named, switch = pause.find(verb, event, head, tail, is_complete)
        if switch:
            from claude_mem.hook import notices

            is_shown = _is_session_start(verb, named)
            return notices.with_message(pause.describe(switch, head), ANSWER) if is_shown else None
    event, shown, problem = _spool_and_query(verb, event, head, tail, is_complete)
    if _is_session_start(verb, event):
        # Only here: mid-session problems are counted, and shown at the next start.
        from claude_mem.hook import notices

        message, mark_shown = notices.pending(problem)
        counts = notices.start_line(_raw_settings(), shown) if shown else ""
        message = "\n".join(filter(None, (message, _version_notice(), counts)))
        if message:
            shown = notices.with_message(message, shown or ANSWER)
            _after_answer.append(mark_shown)
    return shown


_plugin: list[str] = []


def _version_notice() -> str:
    """One line, shown once, if the plugin's version differs from the program's."""
    if not _plugin or _plugin[0].removeprefix("static-") in ("", __version__):
        return ""
    from claude_mem.hook import plugin_check

    notice = plugin_check.news(_plugin[0])
    if notice:
        _after_answer.append(lambda: plugin_check.mark_shown(notice))
    return notice


def _check_version(plugin: str) -> bytes | None:
    """For the client's Setup event, which is not recorded."""
    from claude_mem.hook import notices, plugin_check

    notice = plugin_check.difference(plugin)
    return notices.with_message(notice, ANSWER) if notice else None


def _answer_before_tool(head: bytes) -> bytes | None:
    """What is known about the file a tool is about to touch, or the command it is about to run. Records
    nothing and starts no worker."""
    question = _tool_question(head)
    if question is None:
        return None
    _enter_data_directory()
    if paths.is_there(paths.OFF):
        from claude_mem.hook import pause

        if pause.find("", b"PreToolUse", question)[1]:
            return None
    if _is_excluded(b"PreToolUse", question):
        return None
    if _needs_scrubbing(question):
        from claude_mem.privacy import scrub_payload

        _, question, flags = scrub_payload.prepare("", question, b"", True)
        if question is None or not worker_link.may_query(flags):
            return None
    return _ask_about_tool(b"PreToolUse", question)


def _tool_question(payload: bytes) -> bytes | None:
    from claude_mem.hook import json_text

    return json_text.tool_question(payload, starts=bool(_translator) and _translator[0].starts_at_a_tool)


def _ask_about_tool(event: bytes, question: bytes | None) -> bytes | None:
    """What the worker knows about a tool's file or command, as an answer to the event."""
    try:
        within = worker_link.TOOL_WITHIN_S
        return worker_link.ask(b"PreToolUse", question, within, answers=event) if question else None
    except worker_link.NobodyListens:
        return _rendered_start(question) if question else None


def _rendered_start(question: bytes) -> bytes | None:
    """Without a worker: the pre-rendered start context, once, for a session that could not get it at its
    start."""
    session = private_turns.session_of(question)
    if not (_translator and _translator[0].starts_at_a_tool and session):
        return None
    marker = f"{private_turns.file_name(session)}.told"
    if paths.is_there(f"{paths.TURN_MARKERS}/{marker}"):
        return None
    from claude_mem.hook import session_context, transcript_peek

    transcript_peek.leave_marker(marker)
    return session_context.find(question, _translator[0].agent)[1]


def _is_excluded(event: bytes, head: bytes, tail: bytes = b"", is_complete: bool = True) -> bool:
    """Whether the event belongs to a project that the user has excluded."""
    if b"CLAUDE_MEM_EXCLUDED_PROJECTS" not in _raw_settings():
        return False
    from claude_mem.privacy import excluded_projects

    return excluded_projects.is_hook_excluded(_raw_settings(), event, head, tail, is_complete)


def _is_session_start(verb: str, event: bytes) -> bool:
    return event == b"SessionStart" or verb == "context"


def _spool_and_query(
    verb: str, event: bytes, head: bytes, tail: bytes, is_complete: bool
) -> tuple[bytes, bytes | None, tuple[str, str] | None]:
    """Spools the event, then wakes or queries the worker. Returns the event's name, the answer with what the
    model is shown, and what went wrong (the reason, already counted, and a sentence)."""
    shown, asks = None, False  # asks: query the worker, because no context was rendered for this start
    try:
        payload: bytes | None = head
        flags: tuple[bytes, ...] = ()
        stamp = b""
        if not event or _needs_scrubbing(head) or _may_be_slash_command(event, head):
            from claude_mem.privacy import scrub_payload

            event, payload, flags = scrub_payload.prepare(verb, head, tail, is_complete)
        if payload is None or event not in RECORDED:
            return event, None, None
        agent = _translator[0].agent if _translator else spool_writer.AGENT
        if event == b"SessionStart" and _reaches_model("SessionStart"):
            from claude_mem.hook import session_context

            stamp, shown, asks = session_context.find(payload, agent)
        spool_writer.put(event, payload, time.time_ns(), agent=agent, flags=flags, context=stamp)
    except BaseException as error:  # the hook's only catch-all: counted, and shown to the user and by doctor
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
            # If the agent injects nothing before a tool, inject it after the tool.
            after = _reaches_model("PostToolUse") and not _reaches_model("PreToolUse")
            if after and event == b"PostToolUse" and worker_link.may_query(flags):
                shown = _ask_about_tool(event, _tool_question(payload))
    except OSError:
        pass  # the event is safe; the next worker finds it
    return event, shown, None


def _context_of_no_session(error: BaseException, head: bytes) -> tuple[bytes, bytes | None, bool] | None:
    """The start context for a command that was typed outside of a session; nothing is recorded."""
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
    """The worker's context for the event, as an answer. The query also wakes the worker, or starts one."""
    from claude_mem.hook import worker_link

    if not worker_link.may_query(flags):
        worker_link.wake(sys.executable)
        return None
    try:
        return worker_link.ask(event, payload, worker_link.WITHIN_S)
    except worker_link.NobodyListens:
        worker_link.start(sys.executable)
        return None


def _named_event(payload: bytes) -> bytes:
    """The event's name, if the payload starts the way the client writes it; otherwise empty."""
    if not payload.startswith(private_turns.HEAD):
        return b""
    start = payload.find(EVENT, 0, 2048) + len(EVENT)
    if start < len(EVENT) or payload.find(b'"tool_input"', 0, start) >= 0:
        return b""
    return payload[start : payload.find(b'"', start)]


def _needs_scrubbing(payload: bytes) -> bool:
    if suspect.is_suspect(payload):
        return True
    session = private_turns.session_of(payload)
    if session is None or b'"source":"fork"' in payload or b'"source":"resume"' in payload:
        return True  # it continues, or may continue, another session
    return private_turns.is_marked(session) or _has_custom_rules()


def _may_be_slash_command(event: bytes, payload: bytes) -> bool:
    if event == b"UserPromptSubmit":
        at = payload.find(b'"prompt":"/')
        return at >= 0 and b"mem" in payload[at : at + 64]
    return not event and b'"prompt"' in payload and b"mem" in payload


def _has_custom_rules() -> bool:
    content = _raw_settings()
    return b"CLAUDE_MEM_SECRET_PATTERNS" in content or b"CLAUDE_MEM_EXCLUDE_PATHS" in content


_settings_read: list[bytes] = []


def _raw_settings() -> bytes:
    """`settings.json`, unparsed and read once. Empty if it cannot be read, which the worker reports."""
    if not _settings_read:
        try:
            _settings_read.append(paths.content(paths.SETTINGS, paths.MOST_SETTINGS))
        except OSError:
            _settings_read.append(b"")
    return _settings_read[0]
