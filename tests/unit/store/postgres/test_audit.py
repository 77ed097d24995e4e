from tests.harness import team_servers
from tests.harness.postgres import new_database

from claude_mem.api.team import AuditQuery, NewMember


def test_what_was_changed_is_noted_and_old_entries_are_deleted() -> None:
    with team_servers.opened(new_database()) as store:
        store.directory.begin("ada", "laptop")
        store.directory.add_member(NewMember(name="ben"))
        noted = store.directory.audit(AuditQuery())
        assert (noted[0].action, noted[0].subject) == ("member.add", "ben")
        store.directory.prune_audit(noted[-1].at)
        assert store.directory.audit(AuditQuery()) == noted
        store.directory.prune_audit(noted[0].at + 1)
        assert store.directory.audit(AuditQuery()) == ()
