"""How it is said what was adopted, what was not, and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from claude_mem.cli import say
from claude_mem.cli.commands import OK
from claude_mem.cli.sending import Sent, counted

if TYPE_CHECKING:
    from claude_mem.imports.report import ImportReport

SHOWN = 5


def tell(path: Path, gained: ImportReport, sent: Sent | None, left: int, *, as_data: bool) -> int:
    """`sent`: None in a dry run."""
    code = OK if sent is None else sent.code
    if as_data:
        say.data(
            {
                "path": str(path),
                "dry_run": sent is None,
                "read": dict(gained.read),
                **(sent.shown() if sent is not None else {}),
                "passed_over": _listed(gained.passed_over, "kind", "why"),
                "retyped": _listed(gained.retyped, "theirs", "ours"),
                "projects": gained.projects,
                "left": left,
            }
        )
        return code
    if sent is None:
        print(f"{counted(gained.read) or 'Nothing'} would be adopted from {path}.")
    else:
        print(f"Adopted: {counted(sent.taken) or 'nothing new'}.")
        if known := counted(sent.known):
            print(f"Known already: {known}.")
        sent.say_refused()
    for (kind, why), count in gained.passed_over.most_common(SHOWN):
        print(f"Passed over {counted({kind: count})}: {why}.")
    for (theirs, ours), count in gained.retyped.most_common(SHOWN):
        print(f"Of type {theirs}, here {ours}: {count:,}. The type is kept as a concept.")
    if left:
        say.talk(f"{say.many(left, 'raw tool use')} left where they are: they are evidence, not memory.")
    nameless = [name for name, key in gained.projects.items() if key.startswith("name:")]
    if nameless:
        names = ", ".join(nameless[:SHOWN]) + (", …" if len(nameless) > SHOWN else "")
        say.talk(f"Known by name only, so found by search and not told in a directory: {names}.")
    say.talk(f"{path} was only read.")
    return code


def _listed(counts: Counter[tuple[str, str]], *names: str) -> list[dict[str, object]]:
    return [dict(zip(names, key, strict=True)) | {"count": count} for key, count in counts.most_common()]
