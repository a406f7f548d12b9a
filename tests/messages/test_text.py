"""Tests of texts: English as strings, Korean with the same values, pickled, in exceptions."""

import pickle
from pathlib import Path

from shrag.corpora.near_names import did_you_mean
from shrag.messages.text import Text, in_language, message_of


def test_a_text_is_its_english_with_values_and_format_specifications() -> None:
    assert Text("{a!r} {b:,} {{}} {c}", a="x", b=1200, c=Path("y")) == "'x' 1,200 {} y"


def test_a_text_in_korean_has_the_same_values() -> None:
    text = Text("There is no command {name!r}.{hint}", name="serch", hint=did_you_mean("serch", ["search"]))
    assert text == "There is no command 'serch'. Did you mean search?"
    assert text.in_language("ko") == "'serch' 명령은 없습니다. 혹시 찾으시는 것이 search인가요?"


def test_the_message_of_an_exception_in_a_text_is_translated_too() -> None:
    error = ValueError(Text("Not found"))
    assert in_language(Text("shrag: {error}", error=error), "ko") == "shrag: 찾을 수 없음"
    assert in_language(error, "ko") == "찾을 수 없음"


def test_texts_cross_processes_within_exceptions() -> None:
    error = pickle.loads(pickle.dumps(ValueError(Text("{total:,} hits", total=1200))))
    assert str(error) == "1,200 hits"
    assert in_language(message_of(error), "ko") == "검색 결과 1,200건"


def test_values_are_never_read_as_templates() -> None:
    assert Text("{name}: {error}.", name="{error}", error="{name}") == "{error}: {name}."
