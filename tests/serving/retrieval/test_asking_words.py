from __future__ import annotations

import pytest

from shrag.serving.retrieval.asking_words import ASPECT_WORDS, RECORD_WORDS, asks_for_records, names_subject


def test_a_word_either_asks_for_records_or_is_an_aspect_of_them() -> None:
    assert not RECORD_WORDS & ASPECT_WORDS


@pytest.mark.parametrize("word", ["논문", "최근", "영어", "Papers", "newer", "1998", "2026"])
def test_kinds_times_and_languages_of_records_ask_for_records(word: str) -> None:
    assert (asks_for_records(word), names_subject(word)) == (True, False)


@pytest.mark.parametrize("word", ["한계", "저자", "Limitations", "sample"])
def test_what_any_record_may_say_names_no_subject(word: str) -> None:
    assert (asks_for_records(word), names_subject(word)) == (False, False)


@pytest.mark.parametrize("word", ["그래핀", "graphene", "LSTM", "1848", "20255"])
def test_other_words_name_a_subject(word: str) -> None:
    assert (asks_for_records(word), names_subject(word)) == (False, True)
