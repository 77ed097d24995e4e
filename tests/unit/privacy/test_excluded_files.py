"""Which files' contents are never recorded."""

from __future__ import annotations

import json

import pytest

from claude_mem.privacy import scrub, suspect
from claude_mem.privacy.excluded_files import (
    DEFAULT_GLOBS,
    excluded_word,
    is_excluded,
    without_excluded_lines,
)

FILES = (
    *(".env", "/home/u/p/.env", ".env.local", "/p/.env.production", ".ENV", ".envrc"),
    *("/etc/ssl/server.pem", "tls.key", "/p/a.P12", "store.jks", "secrets.kdbx"),
    *("/home/u/.ssh/id_rsa", "id_ed25519", "id_rsa.bak", "/home/u/.netrc", ".pgpass"),
    *("/home/u/.aws/credentials", "~/.aws/credentials", "/home/u/.kube/config"),
    *("prod.env", "/p/.env~", ".env_prod", "~/.npmrc", ".dev.vars", "terraform.tfstate", "prod.tfvars"),
    *("terraform.tfstate.backup", "service-account.json", "my-service-account-2.json", ".vault-token"),
    *("/home/u/.config/gcloud/application_default_credentials.json", ".my.cnf", ".boto", ".s3cfg"),
    *("kubeconfig", "secrets.yaml", "/home/u/.config/gh/hosts.yml", ".bash_history", ".zsh_history"),
    *(".htpasswd", "wallet.dat", "rclone.conf", ".pypirc", "/home/u/.docker/config.json", "a.p8"),
    *("/proc/self/environ", "~/.local/share/fish/fish_history", "~/.cargo/credentials.toml"),
    *("C:\\Users\\u\\p\\.env", "C:\\Users\\u\\.aws\\credentials", "/home/u/.claude/.credentials.json"),
    *(".env-prod", "prod.env~", "secrets.yml", "secrets.json", "secrets.toml", "local.settings.json"),
    *("prod.tfvars.json", ".terraformrc", "credentials.tfrc.json", ".vault_pass", ".vault-pass.txt"),
    *("key.properties", "keystore.properties", "a.pfx", "a.ppk", "a.keystore", "a.kdb", "id_dsa", "id_ecdsa"),
    *("secring.gpg", "office.ovpn", "keys.agekey", "_netrc", ".authinfo", "pgpass.conf", ".mylogin.cnf"),
    *(".git-credentials", "~/.config/git/credentials", "~/.gem/credentials", "~/.cargo/credentials"),
    *("/etc/shadow", ".dockercfg", "~/.codex/auth.json", "~/.composer/auth.json", ".msmtprc"),
    *("~/.oci/config", "~/.config/hub", "credentials.json", "client_secret_1.apps.json"),
    *("my_service_account.json", "serviceAccountKey.json", "~/.config/gcloud/credentials.db"),
    *("~/.config/gcloud/access_tokens.db", "~/.azure/accessTokens.json", "~/.azure/msal_token_cache.json"),
    *("u_accessKeys.csv", "kubeconfig.yaml", "prod.kubeconfig", ".histfile", "ConsoleHost_history.txt"),
)


@pytest.mark.parametrize("path", FILES)
def test_files_that_hold_secrets_are_excluded(path: str) -> None:
    assert is_excluded(path)


def test_every_row_has_a_file_that_it_excludes() -> None:
    assert [glob for glob in DEFAULT_GLOBS if not any(is_excluded(path, (glob,)) for path in FILES)] == []


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
        *("cat .e*", "cat .en?", "cat .en[v]", "cat .e{nv,x}", "cat .*", "cat ~/.aws/cred*", "cat id_*"),
        *("cd ~/.kube; cat config", "cd ~/.docker && cat config.json", "cd ~ && cd .aws && cat c*s"),
        *("cat ~/.npmrc", "tail -5 ~/.bash_history", "cat *.pem", "cat ~/.config/gh/h*.yml"),
        *("env", "printenv", "printenv HOME", "env | sort", "cd x && env", "set", "set | grep A", "sudo env"),
        *(
            "grep -v '^#' .env",
            "grep -F root ~/.bash_history",
            "cd ~/.kube && grep -v x config",
            "rg -tmd x .env",
        ),
        *(
            "grep PASS<.env",
            "sed <.env -n p",
            "sed '$r .env' f",
            "grep '.*' .env",
            "grep 'a*' .e*",
            "rg 'a.*b|.env'",
        ),
        *(
            "rg -g '.e*' x",
            "rg -ug '.e*' x",
            "rg --glob '.e*' x",
            "grep -r --include '.e*' x",
            "rg 'x' -g '.e*'",
        ),
        *("export -p", "declare -x", "make; env", "echo $(env)", "A=1 env", "/usr/bin/env", "env -0"),
    ],
)
def test_a_command_that_reads_an_excluded_file_is_noticed(command: str) -> None:
    assert excluded_word(command)


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la", "cat .env.example", "node -e 'console.log(process.env)'", "python -m venv .venv", ""),
        *("cat *", "wc -l src/*.py", "cat *.json", "rm -rf build/*", "grep -rn process.env src", "ls a*"),
        *(
            "env A=1 make",
            "set -e; make",
            "export A=1",
            "/usr/bin/env python x.py",
            "cat config",
            "cd src; ls",
        ),
        *(
            "rg 'func .*Handler' src",
            'grep -rn ".*Subagent" .',
            "git log | grep -E '.*_hist|x?'",
            "ag '.g*' src",
        ),
        *("git log --oneline", "cat conf*.py", "npm run set", "docker compose --env prod up", "cat test_*"),
    ],
)
def test_other_commands_are_not(command: str) -> None:
    assert excluded_word(command) is None


def test_a_relative_path_is_read_where_the_tool_worked() -> None:
    assert is_excluded("config", folder="/home/u/.kube")
    assert not is_excluded("/tmp/config", folder="/home/u/.kube")
    assert excluded_word("cat config", folder="/home/u/.kube")


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (".env:1:A=x\nsrc/a.py:2:A", ".env:[excluded: contents of .env]\nsrc/a.py:2:A"),
        ("./.env:A=x:y", "./.env:[excluded: contents of ./.env]"),
        ("app/prod.env-3-A=x\na-b.py-3-A", "app/prod.env:[excluded: contents of app/prod.env]\na-b.py-3-A"),
        ("a.py\n1:x\n\n.npmrc\n1:x\n2-y\n\nb.py\n3:z", "a.py\n1:x\n\n.npmrc\n\nb.py\n3:z"),
        ("process.env:1:x\nnote: .env is read", "process.env:1:x\nnote: .env is read"),
    ],
)
def test_of_what_a_search_prints_the_lines_of_excluded_files_are_left_out(found: str, kept: str) -> None:
    assert without_excluded_lines(found) == kept


def test_a_search_without_a_path_keeps_nothing_of_an_excluded_file() -> None:
    for tool, given in (("Grep", {"pattern": "A"}), ("Bash", {"command": "rg -n A"})):
        payload: dict[str, object] = {
            "tool_name": tool,
            "tool_input": given,
            "tool_response": {"content": ".env:1:A=plain\nb.py:1:A", "lines": ["x", "p/.npmrc:2:plain"]},
        }
        assert suspect.is_suspect(json.dumps(payload).encode())
        clean, _ = scrub.scrub(payload, field_cap=1000)
        assert "plain" not in str(clean)
        assert "b.py:1:A" in str(clean)


@pytest.mark.parametrize("glob", DEFAULT_GLOBS)
def test_whatever_names_an_excluded_file_is_suspect(glob: str) -> None:
    name = glob.replace("**/", "~/").replace("*", "x")
    for command in (f"cat {name}", f"cat '{name}' | sort", f"cat {name}\nls", f"cat {name};ls"):
        payload = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": "a"}}
        assert suspect.is_suspect(json.dumps(payload, separators=(",", ":")).encode()), command


@pytest.mark.parametrize(
    "command",
    [
        *("env", "env | sort", "cd x && env", "cd x; env|sort", "printenv", "set", "set | grep A"),
        *("export -p", "declare -x", "cd ~/.kube; cat config", "cat ~/.aws/cred*"),
        *("make\nenv\nls", "echo $(env)", "sudo env", "cat .e*", "cat .en?", "cat .en[v]", "cat .e{nv,x}"),
        *("cat .*", "cat id_*", "cat ~/.config/gh/h*.yml", "cat ter*state", "cat kub*"),
    ],
)
def test_whatever_prints_secrets_by_another_way_is_suspect(command: str) -> None:
    payload = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": "a"}}
    assert suspect.is_suspect(json.dumps(payload, separators=(",", ":")).encode())
