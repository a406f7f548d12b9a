"""The checks of an index: what each of them finds in files that are intact but do not fit together."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import msgspec
import numpy as np
import pytest

from shrag.corpora.records import Record
from shrag.indexing.analysis.korean_english import KoreanEnglishAnalyzer
from shrag.indexing.analyzed_record import AnalyzedRecord, PackedRecord, analyze_record, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.maintenance import checks
from shrag.indexing.maintenance.checks import (
    IndexContents,
    check_analysis,
    check_counts,
    check_databases,
    check_faiss,
    check_golden_queries,
    check_lucene,
)
from shrag.indexing.maintenance.golden_queries import FILE, GoldenQuery
from shrag.indexing.storage.vector_card import FAISS_FILE, FaissCard, VectorCard
from shrag.indexing.storage.vector_card import FILE as VECTORS_FILE
from shrag.indexing.storage.vector_card import FOLDER as VECTORS
from shrag.indexing.vectors.faiss_index import build_index, write_index
from shrag.messages.text import in_language


def test_an_index_that_is_not_clean_without_a_reason_is_a_problem_in_both_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    java = MagicMock()
    java.return_value.checkIndex.return_value.clean = False
    for name in ("java_class", "lucene_class"):
        monkeypatch.setattr(checks, name, lambda _: java)
    monkeypatch.setattr(checks, "java_errors", nullcontext)
    (problem,) = check_lucene(Path("lucene"))
    assert problem == "CheckIndex finds it not clean"
    assert in_language(problem, "ko") == "CheckIndex 검사에서 이상이 발견되었습니다"


def _analyzed(docid: str, analyzer: KoreanEnglishAnalyzer) -> AnalyzedRecord:
    return analyze_record(Record(docid, "Deep learning", f"Text of {docid}.", "en", complete=True), analyzer)


def _opened(
    folder: Path, packed: Sequence[PackedRecord], records: int, analyzer: KoreanEnglishAnalyzer
) -> IndexContents:
    """Return an open generation of these records, whose manifest has the number ``records``."""
    with LuceneIndexWriter(folder / FOLDER, Bm25()) as writer:
        writer.add(packed)
        writer.commit({})
    done = MagicMock()
    return IndexContents(folder, MagicMock(records=records), LuceneSearcher(folder / FOLDER, Bm25()), analyzer, done)


def test_records_that_are_missing_double_or_under_another_name_are_found(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    packed = [pack_record(_analyzed(docid, analyzer)) for docid in ("a", "b", "b")]
    packed[0] = msgspec.structs.replace(packed[0], docid="z")
    contents = _opened(tmp_path / "gen-000007", packed, 4, analyzer)
    with closing(contents.reader):
        found = check_counts(contents)
    assert [(problem.file, problem.message) for problem in found.problems] == [
        ("gen-000007/lucene", "counts differ: manifest 4, documents 3, identifiers 2"),
        ("gen-000007/lucene", "the record a is found as z"),
    ]
    assert (found.examined, contents.report.mock_calls[-1].args) == (3, ("records read back", 3))  # type: ignore[attr-defined]


def test_terms_and_hits_that_are_not_those_of_the_build_are_found(
    analyzer: KoreanEnglishAnalyzer, tmp_path: Path
) -> None:
    own = _analyzed("a", analyzer)
    other = msgspec.structs.replace(_analyzed("b", analyzer), title="other terms")
    contents = _opened(tmp_path / "gen-000007", [pack_record(own), pack_record(other)], 2, analyzer)
    queries = [GoldenQuery(("nothing",), ()), GoldenQuery(("terms",), (("a", 1.0),))]
    (tmp_path / "gen-000007" / FILE).write_bytes(msgspec.json.encode(queries))
    with closing(contents.reader):
        analysis, golden = check_analysis(contents), check_golden_queries(contents)
        assert check_counts(contents).problems == ()
    assert [problem.message for problem in analysis.problems] == ["b has other terms than this process gives it"]
    (problem,) = golden.problems
    assert problem.message.startswith("“terms” finds b (")
    assert problem.message.endswith("at rank 1, a (1.000000) when it was built")
    assert (analysis.examined, golden.examined, problem.file) == (2, 2, "gen-000007/lucene")


def test_vectors_that_the_faiss_index_has_not_are_found(tmp_path: Path) -> None:
    vectors = np.eye(4, dtype="<f2")
    vectors[3] = 0  # of an empty text
    (tmp_path / VECTORS).mkdir()
    vectors.tofile(tmp_path / VECTORS / VECTORS_FILE)
    card = VectorCard("lsa", "", "", 4, 4, FaissCard("SQfp16", ""))
    index, _ = build_index(np.stack([vectors[0], vectors[0], vectors[2], vectors[3]]))  # without the second
    write_index(index, tmp_path / VECTORS / FAISS_FILE)
    found = check_faiss(tmp_path, MagicMock(vectors=card))
    assert [problem.message for problem in found.problems] == ["vector 1 is not found by itself"]
    assert found.examined == 4
    (problem,) = check_faiss(tmp_path, MagicMock(vectors=msgspec.structs.replace(card, rows=5))).problems
    assert "has 4 vectors of 4 numbers instead of 5 of 4" in problem.message
    for without in (None, msgspec.structs.replace(card, faiss=None)):
        assert check_faiss(tmp_path, MagicMock(vectors=without)).examined == 0


def test_a_database_that_is_not_whole_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "gen-000007"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "whole.sqlite")) as database:
        database.execute("CREATE TABLE words (word TEXT PRIMARY KEY)")
    (folder / "other.sqlite").write_bytes(b"no database" * 100)
    found = check_databases(folder)
    (problem,) = found.problems
    assert (found.examined, problem.file) == (2, "gen-000007/other.sqlite")
    assert problem.message == "file is not a database"
