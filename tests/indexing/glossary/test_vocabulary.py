from __future__ import annotations

import re
from pathlib import Path

import pytest

import shrag.indexing.glossary.vocabulary as module
from shrag.indexing.glossary.vocabulary import VocabularyTerm, read_vocabulary

FILES = sorted((Path(module.__file__).parent / "terms").glob("*.tsv"))
_LINE = re.compile(r"[^\t]*[\uac00-\ud7a3][^\t]*\t[^\t\uac00-\ud7a3]+")


def test_there_is_a_file_per_discipline() -> None:
    assert [path.stem for path in FILES] == [
        "academic", "agriculture", "arts", "computing", "economics", "education", "engineering", "general",
        "humanities", "law", "medicine", "natural_sciences", "social_sciences",
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_line_is_a_headword_with_distinct_translations(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    headwords = [line.partition("\t")[0] for line in lines]
    assert len(set(headwords)) == len(headwords)
    for line in lines:
        translations = line.partition("\t")[2].split(", ")
        assert _LINE.fullmatch(line), line
        assert len(set(translations)) == len(translations), line
        assert all(text == text.strip() and text and "," not in text for text in translations), line


def test_a_pair_of_several_files_is_listed_once_with_its_highest_confidence() -> None:
    terms = read_vocabulary()
    assert len(terms) > 25_000
    assert len({(term.korean, term.english) for term in terms}) == len(terms)
    assert VocabularyTerm("장기", "long-term", 0.95) in terms
    assert VocabularyTerm("장기", "organ", 0.85) in terms


def test_ambiguous_terms_are_less_confident() -> None:
    confidence = {(term.korean, term.english): term.confidence for term in read_vocabulary()}
    assert confidence["뇌", "brain"] == pytest.approx(0.76)
    assert confidence["구조방정식모형", "SEM"] == pytest.approx(0.6)
