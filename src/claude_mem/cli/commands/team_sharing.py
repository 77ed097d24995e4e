"""`claude-mem join`, `leave`, `share`, `unshare` and `team`: what this machine shares with its team."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from claude_mem import settings
from claude_mem.cli import filter_flags, output
from claude_mem.cli.client import approve_environment, request, slow_request
from claude_mem.cli.commands import OK, WRONG, Commands, Parser, UsageError, yes_flag
from claude_mem.cli.commands.team_people import JoinedTeam, PeopleCommands
from claude_mem.hook.notices import age
from claude_mem.serve import control

MOST_KEY = 1_000


def add(commands: Commands) -> None:
    parser = commands.add("join", run=_run_join)
    parser.argument("url", "URL", "the server's address")
    parser.argument("--key-file", "F", "a file that contains the key")
    moved = "the server that you joined has this address now: with the same key, nothing is lost"
    parser.flag("--moved", moved)
    parser.argument("--ca", "F", "a CA certificate to trust, if the server's is private")
    parser.flag("--insecure-http", "allow plain HTTP to another machine, although others can read the key")
    parser = commands.add("leave", run=_run_leave)
    parser.flag("--keep-copies", "keep other members' memories on this machine")
    parser.flag("--without-server", "leave even if the server cannot be reached; what you shared stays on it")
    yes_flag(parser)
    parser = commands.add("share", run=_run_share)
    _which(parser, "share all projects, including future ones")
    parser.flag("--prompts", "share prompts too")
    parser.flag("--now", "send all waiting memories, even of unmerged branches")
    parser = commands.add("unshare", run=_run_unshare)
    _which(parser, "all projects")
    parser.flag("--take-back", "also delete what was shared, permanently")
    parser = commands.add("team", run=_run_team)
    parser.flag("--sync", "exchange memories with the server first")
    answer = parser.add_mutually_exclusive_group()
    accept = "delete your own memories that others want deleted and that wait for your consent"
    answer.add_argument("--accept-deletions", action="store_true", help=accept)
    answer.add_argument("--refuse-deletions", action="store_true", help="keep them on this machine")
    people = PeopleCommands("claude-mem team", lambda: nullcontext(JoinedTeam()))
    people.add(parser.subcommands("commands, for admins"))


def _run_join(args: argparse.Namespace) -> int:
    """You need a key: an admin of the team creates one with `claude-mem team key add` or `claude-mem server
    key add`. The command asks for it, or reads it from stdin or a file. It is not an argument, because other
    users of this machine can see arguments. Nothing is shared until you run `claude-mem share`.

    Example:
      claude-mem join https://memory.example
      claude-mem join https://memory.example --key-file key.txt
    """
    body = {
        "url": args.url,
        "key": "" if args.moved else _key(args.key_file),
        "moved": args.moved,
        "ca": str(Path(args.ca).absolute()) if args.ca else "",
        "insecure_http": args.insecure_http,
    }
    data_dir = settings.data_directory()
    if approve_environment(data_dir):  # such as the proxy that leads there
        control.stop(data_dir)
    joined = request("POST", "/api/sharing/join", body=body)
    if args.moved:
        text = f"The team's server is at {joined['url']} now. Nothing else has changed."
        return output.result(args, joined, text)
    text = (
        f"Joined {joined['url']} as {joined['member']}, on {joined['machine']}.\n"
        "Nothing is shared yet. To share this directory's project: claude-mem share --here"
    )
    return output.result(args, joined, text)


def _key(file: str | None) -> str:
    if file is not None:
        with Path(file).open(encoding="utf-8", errors="replace") as opened:
            key = opened.read(MOST_KEY)
    elif sys.stdin.isatty():
        from getpass import getpass

        key = getpass("Key: ")
    else:
        key = sys.stdin.read(MOST_KEY)
    if not key.strip():
        raise UsageError("No key. Pass it on stdin or in a file: --key-file F")
    return key.strip()


def _run_leave(args: argparse.Namespace) -> int:
    """What you shared is deleted from the server and from other members' machines. It stays on this machine,
    and cannot be shared with that team again. Other members' memories are deleted from this machine unless
    you pass --keep-copies.
    """
    question = "Leave the team, and delete what you shared from its server?"
    if code := output.confirm(question, "leave deletes what you shared", yes=args.yes):
        return code
    body = {"keep_copies": args.keep_copies, "without_server": args.without_server}
    left = slow_request("Leaving ...", "POST", "/api/sharing/leave", body)
    return output.result(args, left, _left(left))


def _left(left: dict[str, Any]) -> str:
    lines = ["Left the team. What you shared was deleted from the server."]
    if not left["told_server"]:
        unreached = "the server could not be reached, or your key is no longer valid"
        lines = [f"Left the team. What you shared is still on the server: {unreached}."]
    for count, verb, where in (("deleted_sessions", "Deleted", "from"), ("kept_sessions", "Kept", "on")):
        if left[count]:
            sessions = output.plural(left[count], "session")
            lines.append(f"{verb} {sessions} of other members {where} this machine.")
    return "\n".join(lines)


def _which(parser: Parser, all_of_them: str) -> None:
    parser.argument("project", "PROJECT", "the project's name or key", nargs="?")
    parser.flag("--here", "this directory's project")
    parser.flag("--all", all_of_them)


def _scope(args: argparse.Namespace, *, optional: bool = False) -> dict[str, object]:
    given = [bool(args.project), args.here, args.all]
    if sum(given) > 1 or (not any(given) and not optional):
        raise UsageError("Specify one of: PROJECT, --here, --all.")
    if args.here:
        return {"cwd": filter_flags.here()}
    if args.project:
        return {"project": args.project}
    return {"all": True} if args.all else {}


def _run_share(args: argparse.Namespace) -> int:
    """Sends the project's observations and summaries to the team's server, and from there to the members who
    may read the project. Prompts are sent only with --prompts; tool inputs and outputs are never sent.
    Memories from a branch are sent when the branch has been merged, or immediately with --now.

    Example:
      claude-mem share --here
      claude-mem share shop --prompts
      claude-mem share --now
    """
    if args.now:
        scope = _scope(args, optional=True)
        scope.pop("all", None)
        sent = slow_request("Sending ...", "POST", "/api/sharing/now", scope)
        count = output.plural(sent["memories"], "memory")
        failed = sent["status"]["error"]
        text = f"{count} could not be sent: {failed}" if failed else f"Sent {count}."
        return output.result(args, sent, text)
    before = request("GET", "/api/sharing")
    status = request("POST", "/api/sharing/share", body=_scope(args) | {"prompts": args.prompts})
    first = "Already shared." if _settings(before) == _settings(status) else "Sharing is on."
    return output.result(args, status, "\n".join([first, *_shared(status)]))


def _settings(status: dict[str, Any]) -> tuple[bool, set[tuple[str, bool]]]:
    """What is shared, and how."""
    return status["shares_all"], {(each["key"], each["prompts"]) for each in status["projects"]}


def _run_unshare(args: argparse.Namespace) -> int:
    """What was shared stays with the team. With --take-back it is deleted from the server and from other
    members' machines, and cannot be shared again.

    Example:
      claude-mem unshare shop
      claude-mem unshare --all --take-back
    """
    body = _scope(args) | {"take_back": args.take_back}
    status = request("POST", "/api/sharing/unshare", body=body)
    text = "Sharing is off."
    text += " What was shared is being deleted from the server." if args.take_back else ""
    return output.result(args, status, "\n".join([text, *_shared(status)]))


def _run_team(args: argparse.Namespace) -> int:
    """With --sync, exits 1 if the exchange fails or this machine has joined no team.

    Example:
      claude-mem team
      claude-mem team --sync
    """
    if args.accept_deletions or args.refuse_deletions:
        body = {"accept": args.accept_deletions}
        held = sum(each["memories"] for each in request("GET", "/api/sharing")["held"])
        status = slow_request("Answering ...", "POST", "/api/sharing/consent", body)
        count = f"{output.plural(held, 'memory', 'memories')} of yours"
        answered = f"Deleted {count}." if args.accept_deletions else f"Kept {count} on this machine."
        output.message(answered if held else "No deletions wait for your consent.")
    elif args.sync:
        sentence = "Exchanging memories with the team's server ..."
        status = slow_request(sentence, "POST", "/api/sharing/exchange", {})
    else:
        status = request("GET", "/api/sharing")
    failed = args.sync and (not status["joined"] or bool(status["stopped"] or status["error"]))
    if failed:
        why = status["stopped"] or status["error"] or "this machine has not joined a team"
        output.message(f"Nothing was exchanged: {output.clean(why)}")
    code = WRONG if failed else OK
    return output.result(args, status, "\n".join(status_text(status)), code=code)


def status_text(status: dict[str, Any]) -> list[str]:
    if not status["joined"]:
        return ["This machine has not joined a team. To join one: claude-mem join URL"]
    lines = [f"{status['member']} on {status['machine']}, at {output.clean(status['url'])}"]
    last = status["last_exchange_at"]
    lines.append(f"Last exchange: {f'{age(time.time() - last / 1000)} ago' if last else 'none yet'}")
    if status["stopped"]:
        lines.append(f"Stopped: {output.clean(status['stopped'])}")
    elif status["error"]:
        lines.append(f"Problem: {output.clean(status['error'])}")
    if status["due"]:
        lines.append(f"To be sent: {output.plural(status['due'], 'memory', 'memories')}")
    for each in status["waiting"]:
        count = output.plural(each["memories"], "memory")
        lines.append(f"Waiting: {count}: {output.clean(each['reason'])}")
    if status["forgets"]:
        lines.append(f"Deletions to be sent: {status['forgets']:,}")
    for each in status["held"]:
        count = output.plural(each["memories"], "memory")
        member, project = output.clean(each["by"]), output.clean(each["project"])
        lines += [
            f"Waiting for your consent: {member} wants to delete {count} of yours in {project}, here too",
            "  Agree: claude-mem team --accept-deletions. Keep them: claude-mem team --refuse-deletions",
        ]
    lines += _shared(status)
    for each in (each for each in status["received"] if each["memories"]):
        count = output.plural(each["memories"], "memory")
        lines.append(f"From {output.clean(each['author'])}: {count}")
    return lines


def _shared(status: dict[str, Any]) -> list[str]:
    lines = []
    for each in status["projects"]:
        prompts = ", with prompts" if each["prompts"] else ""
        sent = f"{each['sent']:,} sent, {each['waiting']:,} to be sent"
        lines.append(f"Shared: {output.clean(each['name'])}{prompts} ({sent})")
        if each["key"].startswith("/"):
            lines.append("  No git remote: it reaches only machines that have it at the same path.")
    if status["shares_all"]:
        lines.append("New projects are shared too.")
    return lines or ["No project is shared."]
