"""Passwords that commands, SQL statements and library calls take: one row each, like `vendor_tokens`.

Flags that say what they are (--password, --token, -storepass) need no row: `credential_names` finds them.
"""

from __future__ import annotations

from claude_mem.privacy.vendor_tokens import Row

# A word of a shell: quoted with anything in it, or not. Not what was redacted, and no variable.
WORD = (
    r"(?!\\{0,3}[\"']?(?:\[redacted:|\$[A-Za-z_{(]\w*[\"']?(?:\s|$)|<[a-z]))"
    r"(?:\\{0,3}\"((?:[^\"\\\n]|\\[^\"\n]){3,200})\\{0,3}\"|\\{0,3}'([^'\n]{3,200}?)\\{0,3}'|([^\s\"'\\|;&<>()]{3,200}))"
)
_GAP = r"[^\n|;&]{0,200}?"


def _flag(commands: str, flags: str, separator: str = "[ =]{1,2}") -> str:
    return rf"(?<![\w-])(?:{commands})(?:\.exe)?[ ]{_GAP}(?<=[ \t])(?:{flags}){separator}{WORD}"


# fmt: off
# ruff: noqa: E501 - a rule reads as one row
ROWS: tuple[Row, ...] = (
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
