from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.models.errors import InvalidOutput
from shrag.serving.request import Question
from shrag.serving.strategies.planning.sub_answers import (
    NO_ANSWER,
    SubAnswer,
    cited_docid,
    extract_span,
    find_span,
    respond,
)
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


FILM = Record("F", "Films of Graphene", "They shield 30  dB.", "en", complete=True)
LAYER = Record("L", "Layers", "Graphene layers shield 30 dB, or 40 dB.", "en", complete=True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("30 db", SubAnswer("30 db", "F")),
        (" 40\n dB", SubAnswer("40 dB", "L")),
        ("films of graphene", SubAnswer("films of graphene", "F")),
        ("graphene layers", SubAnswer("graphene layers", "L")),
        ("50 dB", NO_ANSWER),
        (" \n", NO_ANSWER),
        ("", NO_ANSWER),
    ],
)
def test_a_span_is_of_the_first_record_that_has_it_whatever_its_blanks_and_case(text: str, answer: SubAnswer) -> None:
    assert find_span(text, [FILM, LAYER]) == answer
    assert find_span(text, []) == NO_ANSWER


@pytest.mark.parametrize(
    ("text", "number", "docid"),
    [("30 dB", 2, "L"), ("30 dB", 1, "F"), ("30 dB", 0, "F"), ("30 dB", 3, "F"), ("40 dB", 1, "L"), ("50 dB", 1, "")],
)
def test_a_span_is_of_the_record_that_the_model_names_if_that_has_it(text: str, number: int, docid: str) -> None:
    line = json.dumps({"text": text, "record": number})
    span, calls = extract_span(Question("How much?", "en"), [FILM, LAYER], ScriptedModel(line, line))
    assert span == (SubAnswer(text, docid) if docid else NO_ANSWER)
    assert [call.stage for call in calls] == ["step"]


def test_a_span_has_at_most_200_characters_and_needs_a_record() -> None:
    long = replace(FILM, text="x" * 300)
    for length in (200, 201):
        line = json.dumps({"text": "x" * length, "record": 1})
        model = ScriptedModel(line, line)
        assert extract_span(Question("How much?", "en"), [], model) == (NO_ANSWER, [])
        assert model.asked == []
        if length == 200:
            assert extract_span(Question("How much?", "en"), [long], model)[0].docid == "F"
        else:
            with pytest.raises(InvalidOutput):
                extract_span(Question("How much?", "en"), [long], model)


def test_records_are_numbered_from_1() -> None:
    assert [cited_docid(number, [FILM, LAYER]) for number in (-1, 0, 1, 2, 3)] == ["", "", "F", "L", ""]
