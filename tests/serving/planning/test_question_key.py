from __future__ import annotations

import pytest

from shrag.serving.planning.question_key import question_key


@pytest.mark.parametrize(
    ("text", "key"),
    [("Who is he?", "whoishe"), ("who  IS he", "whoishe"), ("그는 누구인가?", "그는누구인가"), ("…?!", ""), ("", "")],
)
def test_letters_and_digits_make_a_question(text: str, key: str) -> None:
    assert question_key(text) == key
