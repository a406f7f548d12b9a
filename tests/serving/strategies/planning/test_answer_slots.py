"""Slots for answers in the questions that a model plans, some of which are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.serving.request import Question
from shrag.serving.search_settings import PRODUCT
from shrag.serving.strategies.decomposition.strategies import plan_steps
from shrag.serving.strategies.planning.answer_slots import distinct_questions
from shrag.serving.strategies.tree.policy import ModelPolicy
from tests.support.scripted_models import ScriptedModel

ASKED = "Where was the author of Emma born?"

PLANS = [
    (["Who wrote Emma?", "Where was [ANS_1] born?"], ["Who wrote Emma?", "Where was [ANS_1] born?"]),
    # The question itself and a repeated one are left out, and the slots still mean the questions they meant.
    ([ASKED, "Who wrote Emma?", "Where was [ANS_2] born?"], ["Who wrote Emma?", "Where was [ANS_1] born?"]),
    (
        ["Who wrote Emma?", "who wrote emma", "What is Emma?", "Where was [ANS_3] of [ANS_2] born?"],
        ["Who wrote Emma?", "What is Emma?", "Where was [ANS_2] of [ANS_1] born?"],
    ),
    (
        ["Who wrote Emma?", "???", "What is Emma?", "Is [ans 3] by [ANS1]?"],
        ["Who wrote Emma?", "What is Emma?", "Is [ANS_2] by [ANS_1]?"],
    ),
    # Slots for the question itself, for a later question and for none are removed.
    (
        ["Who wrote [ANS_2]?", ASKED, "Where was [ANS_2] and [ANS_3] and [ANS_9] born?"],
        ["Who wrote ?", "Where was and and born?"],
    ),
]


@pytest.mark.parametrize(("written", "questions"), PLANS)
def test_a_slot_means_the_same_question_whatever_is_left_out(written: Sequence[str], questions: list[str]) -> None:
    assert distinct_questions(written, ASKED) == questions
    assert distinct_questions(questions, ASKED) == questions


@pytest.mark.parametrize(("written", "questions"), PLANS)
def test_the_steps_of_a_chain_and_the_branches_of_a_tree_keep_their_slots(
    analyzer: KoreanEnglishAnalyzer, written: Sequence[str], questions: list[str]
) -> None:
    question = Question(ASKED, "en")
    steps, _ = plan_steps(question, ScriptedModel(english=json.dumps({"steps": written})))
    assert steps == questions
    model = ScriptedModel(english=json.dumps({"kind": "bridging", "questions": written}))
    policy = ModelPolicy(model, analyzer, PRODUCT)
    proposed, _ = policy.decompose(question, None)  # type: ignore[arg-type]  # only the rules read what was found
    assert list(proposed.questions) == questions


def test_a_plan_of_one_step_is_none() -> None:
    question = Question(ASKED, "en")
    for written in ([ASKED], ["Who wrote Emma?"], ["Who wrote Emma?", "Who wrote Emma"]):
        assert plan_steps(question, ScriptedModel(english=json.dumps({"steps": written})))[0] == []
