"""Recognizes names whose values are secrets: passwords, keys, tokens; and the words for password in many
languages.

A name is split into its words (DB_PASSWORD_1, apiKey, client-secret). The last meaningful word decides.
"""

from __future__ import annotations

# Every name that is examined contains one of these. Lowercase.
STEMS = tuple("pass pwd secret token key credential creds salt _pat pw psk auth sess sid _cookie".split())

# Words for password in other languages, as they occur in sentences. Some omit the first letter, which may be
# a capital.
FOREIGN = tuple(
    """密码,密碼,口令,パスワード,暗証番号,비밀번호,암호,ароль,ароля,аролем,पासवर्ड,कूटशब्द,
    كلمة المرور,كلمة السر,كلمة مرور,رمز عبور,گذرواژه,סיסמה,סיסמא,รหัสผ่าน,κωδικός,পাসওয়ার্ড,
    passwort,kennwort,contraseña,contrasena,clave,mot de passe,mdp:,mdp ,senha,palavra-passe,parola,
    parolă,wachtwoord,hasło,haslo,şifre,sifre:,mật khẩu,kata sandi,lösenord,salasana,heslo,jelszó,adgangskode,
    passord,лозинка,гасло""".replace("\n    ", "").split(",")
)

# Words for key and token. The value after them must be long and random.
FOREIGN_KEYS = tuple(
    """密钥,密鑰,秘钥,令牌,apiキー,api キー,トークン,秘密鍵,api 키,api키,토큰,비밀 키,люч,токен,مفتاح,رمز api,
    कुंजी,टोकन,schlüssel,clé api,clé d,chiave,chave,jeton,anahtar,sleutel,klucz,nyckel""".replace(
        "\n    ", ""
    ).split(",")
)

PASSWORD, KEY, WEAK_KEY = "password", "key", "weak key"

PASSWORD_ENDS = ("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "passwrd", "pw")
_PASSWORD_WORDS = frozenset(("pass", "pw", "psk", "pswd", "psw", "passw"))
_NOT_PASS = frozenset(
    ("bypass", "compass", "trespass", "encompass", "overpass", "underpass", "surpass", "lowpass")
)
_KEY_ENDS = ("secret", "token", "apikey", "credential", "credentials", "creds", "secrets")
_KEY_WORDS = frozenset(("key", "salt", "auth", "pat", "keys", "cookie"))
_SESSION_WORDS = frozenset(("session", "sid", "sess", "sessid", "phpsessid", "jsessionid", "sessionid"))
NO_KEY_AFTER = frozenset(
    """primary foreign sort cache partition public pub object row idempotency dedupe host publishable
    sorting map hash lookup unique index i18n query group routing translation shortcut hot registry
    message license anon site known_hosts""".split()
)
KEY_AFTER = frozenset(
    """api access secret private auth encryption signing master admin service the shared preshared
    pre-shared""".split()
)
# A name that continues with one of these describes the secret, but does not contain it.
NO_SECRET_BEFORE = frozenset(
    """count counts length len size sizes type types name names id ids url uri urls path paths file files
    dir field fields label expiry expires expire expiration exp ttl lifetime age timeout interval policy
    limit limits min max regex pattern arn version prefix suffix header headers param params format
    algorithm alg method endpoint error errors message input ref hint strength reset required enabled
    disabled index idx position usage budget manager store provider ring board words event handler props
    state form column attr attribute class list map validator schema confirmation confirm digest hash
    hashed fingerprint issuer audience scope scopes rotation service client config settings alias
    aliases stdin command cmd per used left total minutes seconds days hours vocab""".split()
)


def words_of(name: str) -> list[str]:
    """DB_PASSWORD_1 -> db password 1; apiKey2 -> api key 2; APIKey -> api key."""
    words: list[str] = []
    word = before = ""
    for at, character in enumerate(name):
        is_hump = before.islower() and character.isupper()
        is_number = before.isalnum() and before.isdigit() != character.isdigit()
        ends_acronym = before.isupper() and character.isupper() and name[at + 1 : at + 2].islower()
        if not character.isalnum():
            words.append(word)
            word = ""
        elif is_hump or is_number or (ends_acronym and at + 2 < len(name)):
            words.append(word)
            word = character.lower()
        else:
            word += character.lower()
        before = character
    return [word for word in (*words, word) if word]


def kind_of(name: str) -> str | None:
    words = words_of(name)
    if name == "_auth":
        return KEY  # of .npmrc
    if name.lower().endswith("sessionid"):
        return WEAK_KEY
    for at in range(len(words) - 1, -1, -1):
        word = words[at]
        if word in NO_SECRET_BEFORE:
            return None
        if word.endswith(PASSWORD_ENDS) or word in _PASSWORD_WORDS:
            return PASSWORD
        if word.endswith("pass") and len(word) > 4:
            return None if word in _NOT_PASS else PASSWORD
        if word.endswith(_KEY_ENDS):
            return PASSWORD if "shared" in words else KEY
        if word in _KEY_WORDS or (
            word.endswith("key") and word not in ("monkey", "turkey", "hockey", "donkey", "whiskey")
        ):
            if at and words[at - 1] in NO_KEY_AFTER and word != "salt":
                return None
            if word.startswith(tuple(NO_KEY_AFTER)) and word != "key":
                return None
            if "shared" in words or "preshared" in words:
                return PASSWORD
            return KEY if at or word not in _KEY_WORDS else WEAK_KEY
        if word in _SESSION_WORDS:
            return WEAK_KEY
    return None
