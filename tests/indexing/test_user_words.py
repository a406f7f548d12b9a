"""What a user's words do to terms, and how an index keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.addition import add_corpus
from shrag.indexing.analysis import Token
from shrag.indexing.build import build_index
from shrag.indexing.errors import IndexDamaged
from shrag.indexing.generations import current_generation
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.opening import open_index
from shrag.indexing.query import Term
from shrag.indexing.user_dictionary import FILE, NO_WORDS, UserDictionary, parse_dictionary
from shrag.indexing.user_words import UserWords

LINES = ["인공신경망\tNNG", "지식 그래프", "K-방역", "β-글루칸", "C++", "SARS", "knowledge graph"]
WORDS = parse_dictionary(LINES, "words.tsv")


@pytest.fixture(scope="module")
def taught() -> KoreanEnglishAnalyzer:
    return KoreanEnglishAnalyzer(dictionary=WORDS)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("인공신경망에서는", ["인공신경망"]),
        # A word of several parts: written apart or together, with any space between, but not over punctuation.
        ("지식 그래프를", ["지식그래프"]),
        ("지식\n  그래프, 지식그래프의", ["지식그래프", "지식그래프"]),
        ("지식, 그래프", ["지식", "그래프"]),
        ("k-방역은 K-방역", ["k", "k-방역", "k", "k-방역"]),
        ("β-글루칸을 β-카로틴의", ["beta", "β-글루칸", "beta", "카로틴"]),
        # Words without Hangul are terms beside their parts, not stemmed.
        ("C++을 (SARS)", ["c++", "sar", "sars"]),
        ("Knowledge Graph", ["knowledg", "knowledgegraph", "graph"]),
        ("knowledge graphs", ["knowledg", "graph"]),
    ],
)
def test_a_users_word_is_one_term(taught: KoreanEnglishAnalyzer, text: str, terms: list[str]) -> None:
    assert taught.terms([text]) == [terms]


def test_a_joined_phrase_lies_on_the_characters_it_came_from(taught: KoreanEnglishAnalyzer) -> None:
    (tokens,) = taught.tokens(["(지식\n 그래프를)"])
    assert tokens == [Token("지식그래프", 1, 8, "noun")]


def test_many_mixed_words_are_looked_for_in_what_has_other_signs_only() -> None:
    words = UserWords(WORDS)
    assert words.holds_mixed("그k-방역을")
    assert not words.holds_mixed("인공신경망")
    assert not words.holds_mixed("k방역")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a corpus of three passages."""
    passages = tmp_path / "docs.jsonl"
    passages.write_text(
        '{"docid": "A#0", "title": "", "text": "인공신경망을 썼다."}\n'
        '{"docid": "A#1", "title": "", "text": "인공 심장과 혈관의 신경망을 보았다."}\n'
        '{"docid": "A#2", "title": "", "text": "나무를 심었다."}\n',
        encoding="utf-8",
    )
    add_corpus(tmp_path / "corpora", "small", "miracl", [passages])
    return tmp_path


def build(home: Path, dictionary: UserDictionary | None) -> bool:
    return build_index(home / "corpora", home / "indexes", "small", dictionary=dictionary)[1]


def test_an_index_keeps_the_words_it_was_made_with_until_others_are_given(home: Path) -> None:
    assert build(home, WORDS)
    assert not build(home, WORDS)
    assert not build(home, None)  # the words are the index's now
    opened = open_index(home / "indexes", "small")
    assert opened.analyzer.terms(["인공신경망은"]) == [["인공신경망"]]
    (hits,) = opened.engine.search([Term("인공신경망")], 10)
    assert [hit.docid for hit in hits] == ["A#0"]
    assert FILE in opened.manifest.files
    opened.close()
    assert build(home, parse_dictionary([*LINES, "심장"], "more.tsv"))  # another word, another index
    assert build(home, NO_WORDS)
    opened = open_index(home / "indexes", "small")
    assert opened.analyzer.terms(["인공신경망은"]) == [["인공", "인공신경망", "신경망"]]
    assert FILE not in opened.manifest.files
    opened.close()


def test_words_that_cannot_be_read_back_are_not_dropped_in_silence(home: Path) -> None:
    build(home, WORDS)
    folder, _ = current_generation(home / "indexes" / "small")
    path = folder / FILE
    path.write_text(path.read_text(encoding="utf-8") + "가나다\tNNP\t0\n", encoding="utf-8")
    with pytest.raises(IndexDamaged, match=r"dictionary\.tsv"):
        open_index(home / "indexes", "small")
    with pytest.raises(IndexDamaged, match=r"give it again with --dictionary FILE, or build without them"):
        build(home, None)
    assert build(home, WORDS)
