"""Which files' contents are never recorded."""

from __future__ import annotations

import pytest

from claude_mem.privacy.excluded_files import excluded_word, is_excluded


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "/home/u/p/.env", ".env.local", "/p/.env.production", ".ENV", ".envrc"),
        *("/etc/ssl/server.pem", "tls.key", "/p/a.P12", "store.jks", "secrets.kdbx"),
        *("/home/u/.ssh/id_rsa", "id_ed25519", "id_rsa.bak", "/home/u/.netrc", ".pgpass"),
        *("/home/u/.aws/credentials", "~/.aws/credentials", "/home/u/.kube/config"),
        *("C:\\Users\\u\\p\\.env", "C:\\Users\\u\\.aws\\credentials", "/home/u/.claude/.credentials.json"),
    ],
)
def test_files_that_hold_secrets_are_excluded(path: str) -> None:
    assert is_excluded(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", "/p/.env.sample", ".env.template", "id_rsa.pub", "id_ed25519.pub"),
        *("environment.py", "/p/.environ", "env", "src/env.ts", "/p/.env/readme.md", "process.env"),
        *("monkey.py", "keys.py", "key", "pem.go", "config", "/p/credentials", "", "/"),
    ],
)
def test_files_written_to_be_shared_are_not(path: str) -> None:
    assert not is_excluded(path)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.secret", "/p/a.secret", True),
        ("*.secret", "/p/a.secret/b", False),
        ("a?c", "/p/abc", True),
        ("a?c", "/p/ac", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXcYb", False),
        ("*", "anything", True),
        ("ab*ba", "aba", False),
        ("*?x", "x", False),
        ("*?x*", "yx", True),
        ("secrets/*", "/home/u/p/secrets/a.json", True),
        ("secrets/*", "/home/u/p/secrets/deep/a.json", False),
        ("secrets/**", "/home/u/p/secrets/deep/a.json", True),
        ("/etc/**/x", "/etc/a/b/x", True),
        ("/etc/**/x", "/etc/x", True),
        ("/etc/**/x", "/home/etc/x", False),
        ("**/b/**/d", "/a/b/c/b/d", True),
        ("**/b/**/d", "/a/b/c/b/e", False),
        ("~/private/*", "/home/u/private/a", True),
    ],
)
def test_globs_mean_what_they_mean_in_a_shell(glob: str, path: str, expected: bool) -> None:
    assert is_excluded(path, (glob,)) is expected


@pytest.mark.parametrize(
    "command",
    [
        *("cat .env", "cat ./.env | sort", 'cat "$HOME/.env"', "source .env && env", "grep KEY .env.local"),
        *("cat<.env", "x=$(cat .env)", "cat .env*", "openssl rsa -in server.key", "diff a.txt '.env'"),
        *("docker run --env-file=.env image", "cat a\n.env", "cat `.env`", "cat .env.example .env"),
    ],
)
def test_a_command_that_reads_an_excluded_file_is_noticed(command: str) -> None:
    assert excluded_word(command)


@pytest.mark.parametrize(
    "command",
    ["ls -la", "cat .env.example", "node -e 'console.log(process.env)'", "python -m venv .venv", ""],
)
def test_other_commands_are_not(command: str) -> None:
    assert excluded_word(command) is None
