from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from shrag.models.errors import ModelUnavailable
from shrag.models.language_model import LanguageModel
from shrag.serving.answering.answer import StageTimer, answer, answer_closed_book
from shrag.serving.answering.answered_questions import AnsweredQuestion
from shrag.serving.answering.formats import answer_text
from shrag.serving.engine import Engine
from shrag.serving.events import Answer, AnswerSentence, Confidence, Timings
from shrag.serving.request import Request, parse_request
from shrag.serving.retrieval.ranking import RetrievalResult
from shrag.serving.strategies.shrag import retrieve
from shrag.serving.strategy import Resources
from tests.support.scripted_models import ScriptedModel, listed

QUESTION = "재택근무를 많이 할수록 일과 가정 사이의 갈등이 커지는가?"
LOW = Confidence(0.2, "low", ("갈등", "가정"), threshold=0.5)
HIGH = replace(LOW, value=0.9, level="high", uncovered=())


def _found(demo: Engine, request: Request, confidence: Confidence | None) -> RetrievalResult:
    events = retrieve(request, demo.resources, "lexical", StageTimer())
    while True:
        try:
            next(events)
        except StopIteration as done:
            found: RetrievalResult = done.value
            return replace(found, ranking=replace(found.ranking, confidence=confidence))


def _answers(
    demo: Engine,
    confidence: Confidence | None,
    *,
    least: float | None = None,
    question: str = QUESTION,
    choices: Sequence[str] = (),
    model: LanguageModel | None = None,
) -> Iterator[Answer]:
    request = parse_request(question, answered=True, min_confidence=least, choices=choices)
    resources = Resources(demo.open_index, demo.resources.reranker, model)
    events = list(answer(request, _found(demo, request, confidence), resources, StageTimer()))
    said = [event for event in events if isinstance(event, AnswerSentence)]
    for event in events:
        if isinstance(event, Answer):
            sentences = [(one.part, each, one.source) for one in event.sections for each in one.sentences]
            assert [(each.part, each.sentence, each.source) for each in said] == sentences
            yield event


def _answer(demo: Engine, confidence: Confidence | None, **options: object) -> Answer:
    (only,) = _answers(demo, confidence, **options)  # type: ignore[arg-type]
    return only


def test_a_confidence_below_the_threshold_refuses_with_the_nearest_titles(demo: Engine) -> None:
    refused = _answer(demo, LOW)
    assert (refused.kind, refused.reason, refused.sections, refused.citations) == ("extractive", "nothing_fits", (), ())
    assert refused.uncovered == ("갈등", "가정")
    records = demo.search(QUESTION).ranking.records[:5]
    assert [(each.docid, each.title) for each in refused.nearest] == [(r.record.docid, r.record.title) for r in records]
    text = answer_text(refused)
    assert text.startswith(
        "이 질문에 답하는 문헌을 찾지 못했습니다.\n"
        "가장 가까운 문헌에서 찾지 못한 질문의 단어: 갈등, 가정\n가장 가까운 문헌:\n- "
    )
    assert text.count("\n- ") == 5


def test_a_confidence_above_the_threshold_answers_and_names_what_the_quoted_record_lacks(demo: Engine) -> None:
    answered = _answer(demo, HIGH)
    assert (answered.reason, answered.nearest, answered.uncovered) == ("", (), ())
    for confidence in (replace(HIGH, level="medium"), LOW):
        answered = _answer(demo, replace(confidence, lacking=("위성",)), least=0.0)
        assert answered.uncovered == ("위성",)
        assert "인용한 문헌에서 찾지 못한 질문의 단어: 위성" in answer_text(answered)


def test_an_answer_is_uncertain_where_the_confidence_is_low(demo: Engine) -> None:
    assert _answer(demo, LOW, least=0.0).uncertain
    assert not _answer(demo, replace(HIGH, level="medium")).uncertain
    assert not _answer(demo, None).uncertain
    assert not _answer(demo, LOW).uncertain  # a refusal


@pytest.mark.parametrize(("least", "refused"), [(0.0, False), (0.2, False), (0.21, True), (1.0, True)])
def test_a_request_sets_its_own_least_confidence(demo: Engine, least: float, *, refused: bool) -> None:
    assert bool(_answer(demo, LOW, least=least).reason) is refused


def test_with_a_confidence_the_shares_of_words_do_not_count(demo: Engine) -> None:
    unrelated = "김치찌개를 맛있게 끓이는 법과 재택근무는?"
    assert _answer(demo, None, question=unrelated).reason == "nothing_fits"
    assert _answer(demo, HIGH, question=unrelated).reason == ""


def test_without_a_confidence_the_leading_record_decides_by_its_words(demo: Engine) -> None:
    assert _answer(demo, None).reason == ""
    refused = _answer(
        demo, None, question="프랑스의 수도에서 재택근무 축구 선수가 요리하는 피자의 조리법은?", least=0.9
    )
    assert refused.reason == "nothing_fits"
    assert refused.uncovered == ()
    assert refused.nearest


def test_without_a_confidence_a_better_record_behind_the_leading_one_does_not_answer(demo: Engine) -> None:
    request = parse_request(QUESTION, answered=True)
    found = _found(demo, request, None)
    best, *others = found.ranking.records
    reasons = []
    for records in ((best, *others), (others[-1], best)):
        ordered = replace(found, ranking=replace(found.ranking, records=records))
        *_, answered, _ = answer(
            request, ordered, Resources(demo.open_index, demo.resources.reranker, None), StageTimer()
        )
        assert isinstance(answered, Answer)
        reasons.append(answered.reason)
    assert reasons == ["", "nothing_fits"]


def test_the_times_of_a_stage_are_added_up() -> None:
    timer = StageTimer()
    timer.add("search", 0.5)
    timer.add("answer", 2.0)
    timer.add("search", 0.25)
    assert list(timer.seconds.items()) == [("search", 0.75), ("answer", 2.0)]


def test_an_extractive_answer_has_a_choice_unless_it_is_a_refusal(demo: Engine) -> None:
    question = "At four weeks, how large was the error of the LSTM network for onion prices?"
    choices = ("groundwater", "boosting")
    assert _answer(demo, HIGH, question=question, choices=choices).choice == "B"
    assert _answer(demo, LOW, question=question, choices=choices).choice == ""


def _model(*lines: str) -> ScriptedModel:
    return ScriptedModel(listed(), listed(), list(lines))


def test_a_model_reads_the_estimate_and_decides_itself(demo: Engine) -> None:
    best = demo.search(QUESTION).ranking.records[0].record
    model = _model("##본론##\n" + best.text.split(". ")[0] + " [1].")
    answered = _answer(demo, LOW, model=model)
    assert (answered.kind, answered.reason, answered.uncovered) == ("generated", "", ("갈등", "가정"))
    prompt = model.asked[-1][-1].content
    assert (
        "\n\n검색 시스템의 추정: 문헌이 질문에 답한다는 확신도 낮음. 문헌에 없는 단어: 갈등, 가정.\n\n질문: " in prompt
    )
    without = _model("##본론##\n" + best.text.split(". ")[0] + " [1].")
    _answer(demo, None, model=without)
    assert "검색의 추정" not in without.asked[-1][-1].content


def test_a_models_refusal_is_the_same_refusal(demo: Engine) -> None:
    refused = _answer(demo, LOW, model=_model("##답변불가##"))
    assert (refused.kind, refused.reason, refused.sections) == ("generated", "nothing_fits", ())
    by_rule = _answer(demo, LOW)
    assert (refused.nearest, refused.uncovered) == (by_rule.nearest, by_rule.uncovered)
    assert answer_text(refused) == answer_text(by_rule)


def test_a_model_reads_a_strategys_notes_or_else_the_sub_questions_that_were_answered(demo: Engine) -> None:
    request = parse_request(QUESTION, answered=True)
    found = _found(demo, request, None)
    answered = [AnsweredQuestion("재택근무란?", "집에서 일하는 것이다.", found.ranking.records[0].record.docid)]
    prompts = []
    for notes in ("", "전략이 적은 것."):
        model = _model("##답변불가##")
        resources = Resources(demo.open_index, demo.resources.reranker, model)
        list(answer(request, found, resources, StageTimer(), notes, answered))
        prompts.append(model.asked[-1][-1].content)
    by_answers, by_notes = prompts
    assert "하위 질문 1: 재택근무란?\n답변: 집에서 일하는 것이다. [1]" in by_answers
    assert "전략이 적은 것." in by_notes
    assert "하위 질문 1" not in by_notes


def test_without_records_a_model_answers_only_where_an_answer_is_wanted(demo: Engine) -> None:
    resources = Resources(demo.open_index, demo.resources.reranker, _model("##본론##\n재택근무이다."))
    for wanted, kinds in ((False, []), (True, ["closed_book"])):
        *events, last = answer_closed_book(parse_request(QUESTION, answered=wanted), resources, StageTimer())
        assert [event.kind for event in events if isinstance(event, Answer)] == kinds
        assert isinstance(last, Timings)


def test_a_least_confidence_of_the_request_refuses_before_the_model_is_asked(demo: Engine) -> None:
    model = _model("##본론##\n재택근무이다 [1].")
    assert _answer(demo, LOW, least=0.5, model=model).kind == "extractive"
    assert model.streams == []


@pytest.mark.parametrize(
    ("confidence", "least", "reason"),
    [(LOW, None, "nothing_fits"), (LOW, 0.2, ""), (HIGH, None, ""), (None, None, "")],
)
def test_where_the_model_fails_the_threshold_of_the_index_decides_as_without_a_model(
    demo: Engine, confidence: Confidence | None, least: float | None, reason: str
) -> None:
    away = ScriptedModel(answer=[ModelUnavailable("away")])
    answered = _answer(demo, confidence, least=least, model=away)
    assert len(away.streams) == 1
    assert (answered.kind, answered.reason) == ("extractive", reason)
    assert answered == _answer(demo, confidence, least=least)
