from __future__ import annotations

import pytest

from shrag.corpora.readers.document_types import DOCUMENT_TYPES, document_type


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("JOUR", "article-journal"),
        ("Journal article", "article-journal"),
        ("journal-article", "article-journal"),
        ("journalArticle", "article-journal"),
        ("book-chapter", "chapter"),
        ("bookSection", "chapter"),
        ("학술대회 논문", "paper-conference"),
        ("preprint", "article"),
        (" Letter to the Editor ", "letter to the editor"),
        ("가" * 60, "가" * 50),
        ("", ""),
    ],
)
def test_a_type_is_known_however_its_words_are_joined(name: str, type: str) -> None:
    assert document_type(name) == type


def test_the_names_of_csl_stay() -> None:
    assert [document_type(type) for type in DOCUMENT_TYPES if type != "article"] == [
        type for type in DOCUMENT_TYPES if type != "article"
    ]
