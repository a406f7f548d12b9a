"""Contract of analyzers, over every implementation and every configuration."""

from __future__ import annotations

import random
import time
import unicodedata
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.indexing.analysis.analyzer import Analyzer, Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.stopwords import QUESTION_WORDS
from shrag.indexing.analysis.token_store import TokenStore, write_token_store
from shrag.indexing.analysis.user_dictionary import parse_dictionary

WORDS = parse_dictionary(["인공지능", "검색 엔진", "K-방역", "C++", "deep learning"], "words.tsv")


@pytest.fixture(scope="module")
def with_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Analyzer]:
    """Return a maker of analysers with a token store of some of the words below, Kiwi not yet loaded."""
    path = tmp_path_factory.mktemp("store") / "tokens.sqlite"
    noticed: dict[str, bytes] = {}
    plain = KoreanEnglishAnalyzer(on_new_word=lambda met: noticed.update({met[0]: msgspec.json.encode(met[1])}))
    plain.terms(["인공지능은 검색한", *QUESTION_WORDS])
    write_token_store(path, sorted(noticed.items()))
    return lambda: KoreanEnglishAnalyzer(TokenStore(path))


@pytest.fixture(scope="module", params=["plain", "with a token store", "with a dictionary"])
def make(request: pytest.FixtureRequest, with_store: Callable[[], Analyzer]) -> Callable[[], Analyzer]:
    ways: dict[str, Callable[[], Analyzer]] = {
        "plain": KoreanEnglishAnalyzer,
        "with a token store": with_store,
        "with a dictionary": lambda: KoreanEnglishAnalyzer(dictionary=WORDS),
    }
    return ways[request.param]


@pytest.fixture(scope="module")
def analyzer(make: Callable[[], Analyzer]) -> Analyzer:
    return make()


# Lone surrogates, controls, bidi, joined emoji, letters apart and marks without a base: all that a text may hold.
hostile = st.text(st.characters(exclude_categories=()), max_size=40) | st.text(
    st.sampled_from(list("가ᄒᆞᆫ각\u1100\u1161a\u0301\u0323\ud800\udfff\0\u202e\u200d👩🏽\ufdfaαβ²％%-+.,'\u3000\n 1")),
    max_size=60,
)
scholarly = st.text(st.sampled_from(list("인공지능은 검색한 엔진을K-방역ABc12-.'()αβ₂ﬁ中\u3000\n€㎏ㅎ̈+")), max_size=60)


def check_text(analyzer: Analyzer, text: str) -> None:
    ((tokens,), (terms,)) = analyzer.tokens([text]), analyzer.terms([text])
    assert [token.term for token in tokens] == terms
    assert all(term and len(term) <= 64 and not any(map(str.isspace, term)) for term in terms)
    assert all(term.encode() for term in terms)  # what cannot be written as UTF-8 raises
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(text=scholarly | hostile)
def test_any_text_has_terms_that_a_run_of_the_index_can_hold(analyzer: Analyzer, text: str) -> None:
    check_text(analyzer, text)


@pytest.mark.soak
@settings(max_examples=10_000, deadline=None)
@given(text=scholarly | hostile)
def test_ten_thousand_texts_have_terms_that_a_run_of_the_index_can_hold(analyzer: Analyzer, text: str) -> None:
    check_text(analyzer, text)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(texts=st.lists(scholarly | hostile, max_size=4))
def test_a_text_is_analysed_alike_alone_in_a_batch_and_again(analyzer: Analyzer, texts: list[str]) -> None:
    together = analyzer.terms(texts)
    assert together == [analyzer.terms([text])[0] for text in texts] == analyzer.terms(texts)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    text=st.text(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3) | st.sampled_from(" -éA1은"), max_size=30)
)
def test_letters_apart_give_the_terms_of_letters_together(analyzer: Analyzer, text: str) -> None:
    assert analyzer.terms([unicodedata.normalize("NFD", text)]) == analyzer.terms([text])


def test_spacing_around_words_makes_no_difference(analyzer: Analyzer) -> None:
    assert analyzer.terms(["인공지능  검색\n(search)"]) == analyzer.terms(["인공지능 검색 (search)"])


def test_the_empty_has_no_tokens(analyzer: Analyzer) -> None:
    assert analyzer.terms([]) == []
    assert analyzer.tokens(["", " \n", "…"]) == [[], [], []]


def test_the_fingerprint_is_stable_and_decided_by_what_decides_the_terms(
    make: Callable[[], Analyzer], analyzer: Analyzer
) -> None:
    assert analyzer.fingerprint == make().fingerprint
    assert len(analyzer.fingerprint) > 20
    plain = KoreanEnglishAnalyzer()
    differs = analyzer.terms(["인공지능"]) != plain.terms(["인공지능"])
    assert differs == (analyzer.fingerprint != plain.fingerprint)


def test_tokens_are_of_the_shared_type(analyzer: Analyzer) -> None:
    ((token, *_),) = analyzer.tokens(["검색은"])
    assert token == Token("검색", 0, 2, "noun")


ENDLESS = {
    "a": "a",
    "가": "가",
    "Hangul in letters": "\u1112\u1161\u11ab",
    "marks": "\u0301\u0323",
    "joined emoji": "👩\u200d",
    "hyphens": "a-",
    "surrogates": "\ud800가",
    "commas": "1,",
    "bidi": "\u202e가b",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDLESS)
def test_a_text_of_ten_megabytes_without_a_space_is_analysed_within_seconds(analyzer: Analyzer, what: str) -> None:
    text = ENDLESS[what] * (10 * 2**20 // len(ENDLESS[what].encode("utf-8", "surrogatepass")))
    started = time.process_time()
    (terms,) = analyzer.terms([text])
    assert time.process_time() - started < 20
    assert all(len(term) <= 64 for term in terms)


@pytest.mark.soak
def test_ten_megabytes_of_words_never_seen_take_a_minute_at_most(analyzer: Analyzer) -> None:
    chance = random.Random(20261121)
    syllables = [chr(chance.randrange(0xAC00, 0xD7A4)) for _ in range(10 * 2**20 * 5 // 16)]
    text = " ".join("".join(syllables[place : place + 5]) for place in range(0, len(syllables), 5))
    started = time.process_time()
    analyzer.terms([text])
    assert time.process_time() - started < 60
