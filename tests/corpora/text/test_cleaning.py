from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.text.cleaning import clean_text, is_absent, plain_line


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<P>초록이다.</P>", "초록이다."),
        ("첫째이다.&amp;#xD; 둘째이다.", "첫째이다. 둘째이다."),
        ("Nickel&#x2010;rich &amp;amp; stable", "Nickel\u2010rich & stable"),
        ("p &amp;lt; 0.05", "p < 0.05"),
        ("H<SUB>2</SUB>O, CO<sub>2</sub>, m<sup>2</sup>", "H2O, CO2, m2"),
        ("<TEX>$A_1$</TEX> 수용체", "A1 수용체"),
        ("<TEX>${\\mu}m$</TEX>, <TEX>$10^{18}$</TEX>, <TEX>$Mg^{++}$</TEX>", "μm, 10^18, Mg++"),
        ("<TEX>$1{\\sim}30{\\mu}M$</TEX>", "1~30μM"),
        ("<jats:p>One</jats:p><jats:p>Two</jats:p>", "One Two"),
        ("<▼1><P>Two languages.</P></▼1><▼2><P>두 언어.</P></▼2>", "Two languages. 두 언어."),
        ("<UL><LI>a</LI><LI>b</LI></UL>", "a b"),
        ("<IMG src='/x.gif' alt='x'/>figure", "figure"),
        ("<SikuGPT2>와 <구운몽>을", "<SikuGPT2>와 <구운몽>을"),
        ("if b <a then c> d", "if b <a then c> d"),
        (r"<TEX>$\begin{array}{l}\end{array}$</TEX> 식", r"$\begin{array}{l}\end{array}$ 식"),
        (r"<TEX>\sqrt</TEX>, <TEX>\href{a}</TEX>, <TEX>\verb</TEX>", r"\sqrt, \href{a}, \verb"),
        (f"a &#{'9' * 5_000}; &lt; b", "a \ufffd < b"),
        ("탭\t줄\r\n바꿈\u00a0끝", "탭 줄 바꿈 끝"),
        ("보이지\u200b않는\u202e것\ufeff", "보이지않는것"),
        ("\u00ad\u200f\u202a\u2060\u2069\ufff9\ufffb\u2010\u206a\ufffc", "\u2010\u206a\ufffc"),
        (f"<TEX>{'x' * 4_000}</TEX>", "x" * 4_000),
        (f"<TEX>{'x' * 4_001}</TEX>", f"<TEX>{'x' * 4_001}</TEX>"),
        ("nul\x00 bell\x07", "nul bell"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("", ""),
    ],
)
def test_raw_text_comes_out_as_it_would_be_read(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


def test_decomposed_hangul_is_composed() -> None:
    assert clean_text(unicodedata.normalize("NFD", "인공지능")) == "인공지능"


@pytest.mark.slow
@given(st.text())
def test_any_text_becomes_one_clean_line_and_cleaning_again_changes_no_invisible_part(raw: str) -> None:
    line = plain_line(raw)
    assert line == line.strip()
    assert unicodedata.is_normalized("NFC", line)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in line)
    assert plain_line(line) == line


@pytest.mark.parametrize(
    "raw",
    [
        "<p a=" + " " * 200_000,
        "<p" + " " * 200_000,
        "<p a" * 50_000,
        "<tex>" * 50_000 + "</tex>",
        "<TEX>" + "{" * 3_900 + "</TEX>",
        "<TEX>" + "\\frac{" * 500 + "</TEX>",
        "&" + "amp;" * 50_000,
        "<b" * 10_000 + ">" * 10_000,
        "<" * 200_000,
    ],
)
def test_mark_up_written_to_keep_a_reader_busy_costs_no_more_than_its_length(raw: str) -> None:
    began = time.process_time()
    text = clean_text(raw)
    assert time.process_time() - began < 2
    assert clean_text(text) == text


@pytest.mark.parametrize(
    ("raw", "clean"), [("&am<b>p;</b>lt;", "<"), ("<<b>b>", ""), ("&amp;amp;amp;amp;amp;lt;", "<")]
)
def test_what_undoing_brings_to_light_is_undone_too(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    ("raw", "link"),
    [
        (
            "http://x.y/?a=1&currentPage=2&timestamp=3&copy=4&lt=5",
            "http://x.y/?a=1&currentPage=2&timestamp=3&copy=4&lt=5",
        ),
        ("http://x.y/?a=1&amp;amp;region=kr&#38;b=2", "http://x.y/?a=1&region=kr&b=2"),
        ("<a href='#'>http://x.y/</a>", "http://x.y/"),
    ],
)
def test_the_parameters_of_a_link_are_no_entities(raw: str, link: str) -> None:
    assert clean_text(raw, is_link=True) == link
    assert clean_text(link, is_link=True) == link


@given(st.text(alphabet=st.sampled_from(list("<>&;#$\\{}^_ \n#x이가P/TEXamplt012")), max_size=60))
def test_hostile_mark_up_never_breaks_cleaning(raw: str) -> None:
    clean_text(f"<TEX>{raw}</TEX>{raw}")


@pytest.mark.parametrize(
    "text",
    [
        *("", "없음", "(없음)", "초록 없음.", "N/A", "n/a", "None", "-", ".", "No abstract available.", "nil", "null"),
        *("NA", "해당없음", "내용 없음", "초록이 없습니다.", "Abstract not available", "[Not available.]"),
    ],
)
def test_what_only_says_that_there_is_nothing_is_absent(text: str) -> None:
    assert is_absent(text)


@pytest.mark.parametrize(
    "text", ["없음이란 무엇인가", "Nano", "No abstract thought is needed", "0", "해당 없음의 논리"]
)
def test_what_says_something_is_not_absent(text: str) -> None:
    assert not is_absent(text)
