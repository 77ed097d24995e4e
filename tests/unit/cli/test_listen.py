"""Where a team's server listens, as it is typed."""

from __future__ import annotations

import pytest

from claude_mem.cli.commands.server_setup import _listen


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("37780", ("127.0.0.1", 37780)),
        (":443", ("0.0.0.0", 443)),
        ("0.0.0.0:443", ("0.0.0.0", 443)),
        ("[::1]:443", ("::1", 443)),
    ],
)
def test_a_port_alone_is_of_this_machine_only(text: str, address: tuple[str, int]) -> None:
    assert _listen(text) == address
