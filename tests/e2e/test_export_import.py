"""Export and import as a person types them: out of one data directory, into another, exactly."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts import worker_client
from tests.contracts.transfer_contract import PROJECT, SESSION, made
from tests.harness import workers
from tests.harness.commands import Done, Mem, command

from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcripts
from claude_mem.model.events import Origin
from claude_mem.privacy import excluded_files, scrub_payload
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"


def run(data: Path, *words: object, given: bytes = b"", code: int = 0) -> Done:
    return Mem(data)(*words, given=given, code=code)


def exports(data: Path, *words: object) -> bytes:
    return run(data, "export", *words).stdout.encode()


def memory(raw: bytes) -> bytes:
    """All but the head, which says when it was made."""
    head, _, rest = raw.partition(b"\n")
    assert json.loads(head).keys() == {"kind", "version", "made_at"}
    return rest


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Another worker; nobody who uses it minds what it remembers."""
    with workers.running(tmp_path_factory.mktemp("elsewhere") / "data") as data:
        yield data


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file, and the worker that it is from still running."""
    folder = tmp_path_factory.mktemp("travel")
    with worker_client.remembering(folder / "data"):
        run(folder / "data", "export", "-o", folder / "memory.jsonl")
        yield folder / "memory.jsonl"


@pytest.mark.prove  # `make test` proves it of made-up memories, by the store's contract and by a dry run here
def test_nine_real_sessions_travel_to_another_machine_and_are_the_same_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not REAL.is_dir():
        pytest.skip(f"THE NINE REAL TRANSCRIPTS ARE NOT AT {REAL}: nothing real was read")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(mode=0o700)
    monkeypatch.chdir(here)  # where the scrubber notes which turns are private
    _live_through_it(here)
    with workers.running(here):
        workers.settled(here)
        first = exports(here)
        journal = exports(here, "--markdown").decode()
    with workers.running(there):
        run(there, "import", "--own", "-", given=first)
        second = exports(there)
        run(there, "import", "--own", "-", given=first)
        third = exports(there)
        found = json.loads(run(there, "search", "--json", "theme", "segment").stdout)["items"]
        assert exports(there, "--markdown").decode() == journal
    assert memory(first) == memory(second) == memory(third)
    kinds = {json.loads(line)["kind"] for line in first.splitlines()}
    assert kinds >= {"project", "session", "prompt", "event", "observation", "summary"}
    assert len(first) > 1_000_000
    assert found
    assert journal.count("\n### ") == 9
    assert _observations(here) == _observations(there)


def _live_through_it(data: Path) -> None:
    with SqliteStore.open(data / "claude-mem.db", clock=lambda: 0, backups=data / "backups") as store:
        for path in sorted(REAL.glob("*.gz")):
            arrivals = []
            for told in transcripts.read(path):
                clean = scrub_payload.clean(told.event, told.payload, (), excluded_files.DEFAULT_GLOBS)
                assert clean is not None
                event = hook_payload.parse(told.event, clean[0], id=told.id, at=told.at)
                if event is not None:
                    origin = Origin("github.com/a/omp", "oh-my-posh", event.cwd or "", branch=told.branch)
                    arrivals.append(NewEvent(event, origin))
            store.events.accept(arrivals)


def _observations(data: Path) -> list[tuple[object, ...]]:
    """Every column but those that number rows."""
    with closing(sqlite3.connect(f"file:{data / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        ids = ("id", "session_id", "project_id", "supersedes", "superseded_by")
        rows = db.execute("SELECT * FROM observations ORDER BY created_at_epoch, id").fetchall()
        return [tuple(row[name] for name in row.keys() if name not in ids) for row in rows]  # noqa: SIM118


class TestExporting:
    def test_a_file_is_its_owners_alone_and_noted(self, exported: Path) -> None:
        assert exported.stat().st_mode & 0o777 == 0o600
        noted = (exported.parent / "data" / "exports.jsonl").read_text().splitlines()
        assert str(exported) in [json.loads(line)["path"] for line in noted]

    def test_a_file_that_is_there_is_not_replaced(self, exported: Path, data: Path) -> None:
        before = exported.read_bytes()
        assert "--force" in run(exported.parent / "data", "export", "-o", exported, code=2).stderr
        assert exported.read_bytes() == before

    def test_a_report_says_what_is_in_it(self, exported: Path, tmp_path: Path) -> None:
        data = exported.parent / "data"
        report = json.loads(run(data, "export", "--project", "mill", "--json", "-o", tmp_path / "m").stdout)
        assert report["records"] == {
            **{"project": 1, "session": 1, "prompt": 1, "event": 3, "observation": 1, "summary": 1}
        }
        assert (report["bytes"], report["format"]) == ((tmp_path / "m").stat().st_size, "jsonl")
        assert "-o FILE" in run(data, "export", "--json", code=2).stderr

    def test_a_question_a_session_and_a_time_narrow_it(self, exported: Path) -> None:
        data = exported.parent / "data"

        def sessions(*words: str) -> set[str]:
            told = map(json.loads, exports(data, *words).splitlines())
            return {record["session_id"] for record in told if record["kind"] == "session"}

        assert sessions("burrs") == {"mill-1"}
        assert sessions("--session", "shop-2") == {"shop-2"}
        assert sessions("--since", "yesterday") == {"shop-1", "shop-2", "mill-1"}
        assert sessions("--until", "yesterday") == set()
        assert "No project" in run(data, "export", "--project", "nope", code=2).stderr

    def test_a_journal_can_be_read(self, exported: Path, tmp_path: Path) -> None:
        into = tmp_path / "JOURNAL.md"
        run(exported.parent / "data", "export", "--project", "shop", "--markdown", "-o", into)
        text = into.read_text()
        assert text.startswith("# Journal of shop\n")
        assert "### Speed up the basket's totals" in text
        assert "mill" not in text

    def test_a_reader_that_leaves_is_no_fault(self, exported: Path) -> None:
        command = f"{sys.executable} -m claude_mem export | head -n 1"
        env = Mem(exported.parent / "data").env
        done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, check=True, timeout=60)
        assert json.loads(done.stdout)["kind"] == "claude-mem"
        assert done.stderr == b""


class TestImporting:
    @pytest.fixture
    def there(self, tmp_path: Path) -> Iterator[Path]:
        """A worker that remembers nothing yet."""
        with workers.running(tmp_path / "there") as data:
            yield data

    def test_a_dry_run_tells_what_would_be_and_changes_nothing(self, exported: Path, there: Path) -> None:
        def imported(*more: str) -> Any:
            return json.loads(run(there, "import", *more, "--own", "--json", exported).stdout)

        tried = imported("--dry-run")
        assert memory(exports(there)) == b""
        done = imported()
        assert (tried["dry_run"], done["dry_run"]) == (True, False)
        assert tried["taken"] == done["taken"]
        assert tried["lines"] == done["lines"] == len(exported.read_bytes().splitlines())
        again = imported("--dry-run")
        assert (again["taken"], again["known"]) == ({}, done["taken"])

    def test_lines_that_cannot_be_taken_are_shown_with_their_numbers(self, elsewhere: Path) -> None:
        given = lines(PROJECT, SESSION) + b"nonsense\n\n" + lines(made("prompt", session_id="nobody's"))
        given += b"x" * (9 << 20) + b"\n" + lines(made("observation", title="A last heron"))
        for more in ("--dry-run", "--own"):
            done = run(elsewhere, "import", more, "-", given=given, code=1)
            assert "1 observation" in done.stdout
            shown = done.stderr.splitlines()
            assert shown[0] == "Rejected: 3 lines."
            assert [line.split(":")[0].strip() for line in shown[1:]] == ["line 3", "line 5", "line 6"]

    def test_a_newer_format_is_refused_with_a_sentence(
        self, elsewhere: Path, subtests: pytest.Subtests
    ) -> None:
        head, before = {"kind": "claude-mem", "version": 2}, memory(exports(elsewhere))
        newer = lines(head, made("project", key="k"), made("session", session_id="newer", project="k"))
        for more in ((), ("--own",), ("--dry-run",)):
            with subtests.test(" ".join(more)):
                done = run(elsewhere, "import", *more, "-", given=newer, code=1)
                assert "Upgrade claude-mem to import it." in done.stderr
                assert "Traceback" not in done.stderr
                assert memory(exports(elsewhere)) == before

    def test_what_is_no_file_is_said_so(self, elsewhere: Path, tmp_path: Path) -> None:
        assert "is a folder" in run(elsewhere, "import", tmp_path, code=2).stderr
        assert "No such file" in run(elsewhere, "import", tmp_path / "nowhere", code=1).stderr
        assert "is empty" in run(elsewhere, "import", "-", code=1).stderr

    @pytest.mark.prove  # 400 MB go through it
    def test_an_endless_line_and_an_endless_file_fill_no_memory(self, there: Path) -> None:
        """Read by one who reports what it took at most; a file of so many records is read in batches."""
        main = (  # of getrusage's maximum, what this test's own process weighs would be part
            "import sys; from claude_mem.cli import main; main(sys.argv[1:]); "
            "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM:')); "
            "print(peak.split()[1], file=sys.stderr)"
        )
        feed = (
            "import sys\n"
            "for _ in range(300): sys.stdout.buffer.write(b'x' * (1 << 20))\n"
            "print()\n"
            f"sys.stdout.buffer.write({lines(PROJECT, SESSION)!r})\n"
            'for n in range(5_000): print(\'{"kind":"nothing","n":%d,"x":"%s"}\' % (n, \'y\' * 20_000))\n'
        )
        env = Mem(there).env
        with subprocess.Popen([sys.executable, "-c", feed], stdout=subprocess.PIPE) as fed:
            done = subprocess.run(
                [sys.executable, "-c", main, "import", "--json", "-"],
                stdin=fed.stdout,
                env=env,
                capture_output=True,
                timeout=workers.PATIENCE_S,
                check=False,
            )
        assert json.loads(done.stdout)["lines"] == 5_003
        assert json.loads(done.stdout)["taken"] == {"project": 1, "session": 1}
        assert int(done.stderr.splitlines()[-1]) < 150_000  # KiB

    def test_interrupted_whole_batches_are_in_and_it_goes_on_when_run_again(
        self, there: Path, tmp_path: Path
    ) -> None:
        events = [made("event", event_id=f"e{number}") for number in range(1_000)]
        known = (PROJECT | {"created_at": 1}, SESSION)
        given = lines(*known, *events)
        feed, out = os.pipe()
        os.set_inheritable(feed, True)
        words = command("import", "--own", "-")
        importing = subprocess.Popen(words, stdin=feed, stderr=subprocess.PIPE, env=Mem(there).env)
        os.close(feed)
        cut = len(lines(*known, *events[:700]))
        with open(out, "wb") as pipe:  # noqa: PTH123 - a descriptor has no path
            pipe.write(given[:cut])
            pipe.flush()
            workers.until(lambda: _count(there) == 598, "two batches are in")  # of 300 lines, two no events
            importing.send_signal(signal.SIGINT)
            _, said = importing.communicate(timeout=workers.PATIENCE_S)
        assert importing.returncode == 130
        told = re.search(rb"Interrupted.* so far: 1 project, 1 session, (\d+) events.", said)
        assert told
        assert int(told[1]) in (298, 598), "of the last batch the answer may not have come yet"
        assert b"Traceback" not in said
        assert _count(there) == 598
        run(there, "import", "--own", "-", given=given)
        whole = exports(there)
        with workers.running(tmp_path / "another") as another:
            run(another, "import", "--own", "-", given=given)
            assert memory(exports(another)) == memory(whole)


def _count(data: Path) -> int:
    return workers.states(data).get("done", 0)
