from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shrag.evaluation.judging.relevance import RelevanceLevel, judge_agreement, judge_relevance
from shrag.models.errors import InvalidOutput
from shrag.serving.engine import Engine
from shrag.serving.request import parse_question
from tests.support.scripted_models import ScriptFile

CASES = tomllib.loads(
    (Path(__file__).parents[3] / "bench" / "quality" / "relevance_cases.toml").read_text(encoding="utf-8")
)["case"]


def test_a_judgement_has_a_level_its_reason_and_the_judges_name(demo: Engine) -> None:
    record = demo.document("DEMO-OCE-002")
    assert record is not None
    question = parse_question("How far ahead can groundwater levels be forecast?")
    for level in RelevanceLevel:
        model = ScriptFile("raise")
        model.say("relevance", f'{{"reason": "It \\u202e says so.", "level": {level.value}}}')
        judged = judge_relevance(question, record, model, "What lead time was tried?")
        assert (judged.level, judged.judge, judged.reason) == (level, "scripted", "It says so.")
        ((_, asked),) = model.told
        assert "Step: What lead time was tried?" in asked
        assert "⟦record 1⟧\nShort-Term Forecasting of Groundwater Level" in asked
    model.say("relevance", '{"reason": "", "level": 1}')
    judge_relevance(question, record, model)
    assert "Step: How far ahead can groundwater" in model.told[-1][1]


@pytest.mark.parametrize("said", ["", "FULL", '{"reason": "x", "level": 5}', '{"reason": "x", "level": "4"}'])
def test_a_judge_that_gives_no_level_gives_none(demo: Engine, said: str) -> None:
    record = demo.document("DEMO-OCE-002")
    assert record is not None
    model = ScriptFile("raise")
    model.say("relevance", said)
    with pytest.raises(InvalidOutput):
        judge_relevance(parse_question("지하수위는?"), record, model)


def test_agreement_is_counted_by_level_by_side_and_by_weight() -> None:
    one = [RelevanceLevel.NONE, RelevanceLevel.SUPERFICIAL, RelevanceLevel.PARTIAL, RelevanceLevel.FULL]
    same = judge_agreement(one, one)
    assert (same.pairs, same.same_level, same.same_usefulness, same.kappa) == (4, 1.0, 1.0, 1.0)
    turned = judge_agreement(one, one[::-1])
    assert (turned.same_level, turned.same_usefulness, turned.kappa) == (0.0, 0.0, -1.0)
    near = judge_agreement(
        one, [RelevanceLevel.NONE, RelevanceLevel.SUPERFICIAL, RelevanceLevel.FULL, RelevanceLevel.FULL]
    )
    assert (near.same_level, near.same_usefulness) == (0.75, 1.0)
    assert near.kappa == pytest.approx(1 - 0.25 / 3)
    assert judge_agreement(one, [RelevanceLevel.FULL] * 4).kappa is None
    for wrong in ([], one[:2]):
        with pytest.raises(ValueError, match="levels of both judges"):
            judge_agreement(wrong, one)


def test_the_hand_made_cases_name_records_that_are_there_and_every_level_in_both_languages(demo: Engine) -> None:
    levels = {(parse_question(case["question"]).language, case["level"]) for case in CASES}
    assert levels == {(language, level) for language in ("ko", "en") for level in (1, 2, 3, 4)}
    assert all(demo.document(case["docid"]) is not None for case in CASES)
