"""Doctor says whether Claude Code is connected, and what to do if not."""

from claude_mem.cli.doctor.connecting import Connected, judge


def test_an_unconnected_client_is_named_with_the_command_that_connects_it() -> None:
    (finding,) = judge(Connected(()))
    assert (finding.level, finding.next) == ("bad", "claude-mem install")
    assert finding.stops == "Claude Code is not connected"


def test_a_connection_of_another_version_or_place_is_to_be_made_anew() -> None:
    (finding,) = judge(Connected(("as a plugin (user)",), current=False))
    assert (finding.level, finding.next) == ("warn", "claude-mem install")


def test_a_connection_is_told_with_how_it_was_made() -> None:
    (finding,) = judge(Connected(("by settings (project)",)))
    assert (finding.level, finding.says) == ("ok", "Claude Code is connected by settings (project)")
