"""Collections and aliases of Qdrant, by its client's own memory; the contract tests have a longer trial of it."""

from __future__ import annotations

from shrag.indexing.distributed.collection import Row, value_number
from shrag.indexing.distributed.qdrant import MEMORY, QdrantDatabase
from shrag.indexing.distributed.sparse_vectors import sparse_vector


def test_a_collection_is_there_with_its_documents_from_its_creation_until_it_is_dropped() -> None:
    database = QdrantDatabase(MEMORY)
    assert database.open("one") is None
    row = Row(3, "a", value_number("a"), sparse_vector({7: 2.0}), None, "{}", None, (), (7,))
    database.create("one", 0).upsert([row])
    opened = database.open("one")
    assert opened is not None
    assert opened.search([sparse_vector({7: 1.5})], 5) == [[(3, 3.0)]]
    assert opened.read([3], ("docid",))[3].docid == "a"
    database.drop("one")
    assert database.open("one") is None
    database.close()


def test_an_alias_points_to_the_last_collection_it_was_given() -> None:
    database = QdrantDatabase(MEMORY)
    assert database.target("current") == ""
    for name in ("one", "two"):
        database.create(name, 0)
        database.point("current", name)
        assert database.target("current") == name
    database.close()
