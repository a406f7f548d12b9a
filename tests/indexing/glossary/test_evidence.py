"""Evidence for the glossary: bilingual records, and the usual expansions of acronyms."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary import evidence as module
from shrag.indexing.glossary.bilingual_fields import BilingualPair
from shrag.indexing.glossary.evidence import (
    CountedEvidence,
    EvidenceCollector,
    TermContext,
    _bilingual_record,
    count_evidence,
)

KOREAN, ENGLISH = "더위에 지친 젖소의 우유", "Milk of dairy cows under heat stress"


@pytest.mark.parametrize(
    ("title", "text", "pair"),
    [
        (KOREAN, ENGLISH, BilingualPair(KOREAN, ENGLISH)),
        (ENGLISH, KOREAN, BilingualPair(KOREAN, ENGLISH)),
        (ENGLISH, "Milk.", None),
        (KOREAN, "우유.", None),
        (ENGLISH, f"{ENGLISH} fell.", None),
        ("2021", ENGLISH, None),
        (ENGLISH, "2021", None),
        (KOREAN, "2021", None),
    ],
)
def test_a_title_and_a_text_are_a_pair_where_one_is_korean_and_the_other_english(
    title: str, text: str, pair: BilingualPair | None
) -> None:
    record = Record("d", title, text, detect_language(text), complete=True)
    assert _bilingual_record(record) == pair


def _acronyms(texts: list[str], analyzer: KoreanEnglishAnalyzer, folder: Path) -> list[tuple[str, str]]:
    """Return the acronyms of records with these texts, and their usual expansions."""
    records = [Record(str(number), "", text, "en", complete=True) for number, text in enumerate(texts)]
    with EvidenceCollector(folder / "scratch") as evidence:
        evidence.add(count_evidence(records, analyzer))
        return evidence.acronyms(analyzer)


def test_an_acronym_has_the_expansion_that_most_records_give_it(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    texts = [
        "A hidden Markov model (HMM) aligns sequences.",
        "Speech is recognized by hidden Markov models (HMM).",
        "An intrusion detection system (IDS) raises alarms.",
        "Each intrusion detection system (IDS) is trained.",
        "Particle swarm optimization (PSO) is used once.",
        "Support vector machines (SVM) classify.",
        "A support vector machine (SVM) ranks.",
        "Spatial vector models (SVM) differ.",
        "Spatial vector models (SVM) agree.",
    ]
    # IDS has the term of ID, PSO is in one record, and SVM has two meanings.
    assert _acronyms(texts, analyzer, tmp_path) == [("HMM", "hidden markov model")]


@pytest.mark.parametrize(
    ("records", "other_records", "usual"), [(1, 0, False), (2, 0, True), (2, 1, True), (3, 2, True), (4, 3, False)]
)
def test_an_expansion_is_usual_from_two_records_and_three_fifths_of_all(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path, records: int, other_records: int, usual: bool
) -> None:
    phrases = {"support vector machines": 1, "support vector machine": records - 1, "spatial models": other_records}
    expansions = [(("svm", phrase, "SVM"), count) for phrase, count in phrases.items() if count]
    with EvidenceCollector(tmp_path / "scratch") as evidence:
        evidence.add(CountedEvidence([], expansions, [], {}, {}, []))
        found = evidence.acronyms(analyzer)
    assert [acronym for acronym, _ in found] == ["SVM"] * usual
    assert not usual or found[0][1].startswith("support vector machine")


def test_an_acronym_is_written_as_in_the_records_and_not_as_its_stem(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    texts = [
        "An organic light emitting diode (OLED) shines.",
        "Organic light emitting diodes (OLED) are thin.",
        "An unmanned aerial vehicle (UAV) lands.",
        "Unmanned aerial vehicles (UAVs) fly.",
        "The internet of things (IoT) grows.",
        "Sensors of the Internet of Things (IoT).",
        "INTERNET OF THINGS (IOT)",
    ]
    assert _acronyms(texts, analyzer, tmp_path) == [
        ("IoT", "internet of things"),
        ("OLED", "organic light emitting diode"),
        ("UAV", "unmanned aerial vehicle"),
    ]


def _counted(*numbers: int) -> CountedEvidence:
    """Return evidence of three contexts of two terms, and of the bilingual records with these hashes."""
    return CountedEvidence(
        [
            (("ann", "인공 신경망", "ANN", False), 1),
            (("ann", "신경망", "ANN", True), 2),
            (("bee", "꿀벌", "bee", False), 1),
        ],
        [(("hmm", "hidden markov model", "HMM"), 1), (("hmm", "hidden markov models", "HMM"), 2)],
        [(BilingualPair("꿀벌", "bee"), 1)],
        {"bee": 2, "once": 1},
        {"꿀벌": 2, "하나": 1},
        [(number, f"d{number}", f"글 {number}", f"text {number}") for number in numbers],
    )


@pytest.mark.parametrize("flush_size", [1, 4, 100])
def test_evidence_adds_up_whether_it_is_in_memory_or_in_the_temporary_file(
    flush_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FLUSH_SIZE", flush_size)
    with EvidenceCollector(tmp_path / "scratch") as evidence:
        for _ in range(3):
            evidence.add(_counted())
            assert len(evidence._contexts) + len(evidence._expansions) < flush_size
        for _ in range(2):  # read twice
            assert list(evidence.contexts()) == [
                (
                    ("ann",),
                    [TermContext(("신경망",), "ANN", True, 6), TermContext(("인공", "신경망"), "ANN", False, 3)],
                ),
                (("bee",), [TermContext(("꿀벌",), "bee", False, 3)]),
            ]
            assert evidence.expansions() == {"hmm": "hidden markov models"}
        assert evidence.keywords == {BilingualPair("꿀벌", "bee"): 3}


def test_the_sample_of_bilingual_records_has_the_smallest_hashes_in_whatever_order_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAMPLED_RECORDS", 2)
    for order in ((5, 1, 3, 4), (1, 3, 4, 5), (5, 4, 3, 1)):
        with EvidenceCollector(tmp_path / "scratch") as evidence:
            evidence.add(_counted(*order[:1]))
            evidence.add(_counted(*order[1:]))
            assert list(evidence.bilingual_texts()) == [
                BilingualPair("글 3", "text 3"),
                BilingualPair("글 1", "text 1"),
            ]


def test_words_seen_once_are_dropped_where_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_COUNTED_WORDS", 2)
    with EvidenceCollector(tmp_path / "scratch") as evidence:
        evidence.add(_counted())
        assert (evidence.english_words, evidence.korean_words) == ({"bee": 2, "once": 1}, {"꿀벌": 2, "하나": 1})
        evidence.add(_counted()._replace(english_words={"third": 1, "twice": 2}, korean_words={"셋": 1}))
        assert (evidence.english_words, evidence.korean_words) == ({"bee": 2, "twice": 2}, {"꿀벌": 2})
