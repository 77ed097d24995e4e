"""A session's work with the real client."""

from __future__ import annotations

from claude_mem.testing.claude import Claude, Playing
from claude_mem.testing.model_server import ModelServer, Say, Use


def test_what_the_client_did_is_remembered(claude: Claude) -> None:
    claude.connect()
    write = Use("Write", {"file_path": str(claude.project / "a.py"), "content": "A = 1\n"})
    with ModelServer(Playing([Say("Writing.", uses=(write,)), Say("Done.")])) as server:
        ran = claude.run(server, "Make a.py.")
    assert (ran.code, ran.result, ran.err) == (0, "Done.", "")
    claude.settle()
    assert claude.rows("SELECT tool_use_id FROM pending_messages WHERE tool_name = 'Write'") == [(write.id,)]
