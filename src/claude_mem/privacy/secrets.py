"""Secrets, known by their shape.

One long file on purpose: the table is the decision, and a reader wants all of it in view. A rule is its name,
a lower-case keyword that is cheap to look for, a pattern, and an example that the tests feed to it. A rule
with several keywords stands in RULES once for each. Where the pattern is empty, a scanner below finds the
secret: for private keys, URLs and assignments a regular expression would be slow, or wrong.

Formats: the vendors' own documents as of 2026. Best effort, and promised as no more.

Three habits keep every pattern linear and redaction idempotent: nothing unbounded stands before the keyword;
a class that repeats without bound is either the pattern's end or guarded by a look-behind for the same
class; and the end takes every letter and digit that follows, so that no match begins where another ended.
"""

from __future__ import annotations

# A token may follow a newline or tab that nested JSON spells as backslash and letter: \nAKIA…
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_RUN_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"

# Name, keywords separated by |, pattern (its group, if it has one, is the secret), example.
# fmt: off
# ruff: noqa: E501 - a rule reads as one row
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    # Clouds
    ("aws-key-id", "akia|asia|abia|acca", _START + r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}[0-9A-Za-z]*", "AKIAIOSFODNN7EXAMPLE"),
    ("aws-secret-key", "secret_access_key|secretaccesskey", r"(?i:secret_?access_?key)[\"'\\ \t:=]{1,24}([A-Za-z0-9/+]{40,})", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("google-key", "aiza", r"AIza[\w-]{35,}", "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
    ("google-oauth", "ya29.|gocspx-", r"(?:ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,})", "ya29.a0AfH6SMBx1234567890abcdefghij"),
    ("google-service-account", "private_key_id", r"private_key_id[\"'\\ :=]{1,24}([0-9A-Za-z]{40,})", '"private_key_id": "0123456789abcdef0123456789abcdef01234567"'),
    ("azure-key", "accountkey=|sharedaccesskey=", r"(?i:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})", "AccountName=x;AccountKey=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYg=="),
    ("azure-signature", "?sig=|&sig=", r"[?&]sig=([A-Za-z0-9%+/]{30,}=*)", "https://a.blob.core.windows.net/c?sv=2024&sig=q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C%3D"),
    ("azure-client-secret", "q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[\w~.-]{31,}", "abc8Q~dEfGhIjKlMnOpQrStUvWxYz0123456789Ab"),
    ("digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", r"do[opr]_v1_[0-9A-Za-z]{40,}", "dop_v1_" + "0123456789abcdef" * 4),
    ("cloudflare-origin-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9A-Za-z]{100,}", "v1.0-" + "0123456789abcdef01234567-" + "0123456789abcdef" * 9),
    ("alibaba-key-id", "ltai", _START + r"LTAI[0-9A-Za-z]{12,}", "LTAI5tAbCdEfGhIjKlMnOpQr"),
    ("heroku-key", "hrku-", r"HRKU-[\w-]{30,}", "HRKU-AA0123456789-abcdefghijklmnopqrstuv"),
    ("supabase-token", "sbp_", _START + r"sbp_[0-9A-Za-z]{40,}", "sbp_" + "0123456789abcdef" * 2 + "01234567"),
    ("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w.-]{30,}", "pscale_tkn_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abc"),
    # Models
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}", "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx-0123456789_AA"),
    ("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9A-Za-z]{32,}", "sk-or-v1-" + "0123456789abcdef" * 4),
    ("openai-key", "sk-proj-|sk-svcacct-|sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{20,}", "sk-proj-AbCdEfGhIjKl_MnOpQrStT3BlbkFJuVwXyZ-0123456789"),
    ("sk-key", "sk-", _START + r"sk-[0-9A-Za-z]{32,}", "sk-AbCdEfGhIjKlMnOpQrStT3BlbkFJuVwXyZ0123456789AbCd"),
    ("groq-key", "gsk_", _START + r"gsk_[0-9A-Za-z]{32,}", "gsk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOp"),
    ("huggingface-token", "hf_", _START + r"hf_[0-9A-Za-z]{30,}", "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"),
    ("replicate-token", "r8_", _START + r"r8_[0-9A-Za-z]{30,}", "r8_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789A"),
    ("perplexity-key", "pplx-", r"pplx-[0-9A-Za-z]{32,}", "pplx-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl"),
    ("xai-key", "xai-", _START + r"xai-[0-9A-Za-z]{40,}", "xai-" + "AbCdEfGhIj0123456789" * 4),
    ("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,}", "nvapi-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl_MnOp-Qr"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_\w{32,}", "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789"),
    # Code hosts and registries. Since April 2026 ghs_ holds a JWT, dots and all.
    ("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[\w.-]{30,}", "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("github-token", "github_pat_", r"github_pat_\w{22,}", "github_pat_11ABCDEFG0AbCdEfGhIjKl_MnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123"),
    ("gitlab-token", "glpat-|gldt-|glrt-|glrtr-|glptt-|glcbt-|glimt-|glagent-|glft-|glsoat-|glffct-|gloas-|glwt-", r"gl(?:pat|dt|rtr?|ptt|cbt|imt|agent|ft|soat|ffct|oas|wt)-[\w.-]{16,}=*", "glpat-AbCdEfGh_jKlMnOp-rSt"),
    ("gitlab-token", "gr1348941", r"GR1348941[\w-]{16,}", "GR1348941AbCdEfGhIjKlMnOpQrSt"),
    ("atlassian-token", "atctt3|atatt3", r"AT[CA]TT3[\w=-]{50,}", "ATCTT3xFfGN0" + "AbCdEfGh_jKlMnOp-rSt" * 4 + "=0123ABCD"),
    ("bitbucket-password", "atbb", _START + r"ATBB[0-9A-Za-z]{24,}", "ATBBAbCdEfGhIjKlMnOpQrStUvWx01234567"),
    ("npm-token", "npm_", _START + r"npm_[0-9A-Za-z]{36,}", "npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("pypi-token", "pypi-age", r"pypi-AgE[\w-]{50,}", "pypi-AgEIcHlwaS5vcmcCJ" + "AbCdEfGhIjKlMnOpQrSt" * 4),
    ("crates-token", "cio", _START + r"cio[0-9A-Za-z]{32,}", "cioAbCdEfGhIjKlMnOpQrStUvWxYz0123456"),
    ("rubygems-key", "rubygems_", r"rubygems_[0-9A-Za-z]{40,}", "rubygems_" + "0123456789abcdef" * 3),
    ("docker-token", "dckr_pat_|dckr_oat_", r"dckr_[po]at_[\w-]{20,}", "dckr_pat_AbCdEfGhIjKlMnOpQrSt-0123_45"),
    # Messages and mail
    ("slack-token", "xox", _START + r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}", "xoxb-1234567890-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
    ("slack-token", "xapp-", r"xapp-[0-9]-[\w-]{20,}", "xapp-1-A0123456789-1234567890123-0123456789abcdef0123456789abcdef"),
    ("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,})", "https://hooks.slack.com/services/T01234567/B01234567/AbCdEfGhIjKlMnOpQrStUvWx"),
    ("discord-webhook", "/api/webhooks/", r"/api/webhooks/([0-9]{15,20}/[\w-]{40,})", "https://discord.com/api/webhooks/123456789012345678/" + "AbCdEfGhIjKlMnOp_rSt-vWxYz0123456789" * 2),
    ("discord-token", "discord", _RUN_START + r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}", "DISCORD: MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.AbCdEfGhIjKlMnOpQrStUvWxYz0"),
    ("telegram-token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{32,}", "1234567890:AAbCdEfGhIjKlMnOpQrStUvWxYz01234567"),
    ("twilio-key", "twilio", _START + r"SK[0-9a-f]{32}[0-9A-Za-z]*", "twilio SK0123456789abcdef0123456789abcdef"),
    ("sendgrid-key", "sg.", _RUN_START + r"SG\.[\w-]{16,32}\.[\w-]{16,}", "SG.AbCdEfGhIjKlMnOpQrStUv.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG"),
    ("mailgun-key", "mailgun", _RUN_START + r"(?:key-[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})[\w-]*", "mailgun key-0123456789abcdef0123456789abcdef"),
    # Money and shops
    ("stripe-key", "k_live_|k_test_", _START + r"[sr]k_(?:live|test)_[0-9A-Za-z]{10,}", "sk_live_AbCdEfGhIjKlMnOpQrStUvWx"),
    ("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{20,}=*", "whsec_AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("square-token", "sq0", r"sq0[a-z]{3}-[\w-]{22,}", "sq0atp-AbCdEfGhIjKlMnOpQrStUv"),
    ("square-token", "eaaa", r"(?:(?<![\w/+-])|(?<=\\[nrt]))EAAA[\w-]{56,}", "EAAA" + "AbCdEfGhIjKlMnOp_rSt" * 3),
    ("shopify-token", "shpat_|shpca_|shppa_|shpss_", r"shp(?:at|ca|pa|ss)_[0-9A-Za-z]{32,}", "shpat_0123456789abcdef0123456789abcdef"),
    # Tools
    ("linear-key", "lin_api_|lin_oauth_", r"lin_(?:api|oauth)_[0-9A-Za-z]{32,}", "lin_api_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd"),
    ("notion-token", "ntn_|secret_", _START + r"(?:ntn_|secret_)[0-9A-Za-z]{40,}", "ntn_123456789012AbCdEfGhIjKlMnOpQrStUvWxYz01234567"),
    ("figma-token", "figd_", r"figd_[\w-]{36,}", "figd_AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_Ab"),
    ("postman-key", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9A-Za-z]{30,}", "PMAK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01"),
    ("grafana-token", "glsa_|glc_", _START + r"gl(?:sa|c)_[\w+/]{32,}=*", "glsa_AbCdEfGhIjKlMnOpQrStUvWxYz012345_0123abcd"),
    ("newrelic-key", "nrak-", r"NRAK-[0-9A-Za-z]{24,}", "NRAK-ABCDEFGHIJKLMNOPQRSTUVWXYZ0"),
    ("sentry-token", "sntrys_|sntryu_|sntrya_|sntryi_", r"sntry[suai]_[\w+/.-]{30,}=*", "sntrys_eyJpYXQiOjE2OTAwMDAwMDB9_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("vault-token", "hvs.|hvb.|hvr.", _START + r"hv[sbr]\.[\w-]{20,}", "hvs.CAESIAbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("terraform-token", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[\w-]{40,}", "AbCdEfGhIjKlMn.atlasv1." + "AbCdEfGhIjKlMnOp_rSt" * 3),
    ("databricks-token", "dapi", _START + r"dapi[0-9a-f]{32}[\w-]*", "dapi0123456789abcdef0123456789abcdef-2"),
    ("doppler-token", "dp.pt.|dp.st.", _START + r"dp\.[ps]t\.[\w.-]{30,}", "dp.pt.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd"),
    ("age-key", "age-secret-key-1", r"(?i:AGE-SECRET-KEY-1)[0-9A-Za-z]{50,}", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("1password-token", "ops_eyj", r"ops_eyJ[\w+/-]{50,}=*", "ops_eyJ" + "zaWduSW5BZGRyZXNzIjoibXku" * 4),
    # Shapes that no one vendor owns
    ("jwt", "eyj", _RUN_START + r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"),
    ("bearer-token", "bearer ", r"(?i:bearer)[ ]{1,4}((?=[A-Za-z_~+/.-]{0,60}[0-9])[\w.~+/-]{12,}=*)", "Authorization: Bearer 0b79bab50daca910b000d4f1a2b675d604257e42"),
    ("authorization", "authorization", r"(?i:authorization[\"'\\]{0,9}[ ]{0,4}[:=][ ]{0,4}[\"'\\]{0,9}(?:basic|token|apikey|digest))[ ]{1,4}([\w.~+/-]{6,}=*)", "Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg=="),
    ("curl-user", "curl ", r"(?<=[ \t])(?:-u|--user)[ =]{1,2}[\"'\\]{0,5}[\w.@-]{1,64}:((?!\[redacted:)[^\s\"'\\$<{:]{4,})", "curl -u admin:hunter2hunter2 https://example.com/"),
    ("private-key", "private key-|private key -|private key block", "", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"),
    ("url-password", r"://|:\/\/", "", "postgresql://app:hunter2hunter2@db.internal:5432/app"),
    ("assignment", "password|passwd|passphrase|_pass|_pwd|;pwd|secret", "", 'DB_PASSWORD="hunter2hunter2"'),
    ("assignment", "api_key|apikey|api-key|access_key|accesskey|access-key|auth_key|private_key|privatekey|encryption_key|signing_key|account_key", "", "API_KEY=0123456789abcdef"),
    # Not plain `token`: models count tokens, parsers make them, and every such payload would be parsed.
    ("assignment", "token=|token:|token =|token :|token  |token\"|token'|token\\|token\t|token>|-token |token is ", "", "TOKEN=0123456789abcdef"),
)
# fmt: on

RULES: tuple[tuple[str, str, str, str], ...] = tuple(
    (name, keyword, pattern, example)
    for name, keywords, pattern, example in _TABLE
    for keyword in keywords.split("|")
)

_MARK = "[redacted:"

# What a name must end with for its value to be taken for a secret. A password may be any word; the value of
# the others must look random, since code is full of tokens and keys that are not secret.
_PASSWORDS = ("password", "passwd", "passphrase", "_pass", "_pwd", ";pwd")
_KEYS = (
    *("secret", "token", "api_key", "apikey", "api-key", "access_key", "accesskey", "access-key", "auth_key"),
    *("secret_key", "secretkey", "secret-key", "secret_key_base", "private_key", "privatekey"),
    *("encryption_key", "signing_key", "account_key"),
)
_HEADERS = ("authorization", "cookie")

_BLANK = " \t\r\n"
_QUOTES = "\"'`"
_URL_ENDS = (*_BLANK, *_QUOTES, "<", ">", _MARK)
_VALUE_ENDS = (*_URL_ENDS, "\\", ";", "&", "|")
_DIGITS = "0123456789"
_WORDS = frozenset(
    ("string", "required", "optional", "undefined", "password", "pass", "passwd", "pwd", "secret", "boolean")
)
_PASSES = 4  # what a mark replaced may have kept its surroundings from being seen for what they are
_LONGEST_LOOK = 256  # of a value, before deciding: keeps `token=token=token=…` linear


def relevant(text: str) -> tuple[tuple[str, str, str, str], ...]:
    """The rules whose keyword occurs in the text: all that need be tried on any part of it."""
    low = text.lower()
    return tuple(rule for rule in RULES if rule[1] in low)


def redact(
    text: str,
    extra: tuple[tuple[str, str], ...] = (),
    rules: tuple[tuple[str, str, str, str], ...] = RULES,
) -> str:
    """Replace every secret by `[redacted:<rule>]`. `extra` are the user's own (name, pattern) pairs."""
    for _ in range(_PASSES):
        before = text
        text = _redact_once(text, extra, rules)
        if text == before:
            break
    return text


def _redact_once(
    text: str, extra: tuple[tuple[str, str], ...], rules: tuple[tuple[str, str, str, str], ...]
) -> str:
    low = text.lower()
    live = {pattern or name: name for name, keyword, pattern, _ in rules if keyword in low}
    if "private-key" in live:
        text = _without_key_blocks(text)
    text = _without_matches(text, {pattern: name for pattern, name in live.items() if pattern != name}, extra)
    if "url-password" in live:
        text = _replace(text, _url_passwords(text), "url-password")
    if "assignment" in live:
        text = _replace(text, _assigned(text), "assignment")
    return text


def redact_value(key: str, value: str) -> str:
    """Redact the value of a parsed mapping, whose key alone may say that it is a secret."""
    low = key.lower()
    if _is_placeholder(value):
        return value
    if low.endswith(_PASSWORDS) and len(value) >= 4 and value.lower() not in _WORDS:
        return _MARK + "assignment]"
    if low.endswith(_KEYS) and _is_random(value, 8):
        return _MARK + "assignment]"
    if low.endswith(_HEADERS) and len(value) >= 8:
        return _MARK + "authorization]"
    return value


def _without_matches(text: str, patterns: dict[str, str], extra: tuple[tuple[str, str], ...]) -> str:
    if not patterns and not extra:
        return text
    import re  # 6 ms: only when a keyword was found

    for pattern, name in patterns.items():
        rule = re.compile(pattern)
        mark = f"{_MARK}{name}]"
        pieces: list[str] = []
        position = 0
        for found in rule.finditer(text):
            start, end = found.span(rule.groups)
            pieces += (text[position:start], mark)
            position = end
        text = "".join(pieces) + text[position:]
    for name, pattern in extra:
        try:
            rule = re.compile(pattern)
        except re.error:
            continue  # `doctor` names a broken pattern; a hook must not fail by it
        # What is already redacted is left alone, or a pattern such as \w+ would redact the marks.
        parts = re.split(r"(\[redacted:[^\]]*\])", text)
        parts[::2] = [rule.sub(lambda _, name=name: f"{_MARK}{name}]", part) for part in parts[::2]]
        text = "".join(parts)
    return text


def _replace(text: str, spans: list[tuple[int, int]], name: str) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += (text[position:start], f"{_MARK}{name}]")
        position = max(position, end)
    return "".join(pieces) + text[position:]


def _without_key_blocks(text: str) -> str:
    """Hide private-key blocks. One without its end hides the rest; one without its start, what precedes it."""
    low = text.replace("\u0130", "_").lower()
    pieces: list[str] = []
    position = 0
    at = low.find("private key")
    while at >= 0:
        begin = low.rfind("begin ", max(position, at - 32), at)
        end = low.rfind("end ", max(position, at - 32), at)
        after = _dashes_end(low, at)
        at = low.find("private key", at + 1)
        if after < 0:
            continue
        if begin >= 0 and _has_dashes_before(low, begin):
            if _is_mention(text, after):
                continue
            pieces += (text[position : begin - 5], _MARK + "private-key]")
            position = len(text)
            while at >= 0:
                closes = low.rfind("end ", max(after, at - 32), at) >= 0
                closed = _dashes_end(low, at)
                at = low.find("private key", at + 1)
                if closes and closed >= 0:
                    position = closed
                    break
        elif end >= 0 and _has_dashes_before(low, end) and _has_run(text[max(end - 105, 0) : end - 5]):
            pieces = [_MARK + "private-key]"]
            position = after
    return "".join(pieces) + text[position:]


def _dashes_end(low: str, at: int) -> int:
    """Where the dashes after `private key` (or `private key block`) end, or -1 without any."""
    at += len("private key")
    at += len(" block") if low.startswith(" block", at) else 0
    at += 1 if low.startswith(" ", at) else 0
    end = at
    while low.startswith("-", end) and end < at + 5:
        end += 1
    return end if end >= at + 4 else -1


def _is_mention(text: str, at: int) -> bool:
    """Whether the header is just spoken of, as in `if "-----BEGIN PRIVATE KEY-----" in line`."""
    after = text[at : at + 200]
    return after.lstrip("\\")[:1] in ('"', "'", "`", ")", "/") and not _has_run(after)


def _has_dashes_before(low: str, at: int) -> bool:
    return low.endswith(("-----", "---- "), 0, at)


def _has_run(text: str) -> bool:
    """Whether the text holds 16 characters of base64 in a row."""
    run = 0
    for character in text:
        run = run + 1 if character.isalnum() or character in "+/=" else 0
        if run == 16:
            return True
    return False


def _url_passwords(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for mark in ("://", ":\\/\\/"):
        at = text.find(mark)
        while at >= 0:
            start = at + len(mark)
            span = _password_in(text, start)
            if span:
                spans.append(span)
            at = text.find(mark, span[1] if span else start)
    return spans


def _password_in(text: str, start: int) -> tuple[int, int] | None:
    """The password of user:password@host at the start of a URL's authority."""
    window = text[start : _run_end(text, start, start + _LONGEST_LOOK, _URL_ENDS)]
    colon = window.find(":")
    slash = window.find("/")
    at_sign = window.rfind("@", 0, slash) if slash >= 0 else window.rfind("@")
    if 0 <= colon < slash and at_sign < 0 and not window[colon + 1 : slash].rstrip("\\").isdigit():
        at_sign = window.find("@")  # not a port: a password with an unescaped slash
    if not 0 <= colon < at_sign or (0 <= slash < colon):
        return None
    password = window[colon + 1 : at_sign]
    if not password or password.lower() in _WORDS or _is_placeholder(password):
        return None
    return start + colon + 1, start + at_sign


def _assigned(text: str) -> list[tuple[int, int]]:
    """The values assigned to secret names: NAME=…, "name": "…", name = '…', --name …, <name>…<."""
    low = text.replace("\u0130", "_").lower()
    spans: list[tuple[int, int]] = []
    for name in (*_PASSWORDS, *_KEYS):
        at = low.find(name)
        while at >= 0:
            end = at + len(name)
            span = _value_at(text, at, end, name in _PASSWORDS)
            if span:
                spans.append(span)
            at = low.find(name, span[1] if span else end)
    return spans


def _value_at(text: str, at: int, end: int, is_password: bool) -> tuple[int, int] | None:
    """The secret value assigned to the name text[at:end], if one is."""
    start, tight = _after_separator(text, at, end)
    if start < 0 or "::" in text[max(at - 40, 0) : at].rpartition('"')[2] or _is_in_path(text, at, end):
        return None
    if _opens_quote(text, start):
        return _quoted(text, start, is_password)
    stop = _run_end(text, start, start + _LONGEST_LOOK)
    value = text[start:stop].rstrip(",.)]}:")
    if value.isidentifier() and text[stop : stop + 3] == " = ":  # a type between the name and its value
        return _quoted(text, stop + 3, is_password) if _opens_quote(text, stop + 3) else None
    if not value or _is_placeholder(value) or _is_code(value):
        return None
    # NAME=value, as in .env files: there even `postgres` is a password.
    is_env = tight and text[at:end].isupper() and len(value) >= 4 and value.lower() not in _WORDS
    # A name with one digit in it, as in `key: Pkcs7Key`, is code; as a password it is all too likely.
    digits = sum(value.count(digit) for digit in _DIGITS)
    is_name = value.isdigit() or (digits < 2 and value.isidentifier() and not is_password)
    if is_env or (_is_random(value, 6 if is_password else 8) and not is_name):
        return start, _whole(text, start, start + len(value))
    return None


def _whole(text: str, start: int, stop: int) -> int:
    """The end of a value that was looked at up to `stop`."""
    return stop if stop < start + _LONGEST_LOOK else _run_end(text, stop, len(text))


def _run_end(text: str, at: int, limit: int, ends: tuple[str, ...] = _VALUE_ENDS) -> int:
    """Where the first of `ends` stands. By searches, since a loop over characters is ten times slower."""
    for end in ends:
        found = text.find(end, at, limit)
        limit = found if found >= 0 else limit
    return min(limit, len(text))


def _is_in_path(text: str, at: int, end: int) -> bool:
    """Whether the name is one part of an identifier: arn:aws:secretsmanager:eu-west-1:1234:secret:name."""
    return text[at - 1 : at] == ":" and text[end : end + 1] == ":"


def _opens_quote(text: str, at: int) -> bool:
    return text[at : at + 20].lstrip("\\")[:1] in ('"', "'", "`")


def _quoted(text: str, start: int, is_password: bool) -> tuple[int, int] | None:
    value_start = start + 1
    while text[value_start - 1] == "\\":
        value_start += 1
    closing = text[start:value_start]  # nested JSON writes \\" at both ends
    stop = text.find(closing, value_start, value_start + _LONGEST_LOOK)
    while len(closing) == 1 and stop > 0 and text[stop - 1] == "\\":
        stop = text.find(closing, stop + 1, value_start + _LONGEST_LOOK)
    if stop < 0:  # longer than we look, or never closed: a value all the same
        stop = _run_end(text, value_start, value_start + _LONGEST_LOOK)
    value = text[value_start:stop].partition(_MARK)[0]
    stop = value_start + len(value)
    if _is_placeholder(value) or any(blank in value for blank in _BLANK):
        return None
    low = value.lower()
    # Any word may be a password, but not a field's name (`user_password`) or an address.
    is_word = low in _WORDS or (low.endswith(_PASSWORDS) and "_" in low) or "://" in low or low[:4] == "arn:"
    if (is_password and len(value) >= 6 and not is_word) or _is_random(value, 8):
        return value_start, _whole(text, value_start, stop)
    return None


def _after_separator(text: str, at: int, end: int) -> tuple[int, bool]:
    """Where the value after the name starts (-1: none), and whether it follows = without a space."""
    start = end
    while text.startswith("\\", start):
        start += 1
    if text[start : start + 1] and text[start] in _QUOTES:
        start += 1
        start += text.startswith("]", start)
    else:
        start = end
    spaces = start
    while text[start : start + 1] in (" ", "\t") and start < end + 32:
        start += 1
    if text.startswith(("==", "::"), start):
        return -1, False
    for separator in (":=", "=>", "=", ":"):
        if text.startswith(separator, start):
            value = start + len(separator)
            tight = spaces == start and separator == "=" and text[value : value + 1] not in (" ", "\t")
            while text[value : value + 1] in (" ", "\t") and value < start + 32:
                value += 1
            return value, tight
    if start == end and text.startswith(">", start):
        return start + 1, False
    if text.startswith((" '", ' "', " is "), spaces):
        return spaces + (4 if text.startswith(" is ", spaces) else 1), False
    if start > end and "--" in text[max(at - 24, 0) : at].rpartition(" ")[2]:
        return start, False
    return -1, False


def _is_random(value: str, least: int) -> bool:
    """Whether the value has what names and words lack: length, a digit, and no blank or path about it."""
    return (
        len(value) >= least
        and any(digit in value for digit in _DIGITS)
        and not any(blank in value for blank in _BLANK)
        and "://" not in value
        and not (value.startswith(("/", "./", "../", "~/")) and value.count("/") > 1)
        and not (value.isupper() and "_" in value)
        and not _is_code(value)
    )


def _is_placeholder(value: str) -> bool:
    """Whether the value stands for a secret that is elsewhere: $TOKEN, ${TOKEN}, <token>, your-token, xxxx.

    The mark of a redaction is one too: it starts with a bracket.
    """
    low = value.lower()
    return (
        value.startswith(("$", "<", "&lt;", "{", "%", "[", "*", "#", "!0", "!1"))
        or "${" in value
        or "{{" in value
        or "xxxx" in low
        or "your" in low
        or "..." in value
        or "…" in value
    )


def _is_code(value: str) -> bool:
    """Whether the value is a call, a subscript or a dotted name."""
    head = value.partition("(")[0].partition("[")[0]
    parts = head.split(".")
    return (len(head) < len(value) or len(parts) > 1) and all(part.isidentifier() for part in parts)
