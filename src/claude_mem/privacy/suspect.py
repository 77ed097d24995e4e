"""Checks whether a payload may contain anything to hide: a byte search that every hook runs.

Few payloads go on to `scrub`, so what the search needs is spelled out here and nothing is imported. A test
compares it with what the scrubbing modules know.
"""

from __future__ import annotations

# One of these, or a URL with a password, is in the lower case of every payload that needs scrubbing. By
# families: a member is looked for only where what its family has in common occurs. A search costs 1.5 µs, and
# there would be two hundred.
_FAMILIES: tuple[tuple[bytes, list[bytes]], ...] = (
    # Any ASCII character may be spelled as a JSON escape, and would hide the others.
    (rb"\u00", rb"\u002 \u003 \u004 \u005 \u006 \u007".split()),
    # Tags. Not `private` alone: it is a keyword of half the world's languages.
    (b"private", rb"<private </private \/private lt;private lt;/private private_key privatekey".split()),
    (b"private key", [b"private key-", b"private key -", b"private key block"]),
    (b"instruction", b"system_instruction system-instruction".split()),
    # Excluded files. Not `.env` or `.key` alone: code is full of process.env and item.key.
    (
        b".env",
        [
            *rb"""/.env \.env ".env '.env `.env =.env ;.env |.env <.env >.env (.env ).env &.env""".split(),
            *rb""":.env @.env ,.env {.env }.env \n.env \t.env \r.env""".split(),
            b" .env",
        ],
    ),
    (
        b".key",
        [
            *rb""".key\ .key" .key' .key` .key= .key; .key| .key< .key> .key( .key) .key&
                .key: .key@ .key, .key{ .key}""".split(),
            *(b".key ", b".key*", b".key?", b".keystore"),
        ],
    ),
    (b"config", rb".docker/config .kube/config .docker\\config .kube\\config".split()),
    (b"credentials", rb".git-credentials .credentials.json .aws/credentials .aws\\credentials".split()),
    (b"id_", b"id_rsa id_dsa id_ecdsa id_ed25519".split()),
    # Secrets.
    (b"key", b"api_key apikey api-key access_key accesskey access-key auth_key accountkey=".split()),
    (b"_key", b"encryption_key signing_key account_key".split()),
    (b"pass", b"password passwd passphrase _pass .pgpass".split()),
    (b"token", rb"""token= token: token" token' token\ token>""".split()),
    (b"token ", [b"token =", b"token :", b"token  ", b"-token ", b"token is "]),
    (b"gh", b"ghp_ gho_ ghu_ ghs_ ghr_".split()),
    (
        b"gl",
        b"glpat- gldt- glrt glptt- glcbt- glimt- glagent- glft- glsoat- glffct- gloas- glwt- glc_".split(),
    ),
    (b"~", [b"q~"]),
)
_ALONE: list[bytes] = [
    *b"claude-mem-context system-reminder persisted-output".split(),
    *b".pem .p12 .pfx .ppk .jks .kdbx netrc .pypirc".split(),
    *rb"""secret akia asia abia acca aiza ya29. gocspx- sig= _v1_ v1.0- ltai hrku- sbp_ pscale_ sk- gsk_ hf_
    r8_ pplx- xai- nvapi- lsv2_ github_pat_ gr1348941 atctt3 atatt3 atbb npm_ pypi-age cio rubygems_ dckr_ xox
    xapp- hooks.slack.com/ /api/webhooks/ discord :aa twilio sg. mailgun k_live_ k_test_ whsec_ sq0 eaaa
    shpat_ shpca_ shppa_ shpss_ lin_api_ lin_oauth_ ntn_ figd_ pmak- nrak- sntry hvs. hvb. hvr. .atlasv1.
    dapi glsa_ dp.pt. dp.st. eyj authorization cookie :\/\/ :\\/ _pwd ;pwd""".split(),
    *(b"bearer ", b"curl "),
]


def is_suspect(payload: bytes) -> bool:
    """Whether the payload may hold anything to hide; False is certain, True is not."""
    low = payload.lower()
    if any(needle in low for needle in _ALONE):
        return True
    for common, family in _FAMILIES:
        if common in low and any(needle in low for needle in family):
            return True
    at = low.find(b"://")
    while at >= 0:
        authority = low[at + 3 : at + 515].partition(b'"')[0].partition(b" ")[0]
        if b":" in authority.rpartition(b"@")[0]:
            return True
        at = low.find(b"://", at + 3)
    return False
