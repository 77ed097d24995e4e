"""Credential files, known by their content, and headers: one row each, like `vendor_tokens`.

Files of NAME=value, YAML, JSON and XML need no row where the name says what it is: `credential_names` finds them.
"""

from __future__ import annotations

from claude_mem.privacy.vendor_tokens import RUN_START, Row

# fmt: off
# ruff: noqa: E501 - a rule reads as one row
ROWS: tuple[Row, ...] = (
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
