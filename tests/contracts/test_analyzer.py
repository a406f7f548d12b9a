"""What every analyser keeps to, whatever it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.indexing.analysis import Analyzer
from shrag.indexing.korean import KoreanEnglishAnalyzer

ANALYZERS: list[Analyzer] = [KoreanEnglishAnalyzer()]

scholarly = st.text(st.sampled_from(list("인공지능은 검색한 ABc12-.'()αβ₂ﬁ中\u3000\n€㎏ㅎ̈")), max_size=60) | st.text(
    max_size=40
)


@pytest.mark.parametrize("analyzer", ANALYZERS)
@settings(max_examples=300, deadline=None)
@given(text=scholarly)
def test_any_text_has_terms_that_a_run_of_the_index_can_hold(analyzer: Analyzer, text: str) -> None:
    ((tokens,), (terms,)) = analyzer.tokens([text]), analyzer.terms([text])
    assert [token.term for token in tokens] == terms
    assert all(term and len(term) <= 64 and not any(map(str.isspace, term)) for term in terms)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@pytest.mark.parametrize("analyzer", ANALYZERS)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(scholarly, max_size=4))
def test_a_text_is_analysed_alike_alone_in_a_batch_and_again(analyzer: Analyzer, texts: list[str]) -> None:
    together = analyzer.terms(texts)
    assert together == [analyzer.terms([text])[0] for text in texts] == analyzer.terms(texts)


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_spacing_around_words_makes_no_difference(analyzer: Analyzer) -> None:
    assert analyzer.terms(["인공지능  검색\n(search)"]) == analyzer.terms(["인공지능 검색 (search)"])


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_the_fingerprint_is_stable_and_says_something(analyzer: Analyzer) -> None:
    assert analyzer.fingerprint == type(analyzer)().fingerprint
    assert len(analyzer.fingerprint) > 20
