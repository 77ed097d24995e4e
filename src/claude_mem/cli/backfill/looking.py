"""Looks for what there is to be told, and what of it is known already."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from claude_mem.cli.backfill import telling, worker
from claude_mem.cli.commands import UsageError
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from claude_mem.agents.claude_code.transcript_files import Found, Transcript
    from claude_mem.imports.estimate import Asked, Estimate
    from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, by what is to become of it. The newest first."""

    folder: Path
    now: int
    found: Found
    fresh: tuple[Transcript, ...]  # to be told
    live: tuple[Transcript, ...]  # captured as they happened
    done: tuple[Transcript, ...]  # told before, and unchanged since
    barred: tuple[Transcript, ...] = ()  # forgotten, or not to be seen

    @property
    def size(self) -> int:
        return sum(each.size for each in self.fresh)


def look(args: argparse.Namespace) -> Seen:
    from claude_mem.agents.claude_code import transcript_files

    folder = _folder(args.folder)
    now = time.time_ns() // 1_000_000
    since = since_when(args.since, now)
    there = transcript_files.find(folder, project=_project(args.project), since=since)
    known = worker.known([each.session for each in there.transcripts]) if there.transcripts else {}
    fresh, live, done, barred = [], [], [], []
    for each in there.transcripts:
        about = known.get(each.session)
        if about and about["state"] == "live":
            live.append(each)
        elif about and about["state"] in ("forgotten", "unseen"):
            barred.append(each)
        elif about and about["seal"] == telling.seal(each, now):
            done.append(each)
        else:
            fresh.append(each)
    return Seen(
        folder,
        now,
        there,
        tuple(transcript_files.roots_first(fresh)),
        tuple(live),
        tuple(done),
        tuple(barred),
    )


def estimates(transcripts: Sequence[Transcript], chosen: Settings) -> tuple[Estimate, ...]:
    """Offline, and whoever may be asked."""
    from claude_mem.imports import estimate

    return estimate.estimate(estimate.total(map(estimate.work, transcripts)), _asked(chosen))


def _asked(chosen: Settings) -> list[Asked]:
    """The user's choice; where that is nobody, what the cheapest known one would cost."""
    from claude_mem import wiring
    from claude_mem.imports.estimate import Asked
    from claude_mem.models import registry

    provider = wiring.choice(chosen).provider
    named = [(provider, chosen.model)] if provider != "offline" else []
    found: list[Asked] = []
    for who, model in [*named, ("anthropic", None)]:
        priced = model or registry.BY_NAME[who].usual_model or registry.CHEAP_CLAUDE
        if who not in (each.provider for each in found):
            found.append(Asked(who, model or priced, partial(_price, priced)))
    return found


def _price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    from claude_mem.models import price

    return price.cost(model, input=tokens_in, output=tokens_out)


def _folder(given: str | None) -> Path:
    from claude_mem.agents.claude_code import transcript_files

    folder = Path(given).expanduser() if given else transcript_files.projects_folder(os.environ)
    if folder.exists():
        return folder
    if given:
        raise UsageError(f"There is no {folder}.")
    raise ClaudeMemError(f"There are no transcripts: {folder} is not there. Say where: --from DIR")


def _project(given: str | None) -> str | None:
    """A directory as the client writes it, or a name."""
    if given and (given.startswith((".", "~")) or "/" in given):
        return os.path.abspath(os.path.expanduser(given))  # noqa: PTH100, PTH111 - links are kept as they are
    return given


def since_when(given: str | None, now: int) -> int | None:
    if given is None:
        return None
    from claude_mem.recall import dates

    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    try:
        return dates.interval(given, now, zone)[0]
    except ValueError as error:
        raise UsageError(str(error)) from None
