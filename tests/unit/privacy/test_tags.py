"""Which text is hidden because of a tag."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.privacy import suspect, tags
from claude_mem.privacy.tags import HIDDEN_TAGS, strip

CANARY = "kanarienvogel"


def kept(text: str) -> str:
    return strip(text)[0]


@pytest.mark.parametrize("tag", HIDDEN_TAGS)
def test_the_text_inside_a_hidden_tag_is_removed(tag: str) -> None:
    assert strip(f"a <{tag}>x</{tag}> b") == ("a  b", None, tag == "private")


def test_text_without_a_tag_is_unchanged() -> None:
    text = "private static int x; // <b>private</b> <privateer>arr</privateer> <private-key>k</private-key>"
    assert strip(text) == (text, None, False)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<PRIVATE>{}</PRIVATE>",
            "<Private>{}</pRIVATE>",
            "<private >{}</private >",
            "<private\n>{}</private\n>",
        ),
        *('<PRIVATE reason="x">{}</private>', '<private reason="a>b">{}</private>', "<private/>{}</private>"),
        *("<private>{}<\\/private>", "<private>{}<\\\\\\/private>", "&lt;private&gt;{}&lt;/private&gt;"),
        *("&amp;lt;private&amp;gt;{}&amp;lt;/private&amp;gt;", "<private>{}&lt;/private&gt;"),
        *(r"\u003cprivate\u003e{}\u003c/private\u003e", r"\u003Cprivate\u003E{}\u003C\/private\u003E"),
        *(
            r"\\u003cprivate\\u003e{}\\u003c/private\\u003e",
            r"\\\\u003cprivate\\\\u003e{}\\\\u003c\\u002fprivate>",
        ),
    ],
)
def test_a_tag_is_recognised_in_every_spelling(text: str) -> None:
    assert strip(f"before {text.format(CANARY)} after") == ("before  after", None, True)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_a_tag_is_recognised_in_nested_json(levels: int) -> None:
    text = f"<private>{CANARY}</private>"
    escaped = f"\\u003cprivate\\u003e{CANARY}\\u003c/private\\u003e"
    for _ in range(levels):
        text, escaped = json.dumps({"a": text}), json.dumps({"a": escaped})
    assert CANARY not in kept(text)
    assert CANARY not in kept(escaped)
    assert kept(text).endswith("}")


def test_nested_tags_hide_until_the_outermost_closes() -> None:
    assert kept("a<private>1<private>2</private>3</private>b") == "ab"


def test_other_tags_inside_a_hidden_tag_are_only_text() -> None:
    assert kept("a<private>1<system-reminder>2</private>b") == "ab"
    assert kept("a<system-reminder>1</private>2<private>3</system-reminder>b") == "ab"


def test_an_unclosed_private_tag_hides_to_the_end() -> None:
    assert strip(f"a<private>{CANARY} and more") == ("a", "private", True)


@pytest.mark.parametrize(
    "text", ["a<private", "a<private ", 'a<private reason="', "a\\u003cprivate", "a&lt;private"]
)
def test_a_tag_cut_off_at_the_end_of_the_text_hides_what_there_is_of_it(text: str) -> None:
    assert strip(text) == ("a", "private", True)


def test_a_closing_tag_that_is_not_whole_does_not_close() -> None:
    assert strip(f"a<private>x</private {CANARY}") == ("a", "private", True)
    assert strip(f"a<private>x</private reason>{CANARY}") == ("a", "private", True)
    assert CANARY not in kept(f"a<private>x</private <private>{CANARY}")
    assert CANARY not in kept(f"a<private>x</privateer>{CANARY}")
    assert CANARY not in kept(f"a<private>{CANARY}</private")


def test_an_orphan_closing_tag_hides_everything_before_it() -> None:
    assert strip(f"line 40 {CANARY}\n</private>\nline 42") == ("\nline 42", None, True)
    assert kept(f"{CANARY} <private>x</private> {CANARY}</private>b") == "b"


def test_an_orphan_of_another_tag_hides_nothing() -> None:
    assert kept("a</system-reminder>b") == "a</system-reminder>b"


def test_text_that_begins_inside_a_tag_is_hidden_until_it_closes() -> None:
    assert strip(f"{CANARY}</private>b", "private") == ("b", None, True)
    assert strip(CANARY, "private") == ("", "private", True)
    assert strip(f"{CANARY}</private>", "system-reminder") == ("", "system-reminder", False)


def test_removing_one_tag_does_not_spell_another() -> None:
    assert strip("a<pri<private>x</private>vate>b")[0] == "a<pri…vate>b"


def test_a_character_whose_lower_case_is_longer_does_not_shift_the_cut() -> None:
    assert kept("İİİİ<private>x</private>b") == "İİİİb"


FRAGMENTS = st.sampled_from(
    [
        *(
            "<private>",
            "</private>",
            "<PRIVATE x='1'>",
            "</private >",
            "<private",
            "</private",
            "<",
            ">",
            "/",
            " ",
        ),
        *("<system-reminder>", "</system-reminder>", r"\u003cprivate\u003e", r"\u003c/private\u003e", "\\"),
        *(
            "&lt;private&gt;",
            "&lt;/private&gt;",
            "&amp;",
            "lt;",
            "gt;",
            "pri",
            "vate",
            "u003c",
            "u003e",
            "\n",
            "İ",
            "a",
        ),
    ]
)
SOUP = st.lists(st.one_of(FRAGMENTS, st.text(max_size=4)), max_size=30).map("".join)


@given(SOUP, st.sampled_from([None, *HIDDEN_TAGS]))
def test_stripping_never_raises_and_stripping_twice_is_stripping_once(text: str, inside: str | None) -> None:
    once, _, _ = strip(text, inside)
    assert strip(once)[0] == once


@given(st.text(), st.text())
def test_any_text_at_all_can_be_stripped(before: str, after: str) -> None:
    assert CANARY not in kept(f"{before}<private>{CANARY}</private>{after}")


@given(
    st.lists(
        st.tuples(
            st.text("ab<>/\\ \n", max_size=5),
            st.sampled_from(["<private>", "<PRIVATE a=b>", r"\u003cprivate\u003e", "&lt;private&gt;"]),
            SOUP.filter(lambda soup: "rivate" not in soup.lower() and "vate" not in soup),
            st.sampled_from(["</private>", "</Private\n>", r"\u003c\/private\u003e", "&lt;/private&gt;", ""]),
        ),
        max_size=6,
    )
)
def test_no_character_that_stood_inside_a_private_tag_comes_back(
    parts: list[tuple[str, str, str, str]],
) -> None:
    text = "".join(f"{outside}{opening}{soup}{CANARY}{closing}" for outside, opening, soup, closing in parts)
    result, still, private = strip(text)
    assert CANARY not in result
    assert private == bool(parts)
    assert still == ("private" if any(not closing for *_, closing in parts) else None)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("&#60;private&#62;", "&#60;/private&#62;"),
        ("&#060;private&#062;", "&#060;&#47;private&#062;"),
        ("&#x3c;private&#x3e;", "&#x3C;/private&#x3E;"),
        ("&amp;#60;private&amp;#62;", "&amp;#60;/private&amp;#62;"),
        ("%3Cprivate%3E", "%3C/private%3E"),
        ("%3cprivate%3e", "%3c%2fprivate%3e"),
        (r"\x3cprivate\x3e", r"\x3c/private\x3e"),
        (r"\x3cprivate\x3e", r"\x3c\x2fprivate\x3e"),
        ("< private >", "</ private >"),
        ("< private >", "< / private >"),
        ("＜private＞", "＜/private＞"),
        ("＜ｐｒｉｖａｔｅ＞", "＜／ｐｒｉｖａｔｅ＞"),
        ("<pri\u200bvate>", "</pri\u200bvate>"),
        ("<\u200dprivate>", "<\u2060/private>"),
    ],
)
def test_a_tag_is_known_in_every_usual_spelling(opening: str, closing: str) -> None:
    text = f"before {opening}hidden{closing} after"
    assert tags.may_hide(text)
    assert tags.strip(text) == ("before  after", None, True)
    assert suspect.is_suspect(json.dumps({"prompt": text}, ensure_ascii=False).encode())


def test_characters_of_no_width_outside_a_tag_stay() -> None:
    text = "a\u200db <pri\u200bvate>hidden</private>\u00adc"
    assert tags.strip(text) == ("a\u200db \u00adc", None, True)


@pytest.mark.parametrize(
    "text", ["if a < private && b > c:", "x / private / y", "private: < 5", "a <privateer> b"]
)
def test_the_word_alone_is_no_tag(text: str) -> None:
    assert tags.strip(text) == (text, None, False)
