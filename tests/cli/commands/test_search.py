"""The output of ``shrag search`` for a record."""

from __future__ import annotations

import pytest

from shrag.cli.commands.search import print_records
from shrag.corpora.records import Record
from shrag.serving.events import RankedRecord, Ranking


def test_a_record_without_a_title_is_shown_by_the_first_80_characters_of_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    titled = Record("A", "A title", "A text.", "en", complete=True, year=2020, journal="A journal")
    untitled = Record("B", "", "가" * 81, "ko", complete=True)
    records = (RankedRecord(1, 2, 3.5, titled), RankedRecord(2, 1, 1.25, untitled, duplicates=("C", "D")))
    print_records(Ranking(records, "lexical", reranker_is_model=False))
    assert capsys.readouterr().out.splitlines() == [
        "  1    3.500  A  en · 2020 · A journal",
        "     A title",
        "  2    1.250  B  ko",
        f"     {'가' * 80}",
        "     also as C, D",
    ]
