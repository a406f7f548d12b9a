from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.spelling.collector import SpellingCollector, count_spellings
from shrag.indexing.glossary.spelling.table import spell_words, write_spellings
from shrag.indexing.glossary.store import Glossary, write_glossary

TEXTS = (
    "A hologram stores light. Recording a hologram is slow.",
    "The melatonin level at night. The Monte Carlo method, again by Monte Carlo simulation.",
    "The marathon runners drank coffee in the Italian villa; a cross-over trial, a cross-over design.",
    "We study apple orchards, the common cold and the human mind.",
    "콘크리트 도로와 트랙터를 평가하였다. 사과와 감기, 마음을 다룬다.",
)


def _collect(texts: Sequence[str]) -> SpellingCollector:
    words = SpellingCollector()
    records = [Record(f"r{number}", "", text, "en", complete=True) for number, text in enumerate(texts)]
    words.add(count_spellings(records))
    return words


def _write(path: Path, analyzer: KoreanEnglishAnalyzer, removed: Sequence[tuple[str, str]] = ()) -> Path:
    write_glossary(path, [])
    write_spellings(path, spell_words(_collect(TEXTS), analyzer), removed)
    return path


@pytest.fixture(scope="module")
def glossary(analyzer: KoreanEnglishAnalyzer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Glossary]:
    """Yield a glossary without entries and with the spellings of TEXTS."""
    opened = Glossary(_write(tmp_path_factory.mktemp("spellings") / "glossary.sqlite", analyzer))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("korean", "english", "terms"),
    [
        ("홀로그램", "hologram", ("hologram",)),
        ("멜라토닌", "melatonin", ("melatonin",)),
        ("마라톤", "marathon", ("marathon",)),
        ("몬테카를로", "monte carlo", ("mont", "carlo")),
        ("이탈리아", "italian", ("italian",)),
        ("크로스오버", "cross-over", ("crossov",)),
        ("멜라토닌형", "melatonin", ("melatonin",)),
    ],
)
def test_a_korean_word_finds_its_english_origin(
    glossary: Glossary, korean: str, english: str, terms: tuple[str, ...]
) -> None:
    entry = glossary.transliterations(korean)[0]
    assert (entry.korean, entry.korean_terms, entry.source, entry.records) == (korean, (korean,), "transliteration", 0)
    assert (entry.english, entry.english_terms) == (english, terms)
    assert 0.5 < entry.score <= 1


@pytest.mark.parametrize(
    ("english", "korean", "score"), [("concrete", "콘크리트", 0.9686), ("tractor", "트랙터", 0.9995)]
)
def test_an_english_word_finds_its_transliteration(glossary: Glossary, english: str, korean: str, score: float) -> None:
    (entry,) = glossary.transliterations(english)
    assert (entry.korean, entry.korean_terms, entry.english) == (korean, (korean,), english)
    assert entry.score == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(
    "word",
    [
        "사과",
        "마음",
        "감기",
        "학교",
        "어머니",
        "자동차",
        "컴퓨터",
        "cold",
        "mind",
        "",
        "a가",
        "Tractor",
        "x-ray",
        "x",
        "멜라토닌코",
    ],
)
def test_everyday_words_words_not_in_the_index_and_other_strings_find_nothing(glossary: Glossary, word: str) -> None:
    assert glossary.transliterations(word) == []


@pytest.mark.parametrize(
    ("korean", "english"),
    [
        ("스파르가눔증", "sparganosis"),
        ("톡소플라즈마증", "toxoplasmosis"),
        ("크립토스포리디움증", "cryptosporidiosis"),
        ("칸디다증", "candidiasis"),
        ("트리코모나스증", "trichomoniasis"),
        ("골다공증", None),
        ("과다증", None),
        ("자격증", None),
    ],
)
def test_a_disease_is_found_by_the_name_of_its_organism(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path, korean: str, english: str | None
) -> None:
    names = "sparganosis toxoplasmosis cryptosporidiosis candidiasis trichomoniasis diagnosis fibrosis cirrhosis"
    write_glossary(tmp_path / "diseases", [])
    write_spellings(tmp_path / "diseases", spell_words(_collect([names] * 9), analyzer))
    glossary = Glossary(tmp_path / "diseases")
    assert [entry.english for entry in glossary.transliterations(korean)] == ([english] if english else [])
    glossary.close()


def test_a_pair_that_the_user_removed_is_not_found(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    path = _write(tmp_path / "corrected", analyzer, [("홀로그램", "hologram"), ("콘크리트", "concrete")])
    glossary = Glossary(path)
    assert glossary.transliterations("홀로그램") == glossary.transliterations("concrete") == []
    assert glossary.transliterations("마라톤")
    glossary.close()


def test_the_same_records_make_the_same_file(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    first, second = _write(tmp_path / "one", analyzer), _write(tmp_path / "two", analyzer)
    assert first.read_bytes() == second.read_bytes()


def test_an_empty_corpus_has_an_empty_table(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    write_glossary(tmp_path / "none", [])
    write_spellings(tmp_path / "none", spell_words(SpellingCollector(), analyzer))
    with sqlite3.connect(tmp_path / "none") as database:
        assert database.execute("SELECT count(*) FROM spellings").fetchone() == (0,)
    assert Glossary(tmp_path / "none").transliterations("홀로그램") == []


def test_of_many_spellings_of_one_word_the_three_likeliest_are_found(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    path = tmp_path / "glossary"
    write_glossary(path, [])
    write_spellings(
        path, spell_words(_collect(["catecholamine catecolamine katecholamine catecholamin"] * 9), analyzer)
    )
    glossary = Glossary(path)
    found = [entry.english for entry in glossary.transliterations("카테콜라민")]
    assert found == ["catecolamine", "catecholamin", "katecholamine"]
    glossary.close()
