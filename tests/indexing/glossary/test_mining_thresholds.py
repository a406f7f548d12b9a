"""Thresholds of the glossary's mining: each just reached and just missed, with alignments and distances given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary import mining
from shrag.indexing.glossary.alignment import TermPair
from shrag.indexing.glossary.evidence import count_evidence
from shrag.indexing.glossary.store import Entry

Mine = Callable[[Sequence[str], Sequence[TermPair], Mapping[str, float]], set[tuple[str, str]]]


@pytest.fixture
def mine(analyzer: KoreanEnglishAnalyzer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mine:
    """Return what mines texts for pairs, given what is aligned and the distances of English words; others are far."""
    monkeypatch.setattr(mining, "select_vocabulary", lambda *_: [])

    def mined(
        texts: Sequence[str], aligned: Sequence[TermPair], distances: Mapping[str, float]
    ) -> set[tuple[str, str]]:
        def distance(_korean: str, english: str, most: float) -> float:
            found = distances.get(english, 1.0)
            return found if found <= most else 1.0

        monkeypatch.setattr(mining, "align_terms", lambda _: list(aligned))
        monkeypatch.setattr(mining, "transliteration_distance", distance)
        records = [Record(f"r{number}", "", text, "ko", complete=True) for number, text in enumerate(texts)]
        counted = [count_evidence(records, analyzer)]
        entries = mining.mine_glossary(
            counted, analyzer, lambda terms: dict.fromkeys(terms, 1), tmp_path / "scratch"
        ).entries
        return {(entry.korean, entry.english.lower()) for entry in entries}

    return mined


HIVES = ["Meadows and hives.", "The hives."]


@pytest.mark.parametrize(
    ("share", "back_share", "together", "association", "found"),
    [
        (0.35, 0.35, 3, 15.0, True),
        (0.34, 0.9, 9, 99.0, False),
        (0.9, 0.34, 9, 99.0, False),
        (0.9, 0.9, 2, 99.0, False),
        (0.9, 0.9, 9, 14.9, False),
    ],
)
def test_a_pair_is_aligned_from_a_third_of_both_terms_three_texts_and_an_association_of_fifteen(
    mine: Mine, share: float, back_share: float, together: int, association: float, found: bool
) -> None:
    pair = TermPair("벌통", "hive", share, back_share, together, association)
    assert mine(HIVES, [pair], {}) == ({("벌통", "hives")} if found else set())


@pytest.mark.parametrize(("share", "found"), [(0.64, True), (0.62, False)])
def test_a_second_translation_is_kept_that_is_seven_tenths_as_good_as_the_best(
    mine: Mine, share: float, found: bool
) -> None:
    texts = [*HIVES, "Meadows."]
    aligned = [TermPair("벌통", "hive", 0.9, 1.0, 9, 99.0), TermPair("벌통", "meadow", share, 1.0, 9, 99.0)]
    assert mine(texts, aligned, {}) == {("벌통", "hives"), *([("벌통", "meadows")] if found else [])}


@pytest.mark.parametrize(
    ("korean", "english", "distance", "association", "found"),
    [
        ("카트리지", "cartridge", 0.08, 0.0, True),
        ("카트리지", "cartridge", 0.081, 0.0, False),
        ("모니터", "monitor", 0.035, 0.0, True),
        ("모니터", "monitor", 0.036, 0.0, False),
        ("카드", "card", 0.0, 0.0, False),
        ("카드", "card", 0.0, 7.9, False),
        ("카드", "card", 0.14, 8.0, True),
        ("카드", "card", 0.141, 8.0, False),
    ],
)
def test_how_near_a_loanword_must_be_depends_on_its_length_and_its_association(
    mine: Mine, korean: str, english: str, distance: float, association: float, found: bool
) -> None:
    texts = [f"{korean}를 본다. A {english}."] * 3
    aligned = [TermPair(korean, english, 0.1, 0.1, 2, association)]
    assert mine(texts, aligned, {english: distance}) == ({(korean, english)} if found else set())


@pytest.mark.parametrize(("rival", "found"), [(0.07, False), (0.071, True)])
def test_a_loanword_is_paired_where_no_other_word_is_within_a_twentieth(mine: Mine, rival: float, found: bool) -> None:
    texts = ["카트리지를 본다. A cartridge and a cartrudge."] * 3
    mined = mine(texts, [], {"cartridge": 0.02, "cartrudge": rival})
    assert mined == ({("카트리지", "cartridge")} if found else set())


@pytest.mark.parametrize(("texts", "found"), [(2, False), (3, True)])
def test_a_loanword_is_in_three_texts(mine: Mine, texts: int, found: bool) -> None:
    mined = mine(["카트리지를 본다. A cartridge."] * texts, [], {"cartridge": 0.0})
    assert mined == ({("카트리지", "cartridge")} if found else set())


@pytest.mark.parametrize(("texts", "found"), [(1, False), (2, True)])
def test_keywords_of_unequal_length_that_nothing_aligns_are_a_pair_from_two_records(
    mine: Mine, texts: int, found: bool
) -> None:
    mined = mine(["주제어: 벌통, 초원\nKeywords: bee hive, meadow"] * texts, [], {})
    assert mined == {("초원", "meadow"), *([("벌통", "bee hive")] if found else [])}


@pytest.mark.parametrize(
    ("share", "association", "found"), [(0.31, 15.0, True), (0.29, 99.0, False), (0.6, 7.6, True), (0.6, 7.4, False)]
)
def test_an_acronyms_expansion_is_taken_from_three_tenths_of_confidence_to_which_fifteen_is_full_association(
    mine: Mine, share: float, association: float, found: bool
) -> None:
    terms = {"교통": "traffic", "예측": "predict", "모델": "model"}
    texts = ["본 교통 예측 모델(TPM)을 쓴다."] * 2 + ["A Traffic Prediction Model (TPM) is trained."]
    aligned = [TermPair(*pair, share, 0.1, 2, association) for pair in terms.items()]
    mined = mine(texts, aligned, {})
    assert mined == {("교통 예측 모델", "tpm"), *([("교통 예측 모델", "traffic prediction model")] if found else [])}


@pytest.mark.parametrize(("distance", "found"), [(0.17, True), (0.18, False)])
def test_spellings_a_quarter_apart_give_no_confidence_and_those_nearer_in_proportion(
    mine: Mine, distance: float, found: bool
) -> None:
    texts = ["본 라디오 필터 모델(RFM)을 쓴다."] * 2 + ["A Radio Filter Model (RFM) is trained."]
    mined = mine(texts, [], dict.fromkeys(("radio", "filter", "model"), distance))
    assert mined == {("라디오 필터 모델", "rfm"), *([("라디오 필터 모델", "radio filter model")] if found else [])}


@pytest.mark.parametrize(
    ("english", "association", "score"),
    [("cartridge", 0.0, 0.95), ("cartrudge", 0.0, 0.285), ("cartrudge", 8.0, 0.95)],
)
def test_another_origin_of_a_word_of_the_vocabulary_is_little_trusted_unless_titles_have_the_pair(
    analyzer: KoreanEnglishAnalyzer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    english: str,
    association: float,
    score: float,
) -> None:
    known = Entry("카트리지", "cart ridge", ("카트리지",), ("cart", "ridg"), 0, "general", 0.7)
    aligned = TermPair("카트리지", "cartrudg", 0.1, 0.1, 2, association)
    monkeypatch.setattr(mining, "select_vocabulary", lambda *_: [known])
    monkeypatch.setattr(mining, "weigh_vocabulary", lambda entries, *_: entries)
    monkeypatch.setattr(mining, "align_terms", lambda _: [aligned])
    monkeypatch.setattr(mining, "transliteration_distance", lambda *_: 0.0)
    records = [Record(f"r{number}", "", f"카트리지를 본다. A {english}.", "ko", complete=True) for number in range(3)]
    counted = [count_evidence(records, analyzer)]
    entries = mining.mine_glossary(
        counted, analyzer, lambda terms: dict.fromkeys(terms, 1), tmp_path / "scratch"
    ).entries
    scores = {entry.english: entry.score for entry in entries}
    assert scores == {"cart ridge": 0.7, english: pytest.approx(score)}
