"""What a heading is about: small word lists, in several languages. Only structure else."""

from __future__ import annotations

import re
from typing import Literal

Topic = Literal["done", "next", "learned", "decided", "checked", "other"]


def _any(listed: str) -> re.Pattern[str]:
    words = [" ".join(word.split()) for word in listed.split(";")]
    latin = "|".join(word for word in words if re.match(r"^[\x00-\u024f\u0400-\u04ff\\]+$", word))
    other = "|".join(word for word in words if not re.match(r"^[\x00-\u024f\u0400-\u04ff\\]+$", word))
    return re.compile(rf"(?<!\w)(?:{latin})" + (rf"|{other}" if other else ""), re.I)


_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    (
        "next",
        _any(
            r"""plan\b; propos; suggest; vorschlag; vorschläge; propuest; план; предлож; 计划; 建议; 提案;
            계획; 제안; (?<!on )(?<!to )(?<!against )next; todo; to do; follow.?up; remaining; still open;
            what's left; left to do; open (?:question|point|item); outstanding; not done; not yet; your call;
            nächst; offen; noch zu; prochain; reste à; à faire; siguient; pendient; próxim; prossim;
            следующ; осталось; дальше; 下一步; 后续; 待办; 次の; 残り; 今後; 다음; 남은"""
        ),
    ),
    (
        "checked",
        _any(
            r"""verif; test; check; validat; proof; gates?\b; quality; geprüft; prüfung; vérif; comprob;
            verific; провер; тест; 验证; 测试; 検証; テスト; 검증; 테스트"""
        ),
    ),
    (
        "decided",
        _any(
            r"""decision; decided; design choice; trade-?off; rationale; why (?:this|not); entscheidung;
            abwägung; décision; choix; compromis; decisi; decisão; решени; 决定; 取舍; 決定; 判断; 결정"""
        ),
    ),
    (
        "learned",
        _any(
            r"""finding; root cause; cause; analysis; verdict; how it works; what happen; why\b; investigat;
            result; conclusion; gap; learned; ursache; befund; analyse; ergebnis; erkenntnis; constat;
            résultat; causa; hallazgo; análisis; resultado; причин; вывод; анализ; результат; 原因; 发现;
            分析; 结论; 調査; 結果; 원인; 분석; 결과"""
        ),
    ),
    (
        "done",
        _any(
            r"""what (?:i )?(?:changed|did|was); changes?\b; changed; done; completed; implement; summary;
            fixed; added; files; änderung; geändert; erledigt; umgesetzt; zusammenfassung; modification;
            changement; fait\b; terminé; résumé; cambio; hecho; completad; resumen; alteraç; mudança;
            feito; изменени; сделано; готово; 变更; 修改; 完成; 总结; 変更; 実装; 完了; 변경; 완료"""
        ),
    ),
)

HEDGED = _any(
    r"""probably; perhaps; maybe; might; could be; possibly; presumably;
    i (?:think|guess|suspect|believe|assume); likely; seems?; appears? to; wahrscheinlich;
    vielleicht; vermutlich; könnte; peut-être; probablement; semble; quizás?; tal vez;
    probablemente; parece; talvez; provavelmente; возможно; вероятно; наверное; кажется; 可能;
    也许; 大概; かもしれ; おそらく; たぶん; 아마"""
)
REASON = _any(
    r"""because; since; so that; in order to; to avoid; due to; weil; damit; denn\b; um zu vermeiden;
    parce que; car\b; afin; pour éviter; porque; ya que; para evitar; pois; потому; чтобы; 因为;
    为了; 避免; ため; から; 때문; 위해"""
)
INSTEAD = _any(
    r"""instead of; rather than; in favou?r of; opted; chose; statt; anstatt; anstelle;
    plutôt que; au lieu; en lugar de; en vez de; em vez; вместо; а не; 而不是; 代替; 選;
    のではなく; 대신"""
)
# Words of a choice; by themselves they do not say what spoke for it.
DECIDED = _any(
    r"""(?<!is )(?<!are )(?<!be )decided (?:against|to|on|not|in favou?r)\b; chose\b; went with\b; opted\b;
    settled on\b; entschied; décidé; choisi; decidi; elegí; optei; решил; выбрал; 决定; 選んだ; 決め; 결정"""
)


def topic(heading: str) -> Topic:
    """What stands under this heading; 'other' if it does not say. Of a long one only its beginning counts."""
    words = heading[:120].split()
    label = " ".join(words if len(words) <= 6 else words[:3])
    return next((name for name, known in _TOPICS if known.search(label)), "other")
