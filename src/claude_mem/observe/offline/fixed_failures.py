"""What was broken and then worked, and what is broken still."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from claude_mem.observe.offline import failures, file_names
from claude_mem.observe.offline.turns import Turn
from claude_mem.observe.offline.verdicts import Verdict
from claude_mem.observe.offline.wording import clip, listed

MOST = 40  # commands of one turn that failed and are followed further


@dataclass(frozen=True, slots=True)
class Mended:
    failed: Verdict
    passed: Verdict
    by_edits: bool
    own: bool  # it was the turn's own edits that had broken it

    @property
    def told(self) -> str:
        """The evidence: what failed, and what then passed."""
        if self.failed.run and self.failed.run.failing:
            what = f"failed in {listed(self.failed.run.failing, 90)}"
        else:
            what = f"failed with {clip(self.failed.errors[0], 110)}" if self.failed.errors else "failed"
        now = self.passed.run.counts if self.passed.run else "passes"
        return clip(f"{self.failed.key} {what}; after the change: {now}", 200)


def mended(turn: Turn) -> list[Mended]:
    """Each command that failed and later, run again, went well: its first failure, its last pass."""
    named: dict[str, list[Verdict]] = {}  # by what was run, and by what the agent called it
    for verdict in turn.verdicts:
        for name in {verdict.key, verdict.described} - {""}:
            named.setdefault(name, []).append(verdict)
    changed = [at for at, edit in turn.edits if not file_names.is_scratch(edit.path)]
    code = [
        at
        for at, edit in turn.edits
        if not file_names.is_scratch(edit.path) and file_names.nature(edit.path) == "code"
    ]
    found = []
    firsts: dict[str, Verdict] = {}
    for verdict in turn.verdicts:
        if verdict.ok is False and verdict.key:  # a lone backslash is called nothing
            firsts.setdefault(verdict.key, verdict)
    for key, bad in list(firsts.items())[:MOST]:
        again = [*named[key], *(named.get(bad.described, ()) if bad.described else ())]
        last = max((run for run in again if run.ok is not None), key=lambda run: run.at)
        if last.ok:
            by_edits = any(bad.at < at < last.at for at in changed)
            found.append(Mended(bad, last, by_edits, any(at < bad.at for at in code)))
    return found


def broken(turn: Turn) -> list[Verdict]:
    """Tests and checks whose last run failed; another command only if nothing was run after it."""
    last = {verdict.key: verdict for verdict in turn.verdicts}  # a later run nobody can judge leaves it open
    final = turn.verdicts[-1] if turn.verdicts else None
    healed = {mend.failed.key for mend in mended(turn)}
    return [
        verdict
        for verdict in last.values()
        if verdict.ok is False
        and verdict.key not in healed
        and (verdict.sort != "command" or verdict is final)
        and not any(failures.SLIP.search(error) for error in verdict.errors[:1])
    ]


def still(turn: Turn) -> Iterator[str]:
    for verdict in broken(turn):
        names = verdict.run.failing if verdict.run else ()
        why = listed(names, 120) if names else (verdict.errors[0] if verdict.errors else "")
        yield clip(f"still failing: {verdict.command}" + (f": {why}" if why else ""), 200)


def checked(turn: Turn) -> str | None:
    """How the last test run, else the last check, went."""
    known = [verdict for verdict in turn.verdicts if verdict.ok is not None]
    tests = [verdict for verdict in known if verdict.sort == "test"]
    checks = [verdict for verdict in known if verdict.sort == "check"]
    if not tests and not checks:
        return None
    last = (tests or checks)[-1]
    return clip(last.told if len(last.command) <= 60 else f"{last.key}: {last.outcome}", 180)
