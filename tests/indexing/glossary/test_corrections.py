from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.errors import GlossaryRejected
from shrag.indexing.glossary.corrections import (
    FILE,
    SynonymCorrection,
    apply_corrections,
    parse_corrections,
    read_corrections,
    stored_corrections,
)
from shrag.indexing.glossary.store import Entry

MINED = [
    Entry("지도", "map", ("지도",), ("map",), 3, "parenthetical", 0.7),
    Entry("학습", "learning", ("학습",), ("learn",), 3, "alignment", 0.7),
]


def test_pairs_are_added_and_taken_out(analyzer: KoreanEnglishAnalyzer) -> None:
    lines = "# mine\n\n-\t지도\tmaps\n전고체 전지\tsolid-state battery\r\n학습\tlearning\n"
    corrected = apply_corrections(MINED, parse_corrections(lines.encode()).pairs, analyzer, pytest.fail)
    assert [(entry.korean, entry.english, entry.source, entry.score) for entry in corrected] == [
        ("학습", "learning", "user", 1.0),
        ("전고체 전지", "solid-state battery", "user", 1.0),
    ]
    assert apply_corrections(MINED, parse_corrections(b"").pairs, analyzer, pytest.fail) == MINED


def test_an_index_keeps_the_corrections_it_was_built_with(tmp_path: Path) -> None:
    assert stored_corrections(tmp_path) == b""
    (tmp_path / FILE).write_bytes("지도\tmap\n".encode())
    assert stored_corrections(tmp_path) == "지도\tmap\n".encode()


@pytest.mark.parametrize(
    "line",
    [
        "지도",
        "map\t지도",
        "지도\t",
        "지도\t地圖\t3",
        "-지도\tmap\tx",
        "지도\tmap, 학습",
        "map\t지도, chart",
        "-",
        "-\t",
    ],
)
def test_an_invalid_line_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(GlossaryRejected, match=r"mine\.tsv, line 2: "):
        parse_corrections(f"# first\n{line}\n".encode(), "mine.tsv")


def test_translations_on_one_line_are_pairs_of_falling_confidence(analyzer: KoreanEnglishAnalyzer) -> None:
    corrected = apply_corrections(
        [], parse_corrections("암\tcancer, carcinoma,  NSCLC\n".encode()).pairs, analyzer, pytest.fail
    )
    assert [(entry.english, entry.score) for entry in corrected] == [
        ("cancer", 1.0), ("carcinoma", 0.95), ("NSCLC", 0.9),
    ]  # fmt: skip


def test_unreadable_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(GlossaryRejected, match="cannot be read"):
        read_corrections([tmp_path / "none"])
    with pytest.raises(GlossaryRejected, match=r"line 2: not UTF-8 \(byte 2\)"):
        parse_corrections(b"#\n\xff\xfe")


def test_pairs_without_terms_are_named_and_not_used(analyzer: KoreanEnglishAnalyzer) -> None:
    messages: list[str] = []
    lines = "지도\tthe of\n" * 7 + "지도\tmap\n"
    corrected = apply_corrections([], parse_corrections(lines.encode(), "mine.tsv").pairs, analyzer, messages.append)
    assert [entry.english for entry in corrected] == ["map"]
    assert len(messages) == 6
    assert messages[0].startswith("mine.tsv, line 1 is not used: '지도' has 1 terms and 'the of' 0;")
    assert messages[-1] == "In all, 7 pairs of the user's lists are not used."


def test_files_in_two_formats_are_read_together_and_messages_name_their_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("# mine\n전지\tbattery\n", encoding="utf-8")
    (tmp_path / "terms.tbx").write_text(
        "<tbx>\n<conceptEntry><langSec xml:lang='ko'><termSec><term>전해질</term></termSec></langSec>"
        "<langSec xml:lang='en'><termSec><term>electrolyte, liquid</term></termSec></langSec></conceptEntry></tbx>",
        encoding="utf-8",
    )
    (tmp_path / "empty.tsv").write_bytes(b"\n")
    stored = read_corrections([tmp_path / "mine.tsv", tmp_path / "terms.tbx", tmp_path / "empty.tsv"])
    assert [(found.korean, found.english, found.origin) for found in parse_corrections(stored).pairs] == [
        ("전지", "battery", "mine.tsv, line 2"),
        ("전해질", "electrolyte liquid", "terms.tbx, line 2"),
    ]
    (tmp_path / "bad.tsv").write_text("\n전지 battery\n", encoding="utf-8")
    with pytest.raises(GlossaryRejected, match=r"bad\.tsv, line 2: "):
        read_corrections([tmp_path / "mine.tsv", tmp_path / "bad.tsv"])
    assert read_corrections([tmp_path / "empty.tsv"]) == b""


def test_a_line_of_one_language_adds_or_removes_synonyms() -> None:
    found = parse_corrections("telework\ttelecommuting, remote work\n-\t회전\t순환\n".encode())
    assert found.pairs == []
    assert found.synonyms == [
        SynonymCorrection(("telework", "telecommuting", "remote work"), True, f"{FILE}, line 1"),
        SynonymCorrection(("회전", "순환"), False, f"{FILE}, line 2"),
    ]


def test_terms_of_one_language_in_a_concept_of_tbx_are_synonyms(tmp_path: Path) -> None:
    def term(text: str) -> str:
        return f"<termSec><term>{text}</term></termSec>"

    (tmp_path / "terms.tbx").write_text(
        f"<tbx><conceptEntry><langSec xml:lang='ko'>{term('재택근무')}{term('원격근무')}</langSec>"
        f"<langSec xml:lang='en'>{term('telework')}</langSec></conceptEntry></tbx>",
        encoding="utf-8",
    )
    found = parse_corrections(read_corrections([tmp_path / "terms.tbx"]))
    assert [(pair.korean, pair.english) for pair in found.pairs] == [("재택근무", "telework"), ("원격근무", "telework")]
    assert found.synonyms == [SynonymCorrection(("재택근무", "원격근무"), True, "terms.tbx, line 1")]


def test_a_term_of_tbx_that_would_be_a_comment_or_a_removal_is_a_pair(tmp_path: Path) -> None:
    def concept(korean: str, english: str) -> str:
        sides = (("ko", korean), ("en", english))
        return "".join(
            f"<langSec xml:lang='{language}'><termSec><term>{term}</term></termSec></langSec>"
            for language, term in sides
        )

    (tmp_path / "terms.tbx").write_text(
        f"<tbx><conceptEntry>{concept('#미투', '#MeToo')}</conceptEntry>"
        f"<conceptEntry>{concept('전지', '-')}</conceptEntry></tbx>",
        encoding="utf-8",
    )
    found = parse_corrections(read_corrections([tmp_path / "terms.tbx"]))
    assert [(pair.korean, pair.english) for pair in found.pairs] == [("미투", "MeToo")]


def test_terms_of_tbx_are_read_as_those_of_lines_whatever_form_of_unicode_they_have(tmp_path: Path) -> None:
    sides = {"ko": "인공신경망", "en": "neural network\uff0c artificial"}  # a full-width comma and a space
    concept = "".join(f"<langSec xml:lang='{side}'><term>{term}</term></langSec>" for side, term in sides.items())
    decomposed = unicodedata.normalize("NFD", f"<tbx><conceptEntry>{concept}</conceptEntry></tbx>")
    (tmp_path / "terms.tbx").write_text(decomposed, encoding="utf-8")
    (pair,) = parse_corrections(read_corrections([tmp_path / "terms.tbx"])).pairs
    assert (pair.korean, pair.english) == ("인공신경망", "neural network artificial")


@pytest.mark.parametrize("ending", [b".tsv", b".tbx"])
def test_files_whose_names_are_not_utf_8_are_read(ending: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode("용어".encode("cp949") + ending)
    concept = "<langSec xml:lang='ko'><term>전지</term></langSec><langSec xml:lang='en'><term>battery</term></langSec>"
    tbx = f"<tbx><conceptEntry>{concept}</conceptEntry></tbx>"
    path.write_text(tbx if ending == b".tbx" else "전지\tbattery\n", encoding="utf-8")
    (pair,) = parse_corrections(read_corrections([path])).pairs
    assert (pair.korean, pair.english, pair.origin.partition(", ")[2]) == ("전지", "battery", "line 1")


def test_a_term_that_a_concept_of_tbx_has_for_two_countries_keeps_its_place(tmp_path: Path) -> None:
    sides = [("ko", "승강기"), ("en-US", "elevator"), ("en-US", "lift"), ("en-GB", "elevator"), ("ko-KP", "승강기")]
    concept = "".join(f"<langSec xml:lang='{side}'><term>{term}</term></langSec>" for side, term in sides)
    (tmp_path / "terms.tbx").write_text(f"<tbx><conceptEntry>{concept}</conceptEntry></tbx>", encoding="utf-8")
    found = parse_corrections(read_corrections([tmp_path / "terms.tbx"]))
    assert [(pair.english, pair.confidence) for pair in found.pairs] == [("elevator", 1.0), ("lift", 0.95)]
    assert [each.words for each in found.synonyms] == [("elevator", "lift")]


def test_a_pair_has_up_to_eight_terms_on_each_side(analyzer: KoreanEnglishAnalyzer) -> None:
    words = "alpha beta gamma delta epsilon zeta kappa lambda sigma".split()
    messages: list[str] = []
    lines = "".join(f"지도\t{' '.join(words[:count])}\n" for count in (8, 9))
    corrected = apply_corrections([], parse_corrections(lines.encode(), "mine.tsv").pairs, analyzer, messages.append)
    assert [len(entry.english_terms) for entry in corrected] == [8]
    assert [message.partition(";")[2] for message in messages] == [" a pair has 1 to 8 on each side."]
