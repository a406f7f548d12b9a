from __future__ import annotations

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.query_transliteration import find_transliterations
from shrag.indexing.glossary.store import Entry

KNOWN = {
    "래더링": "laddering", "블록체인": "blockchain", "머신러닝": "machine learning", "머신": "machine",
    "premierleague": "프리미어리그", "diesel": "디젤",
}  # fmt: skip


def _look_up(word: str) -> list[Entry]:
    return [Entry(word, KNOWN[word], (word,), (KNOWN[word],), 0, "transliteration", 0.9)] if word in KNOWN else []


def _found(
    analyzer: KoreanEnglishAnalyzer, question: str, translated: tuple[int, ...] = ()
) -> list[tuple[tuple[int, ...], str]]:
    (tokens,) = analyzer.tokens([question])
    groups = [[token] for token in tokens if token.kind != "compound"]
    return [
        (each.groups, each.entries[0].english) for each in find_transliterations(question, groups, translated, _look_up)
    ]


def test_a_word_is_looked_up_unless_it_has_a_translation(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "래더링 면접") == [((0,), "laddering")]
    assert _found(analyzer, "래더링 면접", (0,)) == []


def test_nouns_in_succession_are_looked_up_as_one_first(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "머신러닝과 블록 체인") == [((0, 1), "machine learning"), ((2, 3), "blockchain")]
    assert _found(analyzer, "머신러닝", (1,)) == [((0,), "machine")]


def test_capitalized_english_words_are_joined_and_acronyms_left_out(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "Premier League diesel") == [((0, 1), "프리미어리그"), ((2,), "디젤")]
    assert _found(analyzer, "premier league DIESEL") == []
