"""What is private or secret in a real session is found nowhere of ours: not on disk, not with the observer.

One run of sessions full of canaries for each way to ask a model; each canary has a place of its own, so that
a leak says where it came from. Beside them, at the same places, lie open ones, which must be found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.harness import workers
from tests.harness.claude import Claude, Playing
from tests.harness.model_script import Say, Use
from tests.harness.model_server import ModelServer

GOOD = Say("<observation><title>Seen</title><facts><fact>It went on.</fact></facts></observation>")
PLACES = ("prompt", "input", "output", "error", "file", "written", "said", "summary")


def word(name: str) -> str:
    """A word that occurs nowhere else. An index may keep less of its beginning, but never of its end."""
    return hashlib.sha256(name.encode()).hexdigest()[:20]


def opened(place: str) -> str:
    return f"plain{word(f'open {place}')}"


def hidden(place: str) -> str:
    return f"intimate{word(f'hidden {place}')}"


def secrets(place: str) -> dict[str, str]:
    """What to look for, and the text that holds it."""
    key, token, password = (word(f"{kind} {place}") for kind in ("key", "token", "password"))
    return {
        key[:16].upper(): f"AKIA{key[:16].upper()}",
        token: f"ghp_{token}{'Z' * 16}",
        password: f"postgres://shop:{password}@db.example.com/shop",
    }


def full(place: str) -> str:
    """An open word, and every kind of secret."""
    return f"{opened(place)} {' and '.join(secrets(place).values())}"


ENVIRONMENT_FILE = word("environment file")
HIDDEN = (
    "part of a prompt",
    "tag in a file",
    "prompt",
    "command",
    "output",
    "file",
    "written",
    "said",
    "summary",
)


@dataclass(frozen=True, slots=True)
class Watched:
    """What is left of the sessions, where memory looked on."""

    claude: Claude
    on_disk: bytes
    shown: bytes
    open_uses: set[str]
    private_uses: set[str]

    def leaked(self, canary: str) -> list[str]:
        """Where it is found, however it is spelled."""
        looked = {"disk": self.on_disk, "observer": self.shown}
        return [where for where, held in looked.items() if canary.lower().encode() in held]


@pytest.fixture(scope="module", params=["anthropic", "claude"])
def watched(
    request: pytest.FixtureRequest, installed: Claude, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    claude = Claude(tmp_path_factory.mktemp(request.param), like=installed)
    try:
        with ModelServer([GOOD]) as observer:
            yield _watch(claude, observer, request.param)
    finally:
        claude.end()


def _watch(claude: Claude, observer: ModelServer, provider: str) -> Watched:
    asked: dict[str, Any] = {
        "anthropic": workers.asking(observer.url),
        "claude": {"CLAUDE_MEM_PROVIDER": "claude", "ANTHROPIC_BASE_URL": observer.url},
    }[provider]
    claude.mem("worker", "start", **asked)
    # The first of them: once anything was private, the summary of a session that is resumed is not kept.
    other = _say(claude, "Begin.", [Say("It is begun.")])
    _compact(claude, other, full("summary"))
    session, open_uses = _open_turn(claude)
    private_uses = _private_turn(claude, session)
    _compact(claude, session, hidden("summary"))
    claude.settle()
    alive = _on_disk(claude)
    workers.finish(claude.data)
    shown = json.dumps([asked.body for asked in observer.requests], ensure_ascii=False).encode()
    return Watched(claude, alive + _on_disk(claude), shown.lower(), open_uses, private_uses)


def _on_disk(claude: Claude) -> bytes:
    return b"\n".join(content for _, content in claude.bytes_of_the_data_directory()).lower()


def _open_turn(claude: Claude) -> tuple[str, set[str]]:
    at = claude.project
    (at / "output.txt").write_text(full("output"))
    (at / "error.txt").write_text(full("error"))
    (at / "notes.md").write_text(f"{full('file')}\n<private>{hidden('tag in a file')}</private>\n")
    (at / ".env").write_text(f"PLAIN={ENVIRONMENT_FILE}\n")
    uses = (  # not one Read after the other: the observer is told of such only that there were some
        Use("Read", {"file_path": str(at / "notes.md")}),
        Use("Bash", {"command": f"true '{full('input')}'"}),
        Use("Bash", {"command": "cat output.txt"}),
        Use("Read", {"file_path": str(at / ".env")}),
        Use("Bash", {"command": "cat error.txt; exit 3"}),
        Use("Write", {"file_path": str(at / "config.txt"), "content": full("written")}),
    )
    asked = f"Deploy with {full('prompt')}; <private>{hidden('part of a prompt')}</private> please."
    steps = [*(Say("", uses=(use,)) for use in uses), Say(f"Deployed with {full('said')}.")]
    return _say(claude, asked, steps), {use.id for use in uses}


def _private_turn(claude: Claude, session: str) -> set[str]:
    at = claude.project
    (at / "output.txt").write_text(hidden("output"))
    (at / "mine.md").write_text(hidden("file"))
    uses = (
        Use("Bash", {"command": f"true {hidden('command')}"}),
        Use("Bash", {"command": "cat output.txt"}),
        Use("Read", {"file_path": str(at / "mine.md")}),
        Use("Write", {"file_path": str(at / "mine.txt"), "content": hidden("written")}),
    )
    steps = [*(Say("", uses=(use,)) for use in uses), Say(hidden("said"))]
    _say(claude, f"<private>{hidden('prompt')}</private>", steps, "--resume", session)
    return {use.id for use in uses}


def _compact(claude: Claude, session: str, summary: str) -> None:
    _say(claude, "/compact", [Say("")], "--resume", session, summary=f"<summary>{summary}</summary>")


def _say(claude: Claude, prompt: str, steps: list[Say], *how: str, summary: str = "") -> str:
    with ModelServer(Playing(steps, summary=summary)) as server:
        ran = claude.run(server, prompt, *how)
    assert (ran.code, ran.err) == (0, "")
    return ran.session


@pytest.mark.parametrize("place", PLACES)
def test_what_is_open_is_kept_and_shown_to_the_observer(watched: Watched, place: str) -> None:
    """So the search does find things, at each of the places."""
    assert watched.leaked(opened(place)) == ["disk", "observer"]


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_found_nowhere(watched: Watched, place: str) -> None:
    assert [watched.leaked(secret) for secret in secrets(place)] == [[], [], []]


@pytest.mark.parametrize("place", HIDDEN)
def test_what_is_private_is_found_nowhere(watched: Watched, place: str) -> None:
    assert watched.leaked(hidden(place)) == []


def test_the_contents_of_an_env_file_are_found_nowhere(watched: Watched) -> None:
    assert watched.leaked(ENVIRONMENT_FILE) == []


def test_of_a_private_turn_no_tool_use_is_recorded_and_of_an_open_one_every_one_is(watched: Watched) -> None:
    kept = {use for (use,) in watched.claude.rows("SELECT tool_use_id FROM pending_messages")}
    assert kept & watched.private_uses == set()
    assert kept >= watched.open_uses
    assert watched.claude.rows("SELECT prompt FROM user_prompts WHERE private") == [(None,)]
