"""Made-up histories in which a memory became stale, and what every face shows of it.

Each history makes memories and commits in a real store and a real repository, and says which memories are
stale by the end of it and which still hold.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from tests.contracts.store_contract import ORIGIN
from tests.unit.recall.recall_store import DAY, House
from tests.unit.recall.repositories import Made

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.refs import Ref
from claude_mem.model.structs import replace
from claude_mem.recall.git_facts import Repository
from claude_mem.recall.staleness import marks

FILE = "src/session_store.py"
PROMPT = "how are login sessions stored and what is the request timeout of the session store?"


class Scene:
    """A project a month ago."""

    def __init__(self, memory: House, folder: Path) -> None:
        self.memory, self.now = memory, memory.clock()
        self.repository = Made(folder)
        self.at(40, FILE, "src/other.py")

    def at(self, days_ago: float, *files: str) -> str:
        return self.repository.commit(int(self.now - days_ago * DAY), *files)

    def git(self, days_ago: float, *words: str) -> None:
        self.repository.git(*words, at=int(self.now - days_ago * DAY))

    def keep(self, title: str, days_ago: float, *, file: str = FILE, **more: Any) -> Ref:
        session = more.pop("session", f"s-{days_ago}-{len(title)}")
        return self.memory.keep(
            title,
            more.pop("narrative", f"{title}, because login sessions in the session store need it."),
            days_ago=days_ago,
            session=session,
            files_modified=(file,),
            type=more.pop("type", "decision"),
            **more,
        )

    def supersede(self, older: Ref, newer: Ref) -> None:
        self.memory.store.writer.run(
            lambda db: (
                db.execute(
                    "UPDATE observations SET superseded_by = ? WHERE id = ?", (newer.id, older.id)
                ).rowcount
            )
        )


class Outcome(Struct, frozen=True):
    stale: tuple[Ref, ...]
    holds: tuple[Ref, ...] = ()


def superseded(scene: Scene) -> Outcome:
    old = scene.keep("Login sessions are stored in Redis", 30)
    new = scene.keep("Login sessions are stored in Postgres", 3)
    scene.supersede(old, new)
    return Outcome((old,), (new,))


def contradicted(scene: Scene) -> Outcome:
    old = scene.keep("Login sessions are stored in Redis", 30)
    new = scene.keep("Login sessions are stored in Postgres, not in Redis", 3)
    return Outcome((old,), (new,))


def contradicted_twice(scene: Scene) -> Outcome:
    first = scene.keep("The session store's request timeout is 30 seconds", 30)
    second = scene.keep("The session store's request timeout is 5 seconds", 20)
    last = scene.keep("The session store's request timeout is 60 seconds again", 2)
    return Outcome((first, second), (last,))


def contradicted_in_the_same_session(scene: Scene) -> Outcome:
    old = scene.keep(
        "The request timeout of the session store is the cause", 5.1, session="one", type="discovery"
    )
    new = scene.keep(
        "The request timeout of the session store is not the cause", 5, session="one", type="discovery"
    )
    return Outcome((old,), (new,))


def contradicted_about_other_files(scene: Scene) -> Outcome:
    old = scene.keep("Login sessions expire after a request timeout of one hour", 30)
    new = scene.keep("Login sessions expire after a request timeout of one day", 3, file="src/other.py")
    return Outcome((old,), (new,))


def deleted(scene: Scene) -> Outcome:
    old = scene.keep("The session store retries login sessions three times", 30)
    scene.git(10, "rm", "-q", FILE)
    scene.git(10, "commit", "-q", "-m", "remove the session store")
    return Outcome((old,))


def deleted_on_the_same_day(scene: Scene) -> Outcome:
    old = scene.keep("The session store retries login sessions three times", 10)
    scene.git(9.9, "rm", "-q", FILE)
    scene.git(9.9, "commit", "-q", "-m", "another way")
    return Outcome((old,))


def renamed(scene: Scene) -> Outcome:
    old = scene.keep("The session store retries login sessions three times", 30)
    scene.git(10, "mv", FILE, "src/sessions.py")
    scene.git(10, "commit", "-q", "-m", "a better name")
    return Outcome((old,))


def rewritten(scene: Scene) -> Outcome:
    old = scene.keep("The session store retries login sessions three times", 30)
    scene.at(29.5, FILE)  # its own work
    scene.at(10, FILE)
    return Outcome((old,))


def reverted(scene: Scene) -> Outcome:
    old = scene.keep("The session store retries login sessions three times", 30)
    commit = scene.at(29.9, FILE)
    scene.git(29.5, "revert", "--no-edit", commit)
    return Outcome((old,))


def never_merged(scene: Scene) -> Outcome:
    scene.git(30, "checkout", "-q", "-b", "idea")
    commit = scene.at(30, "src/idea.py")
    there = replace(ORIGIN, branch="idea", commit=commit)
    old = scene.keep("The session store caches login sessions", 29, file="src/idea.py", origin=there)
    scene.git(20, "checkout", "-q", "main")
    return Outcome((old,))


def deleted_on_purpose(scene: Scene) -> Outcome:
    held = scene.keep("Removed the session store: login sessions live in the browser", 10)
    scene.git(9.9, "rm", "-q", FILE)
    scene.git(9.9, "commit", "-q", "-m", "remove the session store")
    return Outcome((), (held,))


def untouched(scene: Scene) -> Outcome:
    held = scene.keep("The session store retries login sessions three times", 30)
    other = scene.keep("The cart rounds totals to cents", 3, file="src/other.py")
    return Outcome((), (held, other))


HISTORIES: tuple[Callable[[Scene], Outcome], ...] = (
    superseded,
    contradicted,
    contradicted_twice,
    contradicted_in_the_same_session,
    contradicted_about_other_files,
    deleted,
    deleted_on_the_same_day,
    renamed,
    rewritten,
    reverted,
    never_merged,
    deleted_on_purpose,
    untouched,
)


class Shown(Struct, frozen=True):
    face: str
    ref: Ref
    marked: bool


def shown(memory: House, history: Callable[[Scene], Outcome]) -> tuple[Outcome, list[Shown]]:
    """What each face shows of the stale memories and of those that hold, and with a mark or without."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(memory, Path(folder) / "shop")
        outcome = history(scene)
        facts = Repository(scene.repository.root).facts()
        for card in memory.library.cards([*outcome.stale, *outcome.holds]):
            memory.staleness.marks[card.ref] = marks(card, facts, "main")
        memory.indexing.catch_up()
        project, found = memory.project(), []
        answer = memory.reading.search(PROMPT, FilterRequest(kinds=("observation",)), Page(50))
        by_ref = {each.ref: each for each in answer.results}
        texts = {
            "prompt": memory.injector.at_prompt(project, "now", project.root, PROMPT).text,
            "file": memory.injector.before_file(project, "now", project.root, f"{project.root}/{FILE}").text,
            "start": memory.injector.start(project).text,
        }
        for ref in (*outcome.stale, *outcome.holds):
            if each := by_ref.get(str(ref)):
                found.append(Shown("search", ref, bool(each.marks or each.superseded_by)))
            for face, text in texts.items():
                lines = [
                    line for line in text.splitlines() if re.search(rf"#{ref}\b", line.split(" (newer")[0])
                ]
                own = [
                    line
                    for line in lines
                    if not re.search(rf"(?:newer on this: |superseded by )#{ref}\b", line)
                ]
                if own:
                    marked = any(
                        re.search(r"since|superseded by|newer on this|never merged", line) for line in own
                    )
                    found.append(Shown(face, ref, marked))
        return outcome, found
