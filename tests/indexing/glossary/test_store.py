from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from shrag.indexing.analysis.analyzer import Token
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.store import (
    Entry,
    Glossary,
    Synonym,
    phrase_parts,
    phrase_terms,
    simple_tokens,
    write_glossary,
)

ENTRIES = [
    Entry("인공 신경망", "Neural Network", ("인공", "신경망"), ("neural", "network"), 9, "parenthetical", 0.9),
    Entry("인공 신경망", "ANN", ("인공", "신경망"), ("ann",), 4, "parenthetical", 0.75),
    Entry("망", "network", ("망",), ("network",), 0, "user", 1.0),
]  # fmt: skip


def test_entries_are_found_from_both_languages_by_descending_score(tmp_path: Path) -> None:
    path = tmp_path / "glossary.sqlite"
    write_glossary(path, ENTRIES)
    glossary = Glossary(path)
    assert len(glossary) == 3
    assert glossary.look_up([("인공", "신경망"), ("network",), ("신경망",), ("ann",), ()]) == [
        ENTRIES[:2], [ENTRIES[2]], [], [ENTRIES[1]], [],
    ]  # fmt: skip
    assert list(glossary.entries()) == [ENTRIES[2], ENTRIES[0], ENTRIES[1]]
    glossary.close()


def test_the_entries_seen_most_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    seen = [entry._replace(records=records) for entry, records in zip(ENTRIES, (1, 9, 4), strict=True)]
    write_glossary(tmp_path / "seen", seen)
    glossary = Glossary(tmp_path / "seen")
    assert [entry.records for entry in glossary.most_frequent(2)] == [9, 4]
    assert [entry.records for entry in glossary.most_frequent(10)] == [9, 4, 1]
    assert glossary.most_frequent(0) == []
    glossary.close()


def test_the_same_entries_make_the_same_file(tmp_path: Path) -> None:
    write_glossary(tmp_path / "one", ENTRIES)
    write_glossary(tmp_path / "two", ENTRIES[::-1])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_empty_glossary_is_one(tmp_path: Path) -> None:
    write_glossary(tmp_path / "none", [])
    assert Glossary(tmp_path / "none").look_up([("a",)]) == [[]]


def test_repeated_look_ups_give_the_same_entries(tmp_path: Path) -> None:
    write_glossary(tmp_path / "twice", ENTRIES)
    glossary = Glossary(tmp_path / "twice")
    for _ in range(2):
        assert glossary.look_up([("망",), ("인공",), ("망",)]) == [[ENTRIES[2]], [], [ENTRIES[2]]]
    assert glossary.look_up([]) == []
    glossary.close()


def test_a_term_written_alike_in_both_languages_is_found_once(tmp_path: Path) -> None:
    alike = Entry("DNA", "DNA", ("dna",), ("dna",), 3, "keywords", 0.8)
    write_glossary(tmp_path / "alike", [alike, *ENTRIES])
    assert Glossary(tmp_path / "alike").look_up([("dna",)]) == [[alike]]


def test_a_pair_of_which_the_records_have_one_side_is_looked_up_by_the_other_alone(tmp_path: Path) -> None:
    onion = Entry("양파", "onion", ("양파",), ("onion",), 0, "general", 0.9, "en")
    path = tmp_path / "glossary.sqlite"
    write_glossary(path, [*ENTRIES, onion])
    with closing(Glossary(path)) as glossary:
        assert glossary.look_up([("양파",), ("onion",)]) == [[onion], []]
        assert set(glossary.entries()) == set(ENTRIES)


def test_a_phrase_is_found_whole_in_each_language_and_by_no_beginning_of_it(tmp_path: Path) -> None:
    long = Entry("c 언어 문법", "C grammar", ("c", "언어", "문법"), ("c", "grammar"), 2, "keywords", 0.8)
    absent = Entry("c 망", "c++ net", ("c", "망"), ("c++", "net"), 0, "general", 0.7, "en")
    write_glossary(tmp_path / "phrases", [long, absent, *ENTRIES])
    with closing(Glossary(tmp_path / "phrases")) as glossary:
        found = glossary.look_up([("c", "언어", "문법"), ("c", "grammar"), ("c", "망"), ("c", "언어"), ("c",)])
        assert found == [[long], [long], [absent], [], []]
        assert glossary.look_up([("c++", "net"), ("언어", "문법"), ("c", "언어", "문법", "망")]) == [[], [], []]


SYNONYMS = [
    Synonym("telework", ("telework",), "working from home", ("work", "home"), 2, 7),
    Synonym("telework", ("telework",), "telecommuting", ("telecommut",), 9, 7),
    Synonym("평점", ("평점",), "별점", ("별점",), 1, 0),
]


def test_synonyms_are_found_by_the_terms_of_the_word_those_of_most_records_first(tmp_path: Path) -> None:
    path = tmp_path / "glossary.sqlite"
    write_glossary(path, [], SYNONYMS)
    with closing(Glossary(path)) as glossary:
        assert glossary.synonyms([("telework",), ("별점",), ("평점",), ("telework",)]) == [
            [SYNONYMS[1], SYNONYMS[0]], [], [SYNONYMS[2]], [SYNONYMS[1], SYNONYMS[0]],
        ]  # fmt: skip
        assert glossary.synonyms([]) == []


def test_the_same_synonyms_make_the_same_file(tmp_path: Path) -> None:
    write_glossary(tmp_path / "one", ENTRIES, SYNONYMS)
    write_glossary(tmp_path / "two", ENTRIES, SYNONYMS[::-1])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_glossary_of_an_earlier_version_has_no_synonyms(tmp_path: Path) -> None:
    path = tmp_path / "glossary.sqlite"
    write_glossary(path, ENTRIES)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE synonyms")
    with closing(Glossary(path)) as glossary:
        assert glossary.synonyms([("망",)]) == [[]]
        assert len(glossary) == len(ENTRIES)


def test_of_overlapping_tokens_the_shortest_are_kept_in_their_order() -> None:
    gpt, whole, four = Token("gpt", 0, 3, "foreign"), Token("gpt4", 0, 5, "foreign"), Token("4", 4, 5, "foreign")
    behind = Token("model", 5, 10, "noun")  # it touches the others and does not overlap them
    assert simple_tokens([whole, behind, gpt, four]) == [gpt, four, behind]
    assert simple_tokens([whole]) == [whole]
    across = Token("x", 2, 6, "foreign")  # it overlaps both ends
    assert simple_tokens([gpt, across, behind]) == [gpt, behind]


def test_a_phrase_has_the_terms_and_the_parts_of_its_nouns_words_and_numbers(analyzer: KoreanEnglishAnalyzer) -> None:
    for phrase, terms, parts in (
        ("solid-state batteries", ("solid", "state", "batteri"), ("solid", "state", "batteries")),
        ("빠른 인공신경망을", ("인공", "신경망"), ("인공", "신경망")),
        ("the of", (), ()),
    ):
        assert (phrase_terms(analyzer, phrase), phrase_parts(analyzer, phrase)) == (terms, parts)
