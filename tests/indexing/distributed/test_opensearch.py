"""The export for OpenSearch: files that its documented interface takes. No OpenSearch was at hand to load them."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from shrag.corpora.files import DiskFull
from shrag.corpora.ingest.add import add_corpus
from shrag.indexing.bm25 import Bm25
from shrag.indexing.build.builder import build_index
from shrag.indexing.distributed import opensearch
from shrag.indexing.distributed.opensearch import export_opensearch, index_body, query_body, search_body
from shrag.indexing.errors import IndexingError
from shrag.indexing.query import And, Boost, DisjunctionMax, Not, Or, Term
from shrag.indexing.record_filter import RecordFilter
from shrag.serving.engine import Engine
from tests.support.killed_build import shorten_builds


@pytest.mark.slow
def test_every_record_is_an_action_and_a_document_with_its_terms(demo: Engine, demo_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    reports: list[tuple[str, int]] = []
    exported = export_opensearch(demo_home / "indexes", "demo", folder, lambda what, done: reports.append((what, done)))
    assert exported == 235
    assert reports == [("records written", 235)]  # one for each 1,000 and one at the end
    lines = (folder / "bulk.ndjson").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 470
    mapping = json.loads((folder / "index.json").read_text(encoding="utf-8"))["mappings"]["properties"]
    for action, source in zip(map(json.loads, lines[::2]), map(json.loads, lines[1::2]), strict=True):
        (analyzed,) = demo.open_index.store.fetch([action["index"]["_id"]])
        assert analyzed is not None
        assert source["contents"].split() == analyzed.contents_terms
        assert source["title"].split() == analyzed.title_terms
        assert source["stored"]["record"]["docid"] == analyzed.record.docid
        assert source.get("year") == analyzed.record.year
        assert source["language"] == [analyzed.record.language]
        assert source.keys() <= mapping.keys()
        assert len(source["vector"]) == mapping["vector"]["dimension"]
    with pytest.raises(IndexingError, match="exists: choose a new folder"):
        export_opensearch(demo_home / "indexes", "demo", folder)


def test_an_export_that_fails_leaves_nothing_and_is_run_again_as_one_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_builds(monkeypatch)
    rows = [{"docid": f"d{number}", "title": f"t {number}", "text": f"Film {number}."} for number in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    add_corpus(tmp_path / "corpora", "small", "miracl", [tmp_path / "a.jsonl"])
    build_index(tmp_path / "corpora", tmp_path / "indexes", "small")
    exports = tmp_path / "exports"
    with monkeypatch.context() as patch:
        patch.setattr(opensearch, "document_body", Mock(side_effect=[{}, OSError(errno.ENOSPC, "full")]))
        with pytest.raises(DiskFull):
            export_opensearch(tmp_path / "indexes", "small", exports / "small")
    assert list(exports.iterdir()) == []
    (exports / ".small.part").mkdir()  # of a killed export
    assert export_opensearch(tmp_path / "indexes", "small", exports / "small") == 3
    assert [path.name for path in exports.iterdir()] == ["small"]
    assert sorted(path.name for path in (exports / "small").iterdir()) == ["bulk.ndjson", "index.json"]


def test_the_mapping_has_the_parameters_of_the_index() -> None:
    body = index_body(Bm25(k1=1.2, b=0.5), None)
    assert body["settings"]["index"] == {"similarity": {"shrag": {"type": "BM25", "k1": 1.2, "b": 0.5}}}
    assert body["mappings"]["properties"]["contents"]["analyzer"] == "whitespace"
    assert "vector" not in body["mappings"]["properties"]


def test_each_kind_of_query_has_its_form_and_terms_are_values() -> None:
    def term(text: str) -> dict[str, object]:
        leaves = [{"term": {"contents": {"value": text}}}, {"term": {"title": {"value": text, "boost": 0.2}}}]
        return {"bool": {"should": leaves}}

    a, b = Term("a"), Term('"} OR *')
    assert query_body(b, 0.2) == term('"} OR *')
    assert query_body(Or((a, b)), 0.2) == {"bool": {"should": [term("a"), term(b.term)]}}
    assert query_body(And((a, b)), 0.2) == {"bool": {"must": [term("a"), term(b.term)]}}
    assert query_body(Not(a, b), 0.2) == {"bool": {"must": [term("a")], "must_not": [term(b.term)]}}
    assert query_body(DisjunctionMax((a, b)), 0.2) == {"dis_max": {"queries": [term("a"), term(b.term)]}}
    assert query_body(Boost(a, 0.5), 0.2) == {"bool": {"must": [term("a")], "boost": 0.5}}
    assert query_body(Or(()), 0.2) == {"match_none": {}}
    assert query_body(a, 0.0) == {"bool": {"should": [{"term": {"contents": {"value": "a"}}}]}}


def test_a_filter_limits_without_scoring() -> None:
    body = search_body(Term("a"), 5, 0.0, RecordFilter(2020, author=("Kim,  M.",)))
    assert body["size"] == 5
    assert body["query"]["bool"]["filter"] == [
        {"range": {"year": {"gte": 2020, "lte": 9999}}},
        {"terms": {"author": ["kim, m."]}},
    ]
