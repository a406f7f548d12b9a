from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary import vocabulary_selection
from shrag.indexing.glossary.alignment import Bitext
from shrag.indexing.glossary.store import Entry
from shrag.indexing.glossary.vocabulary import VocabularyTerm
from shrag.indexing.glossary.vocabulary_selection import select_vocabulary, weigh_vocabulary

COUNTS = Counter({"전이": 30, "transit": 10, "transfer": 10, "metastasi": 10, "최적": 3, "optim": 2})


def _counts(terms: Sequence[str]) -> dict[str, int]:
    return {term: COUNTS[term] for term in terms}


def test_pairs_are_selected_of_which_the_corpus_has_a_side(analyzer: KoreanEnglishAnalyzer) -> None:
    selected = {(entry.korean, entry.english): entry for entry in select_vocabulary(_counts, analyzer)}
    both = {pair for pair, entry in selected.items() if not entry.only}
    assert both >= {("전이", "transition"), ("전이", "transfer"), ("전이", "metastasis"), ("최적", "optimal")}
    assert all(entry.source == "general" and entry.records == 0 for entry in selected.values())
    assert {entry.only for entry in selected.values()} == {"", "ko", "en"}
    for entry in selected.values():
        has_korean, has_english = (all(map(COUNTS.get, terms)) for terms in (entry.korean_terms, entry.english_terms))
        assert (has_korean, has_english) == (entry.only != "en", entry.only != "ko")
    assert select_vocabulary(lambda terms: dict.fromkeys(terms, 0), analyzer) == []


def test_another_vocabulary_is_analyzed_anew(analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(select_vocabulary(_counts, analyzer)) > 1
    few = [VocabularyTerm("전이", "transfer", 0.5), VocabularyTerm("전이", "transfers", 0.4)]  # of the same terms
    few.append(VocabularyTerm("전이", "of the", 0.9))  # without terms
    monkeypatch.setattr(vocabulary_selection, "read_vocabulary", lambda: few)
    (entry,) = select_vocabulary(_counts, analyzer)
    assert (entry.korean, entry.english, entry.score, entry.only) == ("전이", "transfer", 0.5, "")


def _entry(korean: str, english: str) -> Entry:
    return Entry(korean, english, (korean,), (english,), 0, "general", 0.8)


def test_a_translation_in_bilingual_records_outweighs_one_that_only_occurs() -> None:
    entries = [_entry("전이", "transit"), _entry("전이", "transfer"), _entry("전이", "metastasi")]
    medical = [Bitext(frozenset({"전이"}), frozenset({"metastasi", "cell"}))] * 8
    others = [Bitext(frozenset({"우유"}), frozenset({"milk"}))] * 8
    weighed = {entry.english: entry.score for entry in weigh_vocabulary(entries, _counts, [*medical, *others])}
    assert weighed["metastasi"] == pytest.approx(0.8)
    assert weighed["transit"] == weighed["transfer"] == pytest.approx(0.8 * 0.75)


def test_a_pair_of_bilingual_records_weighs_by_the_share_of_those_with_a_term_that_have_both() -> None:
    both, alone = Bitext(frozenset({"전이"}), frozenset({"transfer"})), Bitext(frozenset({"전이"}), frozenset({"cell"}))
    others = Bitext(frozenset({"우유"}), frozenset({"transfer"})), Bitext(frozenset({"우유"}), frozenset({"milk"}))
    bitexts = [both] * 6 + [alone] * 2 + [others[0]] * 3 + [others[1]] * 29  # of 40, 8 have the one and 9 the other
    (entry,) = weigh_vocabulary([_entry("전이", "transfer")], _counts, bitexts)
    support = 0.75 + 0.25 * 6 / 72**0.5
    assert entry.score == pytest.approx(0.8 * (0.5 + 0.5 * support))
    # Three records with both are no more than chance gives (G² is 1.2), so only the frequencies count.
    bitexts = [both] * 3 + [alone] * 5 + [others[0]] * 6 + [others[1]] * 26
    (entry,) = weigh_vocabulary([_entry("전이", "transfer")], _counts, bitexts)
    assert entry.score == pytest.approx(0.8 * 0.75)


def test_without_bilingual_records_the_more_frequent_of_two_translations_weighs_more() -> None:
    counts = {"전이": 30, "transfer": 99, "transit": 9}
    entries = [_entry("전이", "transit"), _entry("전이", "transfer")]
    weighed = weigh_vocabulary(entries, lambda terms: {term: counts[term] for term in terms}, [])
    assert [round(entry.score, 3) for entry in weighed] == [0.541, 0.6]
