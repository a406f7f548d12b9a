from __future__ import annotations

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.store import Entry
from shrag.indexing.translation.query_transliteration import find_transliterations

KNOWN = {
    "토마토": "tomato", "블록체인": "blockchain", "머신러닝": "machine learning", "머신": "machine",
    "premierleague": "프리미어리그", "tractor": "트랙터", "러시아": "russia", "러시아군": "russia",
    "블록수도": "block suit",
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
    assert _found(analyzer, "토마토 면접") == [((0,), "tomato")]
    assert _found(analyzer, "토마토 면접", (0,)) == []


def test_nouns_in_succession_are_looked_up_as_one_first(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "머신러닝과 블록 체인") == [((0, 1), "machine learning"), ((2, 3), "blockchain")]
    assert _found(analyzer, "머신러닝", (1,)) == [((0,), "machine")]


def test_a_word_beside_a_transliteration_is_no_part_of_it(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "러시아군") == [((0,), "russia")]
    assert _found(analyzer, "블록 수도") == []


def test_capitalized_english_words_are_joined_and_acronyms_left_out(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "Premier League tractor") == [((0, 1), "프리미어리그"), ((2,), "트랙터")]
    assert _found(analyzer, "premier league TRACTOR") == []


def test_words_with_another_word_between_them_are_not_joined(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _found(analyzer, "머신 감자 러닝", (1,)) == [((0,), "machine")]
    assert _found(analyzer, "Premier Tuesday League", (1,)) == []
