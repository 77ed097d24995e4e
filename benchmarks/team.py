"""What one PostgreSQL carries: a team's members push what they share, pull what others do, and search.

    python benchmarks/team.py                        10, 100 and 1,000 members, 4 minutes of their day
    python benchmarks/team.py --quick                10 and 100 members, half a minute
    python benchmarks/team.py --plot docs/images     and draw it

A member's day is ten turns; of each, a push brings five observations and a summary. Ten members share a
project. Recall for a prompt is not here: it is the member's own SQLite that answers it (`prompts.py`).

Two things are measured, with two server processes, one PostgreSQL and the callers on one machine:

cost    so many turns, one after the other, by 10, by 100 and by 1,000 members: processor time per memory of
        the servers and of PostgreSQL. It is flat if the number of members does not matter.
a day   1,000 members, 200 of them active at a time, at the rate of a day in an hour. Calls come by the clock,
        whether or not the last one was answered in time; a call that starts late counts from when it was due.

What ten million memories need is not measured: it is the line through the sizes that were seen.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from crowd import TYPES, Words, say
from measure import machine, table
from plot import Line, drawn
from team_servers import Caller, Fleet, Peak, Sizes, Used, fleet

TURNS_A_DAY, OBSERVATIONS_A_TURN = 10, 5
OF_A_TURN = OBSERVATIONS_A_TURN + 1
SEARCHES_A_DAY = 10
PULL_EVERY_S = 60
MEMBERS_A_PROJECT = 10
ACTIVE = 200
HOUR_S = 3_600
WARM = 60
BEGAN = 1_780_000_000_000
TEN_MILLION = 10_000_000
CALLS = ("push", "pull", "search")


@dataclass(slots=True)
class Member:
    number: int
    caller: Caller
    turns: int = 0
    cursor: str = ""

    @property
    def project(self) -> str:
        return f"git.example/team/p{self.number // MEMBERS_A_PROJECT}"


@dataclass(slots=True)
class Took:
    """Milliseconds of each call, from when it was due."""

    ms: dict[str, list[float]] = field(default_factory=lambda: {call: [] for call in CALLS})
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the memories that so many members pushed, one turn after the other."""

    members: int
    memories: int
    seconds: float
    used: Used

    def per_memory_ms(self, seconds: float) -> float:
        return seconds * 1000 / self.memories


@dataclass(frozen=True, slots=True)
class Day:
    members: int
    seconds: float
    took: Took
    used: Used
    peak: Peak
    memories: tuple[int, int]  # before, after
    sizes: tuple[Sizes, Sizes]


def turn(member: Member, words: Words, by: random.Random) -> bytes:
    """What is pushed after one: in a session of the member's, the project and the session first."""
    session = f"m{member.number}-s{member.turns // 5}"
    at = BEGAN + member.number * 977 + member.turns * 300_000
    member.turns += 1
    about = {"session_id": session, "at": at}
    files = [f"src/{'_'.join(words.draw(2, by)).lower()}.py" for _ in range(3)]
    records: list[dict[str, object]] = [
        {
            "kind": "project",
            "key": member.project,
            "name": member.project.rpartition("/")[2],
            "root": "",
            "remote": member.project,
            "created_at": BEGAN,
        },
        {
            "kind": "session",
            "session_id": session,
            "project": member.project,
            "client": "claude-code",
            "branch": "main",
            "status": "completed",
            "created_at": BEGAN,
        },
    ]
    records += [
        {
            "kind": "observation",
            **about,
            "at": at + nth,
            "type": by.choice(TYPES),
            "title": " ".join(words.draw(8, by)),
            "narrative": " ".join(words.draw(40, by)),
            "facts": [" ".join(words.draw(7, by)) for _ in range(3)],
            "files_modified": files,
            "branch": "main",
            "client": "claude-code",
            "provider": "offline",
        }
        for nth in range(OBSERVATIONS_A_TURN)
    ]
    texts = {name: " ".join(words.draw(15, by)) for name in ("request", "learned", "completed")}
    records.append({"kind": "summary", **about, **texts, "prompt_number": member.turns})
    return b"\n".join(json.dumps(record).encode() for record in records)


def push(member: Member, words: Words, by: random.Random) -> None:
    answer = json.loads(
        member.caller.ask("POST", "/api/import?own=true", turn(member, words, by), "application/x-ndjson")
    )
    if answer["refused"]:
        raise RuntimeError(f"refused: {answer['refused'][0]}")


def pull(member: Member, _words: Words, _by: random.Random) -> None:
    member.caller.ask("GET", f"/api/observations?{urlencode({'project': member.project, 'limit': 50})}")


def search(member: Member, words: Words, by: random.Random) -> None:
    asked = {"q": " ".join(words.between(0, 5_000, 5, by)), "project": member.project}
    member.caller.ask("GET", f"/api/search?{urlencode(asked)}")


DOES: dict[str, Callable[[Member, Words, random.Random], None]] = {
    "push": push,
    "pull": pull,
    "search": search,
}


def members_of(servers: Fleet, count: int) -> list[Member]:
    return [Member(number, servers.caller(number)) for number in range(count)]


def cost(servers: Fleet, members: Sequence[Member], words: Words, turns: int) -> Cost:
    by = random.Random(len(members))
    for nth in range(max(len(members), WARM)):
        push(members[nth % len(members)], words, by)  # sessions and projects exist, models are loaded
    before, began = servers.used(), time.perf_counter()
    for nth in range(turns):
        push(members[nth * 7 % len(members)], words, by)
    seconds = time.perf_counter() - began
    return Cost(len(members), turns * OF_A_TURN, seconds, servers.used().since(before))


@dataclass(frozen=True, slots=True)
class Due:
    at: float  # seconds from the beginning
    call: str


def schedule(members: int, seconds: float, by: random.Random) -> Iterator[Due]:
    """A day in an hour, by chance, in order."""
    per_second = {
        "push": members * TURNS_A_DAY / HOUR_S,
        "search": members * SEARCHES_A_DAY / HOUR_S,
        "pull": min(ACTIVE, members) / PULL_EVERY_S,
    }
    found = [
        Due(by.random() * seconds, call)
        for call, rate in per_second.items()
        for _ in range(round(rate * seconds))
    ]
    return iter(sorted(found, key=lambda due: due.at))


def day(servers: Fleet, members: Sequence[Member], words: Words, seconds: float) -> Day:
    by = random.Random(23)
    calls, lock, took = schedule(len(members), seconds, by), threading.Lock(), Took()
    memories, sizes, used = _memories(servers), servers.sizes(), servers.used()
    began = time.perf_counter()

    def act(nth: int) -> None:
        """One of those who are active: one member after another sits down here."""
        own = random.Random(nth)
        mine = members[nth :: min(ACTIVE, len(members))]
        while True:
            with lock:
                due = next(calls, None)
            if due is None:
                return
            time.sleep(max(0.0, began + due.at - time.perf_counter()))
            try:
                DOES[due.call](own.choice(mine), words, own)
            except (OSError, RuntimeError) as error:
                took.failed.append(f"{due.call}: {error}")
            else:
                took.ms[due.call].append((time.perf_counter() - began - due.at) * 1000)

    with servers.watched() as peak:
        acting = [threading.Thread(target=act, args=(nth,)) for nth in range(min(ACTIVE, len(members)))]
        for thread in acting:
            thread.start()
        for thread in acting:
            thread.join()
    seconds = time.perf_counter() - began
    return Day(
        len(members),
        seconds,
        took,
        servers.used().since(used),
        peak,
        (memories, _memories(servers)),
        (sizes, servers.sizes()),
    )


def _memories(servers: Fleet) -> int:
    return servers.count("observations") + servers.count("session_summaries")


def at_share(times: Sequence[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, round(share * len(times)))]


def told(costs: Sequence[Cost], one: Day) -> str:
    flat = table(
        ("members", "memories", "a second", "servers, ms each", "PostgreSQL, ms each", "processor, ms each"),
        [
            (
                f"{each.members:,}",
                f"{each.memories:,}",
                f"{each.memories / each.seconds:,.0f}",
                f"{each.per_memory_ms(each.used.servers):.2f}",
                f"{each.per_memory_ms(each.used.postgres):.2f}",
                f"{each.per_memory_ms(each.used.servers + each.used.postgres):.2f}",
            )
            for each in costs
        ],
    )
    calls = table(
        ("call", "made", "a second", "p50 ms", "p95 ms", "p99 ms"),
        [
            (
                call,
                f"{len(times):,}",
                f"{len(times) / one.seconds:.1f}",
                *(f"{at_share(times, share):,.0f}" for share in (0.5, 0.95, 0.99)),
            )
            for call, times in one.took.ms.items()
            if times
        ],
    )
    cores = (one.used.servers + one.used.postgres) / one.seconds
    held = (
        f"{one.members:,} members, {one.seconds:.0f} s: {len(one.took.failed)} calls failed; "
        f"{one.memories[1] - one.memories[0]:,} memories came, {one.memories[1]:,} in the end.\n"
        f"Connections at most {one.peak.connections}; memory of a server at most "
        f"{one.peak.server_mib:,.0f} MiB, of PostgreSQL {one.peak.postgres_mib:,.0f} MiB; "
        f"{cores:.2f} cores busy (servers {one.used.servers / one.seconds:.2f}, "
        f"PostgreSQL {one.used.postgres / one.seconds:.2f})."
    )
    failures = "".join(f"\n  {said}" for said in dict.fromkeys(one.took.failed[:5]))
    return f"{flat}\n\n{calls}\n\n{held}{failures}\n\n{grown(one)}"


def grown(one: Day) -> str:
    """By table, and the line through both sizes."""
    (before, after), (fewer, more) = one.sizes, one.memories
    came = more - fewer
    rows = []
    for name in sorted(after.tables, key=lambda name: -after.tables[name] - after.indexes[name])[:8]:
        rows.append(
            (
                name,
                f"{after.tables[name] / 2**20:.1f}",
                f"{after.indexes[name] / 2**20:.1f}",
                f"{(after.tables[name] - before.tables.get(name, 0)) / came:,.0f}",
                f"{(after.indexes[name] - before.indexes.get(name, 0)) / came:,.0f}",
            )
        )
    each = (after.total - before.total) / came
    return (
        table(("table", "MiB", "indexes, MiB", "bytes a memory", "of indexes"), rows)
        + f"\n\n{each:,.0f} bytes a memory; ten million: {each * TEN_MILLION / 2**30:,.0f} GiB, not measured."
    )


def plotted(costs: Sequence[Cost]) -> str:
    lines = [
        Line("servers", [(each.members, each.per_memory_ms(each.used.servers)) for each in costs]),
        Line("PostgreSQL", [(each.members, each.per_memory_ms(each.used.postgres)) for each in costs]),
    ]
    return drawn("Processor time to take in one memory", "members", "milliseconds", lines)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--members", default="10,100,1000", help="of the cost, with commas between")
    options.add_argument("--turns", type=int, default=300, help="pushed for each of these")
    options.add_argument("--seconds", type=float, default=240, help="of the day; an hour is all of it")
    options.add_argument("--quick", action="store_true", help="10 and 100 members, half a minute")
    options.add_argument("--plot", type=Path, metavar="FOLDER", help="write team-cost.svg there")
    args = options.parse_args()
    counts = [10, 100] if args.quick else sorted(int(count) for count in args.members.split(","))
    turns, seconds = (50, 30.0) if args.quick else (args.turns, args.seconds)
    words = Words.read()
    costs, one = [], None
    with tempfile.TemporaryDirectory(prefix="claude-mem-team-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)  # PostgreSQL runs as another user, where we are root
        for count in counts:
            with fleet(folder, f"team{count}") as servers:
                say(f"{count:,} members: cost …")
                members = members_of(servers, count)
                costs.append(cost(servers, members, words, turns))
                if count == counts[-1]:
                    say(f"{count:,} members: {seconds:.0f} s of a day in an hour …")
                    one = day(servers, members, words, seconds)
    assert one is not None
    print(f"A team on one PostgreSQL. {machine()}\n\n{told(costs, one)}")
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        (args.plot / "team-cost.svg").write_text(plotted(costs), encoding="utf-8")


if __name__ == "__main__":
    main()
