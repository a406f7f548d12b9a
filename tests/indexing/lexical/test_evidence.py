from __future__ import annotations

import math

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, analyze_question
from shrag.indexing.lexical.evidence import NO_EVIDENCE, Evidence, measure_evidence, rank_by_words, uncovered_words
from shrag.serving.engine import Engine


def _question(demo: Engine, text: str) -> AnalyzedQuestion:
    index = demo.open_index
    return analyze_question(text, index.analyzer, index.searcher, index.glossary)


def _records(demo: Engine, *texts: str) -> list[AnalyzedRecord]:
    return [
        analyze_record(
            Record(f"r{number}", "Title", text, detect_language(text), complete=True), demo.open_index.analyzer
        )
        for number, text in enumerate(texts)
    ]


def _measure(demo: Engine, question: AnalyzedQuestion, records: list[AnalyzedRecord]) -> Evidence:
    return measure_evidence(question, rank_by_words(question, demo.open_index.manifest.bm25, records))


def test_a_record_with_more_of_the_question_leads_the_others(demo: Engine) -> None:
    question = _question(demo, "graphene films for shielding")
    records = _records(demo, "Steel is hard.", "Graphene films give good shielding.", "Films are thin.")
    evidence = _measure(demo, question, records)
    assert evidence.words == 3
    assert evidence.lead > 0 < evidence.lead_over_second < evidence.lead_over_fifth
    alone = _measure(demo, question, records[1:2])
    assert (alone.log_score, alone.words, alone.lead) == (evidence.log_score, 3, 0.0)


def test_records_that_share_no_word_with_the_question_are_no_evidence(demo: Engine) -> None:
    question = _question(demo, "graphene films")
    assert _measure(demo, question, []) == NO_EVIDENCE
    assert _measure(demo, question, _records(demo, "Steel is hard.")) == NO_EVIDENCE
    assert math.isinf(NO_EVIDENCE.log_score)


def test_words_count_as_uncovered_only_where_no_record_has_them_in_either_language(demo: Engine) -> None:
    question = _question(demo, "Could you summarize graphene yachts and prediction in Lisbon?")
    records = _records(demo, "Graphene is thin.", "모형의 예측 성능이 높았다.")
    assert uncovered_words(question, records) == ("yachts", "Lisbon")
    assert "graphene" in uncovered_words(question, [])


def test_uncovered_words_are_whole_words_of_which_no_part_is_covered(demo: Engine) -> None:
    def uncovered(question: str, *texts: str) -> tuple[str, ...]:
        return uncovered_words(_question(demo, question), _records(demo, *texts))

    assert uncovered("도약안구운동은 어떻게 바뀌나요?", "차폐 효율을 재었다.") == ("도약안구운동",)
    assert uncovered("도약안구운동은 어떻게 바뀌나요?", "안구의 움직임을 재었다.") == ()
    assert uncovered("고교학점제로 무엇이 달라지나요?", "차폐 효율을 재었다.") == ("고교학점제",)
    assert uncovered("What does AutoDraw help yachts with?", "Auto draw is a tool.") == ("yachts",)


def test_words_that_name_no_subject_are_not_named_as_uncovered(demo: Engine) -> None:
    question = _question(demo, "Which yachts are still rarely taken far beyond Lisbon, judging by watched races?")
    assert uncovered_words(question, _records(demo, "Graphene is thin.")) == ("yachts", "Lisbon", "races")
    question = _question(demo, "아프리카에서 가장 높은 산은 어디인가요? 우리나라 사람 가운데 누구인가요?")
    assert uncovered_words(question, _records(demo, "Graphene is thin.")) == ("아프리카",)
