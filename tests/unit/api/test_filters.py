from msgspec import structs

from claude_mem.api.filters import FilterRequest, filter_infos
from claude_mem.cli import filter_flags
from claude_mem.cli.commands import Parser
from claude_mem.model.refs import KINDS
from claude_mem.serve.http.routes import viewer_routes


def test_every_filter_but_the_directory_is_told_to_every_face() -> None:
    declared = {each.encode_name for each in structs.fields(FilterRequest)}
    assert {each.name for each in filter_infos()} == declared - {"cwd"}
    assert all(each.help for each in filter_infos())


def test_a_filter_says_what_it_takes() -> None:
    found = {each.name: each for each in filter_infos()}
    assert (found["kind"].kind, found["kind"].choices) == ("list", KINDS)
    assert (found["type"].kind, "bugfix" in found["type"].choices) == ("list", True)
    assert (found["concept"].kind, found["concept"].choices) == ("list", ())
    kinds = {name: found[name].kind for name in ("file", "pinned", "superseded", "wrong")}
    assert kinds == {"file": "text", "pinned": "flag", "superseded": "switch", "wrong": "switch"}


def test_the_command_line_has_a_flag_for_every_filter() -> None:
    parser = Parser()
    filter_flags.flags(parser)
    flags = ["--kind", "summary", "--type", "bugfix", "--pinned", "--no-wrong", "--superseded"]
    query = filter_flags.query(parser.parse_args([*flags, "--here"]))
    assert {each.name for each in filter_infos()} <= set(query)
    assert (query["kind"], query["type"], query["cwd"]) == (["summary"], ["bugfix"], filter_flags.here())
    assert (query["pinned"], query["wrong"], query["superseded"]) == ("true", "false", "true")


def test_the_viewer_has_the_same_filters() -> None:
    listed = (viewer_routes.FOLDER / "filter_list.js").read_text()
    assert all(f'"name":"{each.name}"' in listed for each in filter_infos())
