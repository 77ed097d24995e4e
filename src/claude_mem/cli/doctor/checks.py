"""Turns facts into findings. Pure: every fault is tested without breaking anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct

from claude_mem import __version__
from claude_mem.cli import output
from claude_mem.cli.commands import on_off
from claude_mem.cli.doctor.facts import (
    Configuration,
    Connected,
    Directory,
    Disk,
    Facts,
    Interpreter,
    ObserverFacts,
    RecallFacts,
    SpoolFacts,
    Unknown,
    WorkerFacts,
)
from claude_mem.cli.status import NO_DISK
from claude_mem.hook import notices
from claude_mem.serve.pause_switches import PauseState
from claude_mem.serve.queue_history import alert as queue_alert
from claude_mem.settings import resolution
from claude_mem.vectors.embedders import RECOMMENDED, STATIC

if TYPE_CHECKING:
    from claude_mem.model.jobs import QueueFigures
    from claude_mem.store.values import Survey

T = TypeVar("T")

SLOW_START_MS = 150.0  # a shim or a sleeping disk; the plain interpreter takes about 10
LOW_DISK = 512 << 20
DRAINED_WITHIN_S = 60.0
OLD_BACKUP_S = 3 * 86_400.0
WEEK = 7
WEEKS_LEFT = 4.0
UNUSED, UNUSED_BYTES = 0.4, 64 << 20  # more than the worker leaves free, and enough to matter
LONG_LOG = 256 << 20  # several times what it is cut back to: somebody has been reading for long
NETWORK = "nfs cifs smb 9p drvfs afs ceph gluster lustre fuse.sshfs fuse.rclone"

GC, LOGS, RESTART = "claude-mem gc", "claude-mem worker logs", "claude-mem worker restart"
NEXT_FOR_SETTING = {
    "bad": f"fix it, then: {RESTART}",
    "unknown": f"rename it or remove it, then: {RESTART}",
    "theirs": None,
}
FULL_TEXT = "Search uses full text only"
VECTORS_OFF = "or turn vectors off: CLAUDE_MEM_VECTORS=off"
BUILTIN = "or store them in the database: CLAUDE_MEM_VECTORS=builtin"
RETRIED = "it is retried every 30 seconds"
BETTER = (
    "With a sentence model (MiniLM, 90 MB) a right session was among the first five for 98.1 of 100 "
    "questions, with this one for 97.6"
)


class Finding(Struct, frozen=True):
    check: str
    level: Literal["ok", "warn", "bad"]
    says: str
    next: str | None = None
    stops: str | None = None  # why nothing is recorded
    hinders: str | None = None  # why nothing that is recorded becomes memory


def ok(check: str, says: str, next: str | None = None) -> Finding:
    return Finding(check, "ok", says, next)


def warn(check: str, says: str, next: str | None = None, *, hinders: str | None = None) -> Finding:
    return Finding(check, "warn", says, next, hinders=hinders)


def bad(check: str, says: str, next: str, *, stops: str | None = None, hinders: str | None = None) -> Finding:
    return Finding(check, "bad", says, next, stops, hinders)


def judge(facts: Facts) -> list[Finding]:
    def judged(check: str, fact: T | Unknown, judge: Callable[[T], Iterator[Finding]]) -> list[Finding]:
        if isinstance(fact, Unknown):
            return [warn(check, f"could not be checked: {fact.why}")]
        return list(judge(fact))

    return [
        last_event(facts),
        *judged("client", facts.connected, judge_connection),
        *judged("interpreter", facts.interpreter, _interpreter),
        *judged("directory", facts.directory, judge_directory),
        *judged("settings", facts.configuration, _configuration),
        *judged("pause", facts.paused, judge_pause),
        *judged("worker", facts.worker, _worker),
        *judged("spool", facts.spool, _spool),
        *judged("database", facts.database, lambda survey: _database(survey, facts)),
        *judge_growth(facts),
        *judged("observer", facts.observing, lambda chosen: _observing(chosen, facts)),
        *judged("recall", facts.recall, _recall),
        *judged("drops", facts.drops, _drops),
        *judged("disk", facts.disk, _disk),
    ]


def why_not(findings: list[Finding]) -> str | None:
    """Why nothing is recorded. The last finding is nearest to the cause."""
    return next((finding.stops for finding in reversed(findings) if finding.stops), None)


def why_unobserved(findings: list[Finding]) -> str | None:
    """Why nothing that is recorded becomes memory."""
    return next((finding.hinders for finding in reversed(findings) if finding.hinders), None)


def is_wrong(findings: list[Finding]) -> bool:
    return any(finding.level == "bad" for finding in findings)


def last_event(facts: Facts) -> Finding:
    spooled, stored = (
        getattr(facts.spool, "newest_age_s", None),
        getattr(facts.database, "last_event_at", None),
    )
    ages = [spooled, None if stored is None else facts.now - stored / 1000]
    if known := [age for age in ages if age is not None]:
        return ok("last event", f"{notices.age(min(known))} ago")
    if isinstance(facts.spool, Unknown) or isinstance(facts.database, Unknown):
        return warn("last event", "unknown")
    if getattr(facts.connected, "how", ()):
        return ok("last event", "none yet", "start a new session of Claude Code")
    step = "claude-mem install, then start a new session"
    return bad("last event", "none received", step, stops="no hook has run yet")


def judge_connection(fact: Connected) -> Iterator[Finding]:
    how = " and ".join(fact.how)
    if not how:
        says = "Claude Code is not connected, according to its user and project settings"
        yield bad("client", says, "claude-mem install", stops="Claude Code is not connected")
    elif not fact.current:
        says = f"connected: {how}, but not as this version would connect it"
        yield warn("client", says, "claude-mem repair")
    else:
        yield ok("client", f"connected: {how}")


def _interpreter(fact: Interpreter) -> Iterator[Finding]:
    says = f"{fact.path} (Python {fact.version}, SQLite {fact.sqlite})"
    if fact.start_ms > SLOW_START_MS or "/shims/" in fact.path:
        says = f"{says} takes {fact.start_ms:.0f} ms to start, which delays every hook"
        step = "install with the interpreter itself, not a version manager's shim: make install"
        yield warn("interpreter", says, step)
    else:
        yield ok("interpreter", f"{says}, starts in {fact.start_ms:.0f} ms")


def judge_directory(fact: Directory) -> Iterator[Finding]:
    path = fact.path

    def wrong(says: str, step: str, stops: str | None = None) -> Finding:
        return bad("directory", f"{path} {says}", step, stops=stops and f"{path} {stops}")

    if fact.obstacle:
        step = "check that the parent folder exists and is writable, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(fact.obstacle, step, fact.obstacle)
    elif not fact.exists:
        yield ok("directory", f"{path} does not exist yet; the first hook creates it")
    elif not fact.is_directory:
        yield wrong("is not a directory", f"move it away: mv {path} {path}.old", "is not a directory")
    elif fact.owner != fact.me:
        says = f"belongs to user {fact.owner}, not to you ({fact.me})"
        step = f"sudo chown -R {fact.me} {path}, or set CLAUDE_MEM_DATA_DIR"
        yield wrong(says, step, "belongs to another user")
    else:
        found = []
        if not fact.writable:
            step = f"chmod u+rwx {path}; make sure that its file system is not read-only"
            found.append(wrong("is not writable", step, "is not writable"))
        if fact.foreign:
            says = f"contains files of other users: {', '.join(fact.foreign)}"
            found.append(wrong(says, f"sudo chown -R {fact.me} {path}"))
        if fact.open_count:
            more = ", …" if fact.open_count > len(fact.open_to_others) else ""
            says = f"can be read by others: {', '.join(fact.open_to_others)}{more}"
            found.append(wrong(says, f"chmod -R go= {path}"))
        if fact.filesystem and fact.filesystem.startswith(tuple(NETWORK.split())):
            says = f"{path} is on a network file system ({fact.filesystem}): locks may be unreliable"
            found.append(warn("directory", says, "set CLAUDE_MEM_DATA_DIR to a local disk"))
        on = f" on {fact.filesystem}" if fact.filesystem else ""
        yield from found or [ok("directory", f"{path}{on}, accessible only by you")]


def _configuration(fact: Configuration) -> Iterator[Finding]:
    for each in resolution.summarized(fact.warnings):
        yield warn("settings", each.says, NEXT_FOR_SETTING[each.kind])
    if fact.off:
        says = f"{fact.off} is set in this shell"
        yield bad("settings", says, f"unset {fact.off}", stops=says)
    elif not fact.warnings:
        yield ok("settings", "valid")


def judge_pause(fact: PauseState) -> Iterator[Finding]:
    if fact.everything is not None:
        says = f"paused since {on_off.date_of(fact.everything)}"
        yield bad("pause", says, "claude-mem on", stops=f"it has been {says}")
    elif fact.sessions:
        (newest, since), *_ = fact.sessions
        many = output.plural(len(fact.sessions), "session")
        says = f"{many} paused; the most recent, {newest}, since {on_off.date_of(since)}"
        yield ok("pause", says, f"to resume it: claude-mem on --session {newest}")


def _worker(fact: WorkerFacts) -> Iterator[Finding]:
    who = f"pid {fact.pid}" if fact.pid else "a process"
    match fact.state:
        case "stopped":
            says, step = "not running; the next hook starts it", "claude-mem worker start"
            yield warn("worker", says, step, hinders="the worker is not running")
        case "starting":
            says = f"{who} is starting: it is opening the database. Hooks keep recording to the spool"
            yield ok("worker", says)
        case "hung":
            says = f"{who} holds the lock but does not answer. Hooks keep recording to the spool"
            if fact.is_left is None:
                says += ", and restart it once it has been silent for a while"
            elif fact.is_left == "stopped":
                says += ". It was stopped by a signal or a debugger, so it is not restarted automatically"
            yield bad("worker", says, RESTART, hinders="the worker does not answer")
        case _:
            yield from _running(fact, who)


def _running(fact: WorkerFacts, who: str) -> Iterator[Finding]:
    if fact.trouble:
        yield bad("worker", f"running ({who}), but not accepting events: {fact.trouble}", LOGS)
    elif fact.version != __version__:
        says = f"{who} runs version {fact.version}; version {__version__} is installed"
        yield warn("worker", says, RESTART)
    else:
        yield ok("worker", f"running ({who}, version {fact.version})")
    if fact.mishaps:
        failures = output.plural(fact.mishaps, "failure")
        yield warn("mishaps", f"{failures} since it started; it recovered", LOGS)
    if fact.hung_asks:
        requests = output.plural(fact.hung_asks, "hook request")
        yield warn("asks", f"{requests} never returned; prompts may get no memory", RESTART)
    if fact.hook_socket_problem is None:
        yield ok("socket", "hook.sock answers")
    else:
        says = "events wait in the spool until the worker polls it"
        yield bad("socket", f"no answer on hook.sock: {fact.hook_socket_problem}; {says}", RESTART)
    if fact.port is None:
        says = "no port on 127.0.0.1 is free; hooks and this command use the sockets instead"
        yield warn("port", says, LOGS)
    elif fact.port == fact.wanted_port:
        yield ok("port", f"127.0.0.1:{fact.port}")
    else:
        says = f"127.0.0.1:{fact.port}; {fact.wanted_port} was in use when the worker started"
        yield warn("port", says, f"to try that port again: {RESTART}")


def _spool(fact: SpoolFacts) -> Iterator[Finding]:
    says = f"{output.plural(fact.files, 'event')} waiting, {output.size(fact.bytes)}"
    if fact.files >= fact.most_files > 0 or fact.bytes >= fact.most_bytes > 0:
        stops = "the spool is full and no worker drains it"
        yield bad("spool", f"full: {says}", f"{RESTART}; then see: {LOGS}", stops=stops)
    elif fact.oldest_age_s is not None and fact.oldest_age_s > DRAINED_WITHIN_S:
        says = f"{says}, the oldest waiting for {notices.age(fact.oldest_age_s)}"
        yield warn("spool", says, "claude-mem worker start")
    else:
        yield ok("spool", f"{says} (limit {fact.most_files:,} or {output.size(fact.most_bytes)})")
    if fact.aside:
        says = f"{output.plural(fact.aside, 'file')} could not be read; kept in spool/aside"
        yield warn("set aside", says, "inspect them; delete what you do not need")


def _database(survey: Survey, facts: Facts) -> Iterator[Finding]:
    now = facts.now
    if survey.problem:
        yield bad("database", survey.problem, "claude-mem restore", hinders="the database cannot be used")
    elif not survey.exists:
        yield ok("database", "does not exist yet; the worker creates it")
    elif survey.schema != survey.known_schema:
        says = f"schema {survey.schema}; the worker upgrades it to {survey.known_schema} when it starts"
        yield warn("database", says, RESTART)
    else:
        state = "intact" if survey.checked else "too large to check here"
        yield ok("database", f"schema {survey.schema}, {output.size(survey.bytes)}, {state}")
    if (queue := survey.figures) is not None:
        yield _queue(queue, facts)
        if queue.fallback:
            many = output.plural(queue.fallback, "event")
            says = f"the model's replies about {many} could not be read; the offline observer took over"
            step = "claude-mem queue list shows them. When another model is set: claude-mem queue retry"
            yield warn("unreadable", says, step)
        if queue.parked > queue.fallback:
            failed = output.plural(queue.parked - queue.fallback, "event")
            yield warn("parked", f"{failed} failed and parked", "claude-mem queue list")
    if survey.newest_backup_at is None:
        yield ok("backups", "none yet; the worker makes one daily")
    else:
        age = now - survey.newest_backup_at / 1000
        says = f"{survey.backups:,}, the newest from {notices.age(age)} ago"
        yield warn("backups", says, "claude-mem backup") if age > OLD_BACKUP_S else ok("backups", says)


def _queue(queue: QueueFigures, facts: Facts) -> Finding:
    """As the worker sees it, which knows what a backfill brought; without one, by the database alone."""
    worker, chosen, since = facts.worker, facts.configuration, queue.oldest_ready_at
    age_s = 0.0 if since is None else max(0.0, facts.now - since / 1000)
    oldest = "" if since is None else f" (the oldest waiting for {notices.age(age_s)})"
    if isinstance(worker, WorkerFacts) and worker.state == "running":
        alert = worker.queue_alert
    elif isinstance(chosen, Configuration):
        waiting = queue.ready + (facts.spool.files if isinstance(facts.spool, SpoolFacts) else 0)
        alert = queue_alert(waiting, age_s * 1000, chosen.alert_events, chosen.alert_minutes)
    else:
        alert = None
    if alert is None:
        return ok("queue", f"{queue.ready:,} ready{oldest}, {queue.leased:,} leased, {queue.done:,} done")
    step = f"{LOGS}; if it works but is slow, raise that setting, then: {RESTART}"
    return bad("queue", alert.rstrip("."), step)


def judge_growth(facts: Facts) -> Iterator[Finding]:
    """What the database takes, how fast it grows, how much of it is unused."""
    survey = facts.database
    if isinstance(survey, Unknown) or survey.room is None or not survey.bytes:
        return
    free, log, share = survey.room.free, survey.room.log, survey.room.free / survey.bytes
    weekly = None if survey.grows is None else survey.grows * WEEK
    rate = "" if weekly is None else f", {'-' if weekly < 0 else ''}{output.size(abs(weekly))} a week"
    says = f"{output.size(survey.bytes)}{rate}, {share:.0%} free".replace("%", " %")
    left = None
    if weekly and weekly > 0 and isinstance(facts.disk, Disk) and facts.disk.total:
        left = facts.disk.free / weekly
    if share > UNUSED and free > UNUSED_BYTES:
        yield warn("growth", f"{says}: more than is reclaimed automatically", GC)
    elif log > LONG_LOG:
        says = f"{says}; its log has grown to {output.size(log)} because a reader keeps it open"
        yield warn("growth", says, RESTART)
    elif left is not None and left < WEEKS_LEFT:
        step = f"free some space, or lower CLAUDE_MEM_EVIDENCE_MB, then: {GC}"
        yield warn("growth", f"{says}: the disk will be full in {left:.1f} weeks", step)
    else:
        yield ok("growth", says)


def _observing(chosen: ObserverFacts, facts: Facts) -> Iterator[Finding]:
    worker = WorkerFacts("unknown") if isinstance(facts.worker, Unknown) else facts.worker
    survey = None if isinstance(facts.database, Unknown) else facts.database
    says = f"{chosen.provider}: {chosen.why}"
    if worker.observer in (None, chosen.provider) and chosen.lacks:
        step = "do that, or choose another observer: claude-mem install --observer NAME"
        yield warn("observer", f"{says}. {chosen.lacks}", step)
    elif worker.observer in (None, chosen.provider):
        yield ok("observer", says)
    else:
        says = f"the worker uses {worker.observer}; with the current settings it would be {says}"
        yield warn("observer", says, f"to apply the current settings: {RESTART}")
    if worker.paused:
        step = "when fixed: claude-mem queue retry"
        yield bad("paused", worker.paused, step, hinders=worker.paused.rstrip("."))
    if chosen.mode_problem is not None:
        yield warn("mode", chosen.mode_problem, f"fix it, then: {RESTART}")
    if survey and survey.spent_today and (worker.observer or chosen.provider) != "offline":
        yield _budget(chosen, survey.spent_today.tokens, survey.spent_today.usd, worker)
    if survey and survey.figures is not None:
        at = survey.last_observation_at
        age = "nothing yet" if at is None else f"last one {notices.age(facts.now - at / 1000)} ago"
        yield ok("remembered", age)


def _budget(chosen: ObserverFacts, tokens: int, usd: float, worker: WorkerFacts) -> Finding:
    most_tokens, most_usd = chosen.daily_tokens, chosen.daily_usd
    says = (
        f"{tokens:,}{f' of {most_tokens:,}' if most_tokens else ''} tokens and "
        f"${usd:,.2f}{f' of ${most_usd:,.2f}' if most_usd else ''} spent today"
    )
    if (most_tokens and tokens >= most_tokens) or (most_usd and usd >= most_usd):
        says, which = (
            f"{says}: the budget is used up. The offline observer takes over until midnight UTC",
            "DAILY",
        )
    elif worker.spent_up:
        says, which = f"{says}. {worker.spent_up} The offline observer took over", "SESSION"
    else:
        return ok("budget", says)
    return warn("budget", says, f"raise CLAUDE_MEM_{which}_TOKENS or CLAUDE_MEM_{which}_USD, then: {RESTART}")


def _recall(fact: RecallFacts) -> Iterator[Finding]:
    if fact.unindexed is not None:
        yield _index(fact, fact.unindexed)
    yield _vectors(fact)
    if fact.wanted != "off":
        yield _embedder(fact)
    if not fact.context_exists:
        yield ok("context", "no pre-rendered context yet; new sessions will ask the worker")
    elif fact.context_writable:
        yield ok("context", "pre-rendered for new sessions")
    else:
        says = f"{fact.context} is not writable: new sessions get stale context, or none"
        yield bad("context", says, f"move it away: mv {fact.context} {fact.context}.old; then: {RESTART}")
    if fact.injected is not None:
        times = f"memory was injected into sessions {output.plural(fact.injected, 'time')}"
        yield ok("injected", times if fact.injected else "nothing yet")


def _index(fact: RecallFacts, unindexed: int) -> Finding:
    behind = f"{output.plural(unindexed, 'row')} not indexed yet"
    if not unindexed:
        return ok("index", "up to date")
    if not fact.from_worker:
        return ok("index", f"{behind}; the worker continues when it runs")
    if fact.unindexed_before is None or unindexed < fact.unindexed_before:
        return ok("index", f"{behind}, catching up")
    return warn("index", f"{behind}, not catching up", f"{LOGS}; if they show nothing: {RESTART}")


def _embedder(fact: RecallFacts) -> Finding:
    if fact.embedder != STATIC:
        return ok("embedder", fact.embedder)
    return ok("embedder", f"static. {BETTER}", f"to upgrade: claude-mem embedder use {RECOMMENDED}")


def _vectors(fact: RecallFacts) -> Finding:
    is_chroma = fact.wanted == "chroma"
    if fact.wanted == "off" and fact.vectors in (None, "off"):
        return ok("vectors", f"off (CLAUDE_MEM_VECTORS). {FULL_TEXT}")
    if fact.vectors == "off":
        says = f"off in the worker; with the current settings it would be {fact.wanted}. {FULL_TEXT}"
        return warn("vectors", says, RESTART)
    # What is not installed is known without a worker, and says more than the failure it leads to.
    if not fact.has_model:
        says = f"the package wordllama (the embedding model) is not installed. {FULL_TEXT}"
        return warn("vectors", says, f"reinstall claude-mem: make install; {VECTORS_OFF}")
    if is_chroma and not fact.has_chroma:
        step = f'pip install "claude-mem-py[chroma]"; {BUILTIN}'
        return warn("vectors", f"the package chromadb is not installed. {FULL_TEXT}", step)
    if fact.vectors == "unavailable":
        says = f"unavailable: {fact.trouble or 'the worker gives no reason.'} {FULL_TEXT} for now"
        step = f"{RETRIED}; {BUILTIN if is_chroma else VECTORS_OFF}"
        if fact.embedder != STATIC and not is_chroma:
            step = f"{RETRIED}; or go back to the static model: claude-mem embedder use {STATIC}"
        if is_chroma and fact.chroma_url:
            step = f"check that Chroma is reachable at {fact.chroma_url}; {RETRIED}"
        return warn("vectors", says, step)
    where = f"at {fact.chroma_url}" if fact.chroma_url else "in chroma/"
    says = "stored in the database" if fact.wanted == "builtin" else f"stored by Chroma, {where}"
    if fact.unembedded:
        many = output.plural(fact.unembedded, "memory", "memories")
        says = f"{says}; {many} still without one, found by full text"
    return ok("vectors", says)


def _drops(counts: dict[str, int]) -> Iterator[Finding]:
    lost = {reason: count for reason, count in counts.items() if count}
    if lost:
        says = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in lost.items())
        yield warn("drops", f"{output.plural(sum(lost.values()), 'event')} lost: {says}")
    else:
        yield ok("drops", "none")


def _disk(fact: Disk) -> Iterator[Finding]:
    says = f"{output.size(fact.free)} free of {output.size(fact.total)}"
    if not fact.total:
        yield warn("disk", "its file system does not report its size")
    elif fact.free < NO_DISK:
        yield bad("disk", f"full: {says}", "free some space", stops="the disk is full")
    elif fact.free < LOW_DISK:
        yield warn("disk", says, "free some space soon")
    else:
        yield ok("disk", says)
