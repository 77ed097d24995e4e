"""Extracts the memories of a turn: often none, or one observation of what was done, found or decided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from claude_mem.model.memory import FIXES, Batch, Findings, Observation, Summary, type_of_commit
from claude_mem.model.refs import ObservationType
from claude_mem.model.structs import replace
from claude_mem.observe.offline import request, titles
from claude_mem.observe.offline import sentences as prose
from claude_mem.observe.offline.commands import Check, Commit, is_trivial
from claude_mem.observe.offline.message import AHEAD, Statement, statements, topic
from claude_mem.observe.offline.sentences import FACT, FACTS, FIELD, NARRATIVE, REASON, SUBTITLE, TITLE
from claude_mem.observe.offline.turns import (
    FileChange,
    Turn,
    file_kind,
    file_name,
    is_inside,
    is_project_file,
    turns,
)
from claude_mem.observe.tool_calls import ParsedEvent

MOST_COMMITS = 2  # of one turn that become separate memories
_CONCEDES, _BROKEN, _CURED, _UNDER_WAY, _LEANS = (
    prose.pattern("turn", name) for name in ("concedes", "broken", "cured", "under_way", "leans")
)
_RULE = re.compile(r"^description:\s*[\"']?(.{10,400}?)[\"']?\s*$", re.M)
_NAMED = re.compile(r"\w[./]\w|\w_\w|[a-z][A-Z]|\(\)")
_PATHS = re.compile(r"(?<![\w/.:-])((?:[\w.@-]+/)+[\w.@-]+\.\w{1,8})(?=[:#\s,;)\]`]|$)")


class Offline:
    """Total, deterministic, linear in the length of the batch."""

    def observe(self, batch: Batch, seen: Sequence[ParsedEvent]) -> Findings:
        """`seen`: the batch's events, read."""
        observations: list[Observation] = []
        replaced: list[tuple[str, str]] = []
        summaries: list[Summary] = []
        recorded = {("decision", title) for title in batch.recorded}  # a wish, before its turn went on
        for turn in turns(batch, seen):
            found = [
                each for each in _observe(turn) if each.title and (each.type, each.title) not in recorded
            ]
            for new in found:
                before = [*batch.recorded, *(each.title or "" for each in observations)]
                old = set(_overruled(turn, new, before))
                same = [each for each in observations if each.title == new.title]
                files = prose.unique(path for each in (*same, new) for path in each.files_modified)
                observations = [each for each in observations if each.title not in old and each not in same]
                replaced += [(new.title or "", title) for title in batch.recorded if title in old]
                observations.append(replace(new, files_modified=files) if same else new)
            if turn.stopped and batch.wants_summary:
                ended = summarize(turn, found)
                summaries += [ended] if ended else []
        titled = (titles.of_prompt(each.request) for each in summaries if each.request)
        replaces = tuple(dict.fromkeys(replaced))
        return Findings(tuple(observations), tuple(summaries), replaces=replaces, title=next(titled, None))


def _overruled(turn: Turn, new: Observation, before: Sequence[str]) -> Iterator[str]:
    """The titles of this session's observations that the new one takes the place of."""
    if turn.commits:  # it describes again, and better, what an earlier turn had left uncommitted
        new_words = prose.content_words(f"{new.title} {new.narrative} {turn.message}")
        for title in before:
            words = prose.content_words(title)
            if title == new.title or (len(words) > 3 and len(words & new_words) >= 0.7 * len(words)):
                yield title
    if request.refutes(turn.request) or _CONCEDES.match(turn.message):
        yield from before[-1:]
    yield from before[len(before) - turn.undone :] if turn.undone else ()


def _observe(turn: Turn) -> Iterator[Observation]:
    changes = turn.changes()
    if turn.commits or changes:
        yield from _worked(turn, changes)
    elif turn.answers or turn.plan or turn.rules:
        yield from _decided(turn)
    else:
        found = list(_found(turn))
        wish = request.standing_instruction(turn.request)
        if not found and request.is_rule(wish):
            title, facts = request.condensed(wish, TITLE), (f"The user: “{wish}”",)
            found = [Observation("decision", title, "the user's words", None, facts, ("pattern",))]
        yield from found


def _worked(turn: Turn, changes: list[FileChange]) -> Iterator[Observation]:
    descriptive = [commit for commit in turn.commits if not is_trivial(commit.subject)]
    if 0 < len(descriptive) <= MOST_COMMITS:
        for commit in descriptive:
            only = len(descriptive) == 1
            committed = [each for each in changes if only or not commit.files or each.path in commit.files]
            yield _change(turn, committed, commit)
        return
    if not turn.commits and _is_red(turn, changes):
        return
    if observation := _uncommitted(turn, changes, descriptive):
        yield observation


def _is_red(turn: Turn, changes: list[FileChange]) -> bool:
    """Whether it is the first half of test-first work: a test was written, and it fails."""
    only_tests = all(file_kind(change.path) == "tests" for change in changes)
    return only_tests and any(check.ok is False for check in turn.last_checks()[-1:])


def _uncommitted(turn: Turn, changes: list[FileChange], commits: list[Commit]) -> Observation | None:
    """From the agent's message, otherwise from the request. The summary's files have what neither names."""
    goes_on = _UNDER_WAY.search(turn.message[:300])
    title, sentence = ("", "") if goes_on else titles.from_message(turn.message, turn.request, worked=True)
    title = title or next((prose.shortened(commit.subject, TITLE) for commit in commits), "")
    if not title and goes_on:
        return None
    if not title and not request.is_errand(turn.request):
        title = titles.requested(turn.request, least=1)
    silent = not (turn.request or turn.message)  # an editor's saves come without a word
    if not title and (silent or not turn.stopped):  # no summary will name its files
        names = prose.listed((file_name(change.path) for change in changes), 50)
        title = request.condensed(turn.request, TITLE) or prose.shortened(f"{names} changed", TITLE)
    return _change(turn, changes, None, title, sentence, commits) if title else None


def _change(
    turn: Turn,
    changes: list[FileChange],
    commit: Commit | None,
    title: str = "",
    sentence: str = "",
    commits: Sequence[Commit] = (),
) -> Observation:
    title = title or prose.shortened(commit.subject if commit else "", TITLE)
    body = " ".join(commit.body.split()) if commit else ""
    narrative = prose.paragraph(body, NARRATIVE) or _narrative(turn.message, turn.request, sentence, title)
    files = prose.unique([*(change.path for change in changes), *(commit.files if commit else ())])
    kind = (type_of_commit(commit.subject) if commit else None) or _type(turn, title, changes)
    stated = [each for each in _stated(turn.message, title) if each.rstrip(".") not in narrative]
    facts = [
        *_users(turn),
        *stated[: FACTS - 3],
        *_checked(turn, changes),
        _where(changes) if changes else "",
        *([commit.fact] if commit else [f"{each.fact} {each.subject}" for each in commits[:3]]),
        *turn.still_failing(),
    ]
    trade_off = any(prose.chooses(each) for each in (*stated, *prose.sentences(narrative)))
    concepts = ("problem-solution",) if kind == "bugfix" else ()
    return Observation(
        kind,
        title,
        _subtitle(turn, title),
        narrative or None,
        _bounded(facts),
        (*concepts, "what-changed", *(("trade-off",) if trade_off else ())),
        (),
        files,
    )


def _type(turn: Turn, title: str, changes: list[FileChange]) -> ObservationType:
    code = [change for change in changes if file_kind(change.path) in ("code", "tests")]
    if changes and not code:
        return "change"
    if found := type_of_commit(title) or type_of_commit(request.condensed(turn.request, TITLE)):
        return found
    task = request.plan_heading(turn.request) or turn.request[:400]
    if FIXES.search(task) or _BROKEN.search(task[:160]) or _CURED.search(turn.message[:400]):
        return "bugfix"
    return "feature" if any(change.created for change in code) else "change"


def _checked(turn: Turn, changes: list[FileChange]) -> Iterator[str]:
    """How the last test run went, if nothing but words was changed after it; and how it went before."""
    built = [change.last for change in changes if file_kind(change.path) != "docs"]
    after = max(built, default=-1)
    passed = [check for check in turn.last_checks() if check.ok and check.at > after]
    for last in ([check for check in passed if check.kind == "test"] or passed)[-1:]:
        bad = next((c for c in turn.checks if c.key == last.key and c.ok is False and c.run), None)
        yield prose.shortened(f"{last.fact}{_before(bad, last, after) if bad else ''}", FACT)


def _before(bad: Check, last: Check, after: int) -> str:
    if bad.at > after and bad.command != last.command and bad.errors:
        return f"; {bad.command} failed: {bad.errors[0]}"  # nothing was changed: another way to run it
    names = f" ({prose.listed(bad.run.failing, 70)})" if bad.run and bad.run.failing else ""
    return f"; before: {bad.outcome}{names}"


def _where(changes: list[FileChange]) -> str:
    marks = {change.path: " (removed)" if change.deleted else " (new)" * change.created for change in changes}
    return "changed: " + prose.listed((f"{path}{mark}" for path, mark in marks.items()), FACT - 9)


def _users(turn: Turn) -> Iterator[str]:
    for question, answer in turn.answers[:4]:
        yield f"The user chose: {prose.shortened(question, 100)} → {prose.shortened(answer, 70)}"
    if wish := request.standing_instruction(turn.request):
        yield prose.shortened(f"The user: “{prose.shortened(wish, FACT - 14)}”", FACT)


def _decided(turn: Turn) -> Iterator[Observation]:
    """The user's answers; a plan the user accepted; a rule written down."""
    if turn.answers:
        question, answer = turn.answers[0]
        title = prose.shortened(f"{prose.shortened(question.rstrip(' ?'), 42)}: {answer}", TITLE)
        yield _decision(turn, title, "the user's answer", [*_users(turn)], turn.message)
    elif turn.plan:
        heading = next((s.heading for s in statements(turn.plan) if s.heading), "")
        title = request.condensed(f"{heading}." if heading else "", TITLE)
        if title := title or titles.from_message(turn.plan, turn.request, worked=False)[0]:
            yield _decision(turn, title, "an accepted plan", _stated(turn.plan, title), turn.plan)
    for rule in turn.rules[:1]:
        if rule.created and (match := _RULE.search(rule.text[:2_000])):
            body = rule.text.split("\n---\n", 1)[-1]
            yield _decision(turn, match[1], "a rule of this project", _stated(body, match[1]), body)


def _decision(turn: Turn, title: str, what: str, facts: Sequence[str], text: str) -> Observation:
    points = _bounded([*facts, *([] if turn.plan else _stated(text, title)[:3])])
    narrative = _narrative(text, "", "", title) or None
    return Observation("decision", prose.shortened(title, TITLE), what, narrative, points, ("why-it-exists",))


def _found(turn: Turn) -> Iterator[Observation]:
    """What the agent reports at the end of a turn that changed nothing, unless an errand was run."""
    least = _AFTER_DRAFT if turn.edits else _AFTER_STEPS if turn.steps else _WITHOUT_STEPS
    if request.is_chore(turn.request) or not _is_substantial(turn.message, *least):
        return
    title, sentence = titles.from_message(turn.message, turn.request, worked=False)
    narrative = _narrative(turn.message, turn.request, sentence, title)
    stated = [each for each in _stated(turn.message, title) if each.rstrip(".") not in narrative]
    facts = _bounded([*_users(turn), *stated, *turn.still_failing()])
    if not title or not (facts or len(prose.sentences(narrative)) > 1):
        return
    trade_off = any(prose.chooses(each) for s in statements(turn.message) for each in prose.sentences(s.text))
    learned = (s for s in statements(turn.message) if s.topic == "learned")
    cause = any("cause" in f"{s.lead} {s.heading}".lower() for s in learned)
    read = prose.unique([*_PATHS.findall(turn.message[:20_000]), *filter(is_inside, turn.opened)], 20)
    worked = (type_of_commit(title) or "change") if titles.says_done(title) else None
    yield Observation(
        worked or ("decision" if trade_off and not cause else "discovery"),
        title,
        _subtitle(turn, title),
        narrative or None,
        facts,
        ("problem-solution",) if cause else ("trade-off",) if trade_off else ("how-it-works",),
        read,
    )


# The last: texts outside of the project.
_AFTER_STEPS, _WITHOUT_STEPS, _AFTER_DRAFT = (240, 3), (500, 4), (1_200, 6)


def _is_substantial(text: str, length: int, least: int) -> bool:
    """Whether there are enough concrete statements, and not just a list of what could be done."""
    if len(text) < length or _UNDER_WAY.search(text[:300]):
        return False
    found = statements(text)
    concrete = [
        sentence
        for s in found
        if s.topic not in AHEAD
        for sentence in prose.sentences(s.text)
        if prose.informs(sentence) and prose.is_concrete(sentence) and not prose.is_status(sentence)
    ]
    proposed = sum(len(s.text) for s in found if s.topic in AHEAD)
    return len(concrete) >= least and proposed * 2 < sum(len(s.text) for s in found)


def _subtitle(turn: Turn, title: str) -> str | None:
    condensed = "" if request.is_errand(turn.request) else request.condensed(turn.request, SUBTITLE)
    return condensed if condensed and condensed != title else None


def _narrative(message: str, user_request: str, sentence: str, title: str) -> str:
    """The narrative: two to five sentences, verbatim, about the purpose, what was done, and the reasons."""
    pool = [each for each in request.plan_context(user_request) if prose.informs(each)][:2]
    from_plan = len(pool)
    items: list[str] = []
    before: dict[str, str] = {}  # the sentence that one follows
    last = ""
    for statement in statements(message):
        if statement.topic in (*AHEAD, "checked") or statement.row or statement.done is False:
            continue
        for each in map(prose.without_pleasantry, prose.sentences(statement.text)[:6]):
            last, before[each] = each, last
            if (prose.informs(each) or each == sentence) and not prose.is_status(each):
                (items if statement.item and each != sentence else pool).append(each)
    pool += items if len(pool) < 2 else []
    pool = list(dict.fromkeys(pool))[:40]
    made_of = prose.without_pleasantry(sentence)

    def score(at: int) -> float:
        each = pool[at]
        reason = 2.0 if REASON.search(each) else 0.0
        first = 4.0 if each == made_of or at < from_plan else 0.0
        return first + reason + (1.0 if prose.is_concrete(each) else 0.0) - 0.15 * at

    chosen: list[int] = []
    remaining = 700
    for at in sorted(range(len(pool)), key=lambda at: (-score(at), at)):
        if len(chosen) < 5 and len(pool[at]) + 1 <= remaining and pool[at].rstrip(".") != title:
            chosen.append(at)
            remaining -= len(pool[at]) + 1
    known = {made_of, *(pool[at] for at in chosen)}
    chosen = [at for at in chosen if not _LEANS.match(pool[at]) or before.get(pool[at], "") in known]
    text = " ".join(pool[at] if pool[at][-1] in ".!?:;。！？" else f"{pool[at]}." for at in sorted(chosen))
    # A plan describes how things seemed to be before the turn.
    return f"From the plan: {text}" if chosen and min(chosen) < from_plan else text


def _stated(text: str, title: str) -> list[str]:
    """What a message states point by point: items, rows, bold beginnings, then sentences."""
    known = prose.content_words(title)
    strong: list[str] = []
    weak: list[str] = []
    rows = 0
    announced = ""
    for s in statements(text):
        if s.topic in (*AHEAD, "checked") or s.done is False:
            continue
        if _names_points(s.intro) and len(s.text) <= 90 and not s.row:
            # “Added `x` to:” and its points are one fact.
            if announced != s.intro:
                strong.append(f"{prose.without_pleasantry(s.intro)} {s.text}")
            elif len(strong[-1]) + len(s.text) + 2 <= FACT:
                strong[-1] += f"; {s.text}"
            announced = s.intro
        elif s.item or s.lead:
            rows += s.row
            if (not s.row or rows <= 4) and _is_fact(s.text) and not _repeats(s.text, known):
                strong.append(_placed(s))
        else:
            independent = (each for each in prose.sentences(s.text) if not _LEANS.match(each))
            weak += [each for each in independent if prose.is_concrete(each) and _is_fact(each)]
    rest = (each for each in weak if not _repeats(each, known))
    return list(prose.unique((prose.paragraph(each, FACT) for each in (*strong, *rest)), FACTS))


def _names_points(intro: str) -> bool:
    """Announces a list, and says of what: its points mean nothing without it."""
    bare = prose.without_pleasantry(intro)
    return (
        12 <= len(bare) <= 90
        and len(prose.sentences(bare)) == 1
        and prose.is_concrete(bare)
        and not prose.is_status(bare)
    )


def _is_fact(text: str) -> bool:
    first = prose.without_pleasantry(text)
    label, _, rest = first.partition(": ")
    if rest and (topic(label) == "checked" or prose.is_status(rest)):
        return False
    return (
        prose.informs(first) or (prose.is_concrete(first) and len(first.split()) >= 3 and len(first) >= 16)
    ) and not (prose.is_status(first) or prose.is_courtesy(first) or first.endswith(("?", ":")))


def _repeats(text: str, known: frozenset[str]) -> bool:
    words = prose.content_words(text)
    return len(words & known) >= 0.8 * len(words)


def _placed(statement: Statement) -> str:
    """An item under the name of a file or a function is combined with that name."""
    heading = statement.heading
    named = len(heading) <= 44 and len(heading.split()) <= 3 and bool(_NAMED.search(heading))
    return f"{heading}: {statement.text}" if named and heading not in statement.text else statement.text


def _bounded(facts: Iterable[str]) -> tuple[str, ...]:
    return prose.unique((prose.shortened(fact, FACT) for fact in facts), FACTS)


def summarize(turn: Turn, observations: list[Observation]) -> Summary | None:
    """A turn's summary; None if there is nothing to report: no request, no action, no message."""
    stated = statements(turn.message)
    edited = prose.unique(change.path for change in turn.changes())
    worked = bool(turn.commits or edited)
    done = [s for s in stated if s.topic == "done" or s.done is True or (worked and s.topic == "other")]
    learned = [
        s for s in stated if s.topic == "learned" or (not worked and s.topic in ("other", "decided", "done"))
    ]
    later = [s for s in stated if (s.topic == "next" or s.done is False) and not s.text.endswith(":")]
    outcome = [each.title or "" for each in observations if each.type not in ("discovery", "decision")]
    lines = _first_sentences(done)
    missing = [title for title in outcome if not any(title.casefold() in each.casefold() for each in lines)]
    completed = _joined([*missing, *lines]) if worked else None
    todo = [what for what, finished in turn.todos if not finished]
    checks = [check.fact for check in turn.last_checks() if check.ok][-1:]
    commits = [f"commit {commit.sha} {commit.subject}".replace("  ", " ") for commit in turn.commits]
    summary = Summary(
        request=request_line(turn, observations) or None,
        investigated=_investigated(turn) or None,
        learned=_joined(_first_sentences(learned)),
        completed=completed,
        next_steps=_joined([*_first_sentences(later, least=4), *todo, *turn.still_failing()], "\n"),
        files_read=prose.unique(turn.opened, 60),
        files_edited=edited,
        notes=_joined([*checks, *commits]),
    )
    has_content = summary.completed or summary.learned or summary.next_steps or summary.request
    return summary if has_content or edited else None


def request_line(turn: Turn, observations: list[Observation]) -> str:
    """The request or, if it is only a “yes” or a link, the outcome."""
    if planned := request.plan_heading(turn.request):
        return prose.paragraph(" ".join([f"{planned}.", *request.plan_context(turn.request)]), FIELD)
    if turn.request and not request.is_assent(turn.request):
        return request.quoted(turn.request, FIELD)
    return next((each.title for each in observations if each.title), "")


def _investigated(turn: Turn) -> str:
    """Files read and pages looked up."""
    read = [path for path in turn.opened if is_project_file(path)]
    parts = [
        f"read {prose.listed(read, 260)}" if read else "",
        f"looked up {prose.listed((prose.shortened(what, 80) for what in turn.fetched), 160)}"
        if turn.fetched
        else "",
    ]
    return prose.shortened("; ".join(part for part in parts if part), FIELD)


def _first_sentences(found: Iterable[Statement], least: int = 20) -> list[str]:
    """The first sentence or two of each statement; none that says next to nothing."""
    first: list[str] = []
    for statement in found:
        whole = [each for each in prose.sentences(statement.text) if not each.endswith(("?", ":", "："))]
        informative = [each for each in whole if not prose.is_courtesy(each) and not prose.is_status(each)]
        text = " ".join(map(prose.without_pleasantry, informative[:2]))
        if len(text) >= least or prose.informs(text):
            first.append(prose.paragraph(text, 220).rstrip("."))
    return first


def _joined(parts: Iterable[str], joint: str = "; ") -> str | None:
    """Joins as many complete ones as fit."""
    fitting: list[str] = []
    for part in dict.fromkeys(parts):
        if part and sum(map(len, fitting)) + 2 * len(fitting) + len(part) <= FIELD:
            fitting.append(part)
    return joint.join(fitting) or None
