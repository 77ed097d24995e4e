"""What the worker uses of its environment: what could redirect memory only as the user approved it."""

import json
from pathlib import Path

import pytest

from claude_mem.settings import Settings, load, worker_environment
from claude_mem.settings.worker_environment import (
    approve,
    ignored,
    leave_out_unapproved,
    mark_notified,
    note_ignored,
    redirects,
    relevant,
    unapproved,
)

HOSTILE = {
    "HTTPS_PROXY": "http://198.51.100.1:8080",
    "all_proxy": "http://198.51.100.1:8080",
    "SSL_CERT_FILE": "/repository/ca.pem",
    "SSL_CERT_DIR": "/repository/ca",
    "NODE_OPTIONS": "--require /repository/x.js",
    "PGHOSTADDR": "198.51.100.1",
    "ANTHROPIC_BASE_URL": "http://198.51.100.1",
    "OPENAI_API_KEY": "sk-theirs",
    "AWS_PROFILE": "theirs",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "CLAUDE_CODE_PATH": "/repository/claude",
    "CLAUDE_CONFIG_DIR": "/repository/.claude",
    "CLAUDE_MEM_DATABASE_URL": "postgresql://198.51.100.1/x",
    "CLAUDE_MEM_BASE_URL": "http://198.51.100.1",
    "CLAUDE_MEM_API_KEY": "theirs",
    "CLAUDE_MEM_PROVIDER": "openai",
    "CLAUDE_MEM_EMBEDDER": "http://198.51.100.1",
    "CLAUDE_MEM_EMBEDDER_KEY": "theirs",
    "CLAUDE_MEM_CHROMA_URL": "http://198.51.100.1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://198.51.100.1",
    "OTEL_LOG_USER_PROMPTS": "1",
    "BETA_TRACING_ENDPOINT": "http://198.51.100.1",
    "CLAUDE_CODE_CUSTOM_OAUTH_URL": "http://198.51.100.1",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": "/repository/ca.pem",
    "GCE_METADATA_HOST": "198.51.100.1",
    "NODE_PATH": "/repository",
    "CHROMA_CLIENT_AUTH_PROVIDER": "theirs",
    "CLAUDE_MEM_EVIDENCE_DAYS": "1",
    "CLAUDE_MEM_DAILY_USD": "0",
}
OF_SESSION = {"CLAUDECODE": "1", "CLAUDE_CODE_SSE_PORT": "1", "CLAUDE_CODE_MESSAGING_SOCKET": "/repository/s"}
HARMLESS = {"PATH": "/bin", "CLAUDE_MEM_LOG_LEVEL": "DEBUG", "CLAUDE_MEM_OBSERVER": "1", "PGX": ""}


def test_what_a_repository_sets_is_left_out_and_the_rest_stays(tmp_path: Path) -> None:
    environ = HOSTILE | HARMLESS | OF_SESSION
    assert leave_out_unapproved(environ, tmp_path) == sorted(HOSTILE)
    assert environ == HARMLESS


def test_every_setting_that_names_an_address_a_program_or_a_key_must_be_approved() -> None:
    for name in HOSTILE:
        assert redirects(name, "x"), name
    assert not redirects("CLAUDE_MEM_PROVIDER", "offline"), "nothing leaves with it"


def test_what_the_user_approved_is_used_and_another_value_of_it_is_not(tmp_path: Path) -> None:
    mine = {"HTTPS_PROXY": "http://proxy.example:3128", "CLAUDE_MEM_PROVIDER": "openai"}
    assert sorted(approve(mine, tmp_path)) == sorted(mine)
    assert approve(mine, tmp_path) == [], "it is known"
    assert unapproved(mine, tmp_path) == []
    assert unapproved(mine | {"HTTPS_PROXY": "http://198.51.100.1"}, tmp_path) == ["HTTPS_PROXY"]


def test_a_value_is_approved_for_its_own_name_only_and_is_not_stored(tmp_path: Path) -> None:
    approve({"OPENAI_API_KEY": "sk-a-key-of-mine"}, tmp_path)
    assert unapproved({"ANTHROPIC_API_KEY": "sk-a-key-of-mine"}, tmp_path) == ["ANTHROPIC_API_KEY"]
    assert "sk-a-key-of-mine" not in (tmp_path / "environment.json").read_text()


def test_a_command_in_an_agents_session_approves_nothing(tmp_path: Path) -> None:
    for mark in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "GEMINI_CLI", "CODEX_THREAD_ID", "CURSOR_AGENT"):
        assert approve({**HOSTILE, mark: "1"}, tmp_path) == []
    assert unapproved(HOSTILE, tmp_path) == sorted(HOSTILE)


def test_what_the_users_own_settings_of_claude_code_set_is_used(tmp_path: Path) -> None:
    client = tmp_path / "home" / ".claude"
    client.mkdir(parents=True)
    own = {"ANTHROPIC_BASE_URL": "https://gateway.example"}
    (client / "settings.json").write_text(json.dumps({"env": own}))
    assert unapproved(own, tmp_path) == ["ANTHROPIC_BASE_URL"], "no command has said where they are"
    approve({"HOME": str(tmp_path / "home")}, tmp_path)
    assert unapproved(own, tmp_path) == []
    assert unapproved({"ANTHROPIC_BASE_URL": "http://198.51.100.1"}, tmp_path) == ["ANTHROPIC_BASE_URL"]
    (client / "settings.json").write_text("[" * 100_000)
    assert unapproved(own, tmp_path) == ["ANTHROPIC_BASE_URL"]


def test_a_file_of_approvals_that_cannot_be_read_approves_nothing(tmp_path: Path) -> None:
    for content in ("", "[]", '{"approved": [], "claude_config": 1}', "\udcff"):
        (tmp_path / "environment.json").write_bytes(content.encode("utf-8", "surrogateescape"))
        assert unapproved(HOSTILE, tmp_path) == sorted(HOSTILE)


def test_what_an_administrator_sets_for_all_sessions_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed = tmp_path / "managed-settings.json"
    monkeypatch.setattr(worker_environment, "_MANAGED", (str(managed),))
    given = {"HTTPS_PROXY": "http://proxy.example:3128"}
    assert unapproved(given, tmp_path) == ["HTTPS_PROXY"]
    managed.write_text(json.dumps({"env": given}))
    assert unapproved(given, tmp_path) == []


def test_what_was_ignored_is_noted_until_a_worker_starts_without_it(tmp_path: Path) -> None:
    note_ignored(["B", "A"], tmp_path)
    assert ignored(tmp_path) == ["A", "B"]
    note_ignored([], tmp_path)
    assert ignored(tmp_path) == []
    approve({"HTTPS_PROXY": "http://proxy.example"}, tmp_path)
    note_ignored(["A"], tmp_path)
    assert unapproved({"HTTPS_PROXY": "http://proxy.example"}, tmp_path) == []


def test_what_was_ignored_and_is_approved_is_not_named_any_more(tmp_path: Path) -> None:
    note_ignored(["HTTPS_PROXY", "PGHOST"], tmp_path)
    approve({"HTTPS_PROXY": "http://proxy.example"}, tmp_path)
    assert ignored(tmp_path) == ["PGHOST"]


def test_the_user_is_notified_of_each_once_although_sessions_with_and_without_it_take_turns(
    tmp_path: Path,
) -> None:
    assert mark_notified(["B", "A"], tmp_path) == ["A", "B"]
    assert mark_notified([], tmp_path) == []
    assert mark_notified(["A", "C"], tmp_path) == ["C"]


def test_what_matters_depends_on_what_leaves_the_machine() -> None:
    names = ["ANTHROPIC_API_KEY", "AWS_PROFILE", "CLAUDE_CODE_OAUTH_TOKEN", "HTTPS_PROXY", "OPENAI_API_KEY"]

    def of(provider: str, observer: str = "", *, joined: bool = False) -> list[str]:
        chosen = Settings(data_dir=Path("/data"), provider=provider)
        return relevant(names, chosen, observer or provider, joined=joined)

    assert of("offline") == []
    assert of("offline", joined=True) == ["HTTPS_PROXY"]
    assert of("auto", "claude") == ["CLAUDE_CODE_OAUTH_TOKEN", "HTTPS_PROXY"], "the login, and the way"
    assert of("auto", "offline") == ["CLAUDE_CODE_OAUTH_TOKEN"], "without it no model is used"
    assert of("openai") == ["HTTPS_PROXY", "OPENAI_API_KEY"]


def test_settings_of_a_worker_with_a_hostile_environment_are_the_users(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"CLAUDE_MEM_BASE_URL": "http://127.0.0.1:11434/v1"}')
    environ = HOSTILE | {"CLAUDE_MEM_DATA_DIR": str(tmp_path)}
    leave_out_unapproved(environ, tmp_path)
    chosen = load(environ)
    assert (chosen.provider, chosen.database_url, chosen.embedder) == ("auto", None, "static")
    assert chosen.base_url == "http://127.0.0.1:11434/v1"
    assert chosen.provider_variables == {}
