"""Near-duplicates in the development corpora: numbers checked by eye, pair by pair (docs/en/reference/corpora.md)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.store.open_corpus import open_corpus

DATA = Path(os.environ.get("SHRAG_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"the development corpora are not at {DATA} (SHRAG_DATA)"),
]


def test_seventeen_scienceon_papers_stand_under_two_numbers_and_no_series_is_taken_for_one(tmp_path: Path) -> None:
    folder = DATA / "scholarly-ko"
    manifest = add_corpus(tmp_path, "sci", "scienceon", sorted(folder.glob("*.jsonl.gz"))).manifest
    assert (manifest.records, manifest.linked) == (4502, 17)
    links = {frozenset((r.docid, r.duplicate_of)) for r in open_corpus(tmp_path, "sci")[1] if r.duplicate_of}
    assert frozenset(("ART001289189", "NART135951958")) in links  # one text under a Korean and an English title
    assert frozenset(("DIKO0016979118", "JAKO202407845708604")) in links
    for parts in (
        ("JAKO198656448499446", "JAKO198656448499694"),  # parts 1 and 2 of a series under the same note
        ("JAKO200827448606607", "NART51534370"),  # cooling and heating, worded alike
        ("JAKO201876262560246", "JAKO202056463863281"),  # one title, another year's survey
    ):
        assert frozenset(parts) not in links


def test_passages_of_one_article_are_linked_only_where_they_say_the_same(tmp_path: Path) -> None:
    manifest = add_corpus(tmp_path, "wiki", "miracl", [DATA / "wiki-ko" / "corpus"]).manifest
    assert (manifest.records, manifest.linked) == (6718, 5)
    assert add_corpus(tmp_path, "hops", "miracl", [DATA / "multihop-ko" / "corpus"]).manifest.linked == 0
