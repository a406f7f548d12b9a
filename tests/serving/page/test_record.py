from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord
from shrag.serving.engine import Engine
from shrag.serving.errors import DocumentMissing
from shrag.serving.page.record import duplicate_docids, kind_of, render_record, render_text
from shrag.serving.page.request import PageRequest
from shrag.serving.references.formats import write_references

# Written out, so that a change of the module's own is noticed.
PART = 20_000

PAPER, AGAIN = "DEMO-SOC-004", "DEMO-SOC-012"


class _Swollen:
    """A store whose every record has a text of ten megabytes."""

    def __init__(self, engine: Engine) -> None:
        self._store = engine.open_index.store

    def fetch(self, docids: Sequence[str]) -> list[AnalyzedRecord | None]:
        """Return the records."""
        return [found and _swollen(found) for found in self._store.fetch(docids)]

    def sample(self, most: int) -> list[AnalyzedRecord]:
        """Return some of the records as they are stored."""
        return self._store.sample(most)


def _swollen(found: AnalyzedRecord) -> AnalyzedRecord:
    record = replace(found.record, text="graphene " * 1_111_112, title="x" * 100_000)
    return AnalyzedRecord(record, found.title, found.sentences)


def test_the_page_has_the_whole_record_with_the_questions_words_marked(demo: Engine) -> None:
    record = demo.document(AGAIN)
    assert record is not None
    html = render_record(demo, PageRequest("재택근무", "ko"), AGAIN)
    (text,) = re.findall(r'<p class="text"><bdi>(.*?)</bdi></p>', html)
    assert re.sub("</?mark>", "", text) == record.text
    assert "<mark>재택근무</mark>" in text
    for shown in ("피서윤, 경도율", "일과 삶 연구", "2024", "학술지 논문", "format=bibtex&amp;docid=DEMO-SOC-012"):
        assert shown in html
    assert "hreflang" in html
    assert 'href="/record?ui=en&amp;docid=DEMO-SOC-012&amp;q=' in html


def test_the_same_paper_under_another_number_is_named_both_ways(demo: Engine) -> None:
    for docid, other in ((PAPER, AGAIN), (AGAIN, PAPER)):
        record = demo.document(docid)
        assert record is not None
        assert duplicate_docids(demo, record) == [other]
        assert f'href="/record?ui=en&amp;docid={other}"' in render_record(demo, PageRequest(None, "en"), docid)
    alone = demo.document("DEMO-AI-001")
    assert alone is not None
    assert duplicate_docids(demo, alone) == []


def test_a_title_that_nothing_can_be_searched_by_still_has_its_page(demo: Engine) -> None:
    record = demo.document(PAPER)
    assert record is not None
    assert duplicate_docids(demo, replace(record, docid="X", title="", text="")) == []
    assert duplicate_docids(demo, replace(record, docid="X", title="", text="", duplicate_of="Y")) == ["Y"]


@pytest.mark.parametrize("docid", ["nothing", "../../etc/passwd", "<b>x</b>", "x" * 512])
def test_a_record_that_is_not_there_is_said_so_briefly(demo: Engine, docid: str) -> None:
    with pytest.raises(DocumentMissing, match="has no document") as told:
        render_record(demo, PageRequest(None, "en"), docid)
    assert len(str(told.value)) < 200


def test_ten_megabytes_are_read_in_parts_that_hold_all_of_it(demo: Engine) -> None:
    engine = Engine(replace(demo.open_index, store=_Swollen(demo)))
    parts = -(-9 * 1_111_112 // PART)
    for part, before, after in ((1, False, True), (2, True, True), (parts, True, False), (10**9, True, False)):
        html = render_record(engine, PageRequest(None, "en"), PAPER, part)
        assert len(html) < 100_000
        assert f"Part {min(part, parts)} of {parts} (10,000,008 characters in all)" in html
        assert ('rel="prev"' in html, 'rel="next"' in html) == (before, after)
    assert len(render_text(engine, PageRequest("graphene", "en"), PAPER)) < 120_000


def test_a_record_with_a_journal_is_an_article_in_both_forms_of_reference(record: Record) -> None:
    for journal, kind, bibtex, ris in (
        ("J", "article", "@article{", "TY  - JOUR"),
        ("", "other", "@misc{", "TY  - GEN"),
    ):
        one = replace(record, journal=journal)
        assert kind_of(one) == kind
        assert write_references([one], "bibtex").startswith(bibtex)
        assert write_references([one], "ris").startswith(ris)


@pytest.mark.parametrize(
    ("type_", "journal", "kind"),
    [
        ("", "J", "article"),
        ("article-journal", "J", "article"),
        ("article-journal", "", "article"),
        ("paper-conference", "Proceedings of J", "other"),
        ("chapter", "Book of J", "other"),
        ("thesis", "", "other"),
        ("", "", "other"),
    ],
)
def test_a_paper_in_proceedings_or_a_book_is_not_called_a_journal_article(
    record: Record, type_: str, journal: str, kind: str
) -> None:
    assert kind_of(replace(record, type=type_, journal=journal)) == kind


def test_a_long_text_begins_with_its_first_part(demo: Engine) -> None:
    engine = Engine(replace(demo.open_index, store=_Swollen(demo)))
    request = PageRequest(None, "en")
    page = render_record(engine, request, "DEMO-AI-001")
    assert page == render_record(engine, request, "DEMO-AI-001", 1)
    assert page != render_record(engine, request, "DEMO-AI-001", 2)
