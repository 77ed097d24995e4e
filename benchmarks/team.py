"""Measures the load of a team on one PostgreSQL: members push what they share, pull what others share, and
search.

    python benchmarks/team.py                        10, 100 and 1,000 members, 4 minutes of their day
    python benchmarks/team.py --quick                10 and 100 members, half a minute
    python benchmarks/team.py --plot docs/images     and draw it

A member's day is ten turns; of each, a push brings five observations and a summary. Ten members share a
project: the first opens it, the others may write. A pull brings what the nine others pushed since the last
one. Prompts are answered by a member's own machine, which has joined: that is measured at rest and while the
servers are under load.

Two things are measured, with two server processes, one PostgreSQL and the callers on one machine:

cost    so many turns, one after the other, by 10, by 100 and by 1,000 members: processor time per memory of
        the servers and of PostgreSQL. It is flat if the number of members does not matter.
a day   1,000 members, 200 of them active at a time, at the rate of a day in an hour, for some minutes of it.
        Calls come by the clock, whether or not the last one was answered in time; a call that starts late
        counts from when it was due.

What ten million memories need is not measured: it is the line through the sizes that were seen, so the same
bytes for each memory as between the smallest and the largest of these databases.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from line_chart import Line, drawn
from measure import machine, table
from synthetic_store import TYPES, Words, say
from team_member import Prompts, member_machine
from team_servers import Caller, Fleet, Peak, Sizes, Used, fleet

TURNS_A_DAY, OBSERVATIONS_A_TURN = 10, 5
OF_A_TURN = OBSERVATIONS_A_TURN + 1
SEARCHES_A_DAY = 10
PULL_EVERY_S = 60
MEMBERS_A_PROJECT = 10
ACTIVE = 200
HOUR_S = 3_600
WARM = 60
PROMPTS_AT_REST = 40
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
    stored: tuple[int, int] = (0, 0)  # memories in the end, and bytes of tables and indexes

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
    prompts: Prompts
    load: tuple[float, float]  # of the machine, of one minute: before, after


def turn(member: Member, words: Words, by: random.Random) -> bytes:
    """What is pushed after one: the project and the session first. Each is a session of its own: else few
    members would go on with sessions that are there, and many begin new ones."""
    session = f"m{member.number}-s{member.turns}"
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
        member.caller.ask("POST", "/api/team/push", turn(member, words, by), "application/x-ndjson")
    )
    if answer["refused"]:
        raise RuntimeError(f"refused: {answer['refused'][0]}")


def pull(member: Member, _words: Words, _by: random.Random) -> None:
    """Until nothing more is new, as a machine does."""
    while True:
        query = urlencode({"cursor": member.cursor, "limit": 500})
        *_, end = member.caller.ask("GET", f"/api/team/pull?{query}").splitlines()
        found = json.loads(end)
        member.cursor = found["cursor"]
        if not found["more"]:
            return


def search(member: Member, words: Words, by: random.Random) -> None:
    query = {"q": " ".join(words.between(0, 5_000, 5, by)), "project": member.project}
    member.caller.ask("GET", f"/api/search?{urlencode(query)}")


DOES: dict[str, Callable[[Member, Words, random.Random], None]] = {
    "push": push,
    "pull": pull,
    "search": search,
}


def members_of(servers: Fleet, words: Words) -> list[Member]:
    """Each project is opened by its first member, and the others may write in it."""
    members = [Member(number, caller) for number, caller in enumerate(servers.callers)]
    by = random.Random(1)
    for member in members[::MEMBERS_A_PROJECT]:
        push(member, words, by)
    servers.grant(
        {f"m{member.number}": member.project for member in members if member.number % MEMBERS_A_PROJECT}
    )
    return members


def cost(servers: Fleet, members: Sequence[Member], words: Words, turns: int) -> Cost:
    by = random.Random(len(members))
    for nth in range(WARM):
        push(members[nth * 7 % len(members)], words, by)  # models are loaded
    servers.settle()
    before, began = servers.used(), time.perf_counter()
    for nth in range(turns):
        push(members[nth * 7 % len(members)], words, by)
    seconds = time.perf_counter() - began
    servers.settle()  # words and vectors are made in the background: their cost counts
    used = servers.used().since(before)
    stored = _memories(servers), servers.sizes().total
    return Cost(len(members), turns * OF_A_TURN, seconds, used, stored)


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


def day(folder: Path, servers: Fleet, members: Sequence[Member], words: Words, seconds: float) -> Day:
    by, load = random.Random(23), os.getloadavg()[0]
    calls, lock, took = schedule(len(members), seconds, by), threading.Lock(), Took()
    own = members[1]

    def act(nth: int) -> None:
        """One of those who are active: one member after another sits down here."""
        chance = random.Random(nth)
        mine = members[nth :: min(ACTIVE, len(members))]
        while True:
            with lock:
                due = next(calls, None)
            if due is None:
                return
            time.sleep(max(0.0, began + due.at - time.perf_counter()))
            try:
                DOES[due.call](chance.choice(mine), words, chance)
            except (OSError, RuntimeError) as error:
                took.failed.append(f"{due.call}: {error}")
            else:
                took.ms[due.call].append((time.perf_counter() - began - due.at) * 1000)

    with member_machine(folder / "member", servers, f"m{own.number}", own.project) as desk:
        desk.rest(PROMPTS_AT_REST)
        memories, sizes, used = _memories(servers), servers.sizes(), servers.used()
        began = time.perf_counter()
        with servers.watched() as peak, desk.asking():
            acting = [threading.Thread(target=act, args=(nth,)) for nth in range(min(ACTIVE, len(members)))]
            for thread in acting:
                thread.start()
            for thread in acting:
                thread.join()
        seconds = time.perf_counter() - began
    servers.settle()
    return Day(
        len(members),
        seconds,
        took,
        servers.used().since(used),
        peak,
        (memories, _memories(servers)),
        (sizes, servers.sizes()),
        desk.prompts,
        (load, os.getloadavg()[0]),
    )


def _memories(servers: Fleet) -> int:
    return servers.count("observations") + servers.count("session_summaries")


def at_share(times: Sequence[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, round(share * len(times)))]


def report(costs: Sequence[Cost], one: Day) -> str:
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
                f"{len(times) / one.seconds:.1f}" if call in CALLS else "",
                *(f"{at_share(times, share):,.0f}" for share in (0.5, 0.95, 0.99)),
            )
            for call, times in (
                *one.took.ms.items(),
                ("prompt's hook, at rest", one.prompts.at_rest),
                ("prompt's hook, under load", one.prompts.under_load),
            )
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
        f"PostgreSQL {one.used.postgres / one.seconds:.2f}). {one.prompts.recalled} of "
        f"{len(one.prompts.at_rest) + len(one.prompts.under_load)} prompts recalled something.\n"
        f"The machine's load before and after: {one.load[0]:.1f} and {one.load[1]:.1f}."
    )
    failures = "".join(f"\n  {failure}" for failure in dict.fromkeys(one.took.failed[:5]))
    return f"{flat}\n\n{calls}\n\n{held}{failures}\n\n{grown(costs, one)}"


def grown(costs: Sequence[Cost], one: Day) -> str:
    """By table in the end, and the line through the sizes that were seen."""
    after, more = one.sizes[1], one.memories[1]
    rows = []
    for name in sorted(after.tables, key=lambda name: -after.tables[name] - after.indexes[name])[:8]:
        rows.append(
            (
                name,
                f"{after.tables[name] / 2**20:.1f}",
                f"{after.indexes[name] / 2**20:.1f}",
                f"{after.tables[name] / more:,.0f}",
                f"{after.indexes[name] / more:,.0f}",
            )
        )
    each, at = slope(costs, one)
    return (
        table(("table", "MiB", "indexes, MiB", "bytes a memory", "of indexes"), rows)
        + f"\n\n{each:,.0f} bytes a memory; ten million: {at(TEN_MILLION) / 2**30:,.0f} GiB, not measured."
    )


def slope(costs: Sequence[Cost], one: Day) -> tuple[float, Callable[[int], float]]:
    """Bytes of one more memory, and of so many."""
    fewest, fewest_bytes = min(each.stored for each in costs)
    most, most_bytes = one.memories[1], one.sizes[1].total
    each = (most_bytes - fewest_bytes) / (most - fewest)
    return each, lambda count: fewest_bytes + each * (count - fewest)


def plotted(costs: Sequence[Cost], one: Day) -> dict[str, str]:
    """By the name of the file."""
    used = [(each.members, each.per_memory_ms(each.used.servers + each.used.postgres)) for each in costs]
    smallest, largest = min(each.stored for each in costs), (one.memories[1], one.sizes[1].total)
    _, at = slope(costs, one)
    size = [
        Line("measured", [(count, size / 2**20) for count, size in (smallest, largest)]),
        Line(
            "extrapolated", [(count, at(count) / 2**20) for count in (largest[0], 10**5, 10**6, TEN_MILLION)]
        ),
    ]
    return {
        "team-cost.svg": drawn(
            "Processor time for one shared memory, of all processes",
            "members",
            "milliseconds",
            [Line("all", used)],
        ),
        "team-growth.svg": drawn("Disk space of the team's database", "memories", "MiB", size),
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--members", default="10,100,1000", help="of the cost, with commas between")
    options.add_argument("--turns", type=int, default=300, help="pushed for each of these")
    options.add_argument("--seconds", type=float, default=240, help="of the day; an hour is all of it")
    options.add_argument("--quick", action="store_true", help="10 and 100 members, half a minute")
    options.add_argument("--plot", type=Path, metavar="FOLDER", help="write two plots there")
    args = options.parse_args()
    counts = [10, 100] if args.quick else sorted(int(count) for count in args.members.split(","))
    turns, seconds = (50, 30.0) if args.quick else (args.turns, args.seconds)
    words = Words.read()
    costs, one = [], None
    with tempfile.TemporaryDirectory(prefix="claude-mem-team-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        for count in counts:
            with fleet(f"team{count}", count) as servers:
                say(f"{count:,} members: cost …")
                members = members_of(servers, words)
                costs.append(cost(servers, members, words, turns))
                if count == counts[-1]:
                    say(f"{count:,} members: {seconds:.0f} s of a day in an hour …")
                    one = day(folder, servers, members, words, seconds)
    assert one is not None
    print(f"A team on one PostgreSQL. {machine()}\n\n{report(costs, one)}")
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        for name, drawing in plotted(costs, one).items():
            (args.plot / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
