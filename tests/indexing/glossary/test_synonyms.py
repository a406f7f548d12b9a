from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import shrag.indexing.glossary.synonyms as module
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.corrections import SynonymCorrection
from shrag.indexing.glossary.store import Entry, Synonym
from shrag.indexing.glossary.synonyms import read_synonyms, select_synonyms

FILES = sorted((Path(module.__file__).parent / "thesaurus").glob("*.txt"))
_HANGUL = re.compile("[\uac00-\ud7a3]")


def test_the_thesaurus_has_a_file_for_each_language() -> None:
    assert [path.stem for path in FILES] == ["english", "korean"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_line_is_a_group_of_different_words_of_the_files_language(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) > 1_500
    assert len(set(lines)) == len(lines)
    for line in lines[1:]:
        words = line.split(", ")
        assert 2 <= len(words) <= 6, line
        assert len(set(words)) == len(words), line
        assert all(word == word.strip() and word and "," not in word for word in words), line
        if path.stem == "english":
            assert not _HANGUL.search(line), line
        else:
            assert _HANGUL.search(line), line


GROUPS = [("telework", "telecommuting"), ("재택근무", "원격근무"), ("senior", "older adult", "adult"), ("회전", "순환")]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "read_synonyms", lambda: GROUPS)


def _counts(terms: Sequence[str]) -> Mapping[str, int]:
    known = {"telecommut": 3, "재택근무": 5, "older": 7, "adult": 2, "회전": 1, "순환": 1}
    return {term: known.get(term, 0) for term in terms}


def _selected(
    analyzer: KoreanEnglishAnalyzer, corrections: Sequence[SynonymCorrection] = (), entries: Sequence[Entry] = ()
) -> dict[tuple[str, str], Synonym]:
    selected = select_synonyms(entries, [], corrections, _counts, analyzer, print)
    return {(each.word, each.synonym): each for each in selected}


def test_acronyms_of_the_records_are_synonyms_of_their_expansions_unless_they_are_words(
    analyzer: KoreanEnglishAnalyzer,
) -> None:
    acronyms = [("HMM", "hidden markov model"), ("AID", "autoimmune disease"), ("XYZ", "not in the records")]
    acronyms += [("AIDS", "immune disease"), ("HOUSE", "hidden model")]  # AIDS has the term of aid, HOUSE is house
    counts = {"hmm": 2, "hidden": 5, "markov": 4, "model": 9, "aid": 8, "autoimmun": 3, "immun": 3, "diseas": 3}
    counts["hous"] = 1
    found = select_synonyms(
        [], acronyms, [], lambda terms: {term: counts.get(term, 0) for term in terms}, analyzer, print
    )
    pairs = [{*pair} for pair in acronyms]
    assert {each for each in found if {each.word, each.synonym} in pairs} == {
        Synonym("HMM", ("hmm",), "hidden markov model", ("hidden", "markov", "model"), 4, 2),
        Synonym("hidden markov model", ("hidden", "markov", "model"), "HMM", ("hmm",), 2, 4),
    }


@pytest.mark.usefixtures("few")
def test_a_synonym_that_the_corpus_has_is_selected_in_this_direction(analyzer: KoreanEnglishAnalyzer) -> None:
    selected = _selected(analyzer)
    assert selected["telework", "telecommuting"] == Synonym(
        "telework", ("telework",), "telecommuting", ("telecommut",), 3, 0
    )
    assert ("telecommuting", "telework") not in selected
    assert ("원격근무", "재택근무") in selected
    assert ("재택근무", "원격근무") not in selected


@pytest.mark.usefixtures("few")
def test_a_synonym_that_only_the_glossary_has_is_selected_too(analyzer: KoreanEnglishAnalyzer) -> None:
    entry = Entry("원격근무", "telework", ("원격", "근무"), ("telework",), 0, "general", 0.9, "ko")
    selected = _selected(analyzer, entries=[entry])
    assert selected["telecommuting", "telework"].records == 0


@pytest.mark.usefixtures("few")
def test_a_synonym_counts_the_records_with_its_rarest_term(analyzer: KoreanEnglishAnalyzer) -> None:
    assert _selected(analyzer)["senior", "older adult"].records == 2


@pytest.mark.usefixtures("few")
def test_a_synonym_that_contains_the_word_is_left_out(analyzer: KoreanEnglishAnalyzer) -> None:
    selected = _selected(analyzer)
    assert ("adult", "older adult") not in selected
    assert ("older adult", "adult") in selected


@pytest.mark.usefixtures("few")
def test_the_user_adds_and_removes_synonyms(analyzer: KoreanEnglishAnalyzer) -> None:
    own = SynonymCorrection(("kin", "재택근무"), True, "mine.tsv, line 1")
    taken = SynonymCorrection(("순환", "회전"), False, "mine.tsv, line 2")
    selected = _selected(analyzer, [own, taken])
    assert ("kin", "재택근무") in selected
    assert not {("순환", "회전"), ("회전", "순환")} & set(selected)
    assert ("회전", "순환") in _selected(analyzer)


def test_a_phrase_that_loses_what_it_means_has_no_synonyms(
    analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = [("after surgery", "postoperative"), ("World War I", "Great War"), ("vitamin A", "retinol")]
    groups += [("abuse of the elderly", "elder mistreatment"), ("정체성", "아이덴티티")]
    monkeypatch.setattr(module, "read_synonyms", lambda: groups)
    found = select_synonyms([], [], [], lambda terms: dict.fromkeys(terms, 1), analyzer, print)
    assert {each.word for each in found} == {"abuse of the elderly", "elder mistreatment"}


def test_a_word_of_the_user_keeps_its_prefix_and_may_lose_its_ending(
    analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_synonyms", list)
    own = [SynonymCorrection(words, True, "") for words in (("비대면", "언택트"), ("정체성", "아이덴티티"))]
    found = select_synonyms([], [], own, lambda terms: dict.fromkeys(terms, 1), analyzer, print)
    assert {(each.word, each.terms) for each in found} == {
        ("비대면", ("비대면",)),
        ("언택트", ("언택트",)),
        ("정체성", ("정체",)),
        ("아이덴티티", ("아이덴티티",)),
    }


def test_synonyms_of_the_user_that_are_not_used_are_named(
    analyzer: KoreanEnglishAnalyzer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "read_synonyms", list)
    groups = [("vitamin A", "retinol"), ("먹기", "섭취"), ("the", "article"), *[("on-site", "in situ")] * 5]
    own = [SynonymCorrection(words, True, f"mine.tsv, line {line}") for line, words in enumerate(groups, 1)]
    messages: list[str] = []
    select_synonyms([], [], own, lambda terms: dict.fromkeys(terms, 1), analyzer, messages.append)
    assert messages[0].startswith("mine.tsv, line 1: 'vitamin A' is not used as a synonym. Its terms are vitamin; ")
    assert messages[1].startswith("mine.tsv, line 2: '먹기' is not used as a synonym. Its terms are none; ")
    assert messages[2].startswith("mine.tsv, line 3: 'the' is not used as a synonym. Its terms are none; ")
    assert (len(messages), messages[-1]) == (6, "In all, 13 synonyms of the user's lists are not used.")


def test_groups_of_both_languages_are_read() -> None:
    groups = read_synonyms()
    assert not any(member.startswith("#") for group in groups for member in group)
    assert any("telework" in group for group in groups)
    assert any("재택근무" in group for group in groups)
