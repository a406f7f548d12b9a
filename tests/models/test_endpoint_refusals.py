"""An endpoint's words, as they are shown."""

from __future__ import annotations

from shrag.models.endpoint_refusals import explain, shown


def test_an_endpoints_words_are_one_line_without_control_characters_and_not_long() -> None:
    assert shown("a\n\tb\x1b[31m\x00 c\u202e") == "a b [31m c"
    assert shown("가" * 500) == "가" * 299 + "…"
    assert shown("") == ""


def test_other_engines_words_for_too_long_are_known() -> None:
    for message in (
        "the request exceeds the available context size, try increasing it",
        "Input validation error: `inputs` tokens + `max_new_tokens`: prompt is too long",
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
        "This model's maximum context length is 2048 tokens.",
    ):
        assert "longer than the context of 'm'" in str(explain("here", "m", 400, message))
    assert "longer than" not in str(explain("here", "m", 400, "temperature must be positive"))
