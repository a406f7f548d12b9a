from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from shrag.corpora.ingest.near_duplicates import (
    DuplicateFinder,
    Fingerprint,
    fingerprint,
    fingerprint_keys,
    letters,
    same_paper,
)
from shrag.corpora.records import Record
from shrag.corpora.text.sentences import detect_language

ABSTRACT = (
    "본 연구는 산간 마을의 공동 우물 열두 곳에서 계절마다 물을 떠서 질산성 질소와 총대장균군을 재고, "
    "둘레의 밭과 축사가 물에 남긴 흔적을 견주었다. 비가 많은 철에는 농도가 두 배로 올랐고, "
    "우물 둘레에 풀을 남긴 곳에서는 오르지 않았다. 주민이 스스로 재는 간이 검사지의 값은 실험실의 값과 잘 맞았으며, "
    "검사지를 나누어 준 마을에서는 물을 끓여 마시는 집이 늘었다. "
    "이 결과는 풀띠와 간이 검사만으로도 산간의 마실 물을 지킬 수 있음을 보인다."
)
OTHER = (
    "이 논문은 바닷가 솔숲의 나이테 서른 개를 읽어 지난 백 년의 가뭄을 되짚는다. "
    "봄 가뭄이 든 해에는 나이테가 좁았고, 태풍이 지난 해에는 한쪽만 넓었다. "
    "기상 관측이 없던 때의 가뭄 다섯 번을 새로 찾았고 그 가운데 셋은 고을의 기록과 맞았다. "
    "해송의 나이테는 물이 모자란 해를 세는 값싼 자가 된다."
)


def _record(title: str, text: str, docid: str = "A") -> Record:
    return Record(docid, title, text, detect_language(text or title), complete=bool(text))


def _same(one: Record, other: Record) -> bool:
    """Say what the corpus would: only records that share a key are compared."""
    if not set(fingerprint_keys(one)) & set(fingerprint_keys(other)):
        return False
    first, second = fingerprint(one.title, one.text), fingerprint(other.title, other.text)
    return first is not None and second is not None and same_paper(first, second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("공동 우물의 수질: 산간 마을의 사례", "공동우물의 수질 - 산간 마을의 사례"),
        ("공동 우물의 수질(Ⅱ)", "공동 우물의 수질 (II)."),
        ("Water of Shared Wells", "WATER OF SHARED WELLS"),
    ],
)
@pytest.mark.parametrize(
    "text", [ABSTRACT, ABSTRACT.replace(" ", ""), ABSTRACT.replace("본 연구는 ", ""), ABSTRACT + " 주제어: 우물, 수질."]
)
def test_the_same_title_over_nearly_the_same_text_is_the_same_paper(one: str, other: str, text: str) -> None:
    assert _same(_record(one, ABSTRACT), _record(other, text))
    assert _same(_record(other, text), _record(one, ABSTRACT))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("산간 마을 공동 우물의 수질", "Water Quality of Shared Wells in Mountain Villages"),
        ("특집: 산간 마을 공동 우물의 수질과 간이 검사", "산간 마을 공동 우물의 수질과 간이 검사"),
    ],
)
def test_the_same_text_under_a_translated_or_prefixed_title_is_the_same_paper(one: str, other: str) -> None:
    assert _same(_record(one, ABSTRACT), _record(other, ABSTRACT))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("서론", ABSTRACT), ("서론", OTHER)),
        (("Artificial intelligence", ABSTRACT), ("Artificial Intelligence", OTHER)),
        (("공동 우물의 수질", ABSTRACT), ("공동 우물의 수질", "")),
        (("공동 우물의 수질", ""), ("공동 우물의 수질", "")),
        (("", ABSTRACT), ("", OTHER)),
        (("공동 우물의 수질", "제12호 게재 논문의 초록."), ("공동 우물의 수질", "제12호 게재 논문의 초록.")),
        (("공동 우물의 수질", ABSTRACT[:150]), ("공동 우물의 수질", ABSTRACT)),
        (("공동 우물의 수질(1)", ABSTRACT), ("공동 우물의 수질(2)", ABSTRACT)),
        (("Shared wells, part I", ABSTRACT), ("Shared wells, part II", ABSTRACT)),
        (("공동 우물의 수질", ABSTRACT), ("산간 마을의 간이 검사지 보급", ABSTRACT)),
        (("솔숲의 나이테", OTHER), ("공동 우물의 수질", ABSTRACT)),
    ],
)
def test_neither_a_title_alone_nor_a_part_of_a_series_nor_a_passage_is_the_same_paper(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert not _same(_record(*one), _record(*other))


@pytest.mark.parametrize(
    ("title", "common", "of", "same"),
    [
        ("Shared wells", 7, 10, True),
        ("Shared wells", 69, 100, False),
        ("공동 우물", 95, 100, True),
        ("공동 우물", 94, 100, False),
    ],
)
def test_texts_are_of_one_paper_from_a_similarity_that_depends_on_the_titles(
    title: str, common: int, of: int, same: bool
) -> None:
    shingles = [f"{number:05}" for number in range(of)]
    one = Fingerprint("Shared wells", "sharedwells", frozenset(shingles))
    other = Fingerprint(title, letters(title), frozenset(shingles[:common]))
    assert same_paper(one, other) is same_paper(other, one) is same


@pytest.mark.parametrize(("longer", "same"), [("abcdefgh", True), ("abcdefghi", False)])
def test_titles_of_one_language_are_compatible_from_half_of_their_shingles(longer: str, same: bool) -> None:
    text = frozenset({"alike"})
    one, other = Fingerprint("abcde", "abcde", text), Fingerprint(longer, longer, text)
    assert same_paper(one, other) is same


def test_a_text_is_compared_from_100_letters_and_found_by_its_first_150() -> None:
    assert fingerprint("", "가" * 99) is None
    assert fingerprint("", "가" * 100) is not None
    assert [len(fingerprint_keys(_record("제목", "가" * size))) for size in (99, 100, 149, 150)] == [0, 1, 1, 2]
    beginning = fingerprint_keys(_record("", "가" * 150))
    assert beginning == fingerprint_keys(_record("", "가" * 150 + "나")) != ()
    assert beginning != fingerprint_keys(_record("", "가" * 149 + "나"))


def test_letters_leave_out_what_databases_write_differently() -> None:
    assert letters("Ｔi₂ —  'ABC'_d") == "ti2abcd"
    assert letters("…!?") == ""


def test_links_lead_to_the_first_of_a_group_and_never_to_a_link(tmp_path: Path) -> None:
    parts = ABSTRACT.split()
    # Each text lacks one more word of the beginning than the one before: neighbours are near, the ends are not.
    records = [_record("공동 우물의 수질", " ".join(parts[drop:]), f"D{drop}") for drop in range(0, 30, 2)]
    records.insert(3, _record("공동 우물의 수질", OTHER, "X"))
    found: dict[str, str] = {}
    with DuplicateFinder(tmp_path / "links") as links:
        for row, record in enumerate(records):
            links.add(row, record)
        assert list(links.candidates()) == list(range(len(records)))
        for row, record in enumerate(records):
            first = links.link(row, record)
            if first is not None:
                found[record.docid] = first
    assert "X" not in {*found, *found.values()}
    assert found["D2"] == "D0"
    assert not set(found.values()) & set(found)
    groups = {*found.values()}
    assert len(groups) > 1
    assert all(docid in found or docid in groups for docid in (f"D{drop}" for drop in range(0, 30, 2)))


def test_only_what_shares_a_title_or_the_beginning_of_a_text_is_compared(tmp_path: Path) -> None:
    records = [
        ("가", ABSTRACT),
        ("나", OTHER),
        ("다", ""),
        ("다", ""),
        ("가", OTHER),
        ("라", OTHER + " 끝."),
        ("마", ""),
    ]
    with DuplicateFinder(tmp_path / "links") as links:
        for row, (title, text) in enumerate(records):
            links.add(row, _record(title, text))
        assert len(letters(OTHER)) < 150
        assert list(links.candidates()) == [0, 4]


def test_a_title_of_hundreds_is_compared_with_the_latest_only(tmp_path: Path) -> None:
    texts = ["".join(chr(0xAC00 + (n * 31 + i * (97 + n)) % 9999) for i in range(150)) for n in range(300)]
    records = [_record("머리말", text, f"D{n}") for n, text in enumerate(texts)]
    twice = [_record("머리말", texts[295], "late"), _record("머리말", texts[5] + " 끝.", "early")]
    with DuplicateFinder(tmp_path / "links") as links:
        for row, record in enumerate(records):
            assert links.link(row, record) is None
        assert links.link(300, twice[0]) == "D295"
        assert links.link(301, twice[1]) == "D5"  # by the beginning of its text
        assert links.link(302, _record("머리말", "앞선 " + texts[236], "64th")) == "D236"
        assert links.link(303, _record("머리말", "앞선 " + texts[235], "65th")) is None
        assert links.link(304, _record("머리말", "앞선 " + texts[5], "lost")) is None


@pytest.mark.parametrize(("compared", "rows"), [(0, [0, 2]), (2, [0, 2]), (3, [])])
def test_rows_that_were_compared_before_are_candidates_only_beside_a_new_one(
    tmp_path: Path, compared: int, rows: list[int]
) -> None:
    with DuplicateFinder(tmp_path / "links") as links:
        for row, title in enumerate(("가", "나", "가", "다")):
            links.add(row, _record(title, f"{title} {ABSTRACT}"))
        assert list(links.candidates(compared)) == rows


def test_two_records_without_a_title_do_not_have_the_same() -> None:
    shingles = [f"{number:05}" for number in range(100)]
    one, other = (Fingerprint("", "", frozenset(shingles[:count])) for count in (100, 96))
    assert not same_paper(one, other)


def test_a_text_is_compared_up_to_its_first_ten_thousand_characters() -> None:
    text = "".join(chr(0xAC00 + number) for number in range(10_000))
    for end, same in (("x" * 500, True), ("", True)):
        assert (fingerprint("T", text + end) == fingerprint("T", text)) is same
    assert fingerprint("T", text[:9_999] + "x") != fingerprint("T", text)


def test_pairs_are_judged_alike_from_both_sides() -> None:
    records = [_record("공동 우물의 수질", ABSTRACT[cut:], str(cut)) for cut in range(0, 200, 10)]
    for one, other in pairwise(records):
        assert _same(one, other) == _same(other, one)
