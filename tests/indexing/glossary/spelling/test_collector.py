"""The words of a corpus that are, or may have, transliterations: what is counted, and how often."""

from __future__ import annotations

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.spelling import collector as module
from shrag.indexing.glossary.spelling.collector import (
    SpelledWord,
    SpellingCollector,
    SpellingCounts,
    count_spellings,
)

RECORDS = [
    Record(
        "a", "Monte Carlo", "The Monte Carlo Markov chain, a cross-over trial of the chain. 콘크리트와 학교", "en", True
    ),
    Record("b", "", "The Monte cross-over design, one chain. 콘크리트와", "en", True),
]


def test_words_are_counted_by_records_and_names_by_occurrences() -> None:
    counts = count_spellings(RECORDS)
    assert {word: counts.english[word] for word in ("monte", "chain", "design", "cross", "the")} == {
        "monte": 2, "chain": 2, "design": 1, "cross": 2, "the": 2,
    }  # fmt: skip
    assert counts.phrases == {"monte carlo": 2, "the monte": 2, "carlo markov": 1, "cross-over": 2}
    assert counts.korean == {"콘크리트와": 2}


def test_words_names_and_hyphenated_words_are_given_with_their_terms(analyzer: KoreanEnglishAnalyzer) -> None:
    words = SpellingCollector()
    for record in RECORDS:
        words.add(count_spellings([record]))
    english = {word.text: word for word in words.english_words(analyzer)}
    assert english["chain"] == SpelledWord("chain", "chain", "chain", 2)
    assert english["monte carlo"] == SpelledWord("monte carlo", "montecarlo", "mont carlo", 2)
    assert english["cross-over"] == SpelledWord("cross-over", "crossover", "crossov", 2)
    assert not {"the", "the monte", "carlo markov"} & english.keys()  # no term, a term less, seen once
    assert list(words.korean_words(analyzer)) == [SpelledWord("콘크리트", "콘크리트", "콘크리트", 2)]


def test_words_seen_once_are_dropped_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_COUNTED", 2)
    words = SpellingCollector()
    words.add(SpellingCounts({"a": 1, "b": 2}, {}, {}))
    assert words._english == {"a": 1, "b": 2}
    words.add(SpellingCounts({"c": 1, "b": 1}, {"x y": 1}, {}))
    assert (words._english, words._phrases) == ({"b": 3}, {"x y": 1})


def test_only_the_most_frequent_words_are_given(
    analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_WORDS", 2)
    words = SpellingCollector()
    words.add(SpellingCounts({"zebra": 5, "camel": 1, "bison": 1}, {}, {}))
    assert [word.text for word in words.english_words(analyzer)] == ["zebra", "bison"]
