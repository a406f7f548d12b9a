"""User dictionary: parsing, and matching of its words in text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.user_dictionary import (
    EMPTY_DICTIONARY,
    FILE,
    DictionaryMatcher,
    DictionaryWord,
    UserDictionary,
    parse_dictionary,
    read_dictionary,
)
from shrag.indexing.build.builder import build_index
from shrag.indexing.errors import DictionaryRejected, IndexDamaged
from shrag.indexing.open_index import open_index
from shrag.indexing.query import Term
from shrag.indexing.storage.generations import current_generation


def test_words_get_their_defaults_and_a_canonical_form() -> None:
    lines = ["# 낱말", "", "인공신경망\tNNG\t2.5", "  지식   그래프 \r", "Ｋ－방역\t\t", '"C++",', "지식 그래프"]
    dictionary = parse_dictionary(lines, "words.tsv")
    assert dictionary.words == (
        DictionaryWord("C++", "NNP", 0.0),
        DictionaryWord("K-방역", "NNP", 0.0),
        DictionaryWord("인공신경망", "NNG", 2.5),
        DictionaryWord("지식 그래프", "NNP", 0.0),
    )
    assert dictionary.text == "C++\tNNP\t0\nK-방역\tNNP\t0\n인공신경망\tNNG\t2.5\n지식 그래프\tNNP\t0\n"
    assert dictionary.fingerprint == (
        "4 words, sha256 1dda2d93026f8edc22d5c516b9b83df966124ccea6e1d114e77e50b34d0910de"
    )
    assert EMPTY_DICTIONARY.fingerprint == "none"


@pytest.mark.parametrize("score", ["1.23456789", "-0", "1e-7", "19.9999999", "-20"])
def test_the_canonical_form_is_read_as_the_same_dictionary_whatever_the_score(score: str) -> None:
    dictionary = parse_dictionary([f"그래프\tNNG\t{score}"], "words.tsv")
    assert parse_dictionary(dictionary.text.splitlines(), "again.tsv") == dictionary
    assert dictionary.words[0].score == pytest.approx(float(score), rel=1e-5)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("\tNNG", "no letter and no digit"),
        ("…!?", "no letter and no digit"),
        ("가", "a single syllable"),
        ("가" * 65, "at most 64 are allowed"),
        ("인공신경망\tSL", "the tag 'SL' is none of NNP NNG NNB NR XR MAG VV VA"),
        ("인공신경망\tNNG\tmuch", "the score 'much' is not a number from -20 to 20"),
        ("인공신경망\tNNG\tnan", "the score 'nan' is not a number"),
        ("인공신경망\tNNG\t1e9", "the score '1e9' is not a number"),
        ("인공신경망\tNNG\t1\tx", "4 fields, at most 3"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_number(line: str, rule: str) -> None:
    with pytest.raises(DictionaryRejected, match=r"^words.tsv line 2: .*") as error:
        parse_dictionary(["그래프", line], "words.tsv")
    assert rule in str(error.value)


def test_one_word_twice_with_another_tag_is_refused_naming_both_lines() -> None:
    with pytest.raises(DictionaryRejected, match=r"line 3: '그래프' is in line 1 with another tag or score"):
        parse_dictionary(["그래프\tNNG", "그래프\tNNG", "그래프"], "words.tsv")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes("그래프\n".encode() + b"\xff\n")
    with pytest.raises(DictionaryRejected, match=r"words.tsv line 2 is not UTF-8: convert"):
        read_dictionary(path)
    path.write_bytes(b"\n\xff\n")
    with pytest.raises(DictionaryRejected, match=r"words.tsv line 2 is not UTF-8: convert"):
        read_dictionary(path)
    path.write_bytes(b"x\n" * (9 << 20))
    with pytest.raises(DictionaryRejected, match=r"larger than 16 MiB"):
        read_dictionary(path)
    path.write_bytes("\ufeff그래프\r\n".encode())
    assert [word.word for word in read_dictionary(path).words] == ["그래프"]
    with pytest.raises(DictionaryRejected, match=r"none.tsv cannot be read \(No such file"):
        read_dictionary(tmp_path / "none.tsv")


@given(st.lists(st.text(max_size=20), max_size=8))
def test_any_lines_are_parsed_or_rejected_and_the_canonical_text_round_trips(lines: list[str]) -> None:
    try:
        dictionary = parse_dictionary(lines, "any")
    except DictionaryRejected:
        return
    again = parse_dictionary(dictionary.text.split("\n"), "again")
    assert again == dictionary
    assert again.fingerprint == dictionary.fingerprint == UserDictionary(again.words).fingerprint


@pytest.mark.parametrize("line", ["＃미투", "﹟미투", "(＃미투)"])
def test_a_wide_number_sign_before_a_word_does_not_make_its_saved_line_a_comment(line: str) -> None:
    dictionary = parse_dictionary([line], "words.tsv")
    assert [word.word for word in dictionary.words] == ["미투"]
    assert parse_dictionary(dictionary.text.split("\n"), "again") == dictionary


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


def test_a_joined_phrase_has_the_offsets_of_its_characters(taught: KoreanEnglishAnalyzer) -> None:
    (tokens,) = taught.tokens(["(지식\n 그래프를)"])
    assert tokens == [Token("지식그래프", 1, 8, "noun")]


def test_many_mixed_words_are_matched_in_linear_time() -> None:
    words = DictionaryMatcher(WORDS)
    assert words.holds_mixed("그k-방역을")
    assert not words.holds_mixed("인공신경망")
    assert not words.holds_mixed("k방역")


@pytest.fixture
def home(tmp_path: Path, short_builds: None) -> Path:
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


@pytest.mark.slow
def test_an_index_keeps_its_dictionary_until_another_is_given(home: Path) -> None:
    assert build(home, WORDS)
    assert not build(home, WORDS)
    assert not build(home, None)  # the words are the index's now
    opened = open_index(home / "indexes", "small")
    assert opened.analyzer.terms(["인공신경망은"]) == [["인공신경망"]]
    (hits,) = opened.searcher.search([Term("인공신경망")], 10)
    assert [hit.docid for hit in hits] == ["A#0"]
    assert FILE in opened.manifest.files
    opened.close()
    assert build(home, parse_dictionary([*LINES, "심장"], "more.tsv"))  # another word, another index
    assert build(home, EMPTY_DICTIONARY)
    opened = open_index(home / "indexes", "small")
    assert opened.analyzer.terms(["인공신경망은"]) == [["인공", "인공신경망", "신경망"]]
    assert FILE not in opened.manifest.files
    opened.close()


@pytest.mark.slow
def test_an_unreadable_stored_dictionary_is_an_error(home: Path) -> None:
    build(home, WORDS)
    folder, _ = current_generation(home / "indexes" / "small")
    path = folder / FILE
    path.write_text(path.read_text(encoding="utf-8") + "가나다\tNNP\t0\n", encoding="utf-8")
    with pytest.raises(IndexDamaged, match=r"dictionary\.tsv"):
        open_index(home / "indexes", "small")
    with pytest.raises(IndexDamaged, match=r"give it again with --dictionary FILE, or build without it"):
        build(home, None)
    assert build(home, WORDS)
