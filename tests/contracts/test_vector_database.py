"""Contract test of vector databases: collections and aliases. Their search is tested in ``test_search_engine.py``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shrag.indexing.distributed.collection import Between, Row, VectorDatabase, value_number
from shrag.indexing.distributed.milvus import MilvusDatabase
from shrag.indexing.distributed.qdrant import MEMORY, QdrantDatabase
from shrag.indexing.distributed.qdrant_edge import EdgeDatabase
from shrag.indexing.distributed.sparse_vectors import sparse_vector
from shrag.indexing.errors import EngineUnavailable


@pytest.fixture(scope="module", params=[pytest.param("milvus", marks=pytest.mark.slow), "qdrant", "qdrant-edge"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorDatabase]:
    folder = tmp_path_factory.mktemp("database")
    database: VectorDatabase
    if request.param == "milvus":
        database = MilvusDatabase(str(folder / "lite.db"))
    else:
        database = QdrantDatabase(MEMORY) if request.param == "qdrant" else EdgeDatabase(folder)
    with closing(database):
        yield database


def _row(number: int) -> Row:
    docid = f"d{number}"
    return Row(number, docid, value_number(docid), sparse_vector({7: 1.0 + number}), None, "{}", None, (), (7,))


def test_a_collection_is_there_with_its_documents_from_its_creation_until_it_is_dropped(
    database: VectorDatabase,
) -> None:
    assert database.open("one") is None
    created = database.create("one", 0)
    created.upsert([_row(number) for number in range(5)])
    created.finish()
    opened = database.open("one")
    assert opened is not None
    assert opened.count() == 5
    assert opened.search([sparse_vector({7: 2.0})], 2) == [[(4, 10.0), (3, 8.0)]]
    assert opened.read([3], ("docid",))[3].docid == "d3"
    assert sorted(opened.find(Between("number", 1, 3), 9)) == [1, 2, 3]
    assert len(opened.find(Between("number", 1, 3), 2)) == 2  # as many as asked for
    database.drop("one")
    assert database.open("one") is None


def test_an_alias_points_to_the_last_collection_it_was_given(database: VectorDatabase) -> None:
    assert database.target("current") == ""
    for name in ("two", "three"):
        database.create(name, 0)
        database.point("current", name)
        assert database.target("current") == name


def test_damaged_files_of_qdrants_core_are_one_sentence(tmp_path: Path) -> None:
    with closing(EdgeDatabase(tmp_path)) as database:
        database.create("one", 0)
    (created,) = tmp_path.rglob("created")
    for path in created.parent.rglob("*.json"):
        path.write_text("{")
    with closing(EdgeDatabase(tmp_path)) as database, pytest.raises(EngineUnavailable, match="Qdrant's files in"):
        database.open("one")
