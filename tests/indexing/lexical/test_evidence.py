from __future__ import annotations

import math

from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.evidence import NO_EVIDENCE, Evidence, measure_evidence, rank_by_words
from shrag.indexing.translation.query_translation import AnalyzedQuestion
from shrag.serving.engine import Engine
from tests.support.analyzed import analyzed_question, analyzed_records


def _measure(demo: Engine, question: AnalyzedQuestion, records: list[AnalyzedRecord]) -> Evidence:
    return measure_evidence(question, rank_by_words(question, demo.open_index.manifest.bm25, records))


def test_a_record_with_more_of_the_question_leads_the_others(demo: Engine) -> None:
    question = analyzed_question(demo, "graphene films for shielding")
    records = analyzed_records(demo, "Steel is hard.", "Graphene films give good shielding.", "Films are thin.")
    evidence = _measure(demo, question, records)
    assert evidence.words == 3
    assert evidence.lead > 0 < evidence.lead_over_second < evidence.lead_over_fifth
    alone = _measure(demo, question, records[1:2])
    assert (alone.log_score, alone.words, alone.lead) == (evidence.log_score, 3, 0.0)


def test_records_that_share_no_word_with_the_question_are_no_evidence(demo: Engine) -> None:
    question = analyzed_question(demo, "graphene films")
    assert _measure(demo, question, []) == NO_EVIDENCE
    assert _measure(demo, question, analyzed_records(demo, "Steel is hard.")) == NO_EVIDENCE
    assert math.isinf(NO_EVIDENCE.log_score)
