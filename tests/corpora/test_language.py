from __future__ import annotations

import pytest

from shrag.corpora.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("인공지능 교육의 의미", "ko"),
        ("BERT와 GPT-4를 비교하였다", "ko"),
        ("A study of deep learning", "en"),
        ("Romanization of 한글 in the nineteenth century and later", "en"),
        ("3.14 + 2", "und"),
        ("", "und"),
        ("人工知能", "und"),
    ],
)
def test_the_language_is_that_of_the_letters(text: str, language: str) -> None:
    assert detect_language(text) == language
