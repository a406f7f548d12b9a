from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, analyze_record
from shrag.indexing.lexical.evidence import (
    NO_EVIDENCE,
    Evidence,
    ScoredByWords,
    best_papers,
    distinctive_segments,
    is_complete,
    measure_evidence,
    rank_by_words,
)
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


@pytest.mark.parametrize(
    ("scores", "second", "fifth"),
    [
        ([10, 8, 6, 4, 2, 1], 8, 2),
        ([10, 8, 6, 4], 8, 4),
        ([10, 8], 8, 8),
        ([10], 10, 10),
        ([10, 10, 10, 10, 10], 10, 10),
    ],
)
def test_the_leading_record_is_compared_with_the_second_and_the_fifth_or_else_the_last(
    demo: Engine, scores: Sequence[float], second: float, fifth: float
) -> None:
    question = analyzed_question(demo, "graphene films")
    (record,) = analyzed_records(demo, "Graphene films give good shielding.")
    evidence = measure_evidence(question, [ScoredByWords(float(score), record) for score in scores])
    assert evidence.log_score == pytest.approx(math.log(10))
    assert evidence.lead == 10 - fifth
    assert evidence.lead_over_second == pytest.approx(math.log(10.1 / (second + 0.1)))
    assert evidence.lead_over_fifth == pytest.approx(math.log(10.1 / (fifth + 0.1)))
    assert (evidence.words, is_complete(question, record)) == (2, True)


def test_evidence_is_measured_on_the_best_record_of_each_of_ten_papers() -> None:
    def chunk(number: int, part: str) -> ScoredByWords:
        first = f"p{number:02}a"
        record = Record(f"p{number:02}{part}", "T", "x", "en", complete=True, duplicate_of=first if part != "a" else "")
        return ScoredByWords(30.0 - number, AnalyzedRecord(record, "t", ("x",)))

    ranked = [chunk(number, part) for number in range(12) for part in "ba"]
    assert [each.record.record.docid for each in best_papers(ranked)] == [f"p{number:02}b" for number in range(10)]
    assert [each.record.record.docid for each in best_papers(ranked[:3])] == ["p00b", "p01b"]
    assert best_papers([]) == []


@pytest.mark.parametrize(
    ("title", "text", "complete"),
    [
        ("Graphene films", "Steel is hard. They give good shielding.", True),
        ("Notes", "Graphene films give good shielding.", True),
        ("Graphene films for shielding", "Steel is hard.", True),
        ("Notes", "Graphene films are thin. They give good shielding.", False),
        ("Notes", "Graphene is thin.", False),
    ],
)
def test_a_record_is_complete_if_its_title_and_one_sentence_have_the_questions_words(
    demo: Engine, title: str, text: str, complete: bool
) -> None:
    question = analyzed_question(demo, "graphene films for shielding")
    record = analyze_record(Record("r", title, text, "en", complete=True), demo.open_index.analyzer)
    assert is_complete(question, record) == complete


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("effects of graphene", ["graphene"]),
        ("graphene's role in history", ["graphene"]),
        ("effects and disadvantages", ["disadvantages"]),
        ("Why is it?", []),
    ],
)
def test_general_words_are_distinctive_only_where_a_question_has_no_others(
    demo: Engine, text: str, words: list[str]
) -> None:
    question = analyzed_question(demo, text)
    assert [question.segments[number].written_in(text) for number in distinctive_segments(question)] == words


def test_a_question_without_distinctive_words_is_complete_in_no_record(demo: Engine) -> None:
    assert not is_complete(analyzed_question(demo, "Why is it?"), analyzed_records(demo, "It is.")[0])
