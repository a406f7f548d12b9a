"""Evidence for the glossary: bilingual records, and the usual expansions of acronyms."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.bilingual_fields import BilingualPair
from shrag.indexing.glossary.evidence import EvidenceCollector, _bilingual_record, count_evidence

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
    records = [Record(str(number), "", text, "en", complete=True) for number, text in enumerate(texts)]
    with EvidenceCollector(tmp_path / "scratch") as evidence:
        evidence.add(count_evidence(records, analyzer))
        # IDS has the term of ID, PSO is in one record, and SVM has two meanings.
        assert evidence.acronyms(analyzer) == [("HMM", "hidden markov model")]


def test_an_acronym_is_written_as_in_the_records_and_not_as_its_stem(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    texts = [
        "An organic light emitting diode (OLED) shines.",
        "Organic light emitting diodes (OLED) are thin.",
        "An unmanned aerial vehicle (UAV) lands.",
        "Unmanned aerial vehicles (UAVs) fly.",
    ]
    records = [Record(str(number), "", text, "en", complete=True) for number, text in enumerate(texts)]
    with EvidenceCollector(tmp_path / "scratch") as evidence:
        evidence.add(count_evidence(records, analyzer))
        assert evidence.acronyms(analyzer) == [
            ("OLED", "organic light emitting diode"),
            ("UAV", "unmanned aerial vehicle"),
        ]
