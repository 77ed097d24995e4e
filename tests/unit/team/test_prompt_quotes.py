"""What repeats a prompt does not leave with a memory, where prompts stay on the machine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.team.prompt_quotes import Prompts, Unquotable, without_quotes

ASKED = (
    "Please rename the zanzibar ledger to the quarterly ledger, "
    "since the auditors mix it up with Dar es Salaam.\n"
    "Always write amounts in cents."
)


def left(**record: object) -> dict[str, Any]:
    return without_quotes({"kind": "observation", **record}, Prompts(ASKED))


def test_a_title_made_of_the_request_is_replaced_by_what_was_done() -> None:
    title = "Rename the zanzibar ledger to the quarterly ledger"
    assert left(title=title, narrative="The class is QuarterlyLedger now.")["title"] == (
        "The class is QuarterlyLedger now"
    )
    assert left(title=title, facts=["Three modules imported it"])["title"] == "Three modules imported it"
    assert left(title=title, files_modified=["src/ledger.py"])["title"] == "ledger.py changed"


def test_a_memory_that_only_repeats_a_prompt_is_held_back() -> None:
    with pytest.raises(Unquotable):
        left(title="Always write amounts in cents", facts=["The user: “Always write amounts in cents.”"])


def test_the_agents_own_words_go_also_where_they_name_the_same_things() -> None:
    own = {
        "title": "LedgerName is an enum",
        "narrative": "The ledger's name was a free string. It is an enum of two members now.",
        "facts": ["QuarterlyLedger replaced it in src/ledger.py"],
        "completed": "Tests pass for the quarterly one.",
    }
    assert left(**own) == {"kind": "observation", **own}


def test_a_sentence_of_the_prompt_is_left_out_of_a_text_and_the_rest_goes() -> None:
    narrative = "The auditors mix it up with Dar es Salaam. It was used in three modules."
    assert left(title="Three modules", narrative=narrative)["narrative"] == "It was used in three modules."


def test_a_quotation_inside_a_longer_sentence_counts() -> None:
    quoted = "As the comment says, the auditors mix it up with Dar es Salaam and with others in the south"
    assert "learned" not in left(learned=quoted)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("请把价格改成整数并且四舍五入到分,因为审计员搞混了", "把价格改成整数"),
        ("価格を整数に変更して、端数は切り捨ててください", "価格を整数に変更"),
        ("add retry to\nthe uploader when\nS3 says 503", "add retry to the uploader when S3 says 503"),
        ("Fix the login. Use tokens. No cookies.", "Fix the login, use tokens"),
        ("mind rename_the_zanzibar_ledger first", "rename the zanzibar ledger"),
        ("M\u00fcller bekommt keinen Rabatt", "Mu\u0308ller bekommt keinen Rabatt"),
        (f"{'one two three ' * 39}the auditors mix it up with Dar", "Say the auditors mix it up with, so"),
    ],
)
def test_another_spelling_line_break_or_writing_hides_no_repetition(asked: str, text: str) -> None:
    assert Prompts(asked).are_in(text)


def test_the_agents_own_words_in_writing_without_spaces_go() -> None:
    asked = Prompts("请把数据库连接池的大小改成二十。")
    assert not asked.are_in("为了排查超时问题,新增了监控指标并调整了数据库连接池")


def test_a_request_in_the_prompts_words_stays_in_whatever_order() -> None:
    wished = {"request": "No cookies: fix login, tokens", "subtitle": "tokens, no cookies for the login"}
    asked = Prompts("Fix the login.\n\nUse tokens for it.\n\nIn this house we want no cookies.")
    assert without_quotes({"title": "Sessions", **wished}, asked) == {"title": "Sessions"}


def test_what_the_user_chose_and_wished_is_no_fact_for_others() -> None:
    facts = ["The user chose: Which currency? → francs", "The user: “cents, please”", "Tests were added"]
    assert left(title="x", facts=facts)["facts"] == ["Tests were added"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_whatever_is_asked_and_answered_it_ends_and_nothing_is_added(asked: str, text: str) -> None:
    prompts = Prompts(asked)
    assert prompts.left_of(text) == text or len(prompts.left_of(text)) <= len(text)
    assert not prompts.are_in("")
    assert not Prompts("").are_in(text)
