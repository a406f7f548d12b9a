from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.glossary.evidence import count_evidence
from shrag.indexing.glossary.mining import mine_glossary
from shrag.indexing.glossary.store import Entry
from shrag.indexing.glossary.term_boundaries import Candidate, count_candidates
from shrag.indexing.glossary.vocabulary import read_vocabulary


def _records(*texts: tuple[str, str]) -> list[Record]:
    return [
        Record(f"r{number}", title, text, "ko" if "다" in text else "en", complete=True)
        for number, (title, text) in enumerate(texts)
    ]


def _mine_all(analyzer: KoreanEnglishAnalyzer, folder: Path, records: list[Record]) -> list[Entry]:
    counts = Counter(term for record in records for term in set(analyzer.terms([f"{record.title}\n{record.text}"])[0]))
    counted = [count_evidence(records, analyzer)]
    return mine_glossary(
        counted, analyzer, lambda terms: {term: counts[term] for term in terms}, folder / "scratch"
    ).entries


def _mine(analyzer: KoreanEnglishAnalyzer, folder: Path, *texts: tuple[str, str]) -> dict[tuple[str, str], Entry]:
    entries = _mine_all(analyzer, folder, _records(*texts))
    assert list(folder.iterdir()) == []
    return {(entry.korean, entry.english.lower()): entry for entry in entries if entry.source != "general"}


def _note_chains(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[tuple[tuple[str, ...], bool]]]:
    """Return a list to which mining adds the phrases before a bracket each time it counts candidates among them."""
    noted: list[frozenset[tuple[tuple[str, ...], bool]]] = []

    def count(
        chains: Mapping[tuple[tuple[str, ...], bool], int], terms_of: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> list[Candidate]:
        noted.append(frozenset(chains))
        return count_candidates(chains, terms_of)

    monkeypatch.setattr("shrag.indexing.glossary.mining.count_candidates", count)
    return noted


@pytest.mark.parametrize(
    ("text", "korean", "english"),
    [
        ("본 논문은 배터리의 열폭주(thermal runaway)를 다룬다.", "열폭주", "thermal runaway"),
        ("수명을 늘리기 위한 고체 전해질(solid electrolyte)을 제안한다.", "고체 전해질", "solid electrolyte"),
        ("빠르게 성장하는 수직 농장(vertical farm)의 사례이다.", "수직 농장", "vertical farm"),
        ("이때 ‘도시 열섬’(urban heat)을 살핀다.", "도시 열섬", "urban heat"),
    ],
)
def test_the_term_begins_where_the_phrase_does(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path, text: str, korean: str, english: str
) -> None:
    assert set(_mine(analyzer, tmp_path, ("제목", text))) == {(korean, english)}


def test_the_term_is_shared_by_most_contexts(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    found = _mine(
        analyzer,
        tmp_path,
        ("제목", "정부 주도 열섬 현상(heat island)을 줄인다."),
        ("제목", "여름철 열섬 현상(heat island)이 나타난다."),
        ("제목", "도시의 열섬 현상(heat islands)을 잰다."),
    )
    assert found["열섬 현상", "heat island"].records == 3


def test_of_very_many_words_before_one_term_the_best_are_used(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = _note_chains(monkeypatch)
    words = [word for word in dict.fromkeys(term.korean for term in read_vocabulary()) if word.isalpha()][:300]
    texts = [("제목", f"시료를 {word}(heat island)로 잰다.") for word in words]
    found = _mine(analyzer, tmp_path, *texts, *[("제목", "도시의 열섬 현상(heat island)을 잰다.")] * 3)
    assert found["열섬 현상", "heat island"].records == 3
    assert len(counted[0]) > 200
    assert len(counted) == 2 * 100  # the entries are mined once more after the alignment


def test_an_acronym_also_gives_its_expansion(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    found = _mine(
        analyzer,
        tmp_path,
        ("제목", "교통 예측 모델(TPM)을 쓴다."),
        ("제목", "교통 예측 모델(TPM)이다."),
        ("Study", "A traffic prediction model (TPM) is trained."),
    )
    assert {english for _, english in found} == {"tpm", "traffic prediction model"}


def test_an_example_in_brackets_is_no_translation(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    assert _mine(analyzer, tmp_path, ("제목", "검색 서비스(Google)를 쓴다. 언어모델(BERT)을 쓴다.")) == {}


def test_loanwords_are_paired_with_their_origin(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    found = _mine(
        analyzer,
        tmp_path,
        ("플라밍고", "플라밍고를 만든다. 부메랑을 본다."),
        *[("플라밍고", "플라밍고이다. 부메랑을 쓴다.")] * 3,
        ("Flamingo", "A flamingo and a boomerang."),
        ("Flamingo", "The boomerang of a flamingo."),
        *[("Other", "An unrelated abstract.")] * 2,
    )
    assert set(found) == {("플라밍고", "flamingo"), ("부메랑", "boomerang")}
    assert {entry.source for entry in found.values()} == {"transliteration"}


def test_titles_and_abstracts_in_different_languages_align_terms(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    words = {"꿀벌": "bees", "젖소": "cows", "초원": "meadows", "우유": "milk", "치즈": "cheese", "시장": "markets"}
    texts = [
        (f"{one}, {other}", f"We watched {words[one]} and {words[other]} for a whole year.")
        for one, other in combinations(words, 2)
    ]
    found = _mine(analyzer, tmp_path, *texts * 2, *[("Other", "An unrelated abstract.")] * 4)
    # The others are in the vocabulary that comes with SHRAG.
    assert found.keys() == {("꿀벌", "bees"), ("젖소", "cows"), ("초원", "meadows")}
    assert {(entry.records, entry.source) for entry in found.values()} == {(10, "alignment")}


def test_words_that_always_stand_together_are_not_aligned(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    abstracts = ["We measured milk yield in barns.", "We sold cheese in markets.", "We watched bees on meadows."]
    titles = ["젖소의 우유", "시장의 치즈", "초원의 꿀벌"]
    texts = list(zip(titles, abstracts, strict=True)) * 8
    assert _mine(analyzer, tmp_path, *texts, *[("Other", "An unrelated abstract.")] * 4) == {}


def test_the_same_records_in_any_order_give_the_same_glossary(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    records = _records(
        ("열폭주", "열폭주(thermal runaway)를 다룬다."),
        ("Runaway", "Thermal runaway."),
        ("전해질", "전해질(electrolyte)이다."),
    )
    forward = _mine_all(analyzer, tmp_path, records)
    assert _mine_all(analyzer, tmp_path, records[::-1]) == forward
    assert _mine_all(analyzer, tmp_path, []) == []


def test_a_loanword_without_an_origin_hides_none_of_the_others(analyzer: KoreanEnglishAnalyzer, tmp_path: Path) -> None:
    found = _mine(
        analyzer,
        tmp_path,
        *[("플라밍고", "가스라이팅과 플라밍고이다.")] * 4,
        *[("Flamingo", "A flamingo.")] * 4,
    )
    assert set(found) == {("플라밍고", "flamingo")}


def test_a_phrase_begins_where_its_sentence_does_but_perhaps_not_with_the_first_word_that_is_kept(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = _note_chains(monkeypatch)
    _mine(
        analyzer,
        tmp_path,
        ("제목", "고체 전해질(solid electrolyte)이다. 빠르게 성장하는 수직 농장(vertical farm)이다."),
        ("제목", "전국 도시 여름 기온 열섬 현상(heat island)이다."),
    )
    assert frozenset().union(*counted) == {
        (("고체", "전해질"), True),
        (("수직", "농장"), True),
        (("도시", "여름", "기온", "열섬", "현상"), False),
    }
