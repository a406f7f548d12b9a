"""Structured output: schemas, lenient decoding, one repair, and failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
import pytest

from shrag.models.chat.structured_output import complete_structured, output_schema
from shrag.models.errors import InvalidOutput, ModelUnavailable
from shrag.models.language_model import Completion, CompletionStream, Message


class Keyword(msgspec.Struct, frozen=True):
    text: Annotated[str, msgspec.Meta(max_length=20)]
    language: Literal["ko", "en"]


class Keywords(msgspec.Struct, frozen=True):
    keywords: Annotated[list[Keyword], msgspec.Meta(min_length=1, max_length=3)]
    note: str | None = None


class Tree(msgspec.Struct):
    children: list[Tree]


VALID = '{"keywords": [{"text": "그래핀", "language": "ko"}], "note": null}'
VALUE = Keywords([Keyword("그래핀", "ko")])
ASK = [Message("user", "그래핀이란?")]


class Scripted:
    """A model that says what it is told to, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *texts: str | Exception, finish_reason: Literal["stop", "length"] = "stop") -> None:
        self.texts = list(texts)
        self.finish_reason = finish_reason
        self.asked: list[tuple[Sequence[Message], Mapping[str, object] | None, int]] = []

    def complete(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None = None,
        *,
        max_tokens: int = 1024,
        urgent: bool = False,
    ) -> Completion:
        self.asked.append((messages, schema, max_tokens))
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return Completion(text, self.finish_reason, 10, 5, 0.1, 0.1)

    def stream(self, messages: Sequence[Message], *, max_tokens: int = 1024) -> CompletionStream:
        raise NotImplementedError


def test_a_valid_answer_is_its_value_and_the_schema_was_asked_for() -> None:
    model = Scripted(VALID)
    found = complete_structured(model, ASK, Keywords, max_tokens=77)
    assert (found.value, found.repaired, len(found.completions)) == (VALUE, False, 1)
    assert model.asked == [(ASK, output_schema(Keywords), 77)]


def test_each_response_may_have_1024_tokens_unless_told_otherwise() -> None:
    model = Scripted("{}", VALID)
    assert complete_structured(model, ASK, Keywords).repaired
    assert [tokens for _, _, tokens in model.asked] == [1024, 1024]


def test_the_schema_is_closed_and_without_references() -> None:
    assert output_schema(Keywords) == {
        "title": "Keywords",
        "type": "object",
        "properties": {
            "keywords": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {
                    "title": "Keyword",
                    "type": "object",
                    "properties": {"text": {"type": "string", "maxLength": 20}, "language": {"enum": ["en", "ko"]}},
                    "required": ["text", "language"],
                    "additionalProperties": False,
                },
            },
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["keywords", "note"],
        "additionalProperties": False,
    }


def test_a_recursive_struct_is_rejected() -> None:
    with pytest.raises(TypeError, match="Tree contains itself"):
        output_schema(Tree)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{VALID}\n```",
        f"여기 있습니다:\n{VALID}\n도움이 되었기를.",
        '{"keywords": [{"text": "그래핀", "language": "ko", "weight": 1}]}',
    ],
)
def test_prose_fences_and_extra_fields_around_a_valid_value_are_accepted(text: str) -> None:
    assert complete_structured(Scripted(text), ASK, Keywords).value == VALUE


def test_raw_control_characters_in_strings_are_accepted() -> None:
    text = '{"keywords": [{"text": "그\n래\t핀\x01", "language": "ko"}]}'
    assert complete_structured(Scripted(text), ASK, Keywords).value.keywords[0].text == "그\n래\t핀\x01"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("그래핀입니다.", "it holds no JSON object"),
        ("", "it holds no JSON object"),
        ('{"keywords": []}', "length >= 1"),
        ('{"keywords": [{"text": "graphene", "language": "de"}]}', "Invalid enum value 'de'"),
        ('{"keywords": [{"text": "graph', "Unterminated string"),
        ('{"keywords": NaN}', "NaN is not valid JSON"),
        ('{"keywords": ' + "[" * 100_000, "nested too deeply"),
        ('{"keywords": [{"text": "\\ud83d", "language": "ko"}]}', "unpaired surrogate"),
    ],
)
def test_an_invalid_answer_is_sent_back_once_with_the_error(broken: str, why: str) -> None:
    model = Scripted(broken, VALID)
    found = complete_structured(model, ASK, Keywords)
    assert (found.value, found.repaired, len(found.completions)) == (VALUE, True, 2)
    again = model.asked[1][0]
    assert again[:1] == (ASK[0],)
    assert again[1] == Message("assistant", broken[:2000])
    assert again[2].role == "user"
    assert why in again[2].content
    assert '"required":["keywords","note"]' in again[2].content
    assert model.asked[1][1] == output_schema(Keywords)


def test_the_error_says_that_an_answer_was_cut_off() -> None:
    model = Scripted('{"keywords": [{"te', VALID, finish_reason="length")
    complete_structured(model, ASK, Keywords)
    assert "cut off before its end" in model.asked[1][0][2].content


def test_two_invalid_answers_are_an_error_with_both() -> None:
    model = Scripted("no", "{", VALID)
    with pytest.raises(
        InvalidOutput,
        match=r"scripted gave no valid Keywords as JSON in two attempts .* no JSON object; then Expecting",
    ):
        complete_structured(model, ASK, Keywords)
    assert len(model.texts) == 1


def test_an_unavailable_model_is_no_invalid_answer() -> None:
    with pytest.raises(ModelUnavailable):
        complete_structured(Scripted("no", ModelUnavailable("gone")), ASK, Keywords)


class _Part(msgspec.Struct):
    name: str


class _Whole(msgspec.Struct):
    part: _Part | None = None


def test_a_struct_that_may_be_missing_is_inlined_and_strict_too() -> None:
    part = {
        **{"title": "_Part", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        "additionalProperties": False,
    }
    schema = output_schema(_Whole)
    assert schema["properties"] == {"part": {"anyOf": [part, {"type": "null"}]}}
    assert (schema["required"], schema["additionalProperties"]) == (["part"], False)
