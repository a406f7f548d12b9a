from __future__ import annotations

from pathlib import Path

import msgspec

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analysis.stopwords import QUESTION_WORDS
from shrag.indexing.analysis.token_store import TokenStore, write_token_store

QUESTION = "인공지능은 어떤 의미가 있나요?"


def test_a_store_returns_the_written_tokens(tmp_path: Path) -> None:
    tokens = (Token("검색", 0, 2, "noun"),)
    encoded = msgspec.json.encode(tokens)
    write_token_store(tmp_path / "w", [("가" * 99, encoded), ("검색은", encoded), ("있나요", b"[]")])
    store = TokenStore(tmp_path / "w")
    assert store.get("검색은") == tokens
    assert store.get("있나요") == ()
    assert store.get("없는말") is None
    assert store.get("가" * 99) is None
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_a_question_of_known_words_needs_no_kiwi_and_gets_the_same_terms(
    tmp_path: Path,
) -> None:
    noticed: dict[str, bytes] = {}
    analyzer = KoreanEnglishAnalyzer(on_new_word=lambda met: noticed.update({met[0]: msgspec.json.encode(met[1])}))
    wanted = analyzer.tokens([QUESTION])
    analyzer.terms([*QUESTION_WORDS, "the", "word"])
    assert noticed.keys() == set(QUESTION_WORDS) | {"인공지능은", "어떤", "의미가", "있나요"}
    write_token_store(tmp_path / "w", sorted(noticed.items()))
    fresh = KoreanEnglishAnalyzer(TokenStore(tmp_path / "w"))
    assert fresh.tokens([QUESTION]) == wanted
    assert fresh._kiwi is None
    fresh.terms(["책에없던낱말이다"])
    assert fresh._kiwi is not None
