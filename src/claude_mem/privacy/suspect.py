"""Checks whether a payload may contain anything to hide, with a byte search that every hook runs.

Few payloads need scrubbing, so the search terms are listed here and nothing is imported. A test compares them
with the rules of the scrubbing modules.
"""

from __future__ import annotations

# Every payload that needs scrubbing contains, in lower case, one of these, a word below, or a URL with a
# password. They are grouped by a common substring: a group is only searched for if that occurs. A search
# costs 1.5 µs, and there would be six hundred.
_FAMILIES: tuple[tuple[bytes, list[bytes]], ...] = (
    # Any ASCII character may be spelled as a JSON escape, and would hide the others.
    (rb"\u00", rb"\u002 \u003 \u004 \u005 \u006 \u007".split()),
    # Tags. Not `private` alone: it is a keyword of half the world's languages.
    (
        b"private",
        [
            *rb"<private </private \/private ;private ;/private 3cprivate 2fprivate".split(),
            *rb"private_key privatekey".split(),
            *(b"private key", b"private-lines", b"private-mac", b"< private", b"/ private"),
        ],
    ),
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
    (b".p", b".pem .p12 .pfx .ppk .pypirc .pgpass".split()),
    # Secrets, and names that values follow.
    (b"key", b"api_key apikey api-key access_key accesskey access-key auth_key accountkey= _keys=".split()),
    (
        b"pass",
        rb"""password passwd passphrase pass_phrase passcode _pass pass= pass: pass" pass'
            pass\" pass>""".split(),
    ),
    (b"pass ", [b"pass =", b"requirepass ", b"storepass ", b"keypass "]),
    (b"pw", rb"""pwd= pwd" pwd' pwd\": pwd:" pwd:\" _pwd pwd> pw= _pw" _pw: bindpw rootpw""".split()),
    (b"pw", [b"pwd =", b'pwd: "', b"pwd: '", b"pw: ", b"pw =", b"pwd: "]),
    (b"$", rb"$apr1$ $1$ $2a$ $2b$ $2x$ $2y$ $5$ $6$ $7$ $y$ $gy$ $argon2 $scrypt access_token$".split()),
    (b"%", b"%3a%2f%2f %22%3a %3d".split()),
    (rb"\\x", rb"\\x4 \\x5 \\x6 \\x7".split()),
    (b"~", [b"q~", b"sha256~"]),
    (b"?", b"?code= ?sig= ?key= ?sid= ?auth= ?session= ?signature= ?jwt= ?token=".split()),
    (b"&", b"&code= &sig= &key= &sid= &auth= &session= &signature= &jwt= &pass= &token=".split()),
    (b"\\t", [rb"\ttrue", rb"\tfalse"]),
    (b":a", [b":aa", b":apa91"]),
    (b":\\", [rb":\/\/", rb":\\/"]),
    (b"32:", [b":5432:", b":6432:"]),
    (b":*", [b":*:"]),
    (b" -", [b"zip -p", b"http -a ", b"https -a ", b"expect -c", b"sudo -"]),
    (
        b"log",
        [
            *(
                b"login with",
                b"log in with",
                b"log in as",
                b"logged in as",
                b" login ",
                b"login(",
                b"log_in(",
            ),
            *(b"login:", b"logins:"),
        ],
    ),
    (b"connect", [rb"connect(\"", b"connect('", rb"connect(\\\"", b"getconnection("]),
    (b"sign", [b"signin", b"sign_in("]),
    (b"user(", [b"create_user(", b"createuser(", b"create_superuser("]),
    (b"search(", [b"algoliasearch("]),
    (b"md5", [rb"\"md5", rb"\\\"md5"]),
    (b"/", [b"/magic", b"/reset", b"/verify", b"/invite", b"/confirm", b"/activate"]),
    (b"send ", [rb"send \"", b"send --"]),
    (b"client(", [b"client('ac", rb"client(\"ac", rb"client(\\\"ac", rb"client(\\\\\\\"ac"]),
    (b"&#", b"&#10 &#11 &#x6 &#x7".split()),
    (b" code", [b"backup code", b"recovery code", b"scratch code"]),
    (b"hmac", [b"createhmac", b"hmac.new"]),
    (b"crypt(", [b"aes_encrypt(", b"aes_decrypt("]),
    (b"calendar/", [b"calendar/ical/", b"owa/calendar/"]),
    (b"nr", b"nrak- nrii- nrjs- nraa- nral".split()),
    (b"-us", b"-us1 -us2 -us3 -us4 -us5 -us6 -us7 -us8 -us9".split()),
    # Words for password, as clients write them that escape non-ASCII characters.
    (
        b"\\u",
        [rb"\u5bc6\u7801", rb"\u0430\u0440\u043e\u043b\u044c", rb"\u30d1\u30b9\u30ef", rb"\ube44\ubc00"],
    ),
)
_ALONE: list[bytes] = [
    *b"claude-mem-context system-reminder system_reminder persisted-output hook_context".split(),
    *b".jks .kdbx netrc".split(),
    *rb"""secret credential authorization cookie signature= .atlasv1. session= session":" _live_ v1.0-
    +@ _salt {sha} {ssha} securestring mnemonic @tcp(
    1//0 !aq goog1 azdo wandb_v1_ mid-server- aqe _oat_ _prod_ _pat_ _sk_""".split(),
    # "password" in base64, wherever it begins
    *b"cgfzc3dvcm bhc3n3b3jk wyxnzd29yz".split(),
    *(b" -p", b":587 ", b":465 ", b"shared key"),
    # Excluded files whose names have little in common
    *b".kube .aws .docker .boto .s3cfg .cnf .kdb .p8 .agekey hosts.yml wallet.dat .htpasswd secring.".split(),
    *b"local.settings .properties access_tokens.db msal_token_ accesstokens accesskeys .ovpn /hub".split(),
    *b"etc/shadow .dev.vars".split(),
]

# Whole words: programs that take passwords, and what else is said beside a secret.
_WORDS = frozenset(
    b"""mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump mycli sshpass redis-cli ldapsearch
    ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami openssl sqlcmd bcp osql tsql 7z 7za 7zr 7zz rar
    unrar mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh clickhouse-client beeline
    rdesktop evil-winrm crackmapexec nxc ncftp twine kinit psexec impala-shell virsh ssh-keygen useradd
    usermod adduser nuget doctl nordvpn glab sentry-cli curl wget xh smbclient rpcclient smbmap winexe
    rclone wpa_passphrase net rabbitmqctl lftp xfreerdp freerdp wlfreerdp sqlplus expdp impdp sysdba
    chpasswd helm jarsigner keytool apksigner --auth --authkey --auth-key --auth-token --from-literal
    -apikey bearer creds identified masterauth isakmp psk eap pw base64 bip39 bip-39 kty
    ciphertext rsakeyvalue chap l2tp pptp pppoe allkeys discord twilio mailgun passwort kennwort
    contrasena senha parola wachtwoord haslo salasana heslo passord adgangskode mdp palavra-passe sifre
    passe clave sandi --recover primarykey secondarykey primarymasterkey masterkey userpwd vault yandex
    airtable bitcoin importprivkey dumpprivkey deployer from_key fernet createhmac hmac.new
    createcipheriv networkcredential httpbasicauth httpdigestauth basicauth basiccredentials db.auth
    symmetricsecuritykey secretkeyspec signwith jwt.sign jwt.verify jwt.encode jwt.decode github-oauth
    gitlab-oauth hooks.slack.com hooks.zapier.com maker.ifttt.com webhooks webhookb2 phpsessid
    jsessionid sessionid connect.sid asp.net_sessionid laravel_session smd5 scram-sha-256 scram-sha-1
    scram-sha-512 wif xrp ripple stellar pbkdf2_sha256 pbkdf2_sha512 pbkdf2 phrase seed wallet
    ethers.wallet wallet.frommnemonic wallet.fromphrase seed_phrase accounts keypair recovery jdbc
    npmauthident auth-user-pass wg openconnect l2tpd snmp-server cryptsetup passwd wandb mc su snyk add-mask
    seedphrase ssws xoauth2 geniekey sp_addlogin sp_password sequelize parolam parolasi
    convertto-securestring pgp_sym_decrypt pgp_sym_encrypt aes.new aesgcm secretbox pdo mysqli mysqli_connect
    metamask asana zugangsdaten identifiants credenciales credenziali frase chiave chave jeton anahtar
    sleutel klucz nyckel""".split()
)

# The first eight, four and three characters of long words: tokens of vendors, and base64 of secrets.
_EIGHTS = frozenset(
    b"""github_p rubygems vercel_b signkey- packagis shippo_l shippo_t clojars_ access-p access-s access-d
    bundle_g bundle_e""".split()
)
_FOURS = frozenset(
    b"""akia asia abia acca aiza ya29 gocs dop_ doo_ dor_ ltai hrku sbp_ psca gsk_ pplx xai- nvap lsv2 ghp_
    gho_ ghu_ ghs_ ghr_ cmk_ glpa gldt glrt glpt glcb glim glag glft glso glff gloa glwt gr13 atct atat atbb
    npm_ pypi dckr xapp sk_l sk_t sk_p rk_l rk_t rk_p whse eaaa shpa shpc shpp shps lin_ ntn_ figd figu
    figo pmak pmat glsa glc_ nrak nrii nrjs nraa nral sntr hvs. hvb. hvr. dapi dp.p dp.s dp.c dp.a age-
    ops_ nfp_ nfc_ nfo_ nfu_ fo1_ fm1a fm1r fm2_ pul- tske sb_s akid rnd_ napi aqvn cfut cfat cfk_ vcp_
    vci_ vca_ vck_ ddp_ ddo_ tk-u nbp_ dnke xau_ ccdb mdb_ dbtc dbtu pcsk tgp_ tvly jina csk- e2b_ esec
    rpa_ alch akcp cmvm sqp_ squ_ sqa_ ccip bkua bkct bkpt bkaj sgp_ slk_ pnu_ pnb_ jsrp jsrd sm_a sm_p
    sm_s kpat spat cfpa csk_ ccpa apif waka xkey xsmt sq0a sq0c sq0i sq0o flws rzp_ pdl_ ezak eztk duff
    os_v sec- phx_ phc_ phs_ hcai hcxi hcbi xaat xapt rdme tfp_ fio- p8e- pat- dt0c dt0s eaac eaam eaab
    eaag eaad eaah sk.e absk xprv yprv zprv tprv uprv vprv nsec edsk aaaa sdk- 4b1d ls0t z2hw z2hv
    snyk z2l0 z2xw c2st c2tf c2vj cgfz cg9z zxhw dg9r yxbp bwfj bxlz qvdt qutj rejf eg94""".split()
)
_THREES = frozenset(b"sk- hf_ r8_ xox sg. eyj re_ sl. cio fw_ fc- oy2 a3- sk_".split())


def _table(ends: bytes) -> bytes:
    """A table for `translate` that replaces word delimiters and control characters with a space."""
    ends += bytes(range(32))
    return bytes.maketrans(ends, b" " * len(ends))


# Word delimiters. A backslash is one, and so is the letter after it if they are an escaped line break or tab.
_SPACED = _table(b"\"'`()[]{},;|&=<>:/@\\$#*?!^")
_PARTED = _table(b"\"'`()[]{},;|&=<>:/\\")
_DIGITS = b"0123456789"

# Parts of names that are usually not followed by a secret: suspect only with a value that contains a digit.
_WEAK_NAMES = (b"token", b"key", b"auth", b"salt", b"_pat", b"psk", b"pwd", b"pass", b"--user", b"_cookie")

# Looked for only where not all is ASCII: the tag in full-width letters, and words for password.
_NOT_ASCII = """＜,\u200b,\u200c,\u200d,\u2060,\ufeff,\xad,密码,密碼,
    口令,パスワード,暗証番号,비밀번호,암호,ароль,аролем,ароля,पासवर्ड,
    कूटशब्द,كلمة ا,كلمة مرور,رمز عبور,گذرواژه,סיסמ,รหัสผ่าน,κωδικός,পাসওয়ার্ড,
    密钥,密鑰,秘钥,令牌,キー,トークン,秘密鍵, 키,토큰,люч,токен,مفتاح,رمز,कुंजी,टोकन,schlüssel,clé,助记词,
    助記詞,ニーモニック,니모닉,시드,мнемони,сид-фраз,логин,учетные данные,
    contraseñ,parolă,hasło,ifre,mật khẩu,lösenord,jelszó,лозинка,гасло""".replace("\n    ", "")
# Excluded files, and commands that print the environment; by what their names have in common.
_FILES: tuple[tuple[bytes, list[bytes]], ...] = (
    (
        b"env",
        [
            *rb""".env" .env' .env` .env\ .env; .env| .env< .env> .env) .env& .env~ .env: .env* .env? "env"
                "env\n printenv /environ ;env &env |env (env `env""".split(),
            *(b".env ", b'"env ', b' env"', b" env ", b" env;", b" env|"),
            *(b" env\\n", b"\\nenv\\n", b"\\nenv ", b"bin/env"),
        ],
    ),
    (b"set", [b'"set"', b'"set ', b' set"', b" set |", b" set;", b";set", b"|set", b"nset\\n", b"(set"]),
    (b"export", [b"export -p", b'export"', b"export |", b"export;", b"export)"]),
    (b"e -", [b"declare -"]),
    (b"t -", [b"typeset -"]),
    (b"rc", [b".npmrc", b".envrc", b".terraformrc", b".msmtprc", b".tfrc"]),
    (b".tf", [b".tfstate", b".tfvars"]),
    (b"conf", [b"kubeconfig", b"rclone.conf", b"pgpass.conf", b".oci/config"]),
    (b"credentials", [b"credentials.", b"/credentials", b"\\credentials"]),
    (b"account", [b"service-account", b"service_account", b"serviceaccount"]),
    (b"hist", [b"_history", b".histfile"]),
    (b"auth", [b"auth.json", b".authinfo", b"auth=(", b'"auth ', rb"\nauth ", b"> auth "]),
    (b".v", [b".dev.vars", b".vault-", b".vault_"]),
)

# How the names begin of excluded files that begin with no dot.
_BEGUN = tuple(b"id cr ku se te wa ap cl rc pg ke co fi ho au lo _n ac ms".split())
_WORDED = _table(b"\"'`();|&<>=")


def is_suspect(payload: bytes) -> bool:
    """Whether the payload may hold anything to hide."""
    low = payload.lower()
    return (
        any(needle in low for needle in _ALONE)
        or any(common in low and any(needle in low for needle in family) for common, family in _FAMILIES)
        or any(common in low and any(needle in low for needle in family) for common, family in _FILES)
        or (not low.isascii() and any(word.encode() in low for word in _NOT_ASCII.split(",")))
        or _has_secret_words(low)
        or any(_has_value(low, name) for name in _WEAK_NAMES)
        or (rb"\u001b[" in low and _has_secret_words(_without_colors(low)))
        or low.count(b"%6") + low.count(b"%7") > 5  # letters, which nobody need escape
        or _has_password_in_url(low)
        or _has_wildcard_for_a_file(low)
    )


def _has_wildcard_for_a_file(low: bytes) -> bool:
    """Whether a pattern in a command may name a file whose name begins with a dot, or one of those above."""
    command = low.partition(b'"command":')[2][:2048]
    if b"*" not in command and b"?" not in command and b"[" not in command and b"{" not in command:
        return False
    for word in command.translate(_WORDED).split():
        literal = word.replace(b"?", b"*").replace(b"[", b"*").replace(b"{", b"*").partition(b"*")[0]
        if len(literal) < len(word):
            begun = literal.rpartition(b"/")[2]
            if b"/." in word or begun[:1] == b"." or (len(begun) > 1 and any(map(begun.startswith, _BEGUN))):
                return True
    return False


def _has_password_in_url(low: bytes) -> bool:
    at = low.find(b"://")
    while at >= 0:
        authority = low[at + 3 : at + 515].partition(b'"')[0].partition(b" ")[0]
        user = authority.rpartition(b"@")[0]
        if b":" in user or len(user.rpartition(b"/")[2]) >= 20:
            return True
        at = low.find(b"://", at + 3)
    return False


def _has_secret_words(low: bytes) -> bool:
    """Checks the words in one pass, instead of searching for each of four hundred keywords."""
    words = {
        *low.replace(rb"\n", b" ").replace(rb"\t", b" ").replace(rb"\r", b" ").translate(_SPACED).split()
    }
    if not words.isdisjoint(_WORDS):
        return True
    tokens = [word for word in words if len(word) > 11]
    return not (
        _FOURS.isdisjoint([token[:4] for token in tokens])
        and _THREES.isdisjoint([token[:3] for token in tokens])
        and _EIGHTS.isdisjoint([token[:8] for token in tokens])
        # Hexadecimal of text: each letter's first digit is one of these.
        and all(len(token) < 32 or token[:24:2].strip(b"234567") for token in tokens)
    )


def _has_value(low: bytes, name: bytes) -> bool:
    """Whether the name is soon followed by eight characters that include a digit."""
    at = low.find(name)
    while at >= 0:
        at += len(name)
        if not low[at : at + 1].isalpha():
            near = low[at : at + 72].translate(_PARTED).split()[:6]
            if any(len(word) >= 8 and len(word.translate(None, _DIGITS)) < len(word) for word in near):
                return True
            # NAME=value, without a digit by chance
            if near and len(near[0]) >= 20 and low[at : at + 1] == b"=":
                return True
        at = low.find(name, at)
    return False


def _without_colors(low: bytes) -> bytes:
    first, *rest = low.split(rb"\u001b[")
    return b"".join([first, *(piece.partition(b"m")[2] for piece in rest)])
