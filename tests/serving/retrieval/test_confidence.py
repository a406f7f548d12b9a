from __future__ import annotations

from dataclasses import replace

import pytest

from shrag.corpora.formats.topics import read_topics
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.indexing.lexical.calibration import ConfidenceCalibration
from shrag.indexing.lexical.evidence import is_complete
from shrag.indexing.translation.query_translation import analyze_question
from shrag.serving.engine import Engine
from shrag.serving.request import Turn, parse_question
from shrag.serving.retrieval.confidence import _lessen, _says_otherwise, assess_confidence
from shrag.serving.retrieval.ranking import ScoredRecord
from shrag.serving.search_settings import PRODUCT
from tests.conftest import DEMO
from tests.support.incomplete_store import incomplete

# Written out, so that a change of the module's own is noticed.
THRESHOLD = 0.05
COMPLETE = 0.15


def test_everyday_questions_get_no_confidence_and_no_answer(demo: Engine) -> None:
    for question in ("What is the capital of France?", "피자 도우 만드는 법", "How tall is the Eiffel Tower?"):
        result = demo.ask(question)
        confidence = result.search.ranking.confidence
        assert confidence is None or (confidence.value < THRESHOLD and confidence.level == "low")
        assert (result.answer.sections, result.answer.citations) == ((), ())
        assert result.answer.reason


def test_most_questions_that_a_record_answers_are_answered(demo: Engine) -> None:
    answered = [bool(demo.ask(topic.text).answer.citations) for topic in read_topics(DEMO / "topics.tsv")]
    assert sum(answered) / len(answered) >= 0.9


def test_incomplete_records_give_no_confidence(demo: Engine) -> None:
    index = demo.open_index
    question = analyze_question("그래핀 필름의 전자파 차폐", index.analyzer, index.searcher, index.glossary)
    docids = [each.record.docid for each in demo.search(question.text).ranking.records]
    found = [each for each in index.store.fetch(docids) if each]
    values = []
    for records in (found, [incomplete(each) for each in found], []):
        scored = [ScoredRecord(each, 1.0 / rank, rank) for rank, each in enumerate(records, 1)]
        confidence = assess_confidence(parse_question(question.text), question, index, scored)
        assert confidence is not None
        values.append(confidence.value)
    assert values[0] > 0.15
    assert max(values[1:]) < 0.005


def test_a_leading_record_with_all_distinctive_words_is_enough_where_another_scores_higher_by_words(
    demo: Engine,
) -> None:
    index = demo.open_index
    question = analyze_question("dairy cows heat stress", index.analyzer, index.searcher, index.glossary)
    docids = [each.record.docid for each in demo.search(question.text).ranking.records]
    found = [each for each in index.store.fetch(docids) if each]
    holds = [is_complete(question, each) for each in found]
    lead, (other, third) = (
        found[holds.index(True)],
        [each for each, held in zip(found, holds, strict=True) if not held][:2],
    )

    def assessed(first: AnalyzedRecord, second: AnalyzedRecord) -> float:
        scored = [ScoredRecord(first, 2.0, 1, words=0.01), ScoredRecord(second, 1.0, 2, words=0.02)]
        confidence = assess_confidence(parse_question(question.text), question, index, scored)
        assert confidence is not None
        return confidence.value

    assert assessed(lead, other) == COMPLETE
    assert assessed(other, other) < THRESHOLD
    assert assessed(other, third) < THRESHOLD  # another scores higher, and neither has them all


def test_an_incomplete_record_adds_nothing_to_the_confidence_of_complete_ones(demo: Engine) -> None:
    index = demo.open_index
    question = analyze_question("그래핀 필름의 전자파 차폐", index.analyzer, index.searcher, index.glossary)
    docids = [each.record.docid for each in demo.search(question.text).ranking.records]
    first, *others = [each for each in index.store.fetch(docids) if each]

    def assessed(*records: AnalyzedRecord) -> float:
        scored = [ScoredRecord(each, 1.0 / rank, rank) for rank, each in enumerate(records, 1)]
        confidence = assess_confidence(parse_question(question.text), question, index, scored)
        assert confidence is not None
        return confidence.value

    assert assessed(first, *others) != assessed(*others)
    assert assessed(incomplete(first), *others) == assessed(*others)


def _giving(lesser: tuple[float, ...]) -> ConfidenceCalibration:
    """Return a calibration that gives any evidence the place of 1.0 among ``lesser``, from 0 to 1."""
    return ConfidenceCalibration((0.0,) * 4, (-1_000.0,), (-1.0,), lesser)


@pytest.mark.parametrize(
    ("lesser", "value", "level"),
    [
        ((0.0, 1.0, 2.0), 0.5, "high"),
        ((0.0, 1.001, 2.0), 0.4995, "medium"),
        ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0), 0.2, "medium"),
        ((0.0, 1.001, 2.0, 3.0, 4.0, 5.0), 0.1998, "low"),
    ],
)
def test_a_confidence_is_high_from_exactly_a_half_and_medium_from_exactly_a_fifth(
    demo: Engine, lesser: tuple[float, ...], value: float, level: str
) -> None:
    index = replace(demo.open_index, calibration=_giving(lesser))
    # Each word is in a record, so that none is uncovered, and no record has both, which is a fifth by itself.
    question = analyze_question("turbine graphene", index.analyzer, index.searcher, index.glossary)
    docids = [demo.search(word, k=1).ranking.records[0].record.docid for word in ("turbine", "graphene")]
    scored = [
        ScoredRecord(each, 1.0, rank, words=1.0) for rank, each in enumerate(index.store.fetch(docids), 1) if each
    ]
    confidence = assess_confidence(parse_question(question.text), question, index, scored)
    assert confidence is not None
    assert confidence.value == pytest.approx(value, abs=1e-4)
    assert (confidence.level, confidence.uncovered) == (level, ())


@pytest.mark.parametrize(
    ("word", "value", "level"), [("Zanzibar", 0.19, "low"), ("mooring", 0.4995, "medium")], ids=["unknown", "known"]
)
def test_a_subject_word_that_no_record_has_and_nothing_translates_makes_the_confidence_low(
    demo: Engine, word: str, value: float, level: str
) -> None:
    index = replace(demo.open_index, calibration=_giving((0.0, 1.001, 2.0)))
    question = analyze_question(f"turbine graphene {word}", index.analyzer, index.searcher, index.glossary)
    docids = [demo.search(each, k=1).ranking.records[0].record.docid for each in ("turbine", "graphene", "mooring")]
    scored = [
        ScoredRecord(each, 1.0, rank, words=1.0) for rank, each in enumerate(index.store.fetch(docids), 1) if each
    ]
    confidence = assess_confidence(parse_question(question.text), question, index, scored)
    assert confidence is not None
    assert confidence.value == pytest.approx(value, abs=1e-4)
    assert (confidence.level, confidence.uncovered) == (level, ("Zanzibar",) if level == "low" else ())


@pytest.mark.parametrize(
    ("when", "level"),
    [("today", "low"), ("오늘", "low"), ("right now", "low"), ("오늘날", "medium"), ("at noon", "medium")],
)
def test_what_is_asked_about_the_present_day_has_a_low_confidence(demo: Engine, when: str, level: str) -> None:
    index = replace(demo.open_index, calibration=_giving((0.0, 1.001, 2.0)))
    words = analyze_question("turbine graphene", index.analyzer, index.searcher, index.glossary)
    question = replace(words, text=f"turbine graphene {when}")
    docids = [demo.search(each, k=1).ranking.records[0].record.docid for each in ("turbine", "graphene")]
    scored = [
        ScoredRecord(each, 1.0, rank, words=1.0) for rank, each in enumerate(index.store.fetch(docids), 1) if each
    ]
    confidence = assess_confidence(parse_question(question.text), question, index, scored)
    assert confidence is not None
    assert confidence.level == level


def test_a_word_is_not_named_as_lacking_if_the_record_has_a_synonym_by_way_of_a_translation(demo: Engine) -> None:
    index = demo.open_index
    (record,) = (each for each in index.store.fetch(["DEMO-AGR-002"]) if each)
    assert "mistake" not in f"{record.record.title} {record.record.text}"
    assert _says_otherwise(record, "mistake", index)  # 오류, which error translates too
    assert not _says_otherwise(record, "copyright", index)


@pytest.mark.parametrize(("asked", "level"), [(6, "medium"), (7, "high"), (8, "high")])
def test_a_word_that_ends_with_the_last_character_of_a_follow_up_question_is_its_own(
    demo: Engine, asked: int, level: str
) -> None:
    index = replace(demo.open_index, calibration=_giving((0.0, 1.0)))
    question = analyze_question("turbine mooring lines", index.analyzer, index.searcher, index.glossary)
    (lead,) = demo.search("turbine", k=1).ranking.records
    (found,) = index.store.fetch([lead.record.docid])
    assert found is not None
    confidence = assess_confidence(
        replace(parse_question(question.text), asked=asked), question, index, [ScoredRecord(found, 1.0, 1)]
    )
    assert confidence is not None
    assert confidence.level == level


def test_a_high_confidence_names_no_words_that_are_not_covered_and_lower_ones_do(demo: Engine) -> None:
    def assessed(question: str) -> tuple[str, tuple[str, ...]]:
        confidence = demo.search(question).ranking.confidence
        assert confidence is not None
        return confidence.level, confidence.uncovered

    breaks = "How far does a floating offshore wind turbine drift if one mooring line breaks during a typhoon?"
    assert assessed(breaks) == ("high", ())  # no record has "breaks"
    cracks = "LSTM으로 균열이 많은 암반 대수층의 지하수위를 며칠 앞까지 예측할 수 있는가?"
    assert assessed(cracks) == ("medium", ("균열", "암반"))
    assert assessed("당뇨 망막 인공지능 검진 당일 통보 안과 방문율") == ("low", ("통보", "안과"))


@pytest.mark.parametrize(
    ("question", "level", "uncovered"),
    [
        ("Who are the authors?", "medium", ("authors",)),
        ("What are its limitations?", "medium", ()),
        ("단점은?", "medium", ()),
        ("Why?", "medium", ()),
        ("Any newer studies?", "medium", ()),
        ("And how far does the turbine drift?", "high", ()),
    ],
)
def test_a_follow_up_question_has_a_high_confidence_only_where_the_leading_record_has_one_of_its_own_words(
    demo: Engine, question: str, level: str, uncovered: tuple[str, ...]
) -> None:
    breaks = "How far does a floating offshore wind turbine drift if one mooring line breaks during a typhoon?"
    found = demo.search(question, history=[Turn(breaks)])
    assert found.follow_up is not None
    confidence = found.ranking.confidence
    assert confidence is not None
    assert (confidence.level, confidence.uncovered) == (level, uncovered)
    alone = demo.search(found.follow_up.question).ranking
    assert alone.confidence is not None
    assert alone.confidence.level == "high"
    assert alone.records == found.ranking.records


@pytest.mark.parametrize(("share", "value"), [(0.0, 0.3), (0.5, 0.206312), (1.0, 0.136190)])
def test_words_that_no_record_has_divide_the_odds_of_an_answer_by_up_to_e(share: float, value: float) -> None:
    assert _lessen(0.3, share) == pytest.approx(value, abs=1e-6)
    assert (_lessen(0.0, share), _lessen(1.0, share)) == (0, 1)


@pytest.mark.parametrize("question", ["What is Zorblax-12?", "What is zorblax-learning?", "long-haul-zorblax란?"])
def test_an_invented_name_is_not_answered_for_a_part_that_records_have(demo: Engine, question: str) -> None:
    result = demo.ask(question)
    confidence = result.search.ranking.confidence
    assert confidence is not None
    assert (result.answer.reason, confidence.value < THRESHOLD) == ("nothing_fits", True)


def test_an_index_without_a_calibration_has_no_confidence(demo: Engine) -> None:
    ranking = Engine(replace(demo.open_index, calibration=None)).search("graphene shielding").ranking
    assert ranking.confidence is None


def test_confidence_is_the_same_to_the_last_bit_where_records_are_scored_in_java(demo: Engine) -> None:
    settings = replace(PRODUCT, rerank=False)  # nothing else has scored them by words
    in_python = Engine(replace(demo.open_index, scorer=None))
    levels = set()
    for topic in read_topics(DEMO / "topics.tsv"):
        confidence = demo.search(topic.text, settings=settings).ranking.confidence
        assert confidence is not None
        assert confidence == in_python.search(topic.text, settings=settings).ranking.confidence, topic.text
        levels.add(confidence.level)
    assert levels == {"low", "medium", "high"}


@pytest.mark.parametrize("reranked", [True, False])
def test_confidence_does_not_depend_on_how_many_records_are_asked_for(demo: Engine, reranked: bool) -> None:
    settings = replace(PRODUCT, rerank=reranked)
    few, many = (demo.search("graphene films for shielding", k=k, settings=settings).ranking for k in (1, 10))
    assert few.confidence is not None
    assert many.confidence is not None
    assert few.confidence.value == pytest.approx(many.confidence.value)


@pytest.mark.parametrize("asked", ["어디", "누구", "언제"])
def test_a_place_person_or_time_is_not_answered_by_a_few_translated_words(demo: Engine, asked: str) -> None:
    index = demo.open_index
    keywords = analyze_question("그래핀 차폐", index.analyzer, index.searcher, index.glossary)
    docids = [each.record.docid for each in demo.search(keywords.text).ranking.records]
    complete = [each for each in index.store.fetch(docids) if each and is_complete(keywords, each)]
    values: dict[str, list[float]] = {"ko": [], "en": []}
    for question in (keywords.text, f"그래핀 차폐는 {asked}인가?"):
        analyzed = analyze_question(question, index.analyzer, index.searcher, index.glossary)
        for language, found in values.items():
            lead = next(each for each in complete if each.record.language == language)
            confidence = assess_confidence(
                parse_question(question), analyzed, index, [ScoredRecord(lead, 1.0, 1, words=0.01)]
            )
            assert confidence is not None
            found.append(confidence.value)
    assert values["ko"] == [COMPLETE, COMPLETE]
    assert values["en"][0] == COMPLETE
    assert values["en"][1] < THRESHOLD
