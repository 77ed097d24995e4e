from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claude_mem.model.memory import Findings, Nothing, Observation, Observed, Summary, Unreadable
from claude_mem.model.refs import TYPES
from claude_mem.model.text import one_line
from claude_mem.observe import reply

FULL = """
<observation>
  <type>bugfix</type>
  <title>Cookies survive a restart</title>
  <subtitle>The signing key is kept</subtitle>
  <narrative>The key was made anew.
It is read now.</narrative>
  <facts><fact>load_key() reads KEY_FILE</fact><fact>The file is made 0600</fact></facts>
  <concepts><concept>problem-solution: a fault</concept><concept>Bugfix</concept></concepts>
  <files_read><file>auth/keys.py</file></files_read>
  <files_modified><file>auth/keys.py</file><file>tests/test_keys.py</file></files_modified>
</observation>
"""


def memory_of(text: str) -> Findings:
    outcome = reply.read(text)
    assert isinstance(outcome, Observed), outcome
    return outcome.findings


def one(text: str) -> Observation:
    (observation,) = memory_of(text).observations
    return observation


def test_a_whole_observation_is_read_field_by_field() -> None:
    assert one(FULL) == Observation(
        type="bugfix",
        title="Cookies survive a restart",
        subtitle="The signing key is kept",
        narrative="The key was made anew.\nIt is read now.",
        facts=("load_key() reads KEY_FILE", "The file is made 0600"),
        concepts=("problem-solution",),
        files_read=("auth/keys.py",),
        files_modified=("auth/keys.py", "tests/test_keys.py"),
    )


def test_a_whole_summary_is_read_field_by_field() -> None:
    text = (
        "<summary><request>r</request><investigated>i</investigated><learned>l</learned><completed>c</completed>"
        "<next_steps>n</next_steps><files_read><file>a</file></files_read>"
        "<files_edited><file>b</file></files_edited><notes>o</notes></summary>"
    )
    assert memory_of(text).summaries == (Summary("r", "i", "l", "c", "n", ("a",), ("b",), "o"),)


def test_blocks_of_both_kinds_in_any_order_are_all_kept() -> None:
    memory = memory_of(f"<summary><learned>x</learned></summary>{FULL}<skip_summary/>{FULL}")
    assert (len(memory.observations), len(memory.summaries)) == (2, 1)


@pytest.mark.parametrize(
    "around",
    [
        "```xml\n{}\n```",
        "Here is what I saw:\n{}\nAnything else?",
        "<observations>{}</observations>",
        "\ufeff{}",
    ],
)
def test_fences_prose_and_wrappers_around_a_block_are_ignored(around: str) -> None:
    assert one(around.format(FULL)) == one(FULL)


def test_tags_may_be_in_any_case_with_attributes_and_spaces() -> None:
    text = '<Observation id="1">< TITLE lang="en" >T</ Title\n><next-steps>no</next-steps></OBSERVATION >'
    assert one(text) == Observation("change", "T")
    assert memory_of("<summary><next-steps>n</next-steps></summary>").summaries[0].next_steps == "n"


@pytest.mark.parametrize(
    ("given_type", "read_type"),
    [
        ("bugfix", "bugfix"),
        (" BugFix\n", "bugfix"),
        ("bug-fix", "bugfix"),
        ("epiphany", "change"),
        ("", "change"),
    ],
)
def test_a_type_is_normalised_and_an_unknown_one_is_a_change(given_type: str, read_type: str) -> None:
    assert one(f"<observation><type>{given_type}</type><title>T</title></observation>").type == read_type


def test_missing_fields_are_none_and_empty() -> None:
    assert one("<observation><title>T</title></observation>") == Observation("change", "T")


def test_a_truncated_last_block_keeps_its_complete_fields() -> None:
    cut = FULL + FULL[: FULL.index("It is read now")]
    first, last = memory_of(cut).observations
    assert first == one(FULL)
    assert last == Observation("bugfix", "Cookies survive a restart", "The signing key is kept")


def test_a_truncated_list_keeps_its_complete_items() -> None:
    assert one("<observation><facts><fact>whole</fact><fact>hal").facts == ("whole",)
    assert one("<observation><title>T</title><facts>\n- whole\n- hal").facts == ("whole",)


def test_a_reply_cut_off_before_its_first_whole_field_is_not_nothing() -> None:
    assert isinstance(reply.read("<observation><title>hal"), Unreadable)
    assert isinstance(reply.read("<nothing/><observation><title>hal"), Unreadable)


def test_a_field_that_was_not_closed_ends_where_the_next_begins() -> None:
    read = one("<observation><title>T<narrative>N</observation><observation></observation>")
    assert read == Observation("change", "T", narrative="N")
    both = memory_of("<observation><title>A</observation><observation><title>B</title></observation>")
    assert [each.title for each in both.observations] == ["A", "B"]


def test_a_block_that_was_not_closed_ends_where_the_next_begins() -> None:
    memory = memory_of("<observation><title>A</title><observation><title>B</title><summary><notes>n</notes>")
    assert [each.title for each in memory.observations] == ["A", "B"]
    assert len(memory.summaries) == 1


def test_what_sqlite_cannot_store_is_replaced() -> None:
    assert (
        one("<observation><title>a\ud800b\0c</title></observation>").title == "a?b\N{REPLACEMENT CHARACTER}c"
    )
    assert isinstance(reply.read("\udfff"), Unreadable)


def test_tags_inside_a_field_are_its_text() -> None:
    text = "<observation><title>The <observation> tag, <b>bold</b> and </summary></title></observation>"
    assert one(text).title == "The <observation> tag, <b>bold</b> and </summary>"


def test_of_a_field_given_twice_the_first_wins() -> None:
    assert one("<observation><title>A</title><title>B</title></observation>").title == "A"


def test_entities_are_decoded_once_and_no_others_are_expanded() -> None:
    text = "a &lt;b&gt; &amp;lt; &#39;x&#x27; &copy; &#0; &#xD800; &lol9;"
    assert (
        one(f"<observation><title>{text}</title></observation>").title
        == "a <b> &lt; 'x' &copy; &#0; &#xD800; &lol9;"
    )


def test_cdata_is_taken_as_it_stands() -> None:
    assert (
        one("<observation><title>a <![CDATA[</title> &lt; ]]>b</title></observation>").title
        == "a </title> &lt; b"
    )
    assert one("<observation><title>an open <![CDATA[ is text</title></observation>").title == (
        "an open <![CDATA[ is text"
    )


@pytest.mark.parametrize(
    "inside", ["one\ntwo", "- one\n- two\n", "\n  * one\n\n  • two\n", "<fact>one<fact>two"]
)
def test_facts_may_be_lines_bullets_or_unclosed(inside: str) -> None:
    assert one(f"<observation><facts>{inside}</facts></observation>").facts == ("one", "two")


def test_concepts_lose_the_type_and_what_follows_a_colon() -> None:
    inside = "gotcha: a trap, CHANGE, pattern"
    read = one(f"<observation><title>T</title><concepts>{inside}</concepts></observation>")
    assert read.concepts == ("gotcha", "pattern")


def test_the_older_form_becomes_a_narrative_with_a_title() -> None:
    read = one(
        "<observation><type>feature</type><text>Tokens are refreshed. They last 7 days.</text></observation>"
    )
    assert read == Observation(
        "feature", "Tokens are refreshed", narrative="Tokens are refreshed. They last 7 days."
    )


@pytest.mark.parametrize(
    "text",
    [
        "<nothing/>",
        "<nothing></nothing>",
        "```\n<NOTHING />\n```",
        '<skip_summary reason="a > b"/>',
        "<observations/>",
        "<observations>\n</observations>",
    ],
)
def test_an_explicit_empty_answer_is_nothing(text: str) -> None:
    assert reply.read(text) == Nothing()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "No observations needed.",
        '{"observations": []}',
        "<html><title>502</title></html>",
        "null",
        "You've hit your limit · resets 3pm",
        "<details><summary>More</summary></details>",
        "<observation/>",
        "<observation><type>bugfix|feature</type><facts><fact></fact></facts></observation>",
        "<observation></observation><summary><request></request></summary>",
        "<nothing",
        "nothing",
        "<observations>",
        "<observations>I saw none.</observations>",
        "</nothing>",
        "&lt;nothing/&gt;",
        "<nothings/>",
        "<nothing2/>",
    ],
)
def test_what_is_not_in_our_grammar_is_never_confirmed(text: str) -> None:
    assert isinstance(reply.read(text), Unreadable)


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ("<type>bugfix</type>", Observation("bugfix")),
        ("<files_read><file>a.py</file></files_read>", Observation("change", files_read=("a.py",))),
        (
            "<files_modified><file>a.py</file></files_modified>",
            Observation("change", files_modified=("a.py",)),
        ),
        ("<concepts><concept>gotcha</concept></concepts>", Observation("change", concepts=("gotcha",))),
    ],
)
def test_a_block_that_holds_anything_is_kept_alone_and_beside_others(fields: str, kept: Observation) -> None:
    block = f"<observation>{fields}</observation>"
    assert memory_of(block).observations == (kept,)
    assert memory_of(FULL + block).observations == (one(FULL), kept)
    assert memory_of("<summary><files_edited><file>b</file></files_edited></summary>").summaries == (
        Summary(files_edited=("b",)),
    )


def test_blocks_that_hold_nothing_are_counted() -> None:
    outcome = reply.read(f"<observation></observation>{FULL}<observation/><summary></summary>")
    assert isinstance(outcome, Observed)
    assert (len(outcome.findings.observations), outcome.empty) == (1, 3)
    assert reply.read("<observation></observation><nothing/>") == Nothing(empty=1)


@pytest.mark.parametrize(
    "tag",
    [
        '<skip_summary reason="a greeting"/>',
        "<skip_summary>a\ngreeting</skip_summary>",
        "<skip_summary reason='a greeting'>",
    ],
)
def test_why_a_summary_was_skipped_is_kept(tag: str) -> None:
    assert reply.read(tag) == Nothing(skipped="a greeting")
    outcome = reply.read(FULL + tag)
    assert isinstance(outcome, Observed)
    assert outcome.skipped == "a greeting"


def test_an_empty_reply_is_called_so() -> None:
    assert reply.read(" \n") == Unreadable("The model's reply is empty.")


def test_the_reason_shows_the_start_of_the_reply_in_one_short_line() -> None:
    outcome = reply.read("Sorry,\n\x1b[31mI cannot\x1b[0m " + "do that. " * 1000)
    assert isinstance(outcome, Unreadable)
    assert "Sorry, [31mI cannot" in outcome.reason
    assert len(outcome.reason) <= 200
    assert outcome.reason.isprintable()


def test_everything_has_a_cap() -> None:
    long = "x" * 5_000
    items = "".join(f"<fact>{n}</fact>" for n in range(99))
    files = "".join(f"<file>{n}</file>" for n in range(999))
    block = (
        f"<observation><title>{long}</title><narrative>{long}</narrative><facts>{items}</facts>"
        f"<files_read>{files}</files_read></observation>"
    )
    memory = memory_of(block * 99 + "<summary><notes>n</notes></summary>")
    assert len(memory.observations) == 50
    assert len(memory.summaries) == 1
    read = memory.observations[0]
    assert (len(read.facts), len(read.files_read)) == (20, 200)
    assert read.narrative is not None
    assert len(read.narrative) == 4_000
    assert read.narrative.endswith("x…")


# What any reply may be made of, so that chance finds its way into blocks and fields.
SCRAPS = [*sorted(reply.NAMES), "b", "![CDATA["]
SOUP = st.lists(
    st.one_of(
        st.sampled_from([f"<{name}>" for name in SCRAPS] + [f"</{name}>" for name in SCRAPS]),
        st.sampled_from(
            [f"<{name}/>" for name in SCRAPS] + ["]]>", "<", ">", "&", "&lt;", "&#xD800;", "\n- "]
        ),
        st.text(max_size=8),
    ),
    max_size=40,
).map("".join)


@given(st.one_of(st.text(), SOUP))
@example("<observation><![CDATA[<title>")
@example("<observation><facts></observation></facts>")
@example("<observation><files_modified><<concepts>")
def test_any_text_is_read_and_what_is_read_can_be_stored(text: str) -> None:
    outcome = reply.read(text)
    assert isinstance(outcome, Observed | Nothing | Unreadable)
    repr(outcome).encode()
    if isinstance(outcome, Observed):
        assert outcome.findings.observations or outcome.findings.summaries
        assert Observation("change") not in outcome.findings.observations, "a block that holds nothing"


def write(findings: Findings) -> str:
    """What a well-behaved model would have answered."""

    def escaped(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def tag(name: str, text: str | None) -> str:
        return f"<{name}>{escaped(text)}</{name}>" if text else ""

    def many(name: str, item: str, values: Iterable[str]) -> str:
        return f"<{name}>{''.join(tag(item, value) for value in values)}</{name}>"

    blocks = [
        "<observation>"
        + "".join(tag(name, getattr(o, name)) for name in ("type", "title", "subtitle", "narrative"))
        + many("facts", "fact", o.facts)
        + many("concepts", "concept", o.concepts)
        + many("files_read", "file", o.files_read)
        + many("files_modified", "file", o.files_modified)
        + "</observation>"
        for o in findings.observations
    ]
    texts = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    blocks += [
        "<summary>"
        + "".join(tag(name, getattr(s, name)) for name in texts)
        + many("files_read", "file", s.files_read)
        + many("files_edited", "file", s.files_edited)
        + "</summary>"
        for s in findings.summaries
    ]
    return "\n".join(blocks)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
LINE = TEXT.map(one_line).filter(bool)
LINES = st.lists(LINE, max_size=4, unique=True).map(tuple)
PROSE = st.none() | TEXT.map(str.strip).filter(bool)
CONCEPTS = st.lists(st.sampled_from(["gotcha", "pattern", "why"]), unique=True).map(tuple)
OBSERVATION = st.builds(
    Observation,
    st.sampled_from(TYPES),
    title=LINE,
    subtitle=st.none() | LINE,
    narrative=PROSE,
    facts=LINES,
    concepts=CONCEPTS,
    files_read=LINES,
    files_modified=LINES,
)
SUMMARY = st.builds(Summary, LINE, PROSE, PROSE, PROSE, PROSE, LINES, LINES, PROSE)
MEMORY = st.builds(
    Findings,
    st.lists(OBSERVATION, min_size=1, max_size=4).map(tuple),
    st.lists(SUMMARY, max_size=2).map(tuple),
)


@given(MEMORY)
def test_what_was_written_is_read_back(findings: Findings) -> None:
    assert reply.read(write(findings)) == Observed(findings)
