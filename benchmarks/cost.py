"""Measures what observing costs: real sessions through the real pump, schedule, prompt and provider, in
simulated time.

    python benchmarks/cost.py [FOLDER OF TRANSCRIPTS]

Every transcript is replayed into the events its hooks would have reported, each at its own time, into a store
of its own. Between two events the clock runs and the pump does what is due. The model server is on loopback
and answers every call with two observations; what is counted is what it received. Beside it, from the same
events, the two other ways to do it:

- one call per tool use: the instructions, the user's request and the event as it is, each time;
- one growing chat: the same in one conversation, so that every call sends all that came before.

A token is four characters, for all three. Targets: at most 1.5 tokens sent per raw token, and at least 15
tool uses per call.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path

from tests.harness.model_script import Request, Say, Step
from tests.harness.model_server import ModelServer

from claude_mem.agents import hook_payload
from claude_mem.agents.claude_code import transcripts
from claude_mem.git import Origins
from claude_mem.model.events import Event, Kind
from claude_mem.model.jobs import SpentSoFar
from claude_mem.observe import mode
from claude_mem.observe.observer import Observer, ObserverOptions
from claude_mem.observe.offline import Offline
from claude_mem.providers import anthropic
from claude_mem.providers.registry import Access
from claude_mem.queue.pump import Pump
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent
from measure import table

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "transcripts"
CHARS_PER_TOKEN = 4
PER_REPLY = 2
MOST_PER_RAW = 1.5
LEAST_PER_CALL = 15
INCUMBENT = 48  # tokens sent per raw token, measured on claude-mem (TypeScript): one growing chat
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Cost:
    """Characters, until they are shown."""

    uses: int = 0
    calls: int = 0
    raw: int = 0
    sent: int = 0
    instructions: int = 0  # of what was sent: the same in every call, so that a provider's cache serves them
    stateless: int = 0
    chat: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def main(folder: Path) -> int:
    paths = sorted(folder.glob("*.jsonl*"))
    if not paths:
        print(f"no transcripts in {folder}", file=sys.stderr)
        return 2
    costs = {path.name[:8]: cost(path) for path in paths}
    total = sum(costs.values(), start=Cost())
    rows = [row(name, each) for name, each in (*costs.items(), ("all", total))]
    head = (
        "session",
        "tool uses",
        "calls",
        "uses/call",
        "raw tokens",
        "sent",
        "of it cacheable",
        "sent/raw",
        "per observation",
        "call per use: sent/raw",
        "growing chat: sent/raw",
    )
    print(table(head, rows))
    per_raw, per_call = total.sent / total.raw, total.uses / total.calls
    print()
    print(f"target {MOST_PER_RAW} sent per raw token: {per_raw:.2f}, {verdict(per_raw <= MOST_PER_RAW)}")
    print(
        f"target {LEAST_PER_CALL} tool uses per call: {per_call:.1f}, {verdict(per_call >= LEAST_PER_CALL)}"
    )
    print(f"the incumbent, one growing chat, was measured at {INCUMBENT} sent per raw token")
    return 0 if per_raw <= MOST_PER_RAW and per_call >= LEAST_PER_CALL else 1


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


def cost(path: Path) -> Cost:
    found = list(events(path))
    requests = observed(found)
    instructions = len(requests[0].body["system"][0]["text"]) if requests else 0
    uses = [event for event in found if event.tool is not None]
    return Cost(
        uses=len(uses),
        calls=len(requests),
        raw=sum(map(size, found)),
        sent=sum(map(received, requests)),
        instructions=instructions * len(requests),
        stateless=stateless(found, instructions),
        chat=chat(found, instructions),
    )


def events(path: Path) -> Iterator[Event]:
    for recorded in transcripts.read(path):
        event = hook_payload.parse(recorded.event, recorded.payload, id=recorded.id, at=recorded.at)
        if event is not None:
            yield event


def observed(found: Sequence[Event]) -> list[Request]:
    """What the model server receives when these events happen at their times."""
    clock = Clock(found[0].at)
    numbers = count(1)

    def answer(request: Request) -> Step:
        del request
        return Say("".join(observation(next(numbers)) for _ in range(PER_REPLY)))

    with tempfile.TemporaryDirectory() as folder, ModelServer(answer) as server:
        place = Path(folder)
        with SqliteStore.open(place / "claude-mem.db", clock=clock, backups=place / "backups") as store:
            model = anthropic.build(Access(api_key="k", base_url=server.url, model="scripted"), clock=clock)
            options = ObserverOptions(mode.load("code", []))
            observer = Observer(model, Offline().observe, options, lambda _: SpentSoFar(), tell)
            pump = Pump(store.queue, observer.observe, observer.fall_back, clock, tell)
            origins = Origins(clock)
            for event in found:
                run(pump, clock, event.at)
                store.events.accept([NewEvent(event, origins.of(event.cwd))])
            run(pump, clock, clock.now + DAY_MS)
            left = store.queue.figures()
        if left.ready or left.parked:
            raise RuntimeError(f"not all was observed: {left}")
        return server.requests


@dataclass
class Clock:
    now: int

    def __call__(self) -> int:
        return self.now


def run(pump: Pump, clock: Clock, until: int) -> None:
    """All that becomes due up to a time; it is that time afterwards."""
    while (again := pump.step()) is not None and again <= until:
        clock.now = max(clock.now, again)
    clock.now = max(clock.now, until)


def tell(message: str) -> None:
    raise RuntimeError(message)  # nothing is to be told of in a server that always answers


def observation(number: int) -> str:
    """As long as the real ones are: some 600 characters."""
    return (
        f"<observation><type>discovery</type><title>Finding {number} of this session, in some words</title>"
        f"<subtitle>What finding {number} comes to, in one sentence of up to twenty words.</subtitle>"
        f"<facts><fact>Fact {number}, with a subject's name.</fact><fact>Another of {number}.</fact></facts>"
        f"<narrative>{'Two to five sentences on what, how and why. ' * 4}</narrative>"
        "<concepts><concept>how-it-works</concept></concepts><files_read><file>src/a.py</file></files_read>"
        "</observation>"
    )


def size(event: Event) -> int:
    """An event as it is: what went into the tool and what came out of it, or what was said."""
    tool = event.tool
    return len(event.text or "") + (len(tool.input or "") + len(tool.response or "") if tool else 0)


def received(request: Request) -> int:
    system: list[dict[str, str]] = request.body["system"]
    messages: list[dict[str, str]] = request.body["messages"]
    return sum(len(part["text"]) for part in system) + sum(len(each["content"]) for each in messages)


def stateless(found: Sequence[Event], instructions: int) -> int:
    """One call for each tool use: it is told the request and the event, and nothing of what came before."""
    sent, request = 0, 0
    for event in found:
        if event.kind is Kind.PROMPT:
            request = size(event)
        elif event.tool is not None or event.kind is Kind.STOP:
            sent += instructions + request + size(event)
    return sent


def chat(found: Sequence[Event], instructions: int) -> int:
    """One conversation: each call sends the instructions, all events and all replies so far."""
    sent, so_far = 0, instructions
    reply = len(observation(1)) // 2  # every other call answers with one
    for event in found:
        so_far += size(event)
        if event.tool is not None or event.kind is Kind.STOP:
            sent += so_far
            so_far += reply
    return sent


def row(name: str, cost: Cost) -> tuple[str, ...]:
    def tokens(characters: int) -> str:
        return f"{characters // CHARS_PER_TOKEN:,}"

    def per_raw(characters: int) -> str:
        return f"{characters / cost.raw:.2f}" if cost.raw else "–"

    return (
        name,
        str(cost.uses),
        str(cost.calls),
        f"{cost.uses / cost.calls:.1f}" if cost.calls else "–",
        tokens(cost.raw),
        tokens(cost.sent),
        tokens(cost.instructions),
        per_raw(cost.sent),
        tokens(cost.sent // (cost.calls * PER_REPLY)) if cost.calls else "–",
        per_raw(cost.stateless),
        per_raw(cost.chat),
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else TRANSCRIPTS))
