from __future__ import annotations

from pathlib import Path

from shrag.indexing.analysis import Token
from shrag.indexing.korean import KoreanEnglishAnalyzer
from shrag.indexing.question_words import QUESTION_WORDS
from shrag.indexing.wordbook import WordBook, write_wordbook

QUESTION = "인공지능은 어떤 의미가 있나요?"


def test_a_book_gives_back_what_was_written(tmp_path: Path) -> None:
    tokens = (Token("검색", 0, 2, "noun"),)
    assert write_wordbook(tmp_path / "w", [("검색은", tokens), ("있나요", ()), ("가" * 99, tokens)]) == 2
    book = WordBook(tmp_path / "w")
    assert book.look_up("검색은") == tokens
    assert book.look_up("있나요") == ()
    assert book.look_up("없는말") is None
    assert book.look_up("가" * 99) is None
    book.close()
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_a_question_of_known_words_needs_no_kiwi_and_gets_the_same_terms(
    tmp_path: Path, analyzer: KoreanEnglishAnalyzer
) -> None:
    wanted = analyzer.tokens([QUESTION])
    analyzer.terms(QUESTION_WORDS)
    write_wordbook(tmp_path / "w", analyzer.korean_words())
    fresh = KoreanEnglishAnalyzer(WordBook(tmp_path / "w"))
    assert fresh.tokens([QUESTION]) == wanted
    assert fresh._kiwi is None
    fresh.terms(["책에없던낱말이다"])
    assert fresh._kiwi is not None
