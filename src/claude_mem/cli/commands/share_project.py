"""`claude-mem share`, `unshare` and `team`."""

from __future__ import annotations

import argparse
import time
from typing import Any

from claude_mem.cli import filter_flags, output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError
from claude_mem.cli.commands.team_admin import add_admin
from claude_mem.hook.notices import age


def add(commands: Commands) -> None:
    parser = commands.add(
        "share",
        more=(
            "Sends the project's observations and summaries to the team's server, and from\n"
            "there to the members who may read the project. Prompts are sent only with\n"
            "--prompts; tool inputs and outputs are never sent. Memories from a branch are\n"
            "sent when the branch has been merged, or immediately with --now."
        ),
        example="claude-mem share --here\nclaude-mem share shop --prompts\nclaude-mem share --now",
        run=_run_share,
    )
    _which(parser, "share all projects, including future ones")
    parser.add_argument("--prompts", action="store_true", help="share prompts too")
    parser.add_argument(
        "--now", action="store_true", help="send all waiting memories, even of unmerged branches"
    )
    parser = commands.add(
        "unshare",
        more=(
            "What was shared stays with the team. With --take-back it is deleted from the\n"
            "server and from other members' machines, and cannot be shared again."
        ),
        example="claude-mem unshare shop\nclaude-mem unshare --all --take-back",
        run=_run_unshare,
    )
    _which(parser, "all projects")
    parser.add_argument("--take-back", action="store_true", help="also delete what was shared, permanently")
    parser = commands.add(
        "team",
        more="With --sync, exits 1 if the exchange fails or this machine has not joined a team.",
        example="claude-mem team\nclaude-mem team --sync",
        run=_run_team,
    )
    parser.add_argument("--sync", action="store_true", help="exchange memories with the server first")
    answer = parser.add_mutually_exclusive_group()
    accept = "delete your own memories that others want deleted and that wait for your consent"
    answer.add_argument("--accept-deletions", action="store_true", help=accept)
    answer.add_argument("--refuse-deletions", action="store_true", help="keep them on this machine")
    add_admin(Commands(parser.add_subparsers(title="commands, for admins", metavar="COMMAND")))


def _which(parser: argparse.ArgumentParser, all_of_them: str) -> None:
    parser.add_argument("project", nargs="?", metavar="PROJECT", help="the project's name or key")
    parser.add_argument("--here", action="store_true", help="this directory's project")
    parser.add_argument("--all", action="store_true", help=all_of_them)


def _chosen(args: argparse.Namespace, *, optional: bool = False) -> dict[str, object]:
    given = [bool(args.project), args.here, args.all]
    if sum(given) > 1 or (not any(given) and not optional):
        raise UsageError("Specify one of: PROJECT, --here, --all.")
    if args.here:
        return {"cwd": filter_flags.here()}
    if args.project:
        return {"project": args.project}
    return {"all": True} if args.all else {}


def _run_share(args: argparse.Namespace) -> int:
    if args.now:
        chosen = _chosen(args, optional=True)
        chosen.pop("all", None)
        with output.waiting("Sending ..."):
            sent = request("POST", "/api/sharing/now", body=chosen, within_s=SLOW_S)
        count = output.plural(sent["memories"], "memory", "memories")
        failed = sent["status"]["error"]
        text = f"{count} could not be sent: {failed}" if failed else f"Sent {count}."
        return output.result(sent, text, as_json=args.json)
    before = request("GET", "/api/sharing")
    status = request("POST", "/api/sharing/share", body=_chosen(args) | {"prompts": args.prompts})
    first = "Already shared." if _settings(before) == _settings(status) else "Sharing is on."
    return output.result(status, "\n".join([first, *_shared(status)]), as_json=args.json)


def _settings(status: dict[str, Any]) -> tuple[bool, set[tuple[str, bool]]]:
    """What is shared, and how."""
    return status["shares_all"], {(each["key"], each["prompts"]) for each in status["projects"]}


def _run_unshare(args: argparse.Namespace) -> int:
    body = _chosen(args) | {"take_back": args.take_back}
    status = request("POST", "/api/sharing/unshare", body=body)
    said = "Sharing is off."
    said += " What was shared is being deleted from the server." if args.take_back else ""
    return output.result(status, "\n".join([said, *_shared(status)]), as_json=args.json)


def _run_team(args: argparse.Namespace) -> int:
    if args.accept_deletions or args.refuse_deletions:
        body = {"accept": args.accept_deletions}
        status = request("POST", "/api/sharing/consent", body=body, within_s=SLOW_S)
    elif args.sync:
        with output.waiting("Exchanging memories with the team's server ..."):
            status = request("POST", "/api/sharing/exchange", body={}, within_s=SLOW_S)
    else:
        status = request("GET", "/api/sharing")
    failed = args.sync and (not status["joined"] or bool(status["stopped"] or status["error"]))
    if failed:
        why = status["stopped"] or status["error"] or "this machine has not joined a team"
        output.message(f"Nothing was exchanged: {output.clean(why)}")
    code = WRONG if failed else OK
    return output.result(status, "\n".join(status_text(status)), as_json=args.json, code=code)


def status_text(status: dict[str, Any]) -> list[str]:
    if not status["joined"]:
        return ["This machine has not joined a team. To join one: claude-mem join URL"]
    lines = [f"{status['member']} on {status['machine']}, at {output.clean(status['url'])}"]
    last = status["last_exchange_at"]
    lines.append(f"Last exchange: {_ago(last) if last else 'none yet'}")
    if status["stopped"]:
        lines.append(f"Stopped: {output.clean(status['stopped'])}")
    elif status["error"]:
        lines.append(f"Problem: {output.clean(status['error'])}")
    if status["due"]:
        lines.append(f"To be sent: {output.plural(status['due'], 'memory', 'memories')}")
    for each in status["waiting"]:
        count = output.plural(each["memories"], "memory", "memories")
        lines.append(f"Waiting: {count}: {output.clean(each['reason'])}")
    if status["forgets"]:
        lines.append(f"Deletions to be sent: {status['forgets']:,}")
    for each in status["held"]:
        count = output.plural(each["memories"], "memory", "memories")
        who, project = output.clean(each["by"]), output.clean(each["project"])
        lines.append(
            f"Waiting for your consent: {who} wants to delete {count} of yours in {project}, here too"
        )
        lines.append(
            "  Agree: claude-mem team --accept-deletions. Keep them: claude-mem team --refuse-deletions"
        )
    lines += _shared(status)
    for each in status["received"]:
        count = output.plural(each["memories"], "memory", "memories")
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


def _ago(at: int) -> str:
    return f"{age(time.time() - at / 1000)} ago"
