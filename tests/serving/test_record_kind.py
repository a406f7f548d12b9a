from __future__ import annotations

from dataclasses import replace

from shrag.corpora.records import Record
from shrag.serving.record_kind import kind_of
from shrag.serving.references import write_references


def test_a_record_with_a_journal_is_an_article_in_the_filters_and_in_both_forms_of_reference(record: Record) -> None:
    for journal, kind, bibtex, ris in (
        ("J", "article", "@article{", "TY  - JOUR"),
        ("", "other", "@misc{", "TY  - GEN"),
    ):
        one = replace(record, journal=journal)
        assert kind_of(one) == kind
        assert write_references([one], "bibtex").startswith(bibtex)
        assert write_references([one], "ris").startswith(ris)
