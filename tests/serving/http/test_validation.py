from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shrag.serving.api.chat_completions.schemas import ChatRequest
from shrag.serving.api.schemas import AskRequest
from shrag.serving.http.validation import explain

MESSAGES = [{"role": "user", "content": "a"}]


def _explained(body: Any, schema: type[msgspec.Struct] = ChatRequest) -> str:  # noqa: ANN401
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.json.decode(json.dumps(body), type=schema)
    return explain(refused.value, schema, body, "body")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"model": "a"}, "body.messages: this field is required and missing."),
        (
            {"model": "a", "messages": []},
            "body.messages: expected a list of 1 to 1000 items, got a list of length 0.",
        ),
        (
            {"model": "a", "messages": [*MESSAGES, {"content": "a"}]},
            "body.messages.1.role: this field is required and missing.",
        ),
        (
            {"model": "a", "messages": [{"role": "user", "content": 3}]},
            "body.messages.0.content: expected a string or a list or null, got 3.",
        ),
        (
            {"model": "a", "messages": [{"role": "user", "content": [{"type": "text"}, {"type": 1}]}]},
            "body.messages.0.content.1.type: expected a string, got 1.",
        ),
        (
            {"model": "a", "messages": MESSAGES, "stream_options": {"include_usage": "x" * 61}},
            "body.stream_options.include_usage: expected true or false, got a string of length 61.",
        ),
        ({"model": "a", "messages": MESSAGES, "n": 1.5}, "body.n: expected an integer or null, got 1.5."),
    ],
)
def test_a_field_inside_others_is_named_by_its_path(body: Any, detail: str) -> None:  # noqa: ANN401
    assert _explained(body) == detail


@pytest.mark.parametrize(
    ("field", "detail"),
    [
        ({"min_confidence": 2}, "body.min_confidence: expected a number from 0 to 1 or null, got 2."),
        ({"min_confidence": "x"}, 'body.min_confidence: expected a number from 0 to 1 or null, got "x".'),
        (
            {"settings": []},
            "body.settings: expected an object, each value of which is a string or an integer or true or false, "
            "got a list of length 0.",
        ),
        (
            {"settings": {"depth": 1.5}},
            "body.settings: expected an object, each value of which is a string or an integer or true or false, "
            "got an object.",
        ),
    ],
)
def test_the_rule_for_a_number_and_for_an_object_of_any_keys_says_what_is_accepted(
    field: dict[str, Any], detail: str
) -> None:
    assert _explained({"question": "a", **field}, AskRequest) == detail


class _Bounds(msgspec.Struct, forbid_unknown_fields=True):
    least: Any = msgspec.field(default=None, name="at-least")
    some: dict[str, int] = {}


@pytest.mark.parametrize(
    "message",
    ["", "something new in msgspec", "Expected `int` - at `$.no.such[3].path`", "Expected `int` - at `$[...]`"],
)
def test_a_message_that_is_not_known_still_makes_a_sentence(message: str) -> None:
    detail = explain(msgspec.ValidationError(message), ChatRequest, {"model": 1}, "body")
    assert detail.startswith("body")
    assert detail.endswith(".")


def test_fields_are_named_as_they_are_sent() -> None:
    assert _explained({"least": 1}, _Bounds) == "body.least: there is no such field, use at-least, some."
    assert _explained({"some": {"a": "x"}}, _Bounds).startswith("body")
