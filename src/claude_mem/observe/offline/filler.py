"""Which sentences only keep company: politeness, a word that it is done, a pointer to elsewhere."""

from __future__ import annotations

import re

_WHOLE = re.compile(
    r"""(?:(?:all\ )?(?:done|set|good|finished|completed?|ready|fixed|updated|noted|confirmed|understood)
    | ok(?:ay)? | yes | no | sure(?:\ thing)? | hello | hi | hey | thanks?(?:\ you)? | great | perfect
    | got\ it | you['’]re\ welcome | good\ (?:morning|evening|question) | of\ course | absolutely | certainly
    | (?:analysis|review|work|task|everything|it)(?:['’]s|\ is)?\ (?:done|complete|finished|ready)
    | fertig | erledigt | hallo | gerne | danke | bonjour | terminé | fait | voilà | merci | hola | listo
    | hecho | gracias | olá | pronto | feito | готово | сделано | привет | 完成 | 你好 | 完了 | 안녕하세요
    )(?:[\ ,]+(?:there|again|everyone|now|here|then|as\ asked|as\ requested))?[.!,:…。！]*""",
    re.X | re.I,
)
_BEGINNING = re.compile(
    r"""(?:let\ me\ know | feel\ free | happy\ to | glad\ to | (?:i['’]m|i\ am)\ (?:ready|here|happy|glad)\b
    | say\ the\ word | just\ (?:say|ask|tell\ me) | how\ can\ i\ help | what\ would\ you\ like
    | as\ (?:noted|said|described|mentioned)\ (?:above|before|earlier)\b
    | (?:please\ )?see\ (?:the\ |my\ |your\ |also\ )?\S+(?:\ \S+)?(?:\ for\ (?:the\ |more\ )?\S+)?[.!]?$
    | (?:the\ )?(?:details|rest|full\ \S+)\ (?:is|are)\ (?:above|below|in)\b
    | here(?:['’]s|\ is|\ are)\ (?:the|my|a|what|an)\ [\w\ ,-]{1,40}[.:]?$ )""",
    re.X | re.I,
)


def is_one(sentence: str) -> bool:
    return _WHOLE.fullmatch(sentence) is not None or _BEGINNING.match(sentence) is not None
