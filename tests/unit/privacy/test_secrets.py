"""Which text is a secret, by its shape."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.privacy import secrets, suspect
from claude_mem.privacy.secrets import RULES, redact, redact_value

EXAMPLES = sorted({(name, example) for name, _, _, example in RULES})
MARK = re.compile(r"\[redacted:[\w-]+\]")

# What of each example is the secret: the longest run without blanks, quotes and the separators of fields.
SECRETS = {
    "private-key": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "seed-phrase": "abandon ability",
    "function-key": "AbCdEfGhIjKlMnOpQrSt0123456789",
    "app-password": "mnop",
    "twilio-token": "fedcba9876543210fedcba9876543210",
    "slack-webhook": "AbCdEfGhIjKlMnOpQrStUvWx",
    "azure-signature": "q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C%3D",
    "azure-key": "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYg==",
}


def secret_of(name: str, example: str) -> str:
    if "hunter2hunter2" in example:
        return "hunter2hunter2"
    return SECRETS.get(name) or max(re.split(r"[\s\"'=:]+", example), key=len)


def spellings(example: str) -> dict[str, str]:
    line = {"stdout": f"first\n{example}\tlast"}
    return {
        "alone": example,
        "in prose": f"The log of yesterday has {example} in it, I fear.",
        "in brackets": f"({example})",
        "in quotes": f"run '{example}'",
        "all of a string in nested JSON": json.dumps({"inner": json.dumps({"config": example})}),
        "in JSON": json.dumps(line),
        "in nested JSON": json.dumps({"body": json.dumps(line)}),
        "in twice nested JSON": json.dumps({"outer": json.dumps({"body": json.dumps(line)})}),
        "in capital company": f"KEY {example} END",
    }


def test_every_rule_redacts_its_own_example_wherever_it_stands(subtests: pytest.Subtests) -> None:
    for name, example in EXAMPLES:
        with subtests.test(name):
            for where, text in spellings(example).items():
                clean = redact(text)
                assert secret_of(name, example) not in clean, where
                assert MARK.search(clean), where
                assert redact(clean) == clean, where


def test_every_rule_is_found_by_one_of_its_keywords(subtests: pytest.Subtests) -> None:
    for name, keyword, pattern, example in RULES:
        with subtests.test(name, keyword=keyword):
            assert keyword == keyword.lower()
            siblings = [k for n, k, p, e in RULES if (n, p, e) == (name, pattern, example)]
            assert any(sibling in example.lower() for sibling in siblings)
            if pattern:  # without it, what others do not know stays: no row is there for show
                own = tuple((name, sibling, pattern, example) for sibling in siblings)
                assert f"[redacted:{name}]" in redact(example, rules=own)


def test_every_current_prefix_of_a_family_is_known(subtests: pytest.Subtests) -> None:
    for token in (
        *(f"gh{kind}_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789" for kind in "pousr"),
        "ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjE2OTAwMDAwMDB9.AbCd-EfGh_IjKl",
        *(
            f"gl{kind}-AbCdEfGh1jKlMnOpQrSt"
            for kind in (
                "pat",
                "dt",
                "rt",
                "rtr",
                "ptt",
                "cbt",
                "imt",
                "agent",
                "ft",
                "soat",
                "ffct",
                "oas",
                "wt",
            )
        ),
        *(f"{prefix}IOSFODNN7EXAMPLE" for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
        *(f"xox{kind}-1234567890-AbCdEfGhIjKl" for kind in "abeprs"),
        *(f"{mode}_{kind}_AbCdEfGhIjKlMnOp" for mode in ("sk", "rk") for kind in ("live", "test")),
        *(f"sk-{kind}-AbCdEfGhIjKlMnOpQrStUvWxYz" for kind in ("proj", "svcacct", "admin")),
        *(f"shp{kind}_0123456789abcdef0123456789abcdef" for kind in ("at", "ca", "pa", "ss")),
        *(f"sntry{kind}_0123456789abcdef0123456789abcdef" for kind in "suai"),
        *(f"hv{kind}.AbCdEfGhIjKlMnOpQrStUvWx" for kind in "sbr"),
    ):
        with subtests.test(token):
            assert redact(f"x {token} y") == f"x {MARK.search(redact(token))[0]} y"  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("PASSWORD=hunter2", "hunter2"),
        ("DB_PASSWORD=postgres", "postgres"),
        ("password: hunter2", "hunter2"),
        ("password = 'abcdef'", "abcdef"),
        ('"password": "hunter2hunter2"', "hunter2hunter2"),
        (r"{\"password\": \"hunter2hunter2\"}", "hunter2hunter2"),
        (r"{\\\"api_key\\\": \\\"abc123def456\\\"}", "abc123def456"),
        (r'password = "ab\"cd1234"', "cd1234"),
        ('api_key: str = "a1b2c3d4e5f6"', "a1b2c3d4e5f6"),
        ("const apiKey: string = 'a1b2c3d4e5f6'", "a1b2c3d4e5f6"),
        ('config["token"] = "a1b2c3d4e5"', "a1b2c3d4e5"),
        ('token      = "a1b2c3d4e5f6"', "a1b2c3d4e5f6"),
        ('token\t:= "a1b2c3d4e5f6"', "a1b2c3d4e5f6"),
        (':password => "hunter2hunter2"', "hunter2hunter2"),
        ("mysql --password hunter2x", "hunter2x"),
        ("tool --auth-token a1b2c3d4e5f6", "a1b2c3d4e5f6"),
        ("ALTER USER a WITH PASSWORD 'hunter2hunter2';", "hunter2hunter2"),
        ("my password is hunter2, tell nobody", "hunter2"),
        ("<password>hunter2hunter2</password>", "hunter2hunter2"),
        ("Server=x;User Id=sa;Password=Pa55w0rd!;", "Pa55w0rd!"),
        ("Server=x;Uid=sa;Pwd=Pa55w0rd!;", "Pa55w0rd!"),
        ("X-Api-Key: abcdef0123456789", "abcdef0123456789"),
        ("https://x.org/?access_token=a1b2c3d4e5f6&x=1", "a1b2c3d4e5f6"),
        ("SECRET=" + "a1" * 2000, "a1a1"),
        ('SECRET="' + "a1" * 2000 + '"', "a1a1"),
        ("redis://:p4ssw0rd@localhost:6379/0", "p4ssw0rd"),
        ("postgres://u:pa/ss1@host/db", "ss1"),
        (r"mysql:\/\/u:p4ssw0rd@host\/db", "p4ssw0rd"),
        ("curl --user 'admin:s3cr3t!!' http://x", "s3cr3t!!"),
        ("Authorization: Token 9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b", "9944b09"),
        ("Proxy-Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ],
)
def test_an_assignment_is_redacted_in_every_usual_spelling(text: str, secret: str) -> None:
    clean = redact(text)
    assert secret not in clean
    assert redact(clean) == clean


def test_only_the_value_is_redacted() -> None:
    assert redact("export DB_PASSWORD=hunter2 && run") == "export DB_PASSWORD=[redacted:assignment] && run"
    assert redact("psql postgres://app:hunter2@db/x") == "psql postgres://app:[redacted:url-password]@db/x"


BENIGN = r"""
max_tokens = 4096
token = get_token()
password: str
password: str = Field(min_length=8)
tokenizer=AutoTokenizer.from_pretrained("gpt2")
os.environ["API_KEY"]
api_key = os.environ["OPENAI_API_KEY"]
const apiKey = process.env.API_KEY
TOKEN=$OTHER
PASSWORD=${X}
API_KEY=prefix-${KEY_1}
--token "$TOKEN"
export API_KEY=<your-api-key>
API_KEY=your-api-key-here
API_KEY=xxxxxxxxxxxxxxxx
token: ${{ secrets.GITHUB_TOKEN }}
commit 3f786850e387550fdab836ed7e6dc881de23001b
session 550e8400-e29b-41d4-a716-446655440000
/home/u/src/secrets/token_store.py:42: password
if password == "":
if (user.password !== confirm) {
self.password = password
client = Client(token=token, secret=self.secret)
password=args.password
access_token=access_token
csrf_token: Optional[str] = None
token_type = "Bearer"
passwords = ["one", "two"]
password: "********"
"password": {"type": "string", "minLength": 8}
"password": "string"
<input type="password" name="password" id="pw1">
def check_password(raw: str, hashed: str) -> bool:
password_hash VARCHAR(255)
secret: my-app-secret
secret_name: "prod/db/password"
private_key: PKCS7PrivateKeyTypes,
The token is invalid or has expired.
Authorization: Bearer ${TOKEN}
Authorization: Bearer <token>
basic authorization is not enough
"input_tokens":3,"cache_read_input_tokens":11021
git clone https://github.com/user/repo.git
postgres://user:password@localhost/db
http://localhost:3000/@vite/client
git@github.com:user/repo.git
ssh://git@github.com:22/user/repo.git
npm_config_registry=https://registry.npmjs.org/
task-notification sk-learn risk-free hf_hub_download
sha512-9bI6nRqJ8zO2Xy3VxwZ5kq0g==
arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-1a2b3c
"AWS::SecretsManager::Secret": "2eb55aaee5aade37"
if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError
docker run -u 1000:1000 image
The command is wired to pass `--interrupted` on
Join-Path $PWD "gomodcache"
""".strip().splitlines()


def test_ordinary_code_is_left_alone(subtests: pytest.Subtests) -> None:
    for line in BENIGN:
        with subtests.test(line):
            assert redact(line) == line
            assert redact(json.dumps({"content": line})) == json.dumps({"content": line})


def test_a_page_of_ordinary_code_is_left_alone() -> None:
    page = "\n".join(BENIGN)
    assert redact(page) == page


KEY_KINDS = ["", "RSA ", "EC ", "DSA ", "ENCRYPTED ", "OPENSSH "]
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"


@pytest.mark.parametrize("kind", KEY_KINDS)
def test_a_private_key_block_is_hidden_from_begin_to_end(kind: str) -> None:
    block = f"-----BEGIN {kind}PRIVATE KEY-----\n{BODY}\n-----END {kind}PRIVATE KEY-----"
    assert redact(f"a\n{block}\nb") == "a\n[redacted:private-key]\nb"
    assert redact(f"{block}\nmid\n{block}") == "[redacted:private-key]\nmid\n[redacted:private-key]"
    assert BODY not in redact(json.dumps(json.dumps(f"a {block} b")))


@pytest.mark.parametrize(
    "block",
    [
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----",
        f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{BODY}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        f"-----begin private key-----\n{BODY}\n-----end private key-----",
        f"+-----BEGIN PRIVATE KEY-----\n+{BODY}\n+-----END PRIVATE KEY-----",
    ],
)
def test_other_kinds_of_key_blocks_are_hidden_too(block: str) -> None:
    clean = redact(f"a {block} b")
    assert BODY not in clean
    assert clean.startswith("a ")
    assert clean.endswith(" b")


def test_a_private_key_block_without_end_hides_to_the_end_of_the_text() -> None:
    assert redact(f"a -----BEGIN PRIVATE KEY-----\n{BODY}\nmore") == "a [redacted:private-key]"


def test_a_private_key_block_without_begin_hides_what_precedes_its_end() -> None:
    assert redact(f"{BODY}\n-----END PRIVATE KEY-----\nb") == "[redacted:private-key]\nb"


def test_a_public_key_is_kept() -> None:
    public = f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----"
    assert redact(f"{public}\nno private key- here") == f"{public}\nno private key- here"


def test_a_users_own_pattern_is_redacted_under_its_name() -> None:
    assert redact("badge ACME-1234 here", (("acme", r"ACME-\d+"),)) == "badge [redacted:acme] here"


def test_a_users_own_pattern_cannot_redact_the_marks() -> None:
    once = redact("PASSWORD=hunter2 word", (("word", r"\w+"),))
    assert redact(once, (("word", r"\w+"),)) == once


def test_a_users_broken_pattern_is_passed_over() -> None:
    assert redact("PASSWORD=hunter2", (("broken", "("),)) == "PASSWORD=[redacted:assignment]"


@pytest.mark.parametrize(
    ("key", "value", "hidden"),
    [
        ("password", "hunter2", True),
        ("DB_PASSWORD", "correct horse battery", True),
        ("api_key", "a1b2c3d4e5f6", True),
        ("accessToken", "a1b2c3d4e5f6", True),
        ("Authorization", "Basic dXNlcjpwYXNz", True),
        ("password", "${PASSWORD}", False),
        ("password", "[redacted:assignment]", False),
        ("token", "abc", False),
        ("max_tokens", "4096000000", False),
        ("content", "a1b2c3d4e5f6", False),
    ],
)
def test_the_key_of_a_mapping_tells_that_its_value_is_secret(key: str, value: str, hidden: bool) -> None:
    assert (redact_value(key, value) != value) is hidden


def test_re_is_not_imported_for_text_that_needs_no_pattern() -> None:
    """Six milliseconds of every hook; checked in a process of its own, as a hook runs."""
    program = (
        "import sys; sys.path[:0] = [sys.argv[1]]; from claude_mem.privacy import secrets;"
        "assert secrets.redact('DB_PASSWORD=hunter2 at http://a:b1@c') != '';"
        "sys.exit('re' in sys.modules or 'os' in sys.modules)"
    )
    source = secrets.__file__.rsplit("/", 3)[0]
    assert subprocess.run([sys.executable, "-I", "-S", "-c", program, source], check=False).returncode == 0


def test_there_are_rules_for_many_kinds_of_secrets() -> None:
    assert len({name for name, _, _, _ in RULES}) >= 40


PIECES = st.sampled_from(
    [
        *(example for _, example in EXAMPLES),
        *(keyword for _, keyword, _, _ in RULES),
        *(
            "=",
            ":",
            " ",
            '"',
            "'",
            "\\",
            "\n",
            "://",
            "@",
            "/",
            "-",
            "--",
            "a1b2c3d4e5f6",
            "[",
            "]",
            "İ",
            "&",
            ".",
        ),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


def test_what_one_redaction_uncovers_is_redacted_in_the_same_call() -> None:
    """A command's second password: the first, once it is a mark, is passed over."""
    once = redact("ldappasswd -s hunter2hunter2 -w 0therPassw0rd")
    assert once.count("[redacted:command-password]") == 2
    assert redact(once) == once


@given(st.text())
def test_any_text_at_all_can_be_redacted(text: str) -> None:
    redact(text + "password=" + text + "private key-" + text + "://" + text)


@pytest.mark.parametrize(
    "name", ["password", "token", "api key", "пароль", "Authorization", "cookie", "sshpass -p"]
)
@pytest.mark.parametrize("rest", ["", " ", ": ", "=", ' "', " '", "\n", ": \n", "\\", '"', " is "])
def test_a_text_may_end_anywhere_after_a_name(name: str, rest: str) -> None:
    assert redact(f"use {name}{rest}") == f"use {name}{rest}"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("DB_PASSWORD='#Kp92mmQzA'", "Kp92mmQzA"),
        ("postgres://app:your9Kp92mm@db/app", "your9Kp92mm"),
        ("DB_PASSWORD=Summer.Winter22", "Summer"),
        ("VAULT_TOKEN=s.jgrQFaLVmpntyAbCdEfGhIjK", "jgrQFaLV"),
        ("https://x/?user=app&password=sgAhrlmuPVHo", "sgAhrlmuPVHo"),
        ("client_secret=zPUqbSuyHFCmLVe1XpJb", "zPUqbSuy"),
        ('password: "correct horse 9 battery"', "battery"),
        ("DB_PASSWORD=Kp92;mmQzBaaa", "mmQzBaaa"),
        ("DB_PASSWORD=Kp92&mmQzBaaa", "mmQzBaaa"),
        ('DB_PASSWORD=Kp92"mmQzBaaa', "mmQzBaaa"),
        ("DB_PASSWORD=Kp92\\mmQzBaaa", "mmQzBaaa"),
        ("SMTP_PASS=abcd efgh ijkl mnop", "mnop"),
    ],
)
def test_what_looks_like_a_placeholder_or_code_is_hidden_and_never_by_half(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert suspect.is_suspect(json.dumps({"stdout": text}).encode())


@pytest.mark.parametrize(
    "line", ["Cookie: lang=en; x1={}", "Set-Cookie: PREF={}; Path=/", 'headers = {{"Cookie": "a=b; zz={}"}}']
)
def test_a_cookie_is_hidden_whatever_its_name(line: str) -> None:
    value = "8jq2k1m0zx7w5v3t9r4p6n"
    assert value not in redact(line.format(value))
