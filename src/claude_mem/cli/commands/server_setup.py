"""`claude-mem server init|run`: sets up and runs a team's server."""

from __future__ import annotations

import argparse
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from claude_mem.cli import output
from claude_mem.cli.client import load_settings
from claude_mem.cli.commands import Commands, UsageError
from claude_mem.cli.commands.team_people import PeopleCommands, member_name
from claude_mem.cli.filter_flags import up_to
from claude_mem.model.errors import ClaudeMemError, InvalidInput, NotFound
from claude_mem.settings import Settings
from claude_mem.store.team import Directory

DEFAULT_LISTEN = "127.0.0.1:37780"


def add(commands: Commands) -> None:
    verbs = commands.group(
        "server",
        more=(
            "The server stores what members of a team share, in a PostgreSQL database (15 or\n"
            "newer). Set its address in CLAUDE_MEM_DATABASE_URL. It is not an argument,\n"
            "because it contains a password and `ps` shows arguments."
        ),
        example="claude-mem server init --admin ada --url https://memory.example.com\nclaude-mem server run",
    )
    init = verbs.add("init", "create the schema, the first admin and the first key", run=_init)
    init.argument("--admin", "NAME", "the first admin", type=member_name, default="admin")
    init.argument("--machine", "NAME", "the machine that uses the key (default: this one)")
    init.argument("--url", "URL", "the address that members use", type=_url)
    run = verbs.add("run", "run the server in the foreground", run=_run, json=False)
    where = f"where to listen (default: {DEFAULT_LISTEN})"
    run.argument("--listen", "HOST:PORT", where, type=_listen, default=DEFAULT_LISTEN)
    run.argument("--cert", "FILE", "the TLS certificate chain (PEM)", type=Path)
    run.argument("--key", "FILE", "its private key (PEM)", type=Path)
    address = "the address that members use; requests with other Host headers are rejected"
    run.argument("--public-url", "URL", address, type=_url)
    drain = "how long /health answers 503 before the process stops (default: 2)"
    run.argument("--drain", "SECONDS", drain, type=_seconds, default=2.0)
    rate = "requests per second and key (default: 50), with bursts of four times as many"
    run.argument("--rate", "N", rate, type=up_to(100_000), default=50)
    PeopleCommands("claude-mem server", _team).add(verbs)


@contextmanager
def _store(settings: Settings) -> Iterator[Any]:
    """Opens the team's database; its errors become sentences."""
    from claude_mem.wiring import team_services

    try:
        with team_services.open_store(settings) as found:
            yield found
    except (InvalidInput, NotFound) as error:
        raise ClaudeMemError(str(error)) from None


@contextmanager
def _team() -> Iterator[Directory]:
    with _store(load_settings()) as store:
        if not store.directory.members():
            raise ClaudeMemError("This database has no team yet. Run: claude-mem server init")
        yield store.directory


def _init(args: argparse.Namespace) -> int:
    """Example:
    export CLAUDE_MEM_DATABASE_URL=postgresql://me:PASSWORD@localhost/claude_mem
    claude-mem server init --admin ada --url https://memory.example.com
    """
    settings = load_settings()
    machine = args.machine or socket.gethostname().partition(".")[0] or "server"
    with _store(settings) as store:
        key, info = store.directory.begin(args.admin, machine[:64])
        pgvector = store.vectors.pgvector()
    url = args.url or f"http://{DEFAULT_LISTEN}"
    data = {"url": url, "member": info.member, "machine": info.machine, "id": info.id, "key": key}
    data["pgvector"] = pgvector
    text = (
        f"The team's server is set up. Its first admin is {info.member}.\n\n"
        f"  address  {url}\n"
        f"  key      {key}\n"
        f"  pgvector {pgvector}\n\n"
        "The key is shown only once. Start the server, then join it from your machine:\n\n"
        "  claude-mem server run\n"
        f"  claude-mem join {url}        # asks for the key"
    )
    return output.result(args, data, text)


def _run(args: argparse.Namespace) -> int:
    r"""Several processes can serve the same database. On SIGTERM, /health answers 503 for --drain seconds,
    requests finish, and the process exits. On SIGHUP, it reloads the certificate. The log is JSON, on stderr.

    Example:
      claude-mem server run
      claude-mem server run --listen 0.0.0.0:443 --cert cert.pem --key key.pem \
          --public-url https://memory.example.com
    """
    from claude_mem.serve.team_server import server_process
    from claude_mem.wiring import team_services

    if (args.cert is None) != (args.key is None):
        raise UsageError("--cert and --key must be used together.")
    for file in (args.cert, args.key):
        if file is not None:
            file.open("rb").close()  # an error that names it, before anything starts
    settings = load_settings()
    host, port = args.listen if isinstance(args.listen, tuple) else _listen(args.listen)
    options = server_process.ServerOptions(
        host=host,
        port=port,
        tls=(args.cert, args.key) if args.cert else None,
        public_url=args.public_url,
        drain_s=args.drain,
        rate=args.rate,
    )
    server_process.log_to_stderr(settings.log_level)
    if sys.stderr.isatty():
        scheme = "https" if args.cert else "http"
        where = f"[{host}]" if ":" in host else host
        output.message(f"Serving on {args.public_url or f'{scheme}://{where}:{port}'}. Ctrl-C stops it.")
    return server_process.run(lambda: team_services.build(settings), options)


def _listen(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT.")
    if ":" not in text:
        return "127.0.0.1", int(port)
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - `:443` is what the user asked for


def _url(text: str) -> str:
    found = urlsplit(text)
    if found.scheme not in ("http", "https") or not found.hostname or found.username or found.query:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as https://memory.example.com.")
    return text.rstrip("/")


def _seconds(text: str) -> float:
    if not re.fullmatch(r"\d{1,2}(\.\d{1,3})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds.")
    return float(text)
