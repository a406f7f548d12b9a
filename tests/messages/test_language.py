"""Tests of the language chosen by the locale and by Accept-Language."""

from collections.abc import Mapping

import pytest

from shrag.messages.language import accepted_language, locale_language


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko"}, "ko"),
        ({"LANG": "kok_IN"}, "en"),
        ({"LC_MESSAGES": "en_GB.UTF-8", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "ko_KR", "LANG": "C"}, "ko"),
        ({"LC_ALL": "C.UTF-8", "LC_MESSAGES": "ko_KR"}, "en"),
        ({"SHRAG_LANG": "ko", "LC_ALL": "C.UTF-8"}, "ko"),
    ],
)
def test_the_first_variable_that_is_set_decides(environment: Mapping[str, str], language: str) -> None:
    assert locale_language(environment) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("ko", "ko"),
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("en-US,ko;q=0.9", "en"),
        ("ko;q=0, en;q=0.1", "en"),
        ("fr, ko;q=0.5", "ko"),
        ("ko;q=2", "en"),
        ("*", "en"),
    ],
)
def test_the_language_of_the_greatest_quality_is_accepted(header: str, language: str) -> None:
    assert accepted_language(header) == language
