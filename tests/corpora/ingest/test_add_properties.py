"""Properties of adding any files: every line accounted for, order kept, adding again changes nothing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrag.corpora.errors import ConflictingRecords, CorpusError
from shrag.corpora.ingest.add import add_corpus
from shrag.corpora.ingest.reading import OnDuplicate
from shrag.corpora.records import RecordChanges
from shrag.corpora.store.manifest import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    CorpusManifest,
    SourceAccount,
    check_accounts,
    read_manifest,
    write_manifest,
)
from shrag.corpora.store.open_corpus import list_corpora, open_corpus, stored_rejects
from shrag.corpora.store.parquet import read_digests

pytestmark = pytest.mark.slow


class Line(NamedTuple):
    """A line of a made file: a record with its content, or what is none."""

    docid: str
    text: str
    raw: bytes


def _record(docid: str, text: str) -> Line:
    raw = json.dumps({"CN": docid, "title": "제목", "abstract": text}, ensure_ascii=False).encode()
    return Line(docid, text, raw)


_TEXTS = [
    "하나.",
    "둘.",
    "x" * 200,
    "같은 초록이 여러 번호로 실린 논문. " * 20,
    "같은 초록이 여러 번호로 실린 논문! " * 20,
]
_RECORDS = st.builds(_record, st.sampled_from("ABCDEF"), st.sampled_from(_TEXTS))
_BAD = st.sampled_from([b"{broken", b"null", b"\xff", b'{"CN": "A"}', b'{"title": "x"}', b"\x00"]).map(
    lambda raw: Line("", "bad", raw)
)
_BLANK = st.sampled_from([b"", b" ", b"\t\r"]).map(lambda raw: Line("", "blank", raw))
_FILES = st.lists(st.lists(_RECORDS | _BAD | _BLANK, max_size=12), min_size=1, max_size=3)
_CHOICES: st.SearchStrategy[OnDuplicate] = st.sampled_from(["error", "first", "newest"])


def _write(folder: Path, files: list[list[Line]]) -> list[Path]:
    paths = []
    for number, lines in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_bytes(b"".join(line.raw + b"\n" for line in lines))
        paths.append(path)
    return paths


def _expected(files: list[list[Line]], choice: OnDuplicate) -> tuple[dict[str, str], bool]:
    """Return what is to be stored, in order, and whether contents conflict."""
    stored: dict[str, str] = {}
    conflict = False
    for line in (line for lines in files for line in lines if line.docid):
        if stored.setdefault(line.docid, line.text) != line.text:
            conflict = True
            if choice == "newest":
                del stored[line.docid]
                stored[line.docid] = line.text
    return stored, conflict


@settings(max_examples=40, deadline=None)
@given(_FILES, _CHOICES)
def test_every_line_of_any_files_is_accounted_for_and_order_is_kept(
    files: list[list[Line]], choice: OnDuplicate
) -> None:
    stored, conflict = _expected(files, choice)
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        paths = _write(home, files)
        if not stored or (conflict and choice == "error"):
            refusal = ConflictingRecords if conflict else CorpusError
            with pytest.raises(refusal, match=r"No record was found|read before with other content"):
                add_corpus(home, "c", "scienceon", paths, max_rejects=99, on_duplicate=choice)
            assert list_corpora(home) == []
            return
        manifest, changes, _ = add_corpus(home, "c", "scienceon", paths, max_rejects=99, on_duplicate=choice)
        records = list(open_corpus(home, "c")[1])
        assert [(record.docid, record.text) for record in records] == [
            (docid, text.strip()) for docid, text in stored.items()
        ]
        assert changes == RecordChanges(len(stored), 0, 0, 0)
        for account, lines in zip(manifest.sources, files, strict=True):
            parts = (account.records, account.duplicates, account.superseded, account.rejected, account.blank)
            assert sum(parts) == account.lines == len(lines)
            assert account.rejected == sum(line.text == "bad" for line in lines)
            assert account.blank == sum(line.text == "blank" for line in lines)
        rejects = list(stored_rejects(home, "c"))
        assert len(rejects) == sum(account.rejected + account.superseded for account in manifest.sources)
        for reject in rejects:
            data = Path(reject.file).read_bytes()
            assert data[: reject.offset].count(b"\n") == reject.line - 1
            assert reject.offset == 0 or data[reject.offset - 1 : reject.offset] == b"\n"
        firsts = {record.docid for record in records if not record.duplicate_of}
        assert all(record.duplicate_of in firsts for record in records if record.duplicate_of)
        assert manifest.linked == len(records) - len(firsts)
        assert [docid for docid, _ in read_digests(home / "c" / manifest.records_file)] == [
            record.docid for record in records
        ]


@settings(max_examples=15, deadline=None)
@given(_FILES)
def test_a_corpus_added_twice_is_unchanged_byte_for_byte(files: list[list[Line]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        paths = _write(home, [*files, [_record("Z", "끝.")]])
        for replace in (True, True, False):
            before = {path.name: path.read_bytes() for path in (home / "c").glob("*")}
            addition = add_corpus(home, "c", "scienceon", paths, max_rejects=99, on_duplicate="newest", replace=replace)
            assert addition.stored == (not before)
        assert before == {path.name: path.read_bytes() for path in (home / "c").glob("*")}
        assert addition.changes == RecordChanges(0, 0, 0, addition.manifest.records)


@settings(max_examples=15, deadline=None)
@given(_FILES, _FILES)
def test_adding_in_parts_stores_what_reading_all_with_newest_stores(
    first: list[list[Line]], second: list[list[Line]]
) -> None:
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        (home / "1").mkdir()
        (home / "2").mkdir()
        parts = [_write(home / "1", [*first, [_record("Z", "끝.")]]), _write(home / "2", second)]
        parts[1] = [path.rename(path.with_name(f"second-{path.name}")) for path in parts[1]]
        for paths in parts:
            add_corpus(home, "parts", "scienceon", paths, max_rejects=99, on_duplicate="newest")
        add_corpus(home, "whole", "scienceon", [*parts[0], *parts[1]], max_rejects=99, on_duplicate="newest")
        one, other = open_corpus(home, "parts"), open_corpus(home, "whole")
        assert list(one[1]) == list(other[1])
        assert one[0].fingerprint == other[0].fingerprint
        assert [account.lines for account in one[0].sources] == [account.lines for account in other[0].sources]
        assert [account.records for account in one[0].sources] == [account.records for account in other[0].sources]


_COUNTS = st.integers(0, 2**40)
_ACCOUNTS = st.builds(
    lambda path, numbers: SourceAccount(path, "scienceon", "0" * 64, 0, sum(numbers), *numbers),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.tuples(_COUNTS, _COUNTS, _COUNTS, _COUNTS, _COUNTS),
)


def _manifest(accounts: list[SourceAccount], created: str) -> CorpusManifest:
    records = sum(account.records for account in accounts)
    return CorpusManifest(
        format_version=FORMAT_VERSION,
        name="c",
        format="scienceon",
        fingerprint="f" * 64,
        records=records,
        complete=0,
        linked=0,
        languages={"ko": records},
        records_file="records",
        rejects_file="rejects",
        sources=tuple(accounts),
        created=created,
        shrag_version="0",
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(_ACCOUNTS, max_size=4), st.text(st.characters(codec="utf-8"), max_size=9))
def test_any_manifest_is_read_as_it_was_written(accounts: list[SourceAccount], created: str) -> None:
    manifest = _manifest(accounts, created)
    check_accounts(manifest)
    with tempfile.TemporaryDirectory() as made:
        write_manifest(Path(made), manifest)
        assert read_manifest(Path(made)) == manifest


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_manifest_is_another_or_an_error_of_the_corpus(data: st.DataObject) -> None:
    whole = msgspec.json.encode(_manifest([SourceAccount("a", "scienceon", "0" * 64, 9, 1, 1, 0, 0, 0, 0)], "now"))
    place = data.draw(st.integers(0, len(whole) - 1))
    cut = data.draw(st.booleans())
    byte = bytes([whole[place] ^ data.draw(st.integers(1, 255))])
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / MANIFEST_FILE).write_bytes(whole[:place] if cut else whole[:place] + byte + whole[place + 1 :])
        try:
            found = read_manifest(Path(made))
        except CorpusError:
            return
        assert not cut
        assert isinstance(found, CorpusManifest)


@settings(max_examples=60, deadline=None)
@given(_FILES)
def test_files_added_one_after_the_other_are_the_corpus_of_all_at_once(files: list[list[Line]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        paths = _write(home, [[_record("Z", "끝.")], *files])
        add_corpus(home, "whole", "scienceon", paths, max_rejects=99, on_duplicate="newest")
        for path in paths:
            add_corpus(home, "parts", "scienceon", [path], max_rejects=99, on_duplicate="newest")
        assert list(open_corpus(home, "parts")[1]) == list(open_corpus(home, "whole")[1])
        stored = [
            list(read_digests(home / name / read_manifest(home / name).records_file)) for name in ("parts", "whole")
        ]
        assert stored[0] == stored[1]
