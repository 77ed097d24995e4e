"""Whether a value may be a secret: placeholders, code and plain words are not.

Words are distinguished from random letters by their pairs of letters: in English and in code, 96% of the
pairs are among the 250 most common ones; in random text, 37%.
"""

from __future__ import annotations

from claude_mem.privacy.credential_names import KEY, PASSWORD, PASSWORD_ENDS, WEAK_KEY

MARK = "[redacted:"
DIGITS = frozenset("0123456789")
BLANKS = " \t\r\n"

# Each word is a letter, and those that commonly follow it.
_COMMON_PAIRS = frozenset(
    letters[0] + second
    for letters in """abcdgiklmnpqrstuvwxy baegijloruys cacehikloprstuyd dadeilorsutbmp
    eabcdefgilmnopqrstvwxy faefilortusd gaeghilnorsut haeioruty iabcdefgklmnoprstvxz jaeosu kaeisy
    labdefiklmoprstuyv mabeilmopsuydn nacdefgiklmnopstuvyr oabcdefgiklmnoprstuvwx paehiloprstuyd qu
    rabcdefgiklmnoprstuvy sacehiklmnopqstuwy tacehiloprstuwym uabcdegilmnprst vaeio waehinors xaceipty
    yaeilmnopst zaeioz""".split()
    for second in letters[1:]
)

# Placeholders for a secret, or for its absence. Not `postgres`, which is a password, although a bad one.
_PLACEHOLDERS = frozenset(
    """string str text required optional undefined password passwd pass pwd passphrase secret token key
    apikey boolean bool int null none nil true false changeme change_me change-me changeit example
    redacted hidden masked todo tbd empty missing invalid incorrect unset value default foo bar here
    prompt ask env environ inherit placeholder unknown any object buffer bytes disabled enabled yes no
    on off function number var let const password1 mypassword yourpassword""".split()
)
_INVITATIONS = tuple("your insert replace enter change put- put_ fill some- some_ add-".split())
_SUBSTITUTIONS = (("${", "}"), ("{{", "}}"), ("#{", "}"), ("$(", ")"))
_CODE_ROOTS = frozenset(
    """process os self this args req request res config settings cfg conf env environ secrets secret vars
    var local data module each values context ctx options opts params props state user users form input
    event app cls super import random_password steps github inputs needs matrix kwargs c s.environ
    system platform deno bun""".split()
)


def is_placeholder(value: str) -> bool:
    """Whether the value is only a placeholder for a secret: $TOKEN, <token>, your-token, xxxx."""
    low = value.lower()
    if low in _PLACEHOLDERS or value.startswith(MARK) or len(set(low)) == 1:
        return True
    if value.startswith("$") and (
        value[1:].isidentifier() or value[1:2] in ("{", "(", "$") or value[1:].isdigit()
    ):
        return not (len(value) > 6 and value[1:].isalnum() and is_random(value[1:], 6))
    if any(is_word_between(value, *pair) for pair in ("<>", "[]", "%%", "{}")):
        return True
    if any(opens in value and closes in value for opens, closes in _SUBSTITUTIONS):
        return True
    if value[:1] in ("<", "{", "%") and is_wordy(value) and not any(c in DIGITS for c in value):
        return True
    if not (set(low) - set("x*.-_•#")) or "xxxxxxxx" in low or "********" in low:
        return True
    if ("..." in value or "…" in value) and len(value) <= 20:
        return True
    return low.startswith(_INVITATIONS) and is_wordy(value) and not any(c in DIGITS for c in value)


def is_word_between(value: str, opens: str, closes: str) -> bool:
    inner = value[1:-1]
    is_between = len(value) > 2 and value.startswith(opens) and value.endswith(closes)
    return is_between and (len(inner) < 6 or is_wordy(inner))


def is_wordy(value: str) -> bool:
    """Whether the value is made of words, as names and sentences are; a number or two may be among them.

    Of 30,000 identifiers in libraries 98 % are, of random letters and digits under 1 %: words that change
    their case begin with it, and have four letters and more on average.
    """
    known = pairs = humps = letters = numbers = digits = 0
    before = before_that = ""
    for character in value[:256]:
        if character.isalpha():
            letters += 1
            if before.islower() and character.isupper():
                humps += 1
            elif before.isalpha():
                pairs += 1
                known += (before + character).lower() in _COMMON_PAIRS or not character.isascii()
                humps += before_that.isupper() and before.isupper() and character.islower()
            elif before.isdigit():
                humps += 1
        elif character in DIGITS:
            digits += 1
            numbers += before not in DIGITS
        before_that, before = before, character
    if letters < 3 or digits * 2 > letters + 6:
        return False
    return known * 5 >= pairs * 4 - 1 and humps * 4 < letters and numbers * 8 <= letters + 8


def is_code(value: str, is_env: bool = False) -> bool:
    """Whether the value is a call, a subscript or a dotted name. In NAME=value it must start as code does."""
    head = value.partition("(")[0].partition("[")[0]
    parts = head.lstrip("&*!@").split(".")
    if not (len(head) < len(value) or len(parts) > 1) or not all(
        part.rstrip("?!").isidentifier() for part in parts
    ):
        return False
    if parts[0].lower() in _CODE_ROOTS or (len(head) < len(value) and value[-1:] in ")]"):
        return True
    if len(head) == len(value) and value[-1] in DIGITS and value[-2:-1] in DIGITS:
        return False  # Summer.Winter22
    return not is_env and all(is_wordy(part) or len(part) < 4 for part in parts)


def is_random(value: str, least: int) -> bool:
    """Whether the value looks random, unlike names, words, paths and numbers."""
    if len(value) < least or any(blank in value for blank in BLANKS) or "://" in value:
        return False
    if value.startswith(("/", "./", "../", "~/", "arn:")) and value.count("/") + value.count(":") > 1:
        return is_blob(value)
    if value[:1] == "-" or value.isdigit() or not any(c.isalnum() for c in value):
        return False
    return not is_wordy(value) and not is_code(value)


def is_blob(value: str) -> bool:
    """Whether it is base64, which may start with a slash; a path contains words."""
    has_few_slashes = value.count("/") * 10 < len(value)
    return len(value) >= 30 and has_few_slashes and "." not in value and not is_wordy(value)


def is_password(value: str, least: int = 6) -> bool:
    """Whether a word of a sentence looks like a password."""
    if len(value) < least or not any(c.isalnum() for c in value) or "://" in value or is_code(value):
        return False
    if not value.isascii():
        return False
    has_digit = any(c in DIGITS for c in value)
    if has_digit:
        if not any(c.isalpha() for c in value):
            return value.isdigit() and len(value) >= 6
        return not value[0].isdigit() or not is_quantity(value)
    return len(value) >= 8 and not is_wordy(value) and not value.endswith(("'s", "n't"))


def is_uuid(value: str) -> bool:
    return len(value) == 36 and [len(part) for part in value.split("-")] == [8, 4, 4, 4, 12]


def is_quantity(value: str) -> bool:
    """8-character, 30s, 2nd, 3.11.2, 12MB."""
    rest = value.lstrip("0123456789.,-")
    return len(rest) < 3 or (rest.isalpha() and is_wordy(rest))


def is_secret(
    value: str,
    kind: str,
    *,
    is_env: bool = False,
    is_tight: bool = False,
    is_quoted: bool = False,
    is_name_of_secret: bool = False,
) -> bool:
    if len(value) < 4 or is_placeholder(value) or not any(c.isalnum() for c in value):
        return False
    low = value.lower()
    if kind == PASSWORD:
        if _is_drive_path(value):
            return False
        if is_quoted:
            return _is_quoted_password(value, low)
        if low.startswith(("/", "./", "~/", "../", "$(", "`")) or is_code(value, is_env):
            return False
        if is_env:
            return True
        if is_tight:
            return is_password(value, 4) or (len(value) >= 8 and not is_wordy(value))
        return is_password(value, 5) and not value.startswith("!vault")
    if is_quoted and " " in value:
        return kind == KEY and value.count(" ") < 6 and is_random(value.replace(" ", ""), 16)
    has_digit = any(c in DIGITS for c in value)
    if kind == WEAK_KEY and (not (is_tight or is_quoted) or (is_uuid(value) and not is_env)):
        return False
    has_sign = any(c in "!@#%^*" for c in value[1:])
    if kind == KEY and len(value) >= 8 and has_digit and has_sign and not is_code(value):
        return "://" not in value
    if is_env and is_name_of_secret and has_digit and value.isalnum() and len(value) >= 8:
        return True
    least = 8 if kind == KEY else 16
    is_hash = value.startswith(("ssh-", "SHA256:", "sha256:", "sha512-"))
    if is_hash or value.isdigit() or is_code(value, is_env):
        return False
    if is_env and kind == KEY and len(value) >= 12 and "." in value and has_digit:
        return not is_wordy(value)
    return is_random(value, least) and (has_digit or len(value) >= 12)


def _is_drive_path(value: str) -> bool:
    """C:\\Users, however often its backslashes are escaped: `Pwd` is also a working directory."""
    return value[1:3] in (":\\", ":/") and value[0].isascii() and value[0].isalpha()


def _is_quoted_password(value: str, low: str) -> bool:
    if "://" in low or low.startswith("arn:"):
        return False
    if " " in value:
        has_digit = any(c in DIGITS for c in value)
        return has_digit and value.count(" ") < 5 and not low.endswith((".", ":", "?", "!"))
    if low.endswith(PASSWORD_ENDS) and ("_" in low or "-" in low or "." in low):
        return False  # a field's name
    if value.isupper() and "_" in value and is_wordy(value):
        return False
    is_selector = value.startswith((".", "#")) and value[1:].isidentifier() and value.islower()
    return len(value) >= 6 and not is_selector and not is_code(value)


def run_end(text: str, at: int, limit: int, ends: tuple[str, ...]) -> int:
    """The position of the first of `ends`. By searches, because a loop over characters is ten times
    slower."""
    for end in ends:
        found = text.find(end, at, limit)
        limit = found if found >= 0 else limit
    return min(limit, len(text))


def past(text: str, at: int, characters: str, limit: int) -> int:
    """The position of the first character from `at` on that is none of these, or `limit`."""
    limit = min(limit, len(text))
    while at < limit and text[at] in characters:
        at += 1
    return at


def is_address(value: str) -> bool:
    """Whether the value is an email address."""
    name, at, host = value.partition("@")
    labels = host.split(".")
    if not (name and at and len(labels) > 1 and labels[-1].isalpha()):
        return False
    return all(label.replace("-", "").isalnum() for label in labels)


def is_hex(value: str) -> bool:
    return not set(value) - set("0123456789abcdefABCDEF")
