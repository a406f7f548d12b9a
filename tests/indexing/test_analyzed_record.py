from __future__ import annotations

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, decode_record, pack_record

RECORD = Record("d1", "Graphene film", "It shields. It does.", "en", complete=True)


def test_a_stored_record_is_the_one_that_was_packed() -> None:
    analysed = AnalyzedRecord(RECORD, "graphene film", ("shield", ""))
    packed = pack_record(analysed)
    found = decode_record(f"{packed.raw}\n{packed.contents}".encode())
    assert (found, hash(found), repr(found)) == (analysed, hash(analysed), repr(analysed))
    assert found.title_terms == ["graphene", "film"]
    assert found.sentence_terms == [["shield"], []]
    assert found.contents_terms == ["graphene", "film", "shield"]
    assert found.sentence_terms is found.sentence_terms


def test_records_of_other_terms_are_others() -> None:
    stored = AnalyzedRecord(RECORD, "graphene film", ("shield", ""))
    assert stored.title_terms  # read or not, its terms are the same
    assert stored == AnalyzedRecord(RECORD, "graphene film", ("shield", ""))
    assert stored != AnalyzedRecord(RECORD, "graphene", ("shield", ""))
    assert stored != AnalyzedRecord(RECORD, "graphene film", ("shield",))
