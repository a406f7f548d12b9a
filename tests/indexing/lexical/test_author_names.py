from __future__ import annotations

import pytest

from shrag.indexing.lexical.author_names import AuthorNames, fold_name

NAMES = AuthorNames("kavraki, lydia e.\nla, hyun-jung\nlydia chilton\no’brien, pat\nveličković, petar\n김철수\n")


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("kavraki", ["kavraki, lydia e."]),
        ("lydia", ["kavraki, lydia e.", "lydia chilton"]),
        ("e", ["kavraki, lydia e."]),
        ("hyun", ["la, hyun-jung"]),
        ("hyunjung", ["la, hyun-jung"]),
        ("obrien", ["o’brien, pat"]),
        ("brien", ["o’brien, pat"]),
        ("velickovic", ["veličković, petar"]),
        ("김철수", ["김철수"]),
        ("kavra", []),
        ("철수", []),
        ("lydia chilton", ["lydia chilton"]),
    ],
)
def test_a_name_is_found_by_each_of_its_whole_words(word: str, found: list[str]) -> None:
    assert [name.key for name in NAMES.with_word(word, 10)] == found


def test_a_name_has_its_words_without_accents_and_with_hyphens_joined_too() -> None:
    (name,) = NAMES.with_word("la", 10)
    assert name.words == {"la", "hyun", "jung", "hyunjung"}


def test_at_most_so_many_names_are_found_and_none_of_no_names() -> None:
    assert [name.key for name in NAMES.with_word("lydia", 1)] == ["kavraki, lydia e."]
    assert NAMES.with_word("lydia", 0) == []
    assert AuthorNames("").with_word("lydia", 10) == []


@pytest.mark.parametrize(
    ("name", "folded"), [("VELIČKOVIĆ", "velickovic"), ("Hyun‐Jung", "hyunjung"), ("김철수", "김철수"), ("", "")]
)
def test_a_word_is_folded_as_names_are(name: str, folded: str) -> None:
    assert fold_name(name) == folded
