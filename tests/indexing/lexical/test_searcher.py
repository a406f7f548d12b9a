from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shrag.corpora.records import Record
from shrag.indexing.analyzed_record import AnalyzedRecord, pack_record
from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.schema import FOLDER
from shrag.indexing.lexical.searcher import LuceneSearcher, RecordCache
from shrag.indexing.lexical.writer import LuceneIndexWriter
from shrag.indexing.record_filter import EVERY_RECORD, NO_FACETS, RecordFilter, count_records, value_key
from shrag.indexing.storage.generations import current_generation
from shrag.serving.engine import Engine


def test_what_was_asked_for_the_longest_ago_makes_room_for_what_is_new() -> None:
    recent = RecordCache(most_bytes=100)
    for place in range(10):
        recent.put(place, b"x" * 10)
    assert recent.get([0]) == {0: b"x" * 10}
    recent.put(10, b"y" * 10)
    assert recent.get([1]) == {1: None}
    assert recent.get([0, 10]) == {0: b"x" * 10, 10: b"y" * 10}
    assert recent.bytes == 100


def test_a_record_of_more_than_a_tenth_of_the_room_is_not_kept_and_pushes_nothing_out() -> None:
    recent = RecordCache(most_bytes=100)
    recent.put(1, b"small")
    recent.put(2, b"x" * 11)
    assert (recent.get([1, 2]), recent.bytes) == ({1: b"small", 2: None}, 5)


def test_a_record_kept_twice_takes_its_room_once() -> None:
    recent = RecordCache(most_bytes=100)
    recent.put(1, b"same")
    recent.put(1, b"same")
    assert recent.bytes == 4


def test_without_room_nothing_is_kept() -> None:
    recent = RecordCache(most_bytes=0)
    recent.put(1, b"x")
    assert (recent.get([1]), recent.bytes) == ({1: None}, 0)


def test_threads_that_keep_and_ask_at_once_leave_it_within_its_bounds_and_never_mix_records_up() -> None:
    recent = RecordCache(most_bytes=1_000)
    wrong: list[int] = []

    def work(first: int) -> None:
        for place in range(first, first + 2_000):
            number = place % 97
            recent.put(number, bytes([number]) * 20)
            found = recent.get([number])[number]
            if found is not None and found != bytes([number]) * 20:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < recent.bytes <= 1_000


def test_half_of_a_surrogate_pair_is_a_docid_that_the_index_does_not_have(demo: Engine) -> None:
    assert demo.open_index.store.fetch(["\udcff"]) == [None]
    assert demo.open_index.checksums.state != "damaged"


def test_every_author_is_found_by_the_whole_name_and_by_a_word_of_it(
    demo: Engine, demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.indexing.lexical.searcher._VALUES_AT_ONCE", 7)
    monkeypatch.setattr("shrag.indexing.lexical.searcher._MOST_PARTS", 65)
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    searcher = LuceneSearcher(folder / FOLDER, manifest.bm25)
    by_author: dict[str, set[str]] = {}
    for each in demo.open_index.store.sample(500):
        for author in each.record.authors:
            by_author.setdefault(value_key(author), set()).add(each.record.docid)
    assert len(by_author) == 453
    names = list(by_author)
    assert searcher.count_records(names) == [len(docids) for docids in by_author.values()]
    for name, docids in by_author.items():
        assert set(searcher.newest_of_authors([name], 10)) == docids
        word = name.replace(",", " ").split()[0]
        assert name in [found.key for found in searcher.names_with_word(word, 100)]
    assert len(searcher.newest_of_authors(names, 1_000)) == len(set().union(*by_author.values()))
    assert searcher.newest_of_authors(["nobody"], 10) == []
    assert searcher.count_records(["nobody"]) == [0]
    searcher.close()


def test_the_records_of_authors_are_filtered_and_counted_as_hits_are(demo: Engine, demo_home: Path) -> None:
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    searcher = LuceneSearcher(folder / FOLDER, manifest.bm25)
    records = [each.record for each in demo.open_index.store.sample(500)]
    names = sorted({author for each in records for author in each.authors})[:200]
    keys = set(map(value_key, names))
    theirs = [each for each in records if keys.intersection(map(value_key, each.authors))]
    for record_filter in (EVERY_RECORD, RecordFilter(year_to=2018), RecordFilter(language=("ko",), author=(names[0],))):
        found = searcher.newest_of_authors(names, 1_000, record_filter)
        assert set(found) == {each.docid for each in theirs if record_filter.passes(each)}
        assert searcher.facets_of_authors(names, record_filter) == count_records(theirs, record_filter)
    assert searcher.facets_of_authors(["nobody"], EVERY_RECORD) == NO_FACETS
    assert searcher.facets_of_authors([], EVERY_RECORD) == NO_FACETS
    searcher.close()


def _searcher(folder: Path, records: Sequence[AnalyzedRecord]) -> LuceneSearcher:
    with LuceneIndexWriter(folder, Bm25()) as writer:
        writer.add(map(pack_record, records))
        writer.commit({})
    return LuceneSearcher(folder, Bm25())


@pytest.fixture(scope="module")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LuceneSearcher]:
    """Yield an index in which *catalysis* is in four records, *catalyst* and *network* in three, *catalyse* in two."""
    texts = ("catalysis catalyst catalyse network",) * 2 + ("catalysis catalyst network", "catalysis")
    records = [Record(str(number), "T", text, "en", complete=True) for number, text in enumerate(texts)]
    searcher = _searcher(
        tmp_path_factory.mktemp("spelled"), [AnalyzedRecord(record, "", (record.text,)) for record in records]
    )
    yield searcher
    searcher.close()


@pytest.mark.parametrize(
    ("term", "similar"),
    [
        ("catalyss", ["catalysis", "catalyst"]),  # one letter is missing, or another
        ("netowrk", ["network"]),  # two letters have changed places
        ("cattalyysis", ["catalysis"]),  # two edits of a long word
        ("katalysis", []),  # the first letter is another
        ("catalyse", ["catalyst"]),  # the word itself is in two records only, and two edits are not tried
        ("netwarkk", ["network"]),
        ("natwark", []),  # two edits of a word of seven letters
        ("natwork", ["network"]),
        ("unlike", []),
    ],
)
def test_terms_are_spelled_alike_by_one_edit_or_by_two_of_a_long_word(
    spelled: LuceneSearcher, term: str, similar: list[str]
) -> None:
    assert spelled.similar_terms(term, 5) == similar


def test_as_many_similar_terms_as_asked_for_are_the_most_frequent_and_an_empty_index_has_none(
    spelled: LuceneSearcher, tmp_path: Path
) -> None:
    assert spelled.similar_terms("catalyss", 1) == ["catalysis"]
    empty = _searcher(tmp_path, [])
    assert empty.similar_terms("catalyss", 1) == []
    empty.close()


def test_an_authors_newest_records_come_first_then_by_docid_and_those_without_a_year_last(tmp_path: Path) -> None:
    years = {"n": None, "b": 2020, "e": 2019, "d": 2021, "a": 2020, "m": None, "c": 2020}  # in the order of the index
    records = [
        Record(docid, "Title", "Text.", "en", complete=True, year=year, authors=("Kim, Ada",))
        for docid, year in years.items()
    ]
    searcher = _searcher(tmp_path, [AnalyzedRecord(record, "titl", ("text",)) for record in records])
    assert searcher.newest_of_authors(["kim,  ADA"], 10) == ["d", "a", "b", "c", "e", "m", "n"]
    assert searcher.newest_of_authors(["Kim, Ada"], 2) == ["d", "a"]
    assert searcher.newest_of_authors(["Kim, Ada"], 9, RecordFilter(year_to=2019)) == ["e"]
    searcher.close()


def test_of_more_names_than_there_is_memory_for_none_is_found_by_a_word(
    demo_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shrag.indexing.lexical.searcher._VALUES_AT_ONCE", 7)
    folder, manifest = current_generation(demo_home / "indexes" / "demo")
    for most, found in ((65, True), (64, False)):  # parts of 453 names
        monkeypatch.setattr("shrag.indexing.lexical.searcher._MOST_PARTS", most)
        searcher = LuceneSearcher(folder / FOLDER, manifest.bm25)
        assert bool(searcher.names_with_word("Abara", 10)) is found
        assert searcher.count_records(["Abara, Chioma"]) == [1]
        searcher.close()


_EVERY_CALL = """
import sys
from pathlib import Path

from jpype import _jcustomizer

from shrag.indexing.bm25 import Bm25
from shrag.indexing.lexical.packed_question import QuestionWeights, pack_question
from shrag.indexing.lexical.searcher import LuceneSearcher
from shrag.indexing.query import Or, Term
from shrag.indexing.record_filter import EVERY_RECORD, RecordFilter

searcher = LuceneSearcher(Path(sys.argv[1]), Bm25())
made, find_hints = [], _jcustomizer.getClassHints
_jcustomizer.getClassHints = lambda name: made.append(name) or find_hints(name)
queries, some = [Or([Term("learning"), Term("학습")]), Term("model")], RecordFilter(year_from=2000, language=("en",))
docids = [hit.docid for hit in searcher.search(queries, 3, some)[1]]
author = searcher.fetch(docids)[0].record.authors[0]
idf = {"model": 1.0}
weights = QuestionWeights(Bm25(), 100.0, 10.0, idf, idf, (), (), 1.0, (), 0.0, 30, {}, (), 0.0)
calls = {
    "close": lambda: None,  # last
    "commit_data": searcher.commit_data,
    "count": searcher.count,
    "count_facets": lambda: searcher.count_facets(queries, some),
    "count_hits": lambda: searcher.count_hits(queries, 3),
    "count_records": lambda: searcher.count_records([author]),
    "distinct_docids": searcher.distinct_docids,
    "docids": lambda: searcher.docids([1, 2]),
    "documents": lambda: list(searcher.documents([1, 2])),
    "facets_of_authors": lambda: searcher.facets_of_authors([author], EVERY_RECORD),
    "fetch": lambda: searcher.fetch([*docids, "none"]),
    "frequencies": lambda: searcher.frequencies("model", 3),
    "names_with_word": lambda: searcher.names_with_word("kim", 3),
    "newest_of_authors": lambda: searcher.newest_of_authors([author], 3),
    "numbers": lambda: searcher.numbers(docids),
    "passing": lambda: searcher.passing(some),
    "sample": lambda: searcher.sample(3),
    "score_records": lambda: searcher.score_records(pack_question(weights), docids),
    "search": lambda: None,  # above
    "similar_terms": lambda: searcher.similar_terms("modle", 3),
    "statistics": lambda: searcher.statistics(["model"]),
    "terms": lambda: sum(1 for _ in searcher.terms()),
}
assert set(calls) == {name for name in vars(LuceneSearcher) if not name.startswith("_")}, "a call is missing"
for call in calls.values():
    call()
searcher.close()
print(made)
"""


def test_no_call_uses_a_java_class_for_the_first_time_since_two_at_once_would_end_the_process(demo_home: Path) -> None:
    folder, _ = current_generation(demo_home / "indexes" / "demo")
    call = [sys.executable, "-c", _EVERY_CALL, str(folder / FOLDER)]
    assert subprocess.run(call, check=True, capture_output=True, text=True).stdout == "[]\n"
