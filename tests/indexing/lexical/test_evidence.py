from __future__ import annotations

import math

from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.glossary.query_translation import AnalyzedQuestion, analyze_question
from shrag.indexing.lexical.evidence import NO_EVIDENCE, Evidence, measure_evidence, rank_by_words
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
