"""The rules by which a tree is answered without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import analyze_record
from shrag.serving.events import Assessment, Hits, Keywords, Queries, RankedRecord, Ranking
from shrag.serving.request import Question
from shrag.serving.retrieval.query_terms import QueryTerm
from shrag.serving.search_settings import PRODUCT, SearchSettings
from shrag.serving.strategies.planning.bridge_entities import find_bridges
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER, SubAnswer
from shrag.serving.strategies.planning.subquery import SubqueryResult
from shrag.serving.strategies.tree.policy import RulePolicy

QUESTION = Question("How heavy is iron ore?", "en")


def _found(
    analyzer: KoreanEnglishAnalyzer, records: Sequence[Record], weights: dict[str, float], question: Question = QUESTION
) -> SubqueryResult:
    """Return a search that found the records for a question with these words and idfs."""
    terms = [QueryTerm(word, (analyzer.terms([word])[0][0],), idf, 1, True, True) for word, idf in weights.items()]
    ranked = tuple(RankedRecord(rank, rank, 1.0, record) for rank, record in enumerate(records, 1))
    return SubqueryResult(
        terms=terms,
        keywords=Keywords((), ()),
        queries=Queries(()),
        hits=Hits((), (), ()),
        ranking=Ranking(ranked, "r", reranker_is_model=False),
        candidates=[analyze_record(record, analyzer) for record in records],
        question=question,
        model_events=(),
    )


def _record(docid: str, title: str, text: str) -> Record:
    return Record(docid, title, text, "en", complete=True)


RECORDS = [
    _record("a", "Copper", "It melts. Ore is mined."),
    _record("b", "Iron", "It is red. The ore is heavy. Ore that is heavy sinks."),
    _record("c", "Iron ore", "It is heavy."),
    _record("d", "Iron ore heavy", "Heavy iron ore."),
]
WEIGHTS = {"heavy": 2.0, "iron": 1.0, "ore": 1.0}


def test_the_response_is_the_first_sentence_that_holds_most_of_the_question_with_its_title(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    policy = RulePolicy(analyzer, PRODUCT)
    respond = policy.respond
    # b and c have all words with their titles; the first sentence of the better record is taken, and d is not read.
    assert respond(QUESTION, _found(analyzer, RECORDS, WEIGHTS)) == (SubAnswer("The ore is heavy.", "b"), [])
    assert respond(QUESTION, _found(analyzer, RECORDS[2:0:-1], WEIGHTS))[0] == SubAnswer("It is heavy.", "c")
    assert respond(QUESTION, _found(analyzer, RECORDS[:1], WEIGHTS))[0] == SubAnswer("Ore is mined.", "a")
    assert respond(QUESTION, _found(analyzer, RECORDS, {"gold": 1.0}))[0] == NO_ANSWER
    assert respond(QUESTION, _found(analyzer, [], WEIGHTS))[0] == NO_ANSWER
    one = RulePolicy(analyzer, SearchSettings(step_records=1))
    assert one.respond(QUESTION, _found(analyzer, RECORDS, WEIGHTS))[0].docid == "a"


@pytest.mark.parametrize(
    ("response", "weights", "judged"),
    [
        # Of 4 in all: heavy 2, iron 1, ore 1. The title counts.
        (SubAnswer("The ore is heavy.", "b"), WEIGHTS, Assessment(10, 100, 10.0, valid=True)),
        (SubAnswer("It is red.", "b"), WEIGHTS, Assessment(2, 25, (2 + 1 + 2.25) / 2, valid=False)),
        (SubAnswer("The ore is heavy.", ""), WEIGHTS, Assessment(8, 75, (8 + 1 + 6.75) / 2, valid=False)),
        (SubAnswer("It melts.", "a"), WEIGHTS, Assessment(1, 0, 1.0, valid=False)),
        (SubAnswer("", "c"), WEIGHTS, Assessment(1, 0, 1.0, valid=False)),
        # Nine tenths are enough, and less is not.
        (SubAnswer("Heavy.", "a"), {"heavy": 9.0, "iron": 1.0}, Assessment(9, 90, (9 + 1 + 8.1) / 2, valid=True)),
        (SubAnswer("Heavy.", "a"), {"heavy": 8.9, "iron": 1.1}, Assessment(9, 89, (9 + 1 + 8.01) / 2, valid=False)),
    ],
)
def test_a_response_is_judged_by_the_share_of_the_question_that_it_holds(
    analyzer: KoreanEnglishAnalyzer, response: SubAnswer, weights: dict[str, float], judged: Assessment
) -> None:
    found = _found(analyzer, RECORDS, weights)
    assessment, events = RulePolicy(analyzer, PRODUCT).assess(QUESTION, response, found)
    assert (assessment.coherence, assessment.answerability) == (judged.coherence, judged.answerability)
    assert assessment.overall == pytest.approx(judged.overall)
    assert (assessment.valid, assessment.judge, events) == (judged.valid, "", [])


def test_a_question_is_split_or_leads_to_the_names_in_its_records_but_not_twice(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    policy: Any = RulePolicy(analyzer, PRODUCT)
    nothing = _found(analyzer, [], WEIGHTS)
    both = Question("Was Emma or Jane born first?", "en")
    assert policy.decompose(both, nothing)[0] == (
        "comparison",
        ("Was Emma born first?", "Was Jane born first?"),
    )
    assert policy.decompose(QUESTION, nothing)[0] == ("bridging", ())
    author = Question("Where was the author of Emma born?", "en")
    novel = _found(
        analyzer, [_record("e", "Emma", "Jane Austen, its author, wrote it.")], {"author": 1, "born": 2}, author
    )
    (bridge,) = find_bridges(novel, analyzer)
    assert bridge.names == ("Jane Austen",)
    proposed = policy.decompose(author, novel)[0]
    assert proposed == ("bridging", ("Jane Austen born",))
    second = Question("Jane Austen born", "en")
    other = _record("f", "Steventon", "Jane Austen lived in Steventon Rectory for years.")
    assert policy.decompose(second, _found(analyzer, [other], {"born": 2.0}, second))[0] == ("bridging", ())
    # Only a record about the name counts, and that it was reached makes the response valid.
    life = _record("g", "Jane Austen", "She was born in 1775.")
    found = _found(analyzer, [other, life], {"jane": 1.0, "austen": 1.0, "born": 9.0}, second)
    kept = policy.filter_records(second, found)
    assert [each.record.docid for each in kept.ranking.records] == ["g"]
    assert policy.filter_records(QUESTION, found) is found
    assert policy.assess(second, SubAnswer("No.", "g"), kept)[0].valid
    assert not policy.assess(second, SubAnswer("No.", "g"), _found(analyzer, [], {"born": 9.0}, second))[0].valid
    assert not policy.assess(QUESTION, SubAnswer("No.", "g"), kept)[0].valid
    assert policy.extract_span(second, kept) == (NO_ANSWER, [])
