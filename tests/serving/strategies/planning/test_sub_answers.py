from __future__ import annotations

import json

import pytest

from shrag.corpora.records import Record
from shrag.models.errors import InvalidOutput
from shrag.serving.request import Question
from shrag.serving.strategies.planning.sub_answers import NO_ANSWER, SubAnswer, respond
from tests.support.scripted_models import ScriptedModel

QUESTION = Question("얼마나 차폐하는가?", "ko")


def _written(answer: str, number: int) -> ScriptedModel:
    line = json.dumps({"answer": answer, "record": number}, ensure_ascii=False)
    return ScriptedModel(line, line)


@pytest.mark.parametrize(("number", "docid"), [(1, "A#1"), (0, ""), (2, ""), (50, "")])
def test_a_response_has_the_docid_of_the_record_it_names_if_that_was_shown(
    record: Record, number: int, docid: str
) -> None:
    response, calls = respond(QUESTION, [record], _written(" 30\u202e dB\n", number))
    assert response == SubAnswer("30 dB", docid)
    assert [call.stage for call in calls] == ["step"]


def test_without_records_the_model_is_not_called() -> None:
    model = _written("30 dB", 1)
    assert respond(QUESTION, [], model) == (NO_ANSWER, [])
    assert model.asked == []


def test_a_response_of_more_than_600_characters_is_invalid(record: Record) -> None:
    assert len(respond(QUESTION, [record], _written("x" * 600, 1))[0].text) == 600
    with pytest.raises(InvalidOutput):
        respond(QUESTION, [record], _written("x" * 601, 1))
