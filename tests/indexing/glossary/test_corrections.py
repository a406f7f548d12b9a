from __future__ import annotations

from pathlib import Path

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.errors import GlossaryRejected
from shrag.indexing.glossary.corrections import apply_corrections, parse_corrections, read_corrections
from shrag.indexing.glossary.store import Entry

MINED = [
    Entry("지도", "map", ("지도",), ("map",), 3, "parenthetical", 0.7),
    Entry("학습", "learning", ("학습",), ("learn",), 3, "alignment", 0.7),
]


def test_pairs_are_added_and_taken_out(analyzer: KoreanEnglishAnalyzer) -> None:
    lines = "# mine\n\n-\t지도\tmaps\n전고체 전지\tsolid-state battery\r\n학습\tlearning\n"
    corrected = apply_corrections(MINED, parse_corrections(lines.encode()), analyzer)
    assert [(entry.korean, entry.english, entry.source, entry.score) for entry in corrected] == [
        ("학습", "learning", "user", 1.0),
        ("전고체 전지", "solid-state battery", "user", 1.0),
    ]
    assert apply_corrections(MINED, parse_corrections(b""), analyzer) == MINED


@pytest.mark.parametrize("line", ["지도", "map\t지도", "지도\t", "지도\t地圖\t3", "-지도\tmap\tx", "지도\t지도"])
def test_an_invalid_line_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(GlossaryRejected, match=r"mine\.tsv, line 2: "):
        parse_corrections(f"# first\n{line}\n".encode(), "mine.tsv")


def test_unreadable_files_and_pairs_without_terms_are_rejected(tmp_path: Path, analyzer: KoreanEnglishAnalyzer) -> None:
    with pytest.raises(GlossaryRejected, match="cannot be read"):
        read_corrections(tmp_path / "none")
    with pytest.raises(GlossaryRejected, match="not UTF-8"):
        parse_corrections(b"\xff\xfe")
    with pytest.raises(GlossaryRejected, match="line 1: '지도' has 1 terms and 'the of' 0"):
        apply_corrections([], parse_corrections("지도\tthe of".encode()), analyzer)
