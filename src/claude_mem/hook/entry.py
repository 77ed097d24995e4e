"""The hook process: reads, scrubs and spools the payload, wakes or queries the worker, answers, exits 0.

    main > Hook.run > read
                    > respond > record_and_answer > spool_and_query    an event that is recorded
                              > answer_before_tool                     PreToolUse: answered, not recorded
                              > slash_command                          /mem

The agent waits for this code on every tool call. So it uses `posix` instead of `os` (which costs 1.2 ms),
does not parse a payload that contains neither tags nor secrets, and imports everything else only when needed.
"""

from __future__ import annotations

import posix
import sys
import time

from claude_mem import __version__
from claude_mem.hook import paths, spool_writer, stdin, worker_link
from claude_mem.hook.stdin import Payload
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

RECORDED = frozenset(
    (
        *(b"SessionStart", b"UserPromptSubmit", b"PostToolUse", b"PostToolUseFailure", b"Stop"),
        *(b"StopFailure", b"SubagentStop", b"PreCompact", b"PostCompact", b"SessionEnd"),
    )
)
"""PreToolUse is answered but not recorded: PostToolUse repeats its content, with the outcome."""

INJECTION_EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""The events at which Claude Code shows its model what a hook returns. It does so after a tool, too, but
before the tool is more useful."""

COPILOT, COPILOT_HOOKS = "copilot", b"/hooks/claude-mem.json"
_TIMED, _TRANSCRIPT, _OF_COPILOT = b'"timestamp":', b'"transcript_path":', b"/session-state/"


def main(verb: str, agent: str = spool_writer.AGENT, plugin: str = "") -> None:
    """Never returns and never fails: exits 0 with a valid answer, whatever happens. `plugin`: the version of
    the plugin that runs the hook (see `plugin_check`)."""
    hook, answer = Hook(verb, agent, plugin), None
    try:
        answer = hook.run()
    except BaseException:  # noqa: S110 - not even reporting it worked; the agent must go on
        pass
    try:
        stdin.deadline(COUNT_WITHIN_S)
        rest = hook.translated(answer or (b"" if verb == SILENT else ANSWER))
        while rest:
            rest = rest[posix.write(1, rest) :]
        for settle in hook.after_answer:
            settle()
    finally:
        posix._exit(0)


class Hook:
    """One run, with the verb, the agent and the plugin's version that its command names."""

    def __init__(self, verb: str, agent: str, plugin: str) -> None:
        self.verb, self.agent, self.plugin = verb, agent, plugin
        self.translator: Translator | None = None  # None: the agent is Claude Code
        self.after_answer: list[Callable[[], None]] = []
        """Run once the answer is written: if the client has gone, nothing was shown to it."""
        self._has_entered = False
        self._settings: bytes | None = None

    def run(self) -> bytes | None:
        """The answer, if there is one."""
        if self.plugin.startswith("static-"):
            from claude_mem.hook import plugin_check

            if plugin_check.is_doubled(posix.environ):
                posix._exit(0)
        if self.verb == "setup":
            return self.check_version()
        if paths.is_observer(posix.environ):
            return None
        posix.umask(0o077)
        received = self.read()
        if received and paths.is_off(posix.environ):
            from claude_mem.hook import pause

            pause.note_skipped(self.verb, received)
            return None
        return self.respond(received) if received else None

    def read(self) -> Payload | None:
        """The payload; another agent's is translated to Claude Code's format. None: there is nothing to
        record."""
        began = time.monotonic()
        received: Payload | None = stdin.read(stdin.READ_WITHIN_S)
        assert received
        stdin.deadline(ALL_WITHIN_S - (time.monotonic() - began))
        is_claude_codes = self.agent == spool_writer.AGENT
        if is_claude_codes and not _is_from_copilot(received.head):
            return received
        try:
            from claude_mem.hook import translate

            translator = translate.Translator(COPILOT if is_claude_codes else self.agent, self.verb)
            self.translator, self.agent = translator, translator.agent
            if is_claude_codes and _copilot_has_own_hooks():
                translator.injection_events = frozenset()
            received = translator.payload(received)
            stdin.deadline(translator.within_s(ALL_WITHIN_S) - (time.monotonic() - began))
        except BaseException as error:
            received = None
            if not paths.is_off(posix.environ):
                self.enter_data_directory()
                _count_loss(error)
        return received

    def translated(self, answer: bytes) -> bytes:
        """The answer in the agent's format."""
        if self.translator:
            return self.translator.answer(answer)
        return answer if self.agent == spool_writer.AGENT else b""

    def respond(self, received: Payload) -> bytes | None:
        """Dispatches by event. Returns the answer, if there is one."""
        event = received.event
        if self.translator and self.translator.lacks_prompts:
            try:
                self.record_unreported_prompt(self.translator, event, received)
            except OSError:
                pass  # the event itself will fail for the same reason, and that is reported
        if event == b"PreToolUse":
            return self.answer_before_tool(received.head) if self.reaches_model("PreToolUse") else None
        if _may_be_slash_command(event, received.head):
            from claude_mem.hook import slash_command

            found = slash_command.find(self.verb, received)
            if found is not None:
                return slash_command.answer(self.verb, *found, received)
        return self.record_and_answer(event, received)

    def enter_data_directory(self) -> None:
        """Makes the data directory the working directory, once: its path may be relative. Raises OSError."""
        if not self._has_entered:
            project = posix.environ.get(b"CLAUDE_PROJECT_DIR", b"")
            paths.enter(paths.data_directory(posix.environ), project)
            self._has_entered = True

    def record_unreported_prompt(self, translator: Translator, event: bytes, received: Payload) -> None:
        """If the agent has no prompt hook, the first event after a prompt records the prompt, before itself.
        Otherwise nothing would be known about the turn, not even that it is private."""
        from claude_mem.hook import transcript_peek

        session = received.session
        if session is None or event not in transcript_peek.MAY_FOLLOW_A_PROMPT:
            return
        self.enter_data_directory()
        marker = private_turns.file_name(session)
        prompt = transcript_peek.unreported_prompt(event, marker, translator.prompt)
        if prompt:
            self.record_and_answer(b"", Payload(prompt))

    def reaches_model(self, event: str) -> bool:
        """Whether the agent shows its model what a hook returns at that event."""
        return event in (self.translator.injection_events if self.translator else INJECTION_EVENTS)

    @property
    def starts_at_a_tool(self) -> bool:
        """Whether the agent shows its model nothing before its first tool."""
        return self.translator is not None and self.translator.starts_at_a_tool

    def record_and_answer(self, event: bytes, received: Payload) -> bytes | None:
        """Records an event, unless it is excluded or paused. Returns the answer: what the model is shown and,
        at a session's start, notices for the user."""
        if not received.may_be_stored_unparsed:
            event = b""  # unknown until the payload is parsed
        if event and event not in RECORDED:
            return None
        try:
            self.enter_data_directory()
        except OSError as error:
            from claude_mem.hook import notices

            is_shown = self.is_session_start(event)
            return notices.with_message(notices.describe("io_error", error), ANSWER) if is_shown else None
        if self.is_excluded(event, received):
            return None
        if paths.is_there(paths.OFF):
            from claude_mem.hook import pause

            named, switch = pause.find(self.verb, event, received)
            if switch:
                from claude_mem.hook import notices

                is_shown = self.is_session_start(named)
                return notices.with_message(pause.describe(switch, received), ANSWER) if is_shown else None
        event, shown, problem = self.spool_and_query(event, received)
        if self.is_session_start(event):
            # Only here: mid-session problems are counted, and shown at the next start.
            from claude_mem.hook import notices

            message, mark_shown = notices.pending(problem)
            counts = notices.start_line(self.settings, shown) if shown else ""
            message = "\n".join(filter(None, (message, self.version_notice(), counts)))
            if message:
                shown = notices.with_message(message, shown or ANSWER)
                self.after_answer.append(mark_shown)
        return shown

    def is_session_start(self, event: bytes) -> bool:
        return event == b"SessionStart" or self.verb == "context"

    def version_notice(self) -> str:
        """One line, shown once, if the plugin's version differs from the program's."""
        if self.plugin.removeprefix("static-") in ("", __version__):
            return ""
        from claude_mem.hook import plugin_check

        notice = plugin_check.news(self.plugin)
        if notice:
            self.after_answer.append(lambda: plugin_check.mark_shown(notice))
        return notice

    def check_version(self) -> bytes | None:
        """For the client's Setup event, which is not recorded."""
        from claude_mem.hook import notices, plugin_check

        notice = plugin_check.difference(self.plugin)
        return notices.with_message(notice, ANSWER) if notice else None

    def answer_before_tool(self, head: bytes) -> bytes | None:
        """What is known about the file a tool is about to touch, or the command it is about to run. Records
        nothing and starts no worker."""
        question = self.tool_question(head)
        if question is None:
            return None
        tool_call = Payload(question)
        self.enter_data_directory()
        if paths.is_there(paths.OFF):
            from claude_mem.hook import pause

            if pause.find("", b"PreToolUse", tool_call)[1]:
                return None
        if self.is_excluded(b"PreToolUse", tool_call):
            return None
        if self.needs_scrubbing(tool_call):
            from claude_mem.privacy import scrub_payload

            _, question, flags = scrub_payload.prepare("", tool_call)
            if question is None or not worker_link.may_query(flags):
                return None
        return self.query_about_tool(b"PreToolUse", question)

    def tool_question(self, payload: bytes) -> bytes | None:
        from claude_mem.hook import json_text

        return json_text.tool_question(payload, starts=self.starts_at_a_tool)

    def query_about_tool(self, event: bytes, question: bytes | None) -> bytes | None:
        """What the worker knows about a tool's file or command, as an answer to the event."""
        try:
            within = worker_link.TOOL_WITHIN_S
            return worker_link.query(b"PreToolUse", question, within, answers=event) if question else None
        except worker_link.NobodyListens:
            return self.rendered_start(question) if question else None

    def rendered_start(self, question: bytes) -> bytes | None:
        """Without a worker: the pre-rendered start context, once, for a session that could not get it at its
        start."""
        session = Payload(question).session
        if not (self.starts_at_a_tool and session):
            return None
        marker = f"{private_turns.file_name(session)}.told"
        if paths.is_there(f"{paths.TURN_MARKERS}/{marker}"):
            return None
        from claude_mem.hook import session_context

        paths.leave_marker(paths.TURN_MARKERS, marker)
        return session_context.find(question, self.agent)[1]

    def is_excluded(self, event: bytes, received: Payload) -> bool:
        """Whether the event belongs to a project that the user has excluded."""
        if b"CLAUDE_MEM_EXCLUDED_PROJECTS" not in self.settings:
            return False
        from claude_mem.privacy import excluded_projects

        return excluded_projects.is_hook_excluded(self.settings, event, received)

    def spool_and_query(
        self, event: bytes, received: Payload
    ) -> tuple[bytes, bytes | None, tuple[str, str] | None]:
        """Spools the event, then wakes or queries the worker. Returns the event's name, the answer with what
        the model is shown, and what went wrong (the reason, already counted, and a sentence)."""
        shown, queries = (
            None,
            False,
        )  # queries: ask the worker, because no context was rendered for this start
        try:
            payload: bytes | None = received.head
            flags: tuple[bytes, ...] = ()
            stamp = b""
            if not event or self.needs_scrubbing(received) or _may_be_slash_command(event, received.head):
                from claude_mem.privacy import scrub_payload

                event, payload, flags = scrub_payload.prepare(self.verb, received)
            if payload is None or event not in RECORDED:
                return event, None, None
            if event == b"SessionStart" and self.reaches_model("SessionStart"):
                from claude_mem.hook import session_context

                stamp, shown, queries = session_context.find(payload, self.agent)
            spool_writer.put(event, payload, time.time_ns(), agent=self.agent, flags=flags, context=stamp)
        except BaseException as error:  # the only catch-all: counted, and shown to the user and by doctor
            if self.verb == "context" and (unnamed := _context_of_no_session(error, received.head)):
                payload, shown, queries = unnamed
                event, flags = b"SessionStart", ()
            else:
                return event, shown, _count_loss(error)
        try:
            if queries or (event == b"UserPromptSubmit" and self.reaches_model("UserPromptSubmit")):
                shown = _query_worker(event, payload, flags) or shown
            else:
                worker_link.wake(sys.executable)
                # If the agent injects nothing before a tool, inject it after the tool.
                after = self.reaches_model("PostToolUse") and not self.reaches_model("PreToolUse")
                if after and event == b"PostToolUse" and worker_link.may_query(flags):
                    shown = self.query_about_tool(event, self.tool_question(payload))
        except OSError:
            pass  # the event is safe; the next worker finds it
        return event, shown, None

    def needs_scrubbing(self, received: Payload) -> bool:
        payload, session = received.head, received.session
        if session is None or suspect.is_suspect(payload):
            return True
        if b'"source":"fork"' in payload or b'"source":"resume"' in payload:
            return True  # it continues, or may continue, another session
        if b"CLAUDE_MEM_SECRET_PATTERNS" in self.settings or b"CLAUDE_MEM_EXCLUDE_PATHS" in self.settings:
            return True
        return private_turns.is_marked(session)

    @property
    def settings(self) -> bytes:
        """`settings.json`, unparsed and read once. Empty if it cannot be read, which the worker reports."""
        if self._settings is None:
            try:
                self._settings = paths.content(paths.SETTINGS, paths.MOST_SETTINGS)
            except OSError:
                self._settings = b""
        return self._settings


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


def _may_be_slash_command(event: bytes, payload: bytes) -> bool:
    if event == b"UserPromptSubmit":
        at = payload.find(b'"prompt":"/')
        return at >= 0 and b"mem" in payload[at : at + 64]
    return not event and b'"prompt"' in payload and b"mem" in payload


def _context_of_no_session(error: BaseException, head: bytes) -> tuple[bytes, bytes | None, bool] | None:
    """The start context for a command that was typed outside of a session; nothing is recorded."""
    from claude_mem.hook import drop_counters, session_context

    return session_context.of_no_session(head) if isinstance(error, drop_counters.NoSession) else None


def _query_worker(event: bytes, payload: bytes, flags: tuple[bytes, ...]) -> bytes | None:
    """The worker's context for the event, as an answer. The query also wakes the worker, or starts one."""
    if not worker_link.may_query(flags):
        worker_link.wake(sys.executable)
        return None
    try:
        return worker_link.query(event, payload, worker_link.WITHIN_S)
    except worker_link.NobodyListens:
        worker_link.start(sys.executable)
        return None


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
