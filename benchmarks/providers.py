"""Measures what a batch costs with each provider: seconds, tokens sent as the server sees them, memory.

    python benchmarks/providers.py

All against the scripted server on loopback, so the seconds are ours alone: a model's own come on top. The
baseline is the Messages API over our HTTP client. `claude` is what we ship, a process per batch; beside
it the two ways we did not take: one process and one conversation kept, and one process kept with `/clear`
between the batches.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.claude import real_client
from tests.harness.model_script import Request, Say
from tests.harness.model_server import ModelServer

from claude_mem.providers import anthropic
from claude_mem.providers.claude import ENVIRONMENT, FLAGS, ClaudeModel
from claude_mem.providers.registry import Access, Prompt, Reply
from measure import machine, table

SYSTEM = "Write down what is worth remembering of these events. " * 80  # 4 kB: the fixed instructions
EVIDENCE = "def check(basket): return sum(item.price for item in basket)\n" * 130  # 8 kB: a batch's events
OBSERVATION = "<observation><title>The basket adds up</title></observation>\n" * 25  # 1.5 kB: a reply
CHARS_PER_TOKEN = 4


@dataclass
class Seen:
    """What the server saw and the processes weighed, batch by batch."""

    seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    child_mib: float = 0.0

    def row(self, name: str) -> tuple[str, ...]:
        return (
            name,
            f"{self.seconds[0]:.2f}",
            f"{statistics.median(self.seconds[1:]):.3f}",
            f"{self.tokens[0]:,}",
            f"{self.tokens[-1]:,}",
            f"{sum(self.tokens):,}",
            f"{self.child_mib:.0f}" if self.child_mib else "-",
        )


class Bench:
    """A server that counts what it is sent, and a home for Claude Code."""

    def __init__(self, home: Path, batches: int) -> None:
        self.home, self.batches = home, batches
        self.seen = Seen()
        self._sent = 0
        self.server = ModelServer(self._answer)

    def _answer(self, request: Request) -> Say:
        self._sent += request.size
        self.seen.child_mib = max(self.seen.child_mib, claude_mib(self.home))
        return Say(OBSERVATION)

    @property
    def environment(self) -> dict[str, str]:
        server = {"ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "dummy", "IS_SANDBOX": "1"}
        return server | {"HOME": str(self.home)}

    def note(self, began: float) -> None:
        self.seen.seconds.append(time.perf_counter() - began)
        self.seen.tokens.append(self._sent // CHARS_PER_TOKEN)
        self._sent = 0


def claude_mib(home: Path) -> float:
    """Resident memory of whatever runs with this home."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}\0".encode() in (process / "environ").read_bytes():
                total += int((process / "statm").read_text().split()[1])
        except OSError:
            continue
    return total * os.sysconf("SC_PAGE_SIZE") / 2**20


def prompt(n: int) -> Prompt:
    return Prompt(SYSTEM, f"Batch {n}.\n{EVIDENCE}")


def over_http(bench: Bench) -> None:
    model = anthropic.build(Access(base_url=bench.server.url, api_key="dummy"))
    for n in range(bench.batches):
        began = time.perf_counter()
        assert isinstance(model.ask(prompt(n), deadline_s=60), Reply)
        bench.note(began)


def one_process_each(bench: Bench) -> None:
    model = ClaudeModel(cli_path=str(real_client()), env=bench.environment)
    for n in range(bench.batches):
        began = time.perf_counter()
        assert isinstance(model.ask(prompt(n), deadline_s=60), Reply)
        bench.note(began)
    model.close()


def one_conversation(bench: Bench) -> None:
    _kept(bench, clear=False)


def one_process_cleared(bench: Bench) -> None:
    _kept(bench, clear=True)


def _kept(bench: Bench, *, clear: bool) -> None:
    words = [str(real_client()), *FLAGS, "--model", "haiku", "--system-prompt", SYSTEM]
    began = time.perf_counter()
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=bench.home,
        env=os.environ | bench.environment | ENVIRONMENT,
    ) as child:
        for n in range(bench.batches):
            if clear and n:
                _send(child, "/clear", verbatim=False)
            _send(child, prompt(n).user)
            bench.note(began)
            began = time.perf_counter()
        child.communicate()


def _send(child: subprocess.Popen[bytes], text: str, *, verbatim: bool = True) -> None:
    assert child.stdin
    assert child.stdout
    message = {"role": "user", "content": text}
    line = {
        "type": "user",
        "message": message,
        "parent_tool_use_id": None,
        "client_composed": verbatim,
    }
    child.stdin.write(json.dumps(line).encode() + b"\n")
    child.stdin.flush()
    while json.loads(child.stdout.readline())["type"] != "result":
        pass


WAYS: dict[str, Callable[[Bench], None]] = {
    "anthropic, over HTTP (baseline)": over_http,
    "claude, a process each (ours)": one_process_each,
    "claude, one kept conversation": one_conversation,
    "claude, one process, /clear": one_process_cleared,
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--batches", type=int, default=10)
    args = options.parse_args()
    rows = []
    for name, way in WAYS.items():
        with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home:
            bench = Bench(Path(home), args.batches)
            with bench.server:
                way(bench)
            rows.append(bench.seen.row(name))
    print(
        f"{args.batches} batches of {len(EVIDENCE)} characters, instructions of {len(SYSTEM)}. {machine()}\n"
    )
    head = ("", "first s", "then s", "first tokens", "last tokens", "all tokens", "child MiB")
    print(table(head, rows))


if __name__ == "__main__":
    main()
