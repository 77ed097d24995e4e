"""The rules that find secrets, one row each: tokens with a vendor's prefix (from the vendors' own
documentation as of 2026), the contents of credential files, and passwords in commands, SQL statements and
library calls.

A rule is a name, lowercase keywords separated by | (cheap to search for), a pattern, and an example that the
tests feed to it. The secret is the last group that matched or, without groups, the whole match.

Three habits keep every pattern linear and redaction idempotent: nothing unbounded precedes the keyword;
a class that repeats without limit is either at the pattern's end or guarded by a look-behind for the same
class; and the end consumes every letter and digit that follows, so that no match begins where another ended.

Values whose name identifies them (NAME=value, YAML, JSON, XML; --password, --token) need no row, because
`credential_names` finds them.
"""

from __future__ import annotations

Row = tuple[str, str, str, str]

# A token may follow a newline or tab that nested JSON spells as backslash and letter: \nAKIA…
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
RUN_START = r"(?:(?<![\w-])|(?<=\\[nrt]))"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# fmt: off
# ruff: noqa: E501 - a rule reads as one row
VENDOR_TABLE: tuple[Row, ...] = (
    # Clouds
    ("aws-key-id", "akia|asia|abia|acca", START + r"A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}[0-9A-Za-z]*", "AKIAIOSFODNN7EXAMPLE"),
    ("aws-secret-key", "secret_access_key|secretaccesskey|secret access key", r"(?i:secret[_ ]?access[_ ]?key)(?: \[[\w*]{1,24}\])?[\"'\\ \t:=]{1,24}([A-Za-z0-9/+]{40,})", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("google-key", "aiza", r"AIza[\w-]{35,}", "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
    ("google-oauth", "ya29.|gocspx-", r"(?:ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,})", "ya29.a0AfH6SMBx1234567890abcdefghij"),
    ("google-service-account", "private_key_id", r"private_key_id[\"'\\ :=]{1,24}([0-9A-Za-z]{40,})", '"private_key_id": "0123456789abcdef0123456789abcdef01234567"'),
    ("azure-key", "accountkey=|sharedaccesskey=", r"(?i:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,}={0,2})", "AccountName=x;AccountKey=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYg=="),
    ("azure-signature", "?sig=|&sig=", r"[?&]sig=([A-Za-z0-9%+/]{30,}=*)", "https://a.blob.core.windows.net/c?sv=2024&sig=q1W2e3R4t5Y6u7I8o9P0a1S2d3F4g5H6j7K8l9Z0x1C%3D"),
    ("azure-client-secret", "q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[\w~.-]{31,}", "abc8Q~dEfGhIjKlMnOpQrStUvWxYz0123456789Ab"),
    ("digitalocean-token", "dop_v1_|doo_v1_|dor_v1_", r"do[opr]_v1_[0-9A-Za-z]{40,}", "dop_v1_" + "0123456789abcdef" * 4),
    ("cloudflare-origin-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9A-Za-z]{100,}", "v1.0-" + "0123456789abcdef01234567-" + "0123456789abcdef" * 9),
    ("alibaba-key-id", "ltai", START + r"LTAI[0-9A-Za-z]{12,}", "LTAI5tAbCdEfGhIjKlMnOpQr"),
    ("heroku-key", "hrku-", r"HRKU-[\w-]{30,}", "HRKU-AA0123456789-abcdefghijklmnopqrstuv"),
    ("supabase-token", "sbp_", START + r"sbp_[0-9A-Za-z]{40,}", "sbp_" + "0123456789abcdef" * 2 + "01234567"),
    ("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w.-]{30,}", "pscale_tkn_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abc"),
    # Models
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}", "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx-0123456789_AA"),
    ("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9A-Za-z]{32,}", "sk-or-v1-" + "0123456789abcdef" * 4),
    ("openai-key", "sk-proj-|sk-svcacct-|sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{20,}", "sk-proj-AbCdEfGhIjKl_MnOpQrStT3BlbkFJuVwXyZ-0123456789"),
    ("sk-key", "sk-", START + r"sk-(?:[a-z0-9]{2,12}-){0,2}[0-9A-Za-z]{24,}", "sk-AbCdEfGhIjKlMnOpQrStT3BlbkFJuVwXyZ0123456789AbCd"),
    ("groq-key", "gsk_", START + r"gsk_[0-9A-Za-z]{32,}", "gsk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOp"),
    ("huggingface-token", "hf_", START + r"hf_[0-9A-Za-z]{30,}", "hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"),
    ("replicate-token", "r8_", START + r"r8_[0-9A-Za-z]{30,}", "r8_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789A"),
    ("perplexity-key", "pplx-", r"pplx-[0-9A-Za-z]{32,}", "pplx-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl"),
    ("xai-key", "xai-", START + r"xai-[0-9A-Za-z]{40,}", "xai-" + "AbCdEfGhIj0123456789" * 4),
    ("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,}", "nvapi-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl_MnOp-Qr"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_\w{32,}", "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789"),
    ("ecr-password", "eyjwyxlsb2fkijoi", START + r"eyJwYXlsb2FkIjoi[\w+/=-]{80,}", "eyJwYXlsb2FkIjoi" + "AbCdEfGhIj0123456789" * 6),
    # Code hosts and registries. Since April 2026 ghs_ holds a JWT, dots and all.
    ("claude-mem-key", "cmk_", START + r"cmk_[\w-]{40,}", "cmk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AbCdEf"),
    ("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[\w.-]{30,}", "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("github-token", "github_pat_", r"github_pat_\w{22,}", "github_pat_11ABCDEFG0AbCdEfGhIjKl_MnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123"),
    ("gitlab-token", "glpat-|gldt-|glrt-|glrtr-|glptt-|glcbt-|glimt-|glagent-|glft-|glsoat-|glffct-|gloas-|glwt-", r"gl(?:pat|dt|rtr?|ptt|cbt|imt|agent|ft|soat|ffct|oas|wt)-[\w.-]{16,}=*", "glpat-AbCdEfGh_jKlMnOp-rSt"),
    ("gitlab-token", "gr1348941", r"GR1348941[\w-]{16,}", "GR1348941AbCdEfGhIjKlMnOpQrSt"),
    ("atlassian-token", "atctt3|atatt3", r"AT[CA]TT3[\w=-]{50,}", "ATCTT3xFfGN0" + "AbCdEfGh_jKlMnOp-rSt" * 4 + "=0123ABCD"),
    ("bitbucket-password", "atbb", START + r"ATBB[0-9A-Za-z]{24,}", "ATBBAbCdEfGhIjKlMnOpQrStUvWx01234567"),
    ("npm-token", "npm_", START + r"npm_[0-9A-Za-z]{36,}", "npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("pypi-token", "pypi-age", r"pypi-AgE[\w-]{50,}", "pypi-AgEIcHlwaS5vcmcCJ" + "AbCdEfGhIjKlMnOpQrSt" * 4),
    ("crates-token", "cio", START + r"cio[0-9A-Za-z]{32,}", "cioAbCdEfGhIjKlMnOpQrStUvWxYz0123456"),
    ("rubygems-key", "rubygems_", r"rubygems_[0-9A-Za-z]{40,}", "rubygems_" + "0123456789abcdef" * 3),
    ("docker-token", "dckr_pat_|dckr_oat_", r"dckr_[po]at_[\w-]{20,}", "dckr_pat_AbCdEfGhIjKlMnOpQrSt-0123_45"),
    # Messages and mail
    ("slack-token", "xox", START + r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}", "xoxb-1234567890-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
    ("slack-token", "xapp-", r"xapp-[0-9]-[\w-]{20,}", "xapp-1-A0123456789-1234567890123-0123456789abcdef0123456789abcdef"),
    ("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,})", "https://hooks.slack.com/services/T01234567/B01234567/AbCdEfGhIjKlMnOpQrStUvWx"),
    ("discord-webhook", "/api/webhooks/", r"/api/webhooks/([0-9]{15,20}/[\w-]{40,})", "https://discord.com/api/webhooks/123456789012345678/" + "AbCdEfGhIjKlMnOp_rSt-vWxYz0123456789" * 2),
    ("discord-token", "discord|client.login|bot m|bot n|bot o", RUN_START + r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}", "DISCORD: MTIzNDU2Nzg5MDEyMzQ1Njc4.AbCdEf.AbCdEfGhIjKlMnOpQrStUvWxYz0"),
    ("telegram-token", ":aa", r"(?<![0-9])[0-9]{8,10}:AA[\w-]{32,}", "1234567890:AAbCdEfGhIjKlMnOpQrStUvWxYz01234567"),
    ("twilio-key", "twilio|account", START + r"SK[0-9a-f]{32}[0-9A-Za-z]*", "twilio SK0123456789abcdef0123456789abcdef"),
    ("sendgrid-key", "sg.", RUN_START + r"SG\.[\w-]{16,32}\.[\w-]{16,}", "SG.AbCdEfGhIjKlMnOpQrStUv.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG"),
    ("mailgun-key", "mailgun", RUN_START + r"(?:key-[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})[\w-]*", "mailgun key-0123456789abcdef0123456789abcdef"),
    # Money and shops
    ("stripe-key", "k_live_|k_test_|k_prod_", START + r"[a-z]{0,4}[sr]k_(?:live|test|prod)_[0-9A-Za-z_-]{10,}", "sk_live_AbCdEfGhIjKlMnOpQrStUvWx"),
    ("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{20,}=*", "whsec_AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("square-token", "sq0", r"sq0[a-z]{3}-[\w-]{22,}", "sq0atp-AbCdEfGhIjKlMnOpQrStUv"),
    ("square-token", "eaaa", r"(?:(?<![\w/+-])|(?<=\\[nrt]))EAAA[\w-]{56,}", "EAAA" + "AbCdEfGhIjKlMnOp_rSt" * 3),
    ("shopify-token", "shpat_|shpca_|shppa_|shpss_", r"shp(?:at|ca|pa|ss)_[0-9A-Za-z]{32,}", "shpat_0123456789abcdef0123456789abcdef"),
    # Tools
    ("linear-key", "lin_api_|lin_oauth_", r"lin_(?:api|oauth)_[0-9A-Za-z]{32,}", "lin_api_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd"),
    ("notion-token", "ntn_|secret_", START + r"(?:ntn_|secret_)[0-9A-Za-z]{40,}", "ntn_123456789012AbCdEfGhIjKlMnOpQrStUvWxYz01234567"),
    ("figma-token", "figd_", r"figd_[\w-]{36,}", "figd_AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_Ab"),
    ("postman-key", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9A-Za-z]{30,}", "PMAK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01"),
    ("grafana-token", "glsa_|glc_", START + r"gl(?:sa|c)_[\w+/]{32,}=*", "glsa_AbCdEfGhIjKlMnOpQrStUvWxYz012345_0123abcd"),
    ("newrelic-key", "nrak-|nrii-|nrjs-|nraa-|nral-", r"NR(?:AK|II|JS|AA|AL)-[\w-]{16,}", "NRAK-ABCDEFGHIJKLMNOPQRSTUVWXYZ0"),
    ("newrelic-key", "nral", START + r"[0-9a-f]{32,40}NRAL", "0123456789abcdef0123456789abcdef0123NRAL"),
    ("sentry-token", "sntrys_|sntryu_|sntrya_|sntryi_", r"sntry[suai]_[\w+/.-]{30,}=*", "sntrys_eyJpYXQiOjE2OTAwMDAwMDB9_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("vault-token", "hvs.|hvb.|hvr.", START + r"hv[sbr]\.[\w-]{20,}", "hvs.CAESIAbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    ("terraform-token", ".atlasv1.", r"[0-9A-Za-z]{14}\.atlasv1\.[\w-]{40,}", "AbCdEfGhIjKlMn.atlasv1." + "AbCdEfGhIjKlMnOp_rSt" * 3),
    ("databricks-token", "dapi", START + r"dapi[0-9a-f]{32}[\w-]*", "dapi0123456789abcdef0123456789abcdef-2"),
    ("doppler-token", "dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit.", START + r"dp\.(?:[ps]t|ct|sa|scim|audit)\.[\w.-]{30,}", "dp.pt.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd"),
    ("age-key", "age-secret-key-1", r"(?i:AGE-SECRET-KEY-1)[0-9A-Za-z]{50,}", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "QPZRY9X8GF2TVDW0S3JN54KHCE"),
    ("1password-token", "ops_eyj", r"ops_eyJ[\w+/-]{50,}=*", "ops_eyJ" + "zaWduSW5BZGRyZXNzIjoibXku" * 4),
    ("snyk-token", "snyk_uat.|snyk_sat.", r"snyk_[us]at\.[\w.-]{30,}", "snyk_uat.0123abcd.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("asana-token", "asana", r"(?<![0-9/])[0-9]/[0-9]{13,20}(?:/[0-9]{13,20})?:[0-9a-f]{32,}", "asana 1/1234567890123456:0123456789abcdef0123456789abcdef"),
    ("twilio-token", "client(|twilio", r"AC[0-9a-f]{32}[\"'\\, :]{1,24}([0-9a-f]{32})(?![0-9A-Za-z])", 'twilio.Client("AC9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e", "fedcba9876543210fedcba9876543210")'),
    # Webhooks and calendars: anyone who knows the URL may post
    ("teams-webhook", "webhook.office.com/|outlook.office.com/webhook/", r"office\.com/webhook(?:b2)?/([\w@/-]{36,})", "https://x.webhook.office.com/webhookb2/" + "01234567-89ab-cdef-0123-456789abcdef@0123/IncomingWebhook/" + "0123456789abcdef" * 2),
    ("chat-webhook", "hooks.zapier.com/|maker.ifttt.com/|/bot/v2/hook/|.make.com/", r"(?:hooks\.zapier\.com/hooks/catch|maker\.ifttt\.com/trigger/[\w-]{1,64}/with/key|/bot/v2/hook|hook\.[\w.]{2,12}make\.com)/([\w/-]{8,})", "https://hooks.zapier.com/hooks/catch/1234567/abcdef1"),
    ("link-token", "/magic|/reset|/verify|/invite|/confirm|/activate", r"(?<=/)(?:magic|reset|verify|invite|confirm|activate)[\w-]{0,24}/((?=[A-Za-z_-]{0,40}[0-9])[\w-]{24,})", "https://example.com/reset-password/AbCdEfGhIjKlMnOp_rSt-0123456789"),
    ("calendar-address", "/calendar/", r"/calendar/(?:ical/[^/\s]{1,120}/private-|[\w@.-]{10,120}/)([0-9a-zA-Z]{24,})/", "https://calendar.google.com/calendar/ical/jo%40example.com/private-0123456789abcdef0123456789abcdef/basic.ics"),
    # Formats with a prefix and more structure than a run of characters
    ("mailchimp-key", "-us1|-us2|-us3|-us4|-us5|-us6|-us7|-us8|-us9", RUN_START + r"[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])", "0123456789abcdef0123456789abcdef-us14"),
    ("paypal-token", "access_token$", r"access_token\$\w{1,16}\$[0-9a-z]{8,32}\$[0-9A-Za-z]{16,}", "access_token$production$abcdefgh12345678$0123456789abcdef0123456789abcdef"),
    ("airtable-token", "airtable", START + r"pat[0-9A-Za-z]{14}\.[0-9a-f]{60,}", "airtable patAbCdEfGhIjKlMn." + "0123456789abcdef" * 4),
    ("hubspot-token", "pat-na1-|pat-eu1-|pat-na2-", r"pat-(?:na|eu)[0-9]-[0-9a-f-]{36,}", "pat-na1-01234567-89ab-cdef-0123-456789abcdef"),
    ("plaid-token", "access-sandbox-|access-production-|access-development-", r"access-(?:sandbox|production|development)-[0-9a-f-]{36,}", "access-production-01234567-89ab-cdef-0123-456789abcdef"),
    ("launchdarkly-key", "sdk-", START + r"sdk-" + _UUID + r"[\w-]*", "sdk-01234567-89ab-cdef-0123-456789abcdef"),
    ("1password-key", "a3-", START + r"A3-[0-9A-Z]{6}-[0-9A-Z-]{20,}", "A3-ABCDEF-GHIJKL-MNOPQ-RSTUV-WXYZ0"),
    ("octopus-key", "api-", START + r"API-[0-9A-Z]{25,}", "API-ABCDEFGHIJKLMNOPQRSTUVWXYZ0"),
    ("openshift-token", "sha256~", r"sha256~[\w-]{40,}", "sha256~AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG"),
    ("dynatrace-token", "dt0c01.|dt0s01.|dt0s02.", r"dt0[a-z][0-9]{2}\.[0-9A-Z]{24}\.[0-9A-Z]{60,}", "dt0c01." + "ABCDEFGHIJKLMNOPQRSTUVWX." + "ABCDEFGHIJKLMNOP" * 4),
    ("facebook-token", "eaac|eaam|eaab|eaag|eaad|eaah", RUN_START + r"EAA[A-Z][0-9A-Za-z]{80,}", "EAAC" + "AbCdEfGhIjKlMnOpQrSt" * 5),
    ("twitter-token", "aaaaaaaaaaaaaaaaaaaa", r"(?:(?<![\w/+])|(?<=\\[nrt]))A{20,24}[0-9A-Za-z%]{50,}", "A" * 22 + "bCdEfGhIj0123456789%3D" * 4),
    ("dropbox-token", "sl.", RUN_START + r"sl\.(?:u\.)?[\w-]{100,}", "sl." + "AbCdEfGhIjKlMnOpQrSt" * 7),
    ("mapbox-token", "sk.eyj", START + r"sk\.eyJ[\w-]{8,}\.[\w-]{16,}", "sk.eyJ1IjoiYWNtZSIsImEiOiJja.AbCdEfGhIjKlMnOpQrStUv"),
    ("firebase-key", ":apa91", r"(?<![\w-])[\w-]{7,40}:APA91[\w-]{100,}", "AAAAabcdefg:APA91b" + "AbCdEfGhIjKlMnOp_rSt" * 6),
    ("google-refresh-token", "1//0", r"(?<![\w/])1//0[\w-]{40,}", "1//0gAbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGh"),
    ("google-hmac-id", "goog1", START + r"GOOG1[0-9A-Z]{20,}", "GOOG1EABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
    ("salesforce-token", "!aq", r"(?<![0-9A-Za-z])00D[0-9A-Za-z]{12,15}!AQ[\w.]{40,}", "00D0123456789ab!AQ" + "AbCdEfGhIj0123456789" * 4),
    ("intercom-token", "dg9ro", START + r"dG9rO[\w+/]{36,}=*", "dG9rOjAbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd="),
    ("artifactory-token", "cmvmd", START + r"cmVmd[0-9A-Za-z]{50,}", "cmVmdGtuOjAxOj" + "AbCdEfGhIj0123456789" * 3),
    ("bedrock-key", "absk", START + r"ABSK[A-Za-z0-9+/]{80,}=*", "ABSK" + "AbCdEfGhIj0123456789" * 6),
    ("azure-devops-token", "azdo", START + r"[0-9A-Za-z]{60,80}AZDO[0-9A-Za-z]{4,}", "AbCdEfGhIj0123456789" * 4 + "AZDO4abc"),
        ("vault-token", "vault", RUN_START + r"s\.[0-9A-Za-z]{24,}", "vault unwrapped s.AbCdEfGhIjKlMnOpQrSt1234"),
    ("yandex-token", "yandex", RUN_START + r"t1\.[\w-]{20,}={0,2}\.[\w-]{60,}=*", "yandex t1." + "AbCdEfGhIj0123456789" * 2 + "." + "AbCdEfGhIj0123456789" * 4),
    ("pem-in-base64", "ls0tls1crudjti", r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM|BUUlVT)[A-Za-z0-9+/]{20,}=*", "tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJn"),
    # Coins
    ("extended-key", "xprv|tprv|zprv|yprv|uprv|vprv", START + r"[tuvxyz]prv[0-9A-Za-z]{100,}", "xprv" + "AbCdEfGhJk23456789" * 6),
    ("nostr-key", "nsec1", START + r"nsec1[0-9a-z]{55,}", "nsec1" + "qpzry9x8gf2tvdw0s3jn" * 3),
    ("tezos-key", "edsk", START + r"edsk[0-9A-Za-z]{50,}", "edsk" + "AbCdEfGhJk23456789" * 3),
    ("wif-key", "wif|bitcoin|privkey|wallet|btc", START + r"(?:5[1-9A-HJ-NP-Za-km-z]{50}|[KLc][1-9A-HJ-NP-Za-km-z]{51})(?![0-9A-Za-z])", "bitcoin L" + "AbCdEfGhJk23456789" * 2 + "AbCdEfGhJk23456"),
    ("stellar-seed", "stellar|seed", START + r"S[A-Z2-7]{55}(?![0-9A-Za-z])", "stellar S" + "ABCDEFGHIJK" * 5),
    ("ripple-seed", "ripple|xrp|rippled", START + r"s(?:Ed)?[1-9A-HJ-NP-Za-km-z]{28,31}(?![0-9A-Za-z])", "ripple sEdAbCdEfGhJk23456789AbCdEfG23"),
    ("seed-phrase", "mnemonic|phrase|seed|bip39|bip-39|wallet|--recover|助记词|助記詞|ニーモニック|니모닉|시드|мнемони|сид-фраз|frase|mnemonik", r"(?<![\w-])(?:(?!(?:the|and|for|with|from|are|was|not|but|has|its|into|when|will|have) )[a-z]{3,8} ){11,23}[a-z]{3,8}(?![\w-])", "mnemonic: abandon ability able about above absent absorb abstract absurd abuse access accident"),
    ("private-key-hex", "private|wallet|deployer|accounts|from_key|signer|metamask", r"(?i:private[-_ ]?key|privkey|metamask(?: pk| key)?|wallet|deployer[-_]?key|accounts|from_key|signer)[\"'`\\ :=(\[]{1,12}(?:is )?((?:0x)?[0-9a-fA-F]{64})(?![0-9A-Fa-f])", '"privateKey": "0x' + "0123456789abcdef" * 4 + '"'),
    ("keypair-bytes", "solana|keypair|id.json", r"\[((?:[0-9]{1,3}, ?){63}[0-9]{1,3})\]", "solana keypair [" + ",".join(["137"] * 64) + "]"),
    # What new vendors do: a prefix that says live, test, secret or token, and 24 random characters
    ("prefixed-token", "_live_|_test_|_prod_|_pat_|_sk_|_secret_|_token_|_oat_|_api_", START + r"(?!pk_)[a-z][a-z0-9]{1,11}_(?:live|test|prod|pat|sk|secret|token|oat|api)_(?=[A-Za-z_-]{0,60}[0-9])(?=[\w-]{0,60}[A-Z0-9]{2})(?=[\w-]{0,80}[A-Z]|[0-9a-f]{32})[\w-]{20,}", "polar_oat_AbCdEfGhIjKlMnOpQrStUvWx0123"),
)
# fmt: on

# Name, prefixes separated by |, how many letters, digits, _ and - follow at least. They stand case and all.
_PREFIXES: tuple[tuple[str, str, int], ...] = (
    # Clouds and hosting
    ("netlify-token", "nfp_|nfc_|nfo_|nfu_", 30),
    ("fly-token", "fo1_|fm1a_|fm1r_|fm2_", 40),
    ("pulumi-token", "pul-", 40),
    ("tailscale-key", "tskey-", 16),
    ("supabase-key", "sb_secret_", 20),
    ("tencent-key-id", "AKID", 28),
    ("render-key", "rnd_", 24),
    ("neon-key", "napi_", 30),
    ("yandex-key", "AQVN", 34),
    ("cloudflare-token", "cfut_|cfat_|cfk_", 30),
    ("vercel-token", "vercel_blob_rw_|vcp_|vci_|vca_|vck_", 20),
    ("deno-token", "ddp_|ddo_", 30),
    ("scalingo-token", "tk-us-", 40),
    ("netbird-token", "nbp_", 30),
    ("defined-key", "dnkey-", 40),
    ("xata-key", "xau_", 24),
    ("cockroach-key", "CCDB1_", 30),
    ("atlas-key", "mdb_sa_sk_", 24),
    ("dbt-token", "dbtc_|dbtu_", 30),
    ("clickhouse-key", "4b1d", 38),
    # Models
    ("pinecone-key", "pcsk_", 40),
    ("together-key", "tgp_v1_", 30),
    ("fireworks-key", "fw_", 22),
    ("tavily-key", "tvly-", 20),
    ("jina-key", "jina_", 40),
    ("cerebras-key", "csk-", 40),
    ("firecrawl-key", "fc-", 32),
    ("e2b-key", "e2b_", 32),
    ("anyscale-key", "esecret_", 20),
    ("runpod-key", "rpa_", 30),
    ("wandb-key", "wandb_v1_", 30),
    ("alchemy-key", "alcht_", 24),
    # Code hosts, registries, pipelines
    ("nuget-key", "oy2", 40),
    ("artifactory-key", "AKCp", 60),
    ("sonar-token", "sqp_|squ_|sqa_", 38),
    ("circleci-token", "CCIPAT_|CCIPRJ_", 30),
    ("buildkite-token", "bkua_|bkct_|bkpt_|bkaj_", 30),
    ("sourcegraph-token", "sgp_|slk_", 38),
    ("prefect-token", "pnu_|pnb_", 30),
    ("clojars-token", "CLOJARS_", 50),
    ("packagist-token", "packagist_", 24),
    ("jsr-token", "jsrp_|jsrd_", 24),
    ("settlemint-token", "sm_aat_|sm_pat_|sm_sat_", 16),
    ("kong-token", "kpat_|spat_", 30),
    ("contentful-token", "CFPAT-", 36),
    ("cloudsmith-token", "csk_|ccpat_", 30),
    ("inngest-key", "signkey-", 24),
    ("apify-token", "apify_api_", 24),
    ("wakatime-key", "waka_", 30),
    # Mail, chat, money, shops
    ("brevo-key", "xkeysib-|xsmtpsib-", 40),
    ("resend-key", "re_", 24),
    ("square-secret", "sq0csp-|sq0idp-", 20),
    ("flutterwave-key", "FLWSECK", 12),
    ("razorpay-key", "rzp_live_|rzp_test_", 14),
    ("paddle-key", "pdl_live_|pdl_sdbx_|pdl_ntfset_", 20),
    ("midtrans-key", "Mid-server-", 16),
    ("easypost-key", "EZAK|EZTK", 50),
    ("shippo-token", "shippo_live_|shippo_test_", 30),
    ("duffel-token", "duffel_live_|duffel_test_", 30),
    ("adyen-key", "AQE", 80),
    ("onesignal-key", "os_v2_", 30),
    ("pubnub-key", "sec-c-", 30),
    ("trello-token", "ATTA", 60),
    # Tools
    ("posthog-key", "phx_|phc_|phs_", 36),
    ("honeycomb-key", "hcaik_|hcxik_|hcbik_", 30),
    ("axiom-token", "xaat-|xapt-", 30),
    ("readme-token", "rdme_", 40),
    ("typeform-token", "tfp_", 40),
    ("frameio-token", "fio-u-", 50),
    ("postman-token", "PMAT-", 24),
    ("figma-key", "figu_|figo_", 30),
    ("adobe-secret", "p8e-", 30),
    ("stytch-secret", "secret-live-|secret-test-", 20),
    ("elevenlabs-key", "sk_", 32),
)
_SAMPLE = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9" * 8

VENDOR_TOKENS: tuple[Row, ...] = (
    *VENDOR_TABLE,
    *(
        (
            name,
            prefixes.lower(),
            START + rf"(?:{prefixes})(?=[\w-]{{0,64}}[0-9])[\w+/-]{{{least},}}=*",
            prefixes.partition("|")[0] + _SAMPLE[:least],
        )
        for name, prefixes, least in _PREFIXES
    ),
)


# -- Credential files, recognized by their content, and headers --

# fmt: off
CREDENTIAL_FILES: tuple[Row, ...] = (
    ("pgpass-line", ":5432:|:3306:|:*:|:6432:|:5433:", r"(?<![\w.*-])[\w.*-]{1,120}:(?:[0-9]{2,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:((?!\[redacted:|[$<{/])[^\s:\"']{4,})(?=[\s\"'\\]|$)", "db.example.com:5432:app:jo:hunter2hunter2"),
    ("password-hash", "$apr1$|$1$|$2a$|$2b$|$2y$|$2x$|$5$|$6$|$7$|$y$|$gy$|$argon2|$scrypt|pbkdf2", r"(?:\$(?:apr1|1|2[abxy]|5|6|7|g?y|argon2(?:id|i|d)|scrypt)\$|pbkdf2[\w:-]{0,16}\$)(?=[^\s\"']{0,24}[\w./+])[\w./$=,+-]{16,}", "jo:$6$AbCdEfGh$AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    ("password-hash", "{sha|{ssha|{md5}|{smd5}|{crypt}|{pbkdf2", r"\{(?i:S?SHA(?:256|512)?|S?MD5|CRYPT|PBKDF2[\w-]{0,16})\}((?!\[redacted:)[\w./$=+-]{16,})", "admin:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc="),
    ("password-hash", '"md5', r"\"(md5[0-9a-f]{32})\\{0,3}\"", '"jo" "md50123456789abcdef0123456789abcdef"'),
    ("password-hash", "scram-sha-", r"SCRAM-SHA-(?:1|256|512)\$[0-9]{1,8}:([A-Za-z0-9+/=$:]{40,})", "SCRAM-SHA-256$4096:" + "AbCdEfGhIjKlMnOpQrStUv==$" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG=:" * 2),
    ("putty-key", "private-lines|private-mac", r"Private-(?:Lines: ?[0-9]{1,4}(?:\\{1,4}n|\s){1,4}((?:[A-Za-z0-9+/=]{16,90}(?:\\{1,4}n|\s){0,4}){1,400})|MAC: ?([0-9a-f]{32,}))", "Private-Lines: 1\nAbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGh\n"),
    ("jwk", "kty", r"[\"']\\{0,3}(?:d|p|q|dp|dq|qi|k)\\{0,3}[\"'] ?: ?\\{0,3}[\"']([\w-]{20,})", '{"kty":"EC","crv":"P-256","d":"AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG"}'),
    ("rsa-xml-key", "rsakeyvalue", r"<(?:D|P|Q|DP|DQ|InverseQ)>([A-Za-z0-9+/]{30,}={0,2})(?=<)", "<RSAKeyValue><D>AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGh</D></RSAKeyValue>"),
    ("openvpn-key", "static key v1", r"Static key V1-----(?:\\{1,4}n|\s){1,8}((?:[0-9a-f]{16,64}(?:\\{1,4}n|\s){0,8}){1,64})", "-----BEGIN OpenVPN Static key V1-----\n0123456789abcdef0123456789abcdef\n-----END OpenVPN Static key V1-----"),
    ("signify-key", "secret key", r"secret key(?:\\{1,4}n|\s){1,4}(RW[A-Za-z0-9+/]{60,}=*)", "untrusted comment: signify secret key\nRWRCSwAAAA" + "AbCdEfGhIjKlMnOpQrSt" * 4),
    ("auth-user-pass", "auth-user-pass", r"auth-user-pass>?(?:\\{1,4}n|\s){1,4}[\w.@-]{1,64}(?:\\{1,4}n|\r?\n)((?!\[redacted:)[^\s<\\]{4,})", "<auth-user-pass>\njo\nhunter2hunter2\n</auth-user-pass>"),
    ("kubernetes-secret", "kind: secret", r"(?<=\n)(?:data|stringData):(?:\\{1,4}n|\r?\n)((?:[ \t]{1,8}[\w.-]{1,64}: (?!\[redacted:)[^\n]{4,4000}(?:\n|$)){1,64})", "kind: Secret\ndata:\n  url: cG9zdGdyZXM6Ly9hcHA6aHVudGVyMg==\n"),
    ("github-oauth", "github-oauth|gitlab-oauth|gitlab-token", r"git(?:hub|lab)-(?:oauth|token)[\"'\\]{1,4} ?: ?\{[\s\"'\\]{1,8}[\w.-]{1,64}[\"'\\]{1,4} ?: ?[\"'\\]{1,4}([\w.-]{16,})", '{"github-oauth":{"github.com":"0123456789abcdef0123456789abcdef01234567"}}'),
    ("ipsec-secret", "eap ", r"(?<=: )(?:EAP|XAUTH|NTLM) \"([^\"\n]{4,})\"", 'jo : EAP "hunter2hunter2"'),
    ("ipsec-secret", "isakmp key", r"isakmp key (?:[0-9] )?(\S{4,}) (?=address|hostname)", "crypto isakmp key hunter2hunter2 address 0.0.0.0"),
    ("chap-secret", "chap-secrets|l2tp|pptp|pppoe", r"(?:^|\n)\"?[\w.@-]{1,64}\"?[ \t]{1,16}(?:\*|\"?[\w.-]{1,32}\"?)[ \t]{1,16}\"?((?!\[redacted:|\*)[^\s\"]{4,64})\"?[ \t]{1,16}(?:\*|[0-9.]{7,15})", 'chap-secrets\n"jo" l2tpd "hunter2hunter2" *'),
    ("redis-password", "masterauth|+@all|allkeys", r"(?:masterauth[ =]|(?<= )on(?: \S{1,24}){0,3} >)((?!\[redacted:)[^\s\"']{4,})", "user default on >hunter2hunter2 ~* +@all"),
    ("network-password", "community ", r"snmp-server community (\S{4,})", "snmp-server community hunter2hunter2 RO"),
    ("network-password", "password 7|password 5|password 0|secret 5|secret 9|secret 0|key 7", r"(?:password|secret|key) [05789] ([^\s\"']{6,})", "username admin password 7 0822455D0A16"),
    ("cookie-jar", "\ttrue\t|\tfalse\t", r"\t(?:TRUE|FALSE)\t[^\t\n]{1,200}\t(?:TRUE|FALSE)\t[0-9]{1,12}\t[^\t\n]{1,120}\t([^\s]{8,})", ".example.com\tTRUE\t/\tTRUE\t1799999999\tsid\t0123456789abcdef"),
    ("bundler-credential", "bundle_", r"BUNDLE_\w{3,80}[\"':= ]{1,4}[\w.@-]{1,64}:([^\s\"']{4,})", 'BUNDLE_GEMS__EXAMPLE__COM: "jo:hunter2hunter2"'),
    ("smtp-login", ":587 |:465 |:25 |:2525 ", r"(?<![\w.-])\[?[\w.-]{3,120}\]?:(?:25|465|587|2525)[ \t]{1,16}[\w.@+-]{1,120}:((?!\[redacted:)[^\s:\"'\\]{4,})", "[smtp.example.com]:587 jo@example.com:hunter2hunter2"),
    ("recovery-code", "backup code|recovery code|scratch code", r"(?i:(?:backup|recovery|scratch) codes?)[^\n:]{0,24}(?::[ \t]{0,4}|:?\r?\n)[\s*]{0,6}((?=[A-Za-z-]{0,24}[0-9])[0-9A-Za-z][0-9A-Za-z-]{6,24}(?:[\s,*]{1,6}(?=[A-Za-z-]{0,24}[0-9])[0-9A-Za-z][0-9A-Za-z-]{6,24}){0,20})", "backup codes: 0a1b2-c3d4e 5f6g7-h8i9j"),
    ("keystore-json", "ciphertext", r"[\"'](?:ciphertext|mac)\\{0,3}[\"'] ?: ?\\{0,3}[\"']([0-9a-f]{32,})", '"ciphertext": "0123456789abcdef0123456789abcdef"'),
    ("azure-key", "primarykey|secondarykey|masterkey|keyname", r"(?i:primary\w{0,16}key|secondary\w{0,16}key|keyname\\{0,3}[\"'] ?: ?\\{0,3}[\"'][\w-]{1,24}\\{0,3}[\"'],[^{}]{0,80}?[\"']value)[\"'\\ :=]{1,8}([A-Za-z0-9+/]{40,}={0,2})", '"primaryKey": "' + "AbCdEfGhIjKlMnOpQrSt" * 4 + '=="'),
    ("publish-profile", "userpwd", r"userPWD=\\{0,3}[\"']([^\"'\n]{8,})", '<publishProfile userPWD="AbCdEfGhIjKlMnOpQrSt0123456789" />'),
    ("function-key", "code=", r"[?&]code=((?=[^&\s]{0,64}[0-9])[\w%+/.-]{20,}=*)", "https://app.azurewebsites.net/api/f?code=AbCdEfGhIjKlMnOpQrSt0123456789=="),
    ("url-signature", "signature=|sig=|key-pair-id=|security-token=|-credential=", r"(?i:[?&;,\s](?:x-\w{1,5}-)?(?:signature|sig|key-pair-id|security-token|oauth_signature)=)\"?((?!\[redacted:)(?=[^&\s]{0,80}[0-9])[\w%+/~.-]{12,}=*)", "https://x.org/f?Expires=1&Signature=AbCdEfGh0123456789AbCdEf%3D"),
    ("session-token", "session-token|session_token|sessiontoken", r"(?i:session[-_]?token)[\"'\\ :=]{1,8}([A-Za-z0-9+/%]{60,}={0,2})", "aws_session_token = " + "FwoGZXIvYXdzEAbCdEfGh0123456789" * 4),
    ("app-password", "mail|smtp|app password", r"(?i:pass(?:word)?)[\"'\\ :=]{1,6}((?:[a-z]{4} ){3}[a-z]{4})(?![a-z])", "SMTP_PASS=abcd efgh ijkl mnop"),
    ("jwt", "eyj", RUN_START + r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"),
    ("bearer-token", "bearer|ssws|xoauth2|geniekey", r"(?i:bearer|ssws|xoauth2|geniekey)[ ,]{1,4}((?=[A-Za-z_~+/.-]{0,60}[0-9])[\w.~+/-]{12,}=*)", "Bearer 0b79bab50daca910b000d4f1a2b675d604257e42"),
)
# fmt: on


# -- Passwords that commands, SQL statements and library calls take --

# A shell word, quoted or not; not one that was already redacted, and not a variable.
WORD = (
    r"(?!\\{0,3}[\"']?(?:\[redacted:|\$[A-Za-z_{(]\w*[\"']?(?:\s|$)|<[a-z]))"
    r"(?:\\{0,3}\"((?:[^\"\\\n]|\\[^\"\n]){3,200})\\{0,3}\"|\\{0,3}'([^'\n]{3,200}?)\\{0,3}'|([^\s\"'\\|;&<>()]{3,200}))"
)
_GAP = r"[^\n|;&]{0,200}?"


def _flag(commands: str, flags: str, separator: str = "[ =]{1,2}") -> str:
    return rf"(?<![\w-])(?:{commands})(?:\.exe)?[ ]{_GAP}(?<=[ \t])(?:{flags}){separator}{WORD}"


# fmt: off
CREDENTIAL_COMMANDS: tuple[Row, ...] = (
    ("command-password", "mysql|mariadb|mycli", _flag("mysql(?:dump|admin|import|check|show|sh)?|mariadb(?:-dump|-admin)?|mycli", "-p", r"(?=[^\s$])"), "mysql -u root -phunter2hunter2 shop"),
    ("command-password", "sshpass", _flag("sshpass", "-p", "[ ]?"), "sshpass -p hunter2hunter2 ssh root@h"),
    ("command-password", " login", r"(?<![\w-])(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|az|oc|cf|argocd|rancher)\b[^\n|;&]{0,60}? login [^\n|;&]{0,200}?(?<= )-p[ =]?" + WORD, "docker login -u jo -p hunter2hunter2 registry"),
    ("command-password", "redis-cli", _flag("redis-cli", "-a|--pass"), "redis-cli -h cache -a hunter2hunter2 ping"),
    ("command-password", "ldap", _flag("ldap(?:search|add|modify|delete|passwd|whoami|compare|modrdn)", "-w|-s|-a"), "ldapsearch -x -D cn=admin -w hunter2hunter2"),
    ("command-password", "pass:", r"(?:-pass(?:in|out|word)?|-?-?ks-pass|--key-pass|--(?:next-)?signer-pass|-k)[ =]{1,2}pass:" + WORD, "openssl enc -aes-256-cbc -pass pass:hunter2hunter2"),
    ("command-password", "openssl", _flag("openssl", "-k|-K|-iv|-hmac|-passwd"), "openssl aes-256-cbc -k hunter2hunter2 -d"),
    ("command-password", "sqlcmd|bcp |osql|tsql", _flag("sqlcmd|bcp|osql|tsql", "-P", "[ ]?"), "sqlcmd -S db -U sa -P hunter2hunter2"),
    ("command-password", "zip ", _flag("unzip|zip|zipcloak", "-P", "[ ]?"), "unzip a.zip -P hunter2hunter2"),
    ("command-password", "7z|rar ", _flag("7z[az]?|7zr|unrar|rar|p7zip", "-p|-hp", ""), "7z x a.7z -phunter2hunter2"),
    ("command-password", "mongo|cqlsh|clickhouse-client|beeline|rdesktop|evil-winrm|crackmapexec|nxc |ncftp|twine |kinit|psexec|impala-shell|virsh", _flag("mongo(?:sh|dump|restore|export|import|stat)?|cqlsh|clickhouse-client|beeline|rdesktop|evil-winrm|crackmapexec|nxc|ncftp(?:put|get)?|twine|kinit|psexec|impala-shell|virsh", "-p|-P"), "mongosh -u admin -p hunter2hunter2"),
    ("command-password", "ssh-keygen", _flag("ssh-keygen", "-N|-P"), "ssh-keygen -t ed25519 -N hunter2hunter2 -f id"),
    ("command-password", "useradd|usermod|adduser", _flag("useradd|usermod|adduser", "-p|--password"), "useradd -p hunter2hunter2 jo"),
    ("command-password", "dotnet nuget|nuget push", _flag("dotnet|nuget", "-k|-ApiKey|--api-key"), "nuget push a.nupkg -k 0123456789abcdef"),
    ("command-password", "doctl|nordvpn|glab|sentry-cli|vercel|netlify|railway|surge|firebase|heroku", _flag("doctl|nordvpn|glab|sentry-cli|vercel|netlify|railway|surge|firebase|heroku", "-t|--token|--auth|--auth-token"), "doctl auth init -t 0123456789abcdef0123"),
    ("command-password", " --auth", r"(?<= )--auth(?:-?key|-token)?[ =]{1,2}" + WORD, "yarn npm publish --auth 0123456789abcdef"),
    ("curl-user", "curl |wget |http |https |xh ", r"(?<![\w-])(?:curl|wget|https?|xh)(?:\.exe)? [^\n|;&]{0,400}?(?<=[ \t])(?:-u|--user|-U|--proxy-user|-a|--auth)[ =]{0,2}(?:\\{0,3}\"[\w.@%+-]{0,64}:([^\"\n]{3,200}?)\\{0,3}\"|\\{0,3}'[\w.@%+-]{0,64}:([^'\n]{3,200}?)\\{0,3}'|[\w.@%+-]{0,64}:((?!\[redacted:)[^\s\"'\\$<{:][^\s\"'\\]{2,200}))", "curl -u admin:hunter2hunter2 https://example.com/"),
    ("command-password", "smbclient|rpcclient|mount|smbmap|winexe", r"(?<![\w-])(?:smbclient|rpcclient|mount|smbmap|winexe)\b[^\n|;&]{0,200}?-U[ =]?(?:'[\w.\\/@-]{1,64}%([^'\n]{3,200})'|\\{0,3}\"[\w.\\/@-]{1,64}%([^\"\\\n]{3,200})|[\w.\\/@-]{1,64}%([^\s\"'|;&]{3,}))", "smbclient //h/s -U jo%hunter2hunter2"),
    ("command-password", "net use|net user", r"(?<!\w)net(?:\.exe)? (?:use [^\n]{0,80}?/user:\S{1,64} |use (?:[A-Za-z*]: )?\\\\\S{1,120} (?!/)|user \S{1,64} )" + WORD, "net user jo hunter2hunter2 /add"),
    ("command-password", "rclone obscure|wpa_passphrase|cargo login|vault login|wandb login|snyk auth|mc alias|mc config", r"(?:rclone obscure|wpa_passphrase \S{1,64}|(?:cargo|vault|wandb) login|snyk auth|mc (?:alias set|config host add) \S{1,64} \S{1,200} \S{1,128})(?: -[\w-]{1,24}(?:=\S{1,24})?){0,3} (?:token=)?" + WORD, "rclone obscure hunter2hunter2"),
    ("command-password", "htpasswd", r"(?<![\w-])htpasswd(?= [^\n]{0,40}-[A-Za-z]{0,6}b)(?: -[A-Za-z]{1,8}| -C \d+){1,4}(?: (?!-)\S{1,120})? (?!-)\S{1,64} " + WORD, "htpasswd -b -c f jo hunter2hunter2"),
    ("command-password", "rabbitmqctl", r"rabbitmqctl [^\n]{0,60}?(?:add_user|change_password|authenticate_user) \S{1,64} " + WORD, "rabbitmqctl add_user jo hunter2hunter2"),
    ("command-password", "lftp", r"(?<!\w)lftp [^\n|;&]{0,80}?-u[ ]?[\w.@-]{1,64},([^\s\"']{3,})", "lftp -u jo,hunter2hunter2 ftp.example.com"),
    ("command-password", "freerdp", r"freerdp[^\n|;&]{0,200}? [\"']?/p:" + WORD, "xfreerdp /u:jo /p:hunter2hunter2 /v:h"),
    ("command-password", "sqlplus|jdbc:oracle|as sysdba|expdp|impdp", r"(?:(?:sqlplus|expdp|impdp|rman)(?: -\w{1,8}){0,3} |jdbc:oracle:\w{1,8}:|^|\s)[\w$]{1,32}/([^\s/@\"'$<][^\s/@\"']{2,64})@", "sqlplus system/hunter2hunter2@ORCL"),
    ("command-password", "chpasswd|-stdin|--with-token|wg pubkey|openconnect|cryptsetup|kinit|sudo -s|sudo -k|keys add|login|passwd| su ", r"(?:echo|printf)(?: -[neE]{1,3})?(?: [\"']%s(?:\\{1,2}n)?[\"'])? (?:\"(?:[\w.-]{1,32}:(?=[^\"\n]{1,200}\" ?\| ?(?:sudo )?chpasswd))?([^\"\n$]{3,200})\"|'(?:[\w.-]{1,32}:(?=[^'\n]{1,200}' ?\| ?(?:sudo )?chpasswd))?([^'\n]{3,200})'|([^\s\"'|$;&]{3,200})) ?\| ?(?=[^\n|]{0,120}(?:chpasswd|password-stdin|passwd|--with-token|--stdin|wg pubkey|openconnect|cryptsetup|kinit|sudo -S|passwd-on-stdin|keys add|login|(?<=[ |])su ))", "echo hunter2hunter2 | docker login -u jo --password-stdin"),
    ("command-password", "<<<", r"(?:passwd|--with-token|sudo -S|login|--stdin|password-stdin|-on-stdin|cryptsetup|kinit|env add|secrets? (?:set|put|add|create)|passphrase-fd|wg pubkey)[^\n|;&]{0,80}?<<<[ ]?" + WORD, "sudo -S <<< hunter2hunter2 ls"),
    ("command-password", "from-literal", r"--from-literal[ =][\"']?[\w.-]{1,64}=" + WORD, "kubectl create secret generic x --from-literal=pin=hunter2hunter2"),
    ("command-password", "kv put|vault write|secrets set|config:set|env:set|secret set|--secret-string|put-parameter|config set --secret|secret create", r"(?:kv put \S{1,120} [\w.-]{1,64}=|vault write \S{1,120} [\w.-]{1,64}=|secrets? set \w{1,64}=|config:set \w{1,64}=|env:set \w{1,64} |keyvault secret set [^\n]{0,120}--value[ =]|--secret-string[ =]|put-parameter [^\n]{0,160}SecureString[^\n]{0,80}--value[ =]|put-parameter [^\n]{0,160}--value[ =](?=[^\n]{0,200}SecureString)|secret set [^\n]{0,80}(?:-b|--body)[ =]|config set --secret \S{1,64} )" + WORD, "vault kv put secret/db pin=hunter2hunter2"),
    ("command-password", "helm ", r"(?<!\w)helm [^\n|;&]{0,200}?--set(?:-string)? [\w.-]{0,80}(?:[pP]ass|[sS]ecret|[tT]oken|[kK]ey)\w{0,24}=" + WORD, "helm install x --set auth.rootPass=hunter2hunter2"),
    ("command-password", "password_cmd|password-command|pass-command", r"pass(?:word)?[_-](?:cmd|command)[ =]{1,2}[\"']echo (?:-n )?([^\s\"']{3,})", "restic --password-command 'echo hunter2hunter2'"),
    ("command-password", "expect |assword:", r"(?<!\w)send(?: --)? \\{0,3}\"([^\"\\\n\r$]{6,64})(?:\\{1,4}r|\r)\\{0,3}\"", 'expect -c \'send "hunter2hunter2\\r"\''),
    # Whatever the command: a user, and then a password; or both in one word
    ("command-login", " -p", r"(?<=[ \t])(?:-u|-U|-l|--user(?:name)?|--login)[ =]?[\w.@\\/-]{1,64} [^\n|;&]{0,160}?(?<=[ \t])-[pPw][ =]?" + WORD, "tool -u jo -p hunter2hunter2"),
    ("command-login", " -u |--user| -a |--auth|--cred| -auth", r"(?<=[ \t])(?:-u|-U|-A|--user|--creds?|--?auth[a-z-]{0,12}|--proxy-user|--http-user)[ =][\"']?[\w.@+-]{1,64}:((?!//)[^\s\"'|;&]{4,200})", "etcdctl --user root:hunter2hunter2 get x"),
    ("command-password", "::add-mask::", r"::add-mask::([^\s\"']{4,200})", "echo ::add-mask::hunter2hunter2"),
    # SQL and shells of databases
    ("sql-password", "identified", r"(?i:identified(?: with \w{1,40})?(?: by| as)(?: password)?) " + WORD, "CREATE USER app IDENTIFIED BY 'hunter2hunter2';"),
    ("sql-password", "set password", r"(?i:set password (?:for [^\n=]{1,120})?= ?(?:password ?\( ?)?)" + WORD, "SET PASSWORD FOR 'a'@'h' = 'hunter2hunter2'"),
    ("sql-password", "auth ", r"(?:^|\n|> )AUTH (?:\w{1,32} )?([^\s\"']{5,}[^\s\"'\\])(?=\\*[\"']?(?:[\s\"'\\,;})\]]|$))", "127.0.0.1:6379> AUTH hunter2hunter2"),
    ("sql-password", "values (", r"(?i:insert into [^\n()]{1,80}\([^\n)]{0,200}passw[^\n)]{0,200}\) ?values ?\([^\n]{0,200}?)'(?![0-9]{4}-)(?=[^'\n]{0,60}(?:[0-9]|[a-z][A-Z]))([^'\n@ ]{8,200})'", "INSERT INTO users (name, password) VALUES ('jo', 'hunter2hunter2')"),
    ("sql-password", "values (", r"(?i:insert into [^\n()]{1,80}\([^\n)]{0,200}(?:api_?key|token|secret)[^\n)]{0,200}\) ?values ?\([^\n]{0,200}?)'((?=[^'\n]{0,120}[0-9])[\w+/=.-]{16,200})'", "INSERT INTO api_keys (name, api_key) VALUES ('ci', '0123456789abcdef0123')"),
    ("sql-password", "pgp_sym_|aes_encrypt|aes_decrypt", r"(?i:pgp_sym_(?:en|de)crypt|aes_(?:en|de)crypt)(?:_bytea)?\([^\n,]{1,120}, ?'([^'\n]{4,200})'", "SELECT pgp_sym_decrypt(x, 'hunter2hunter2')"),
    ("sql-password", "sp_addlogin|sp_password", r"(?i:sp_addlogin|sp_password) [^\n,]{1,64}, ?N?'([^'\n]{4,200})'", "EXEC sp_addlogin 'jo', 'hunter2hunter2'"),
    ("sql-password", "set value", r"(?i:set value) ?= ?'([^'\n]{8,200})' (?i:where \w{1,32} ?= ?'[^'\n]{0,64}(?:secret|passw|token|key))", "UPDATE t SET value = 'hunter2hunter2' WHERE name = 'smtp_password'"),
    # Calls that take a user and a password, or a key to sign with
    ("call-secret", "networkcredential|basicauth|db.auth|usernamepassword|basiccredentials|.credentials(|auth=(|httpdigest", r"(?i:networkcredential|\w{0,16}basicauth\w{0,16}|httpdigestauth|db\.auth|usernamepassword\w{0,24}|aws\.credentials|\w{0,8}basiccredentials(?:\.create)?|auth=)\( ?[\"'][^\"'\n]{1,128}[\"'], ?[\"']([^\"'\n]{4,200})[\"']", 'new NetworkCredential("jo", "hunter2hunter2")'),
    ("call-login", "login(|connect(|mysqli|pdo(|getconnection(|authenticate(|sign_in(|signin|creds|credentials|user(|sequelize(|algoliasearch(", r"(?i:log_?in|connect|mysqli|pdo|getconnection|authenticate|sign_?in(?:with\w{1,32})?|creds?|credentials|create_?(?:super_?)?user|sequelize|algoliasearch) ?[=:]? ?[(\[] ?(?:[\"'][^\"'\n]{1,200}[\"'], ?){1,2}[\"']([^\"'\n]{6,200})[\"']", 'smtp.login("jo@example.com", "hunter2hunter2")'),
    ("call-secret", "aes.new|aesgcm(|secretbox(|chacha20", r"(?i:aes\.new|aesgcm|secretbox|chacha20\w{0,16})\( ?(?:key ?= ?)?b?[\"']([^\"'\n]{16,200})[\"']", 'AES.new(b"0123456789abcdef", AES.MODE_CBC)'),
    ("call-secret", "securestring", r"(?i:convertto-securestring)(?: -string)? " + WORD, "ConvertTo-SecureString hunter2hunter2 -AsPlainText"),
    ("call-secret", "<(echo", r"(?i:pass|key|secret|token)[\w-]{0,24}[ =]<\(echo(?: -n)? [\"']?([^\s\"')]{6,200})", "wg set wg0 private-key <(echo hunter2hunter2)"),
    ("go-dsn", "@tcp(|@unix(", r"(?<![\w.-])[\w.-]{1,64}:([^\s\"'`/]{4,200})@(?:tcp|unix)\(", "app:hunter2hunter2@tcp(db:3306)/shop"),
    ("call-secret", "jwt.|fernet(|createhmac|hmac.new|createcipher|secretkeyspec|signwith|symmetricsecuritykey", r"(?i:jwt\.(?:sign|verify|encode|decode)\([^\n]{1,120}?, ?|fernet\( ?|createhmac\([^\n,]{1,40}, ?|hmac\.new\( ?|createcipheriv\([^\n,]{1,40}, ?|secretkeyspec\( ?|signwith\( ?|symmetricsecuritykey\([^\n\"]{0,60})b?[\"']([^\"'\n]{8,200})[\"']", 'jwt.sign(payload, "hunter2hunter2")'),
    ("aws-secret-key", "akia|asia", r"A[KS]IA[0-9A-Z]{16}[\"'\\ ,;:a-zA-Z_=]{1,32}?[\"' =:]((?=[A-Za-z/+]{0,39}[0-9])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "key AKIAIOSFODNN7EXAMPLE secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("aws-secret-key", "redacted:aws-key-id", r"redacted:aws-key-id\][\"'\\ ,;:a-zA-Z_=]{1,32}?[\"' =:]((?=[A-Za-z/+]{0,39}[0-9])[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", "[redacted:aws-key-id] secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    # A user and a password, one after the other
    ("told-login", "creds|credentials|login with|log in with|log in as|sign in with|logged in as|login:|logins:|zugangsdaten|identifiants|credenciales|credenziali|учетные данные|логин", r"(?i:creds|credentials|zugangsdaten|identifiants|credenciales|credenziali|учетные данные|логин|logins?(?=:)|login with|log in with|log in as|sign in with|logged in as)(?:[ :]{1,3}(?:are|is|as|for|the)){0,2}[ :=]{1,3}[\"'`]?[\w.@+-]{2,40}[\"'`]? ?[:/] ?[\"'`]?([^\s\"'`,;]{6,64})", "creds are admin:hunter2hunter2"),
)
# fmt: on
