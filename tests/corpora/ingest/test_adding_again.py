"""One identifier with different contents, and a corpus that is added to again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shrag.cli.commands.corpus.counts import deleted_text
from shrag.corpora.errors import ConflictingRecords, CorpusError, TooManyRejectedLines
from shrag.corpora.formats.columns import parse_columns
from shrag.corpora.formats.registry import table_format
from shrag.corpora.ingest import add
from shrag.corpora.ingest.add import AdditionResult, add_corpus
from shrag.corpora.ingest.near_duplicates import DuplicateFinder
from shrag.corpora.ingest.reading import OnDuplicate
from shrag.corpora.records import Record, RecordChanges
from shrag.corpora.store.manifest import MANIFEST_FILE, SourceAccount, read_manifest
from shrag.corpora.store.open_corpus import failed_rejects, list_corpora, open_corpus, stored_rejects
from shrag.corpora.store.parquet import read_digests
from shrag.corpora.store.versions import Deletion


def _line(docid: str, text: str = "초록.") -> str:
    return json.dumps({"CN": docid, "title": f"제목 {docid}", "abstract": text}, ensure_ascii=False)


def _file(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def _add(
    home: Path,
    *sources: Path,
    replace: bool = True,
    on_duplicate: OnDuplicate = "error",
    max_rejects: int = 0,
) -> AdditionResult:
    return add_corpus(
        home, "c", "scienceon", sources, replace=replace, on_duplicate=on_duplicate, max_rejects=max_rejects
    )


def _texts(home: Path) -> dict[str, str]:
    return {record.docid: record.text for record in open_corpus(home, "c")[1]}


def _counts(account: SourceAccount) -> tuple[int, ...]:
    return (
        account.lines,
        account.records,
        account.rejected,
        account.duplicates,
        account.superseded,
        account.blank,
    )


def _bytes(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_ino) for path in folder.iterdir() if path.name != ".lock"}


def test_one_identifier_with_two_contents_is_an_error_that_names_both_places(tmp_path: Path) -> None:
    first = _file(tmp_path / "1.jsonl", _line("A"), _line("B"))
    second = _file(tmp_path / "2.jsonl", _line("C"), _line("B", "다른 초록."), _line("A", "또 다른 초록."))
    with pytest.raises(ConflictingRecords) as caught:
        _add(tmp_path, first, second, max_rejects=99)
    message = str(caught.value)
    assert "2 of 5 lines" in message
    assert f"B, in {first} line 2 and in {second} line 2" in message
    assert "--on-duplicate newest" in message
    assert list_corpora(tmp_path) == []
    left = failed_rejects(tmp_path, "c")
    assert left is not None
    assert [(reject.file, reject.line) for reject in left] == [(str(second), 2), (str(second), 3)]


def test_elements_of_an_array_are_named_by_their_numbers(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.json", f"[{_line('A')}, {_line('B')}, {_line('A', '다른 초록.')}]")
    with pytest.raises(ConflictingRecords, match=rf"A, in {source} element 1 and in {source} element 3;"):
        _add(tmp_path, source)
    left = failed_rejects(tmp_path, "c")
    assert left is not None
    assert [each.reason for each in left] == [f"identifier A is already in {source} element 1, with other content"]
    nameless = _file(tmp_path / "2.json", f"[{_line('A')}, {_line('')}, 5]")
    with pytest.raises(TooManyRejectedLines, match=rf"the first is {nameless} element 2: "):
        _add(tmp_path, nameless)
    other = _file(tmp_path / "3.json", f"[{_line('A')}, 5]")
    with pytest.raises(TooManyRejectedLines, match=rf"the first is {other} line 1: element 2: not a JSON object"):
        _add(tmp_path, other)


def test_conflicts_and_lines_that_are_no_records_are_said_at_once(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", _line("A"), _line("A", "다른 초록."), "{", "[")
    with pytest.raises(ConflictingRecords) as caught:
        _add(tmp_path, source, max_rejects=1)
    conflicts, rejects = str(caught.value).splitlines()
    assert conflicts.startswith("1 of 4 lines hold an identifier that was read before with other content")
    assert rejects.startswith("2 of 4 lines are not records")
    assert f"the first is {source} line 3: not a JSON object" in rejects
    assert rejects.endswith("allow them with --max-rejects 2.")
    with pytest.raises(ConflictingRecords) as caught:
        _add(tmp_path, source, max_rejects=2)
    assert "are not records" not in str(caught.value)


@pytest.mark.parametrize(
    ("choice", "texts", "counts", "left_out"),
    [
        ("first", ["하나.", "나."], [(2, 2, 0, 0, 0, 0), (4, 0, 0, 2, 2, 0)], [("2.jsonl", 1), ("2.jsonl", 2)]),
        ("newest", ["하나.", "나."], [(2, 1, 0, 0, 1, 0), (4, 1, 0, 1, 2, 0)], [("1.jsonl", 1), ("2.jsonl", 1)]),
    ],
)
def test_the_caller_may_choose_which_content_stays_and_every_line_is_still_accounted_for(
    tmp_path: Path,
    choice: OnDuplicate,
    texts: Sequence[str],
    counts: list[tuple[int, ...]],
    left_out: list[tuple[str, int]],
) -> None:
    first = _file(tmp_path / "1.jsonl", _line("A", "하나."), _line("B", "나."))
    second = _file(tmp_path / "2.jsonl", _line("A", "둘."), _line("A", "셋."), _line("A", "하나."), _line("B", "나."))
    manifest = _add(tmp_path, first, second, on_duplicate=choice).manifest
    assert _texts(tmp_path) == dict(zip("AB", texts, strict=True))
    assert [_counts(account) for account in manifest.sources] == counts
    rejects = list(stored_rejects(tmp_path, "c"))
    assert [(Path(reject.file).name, reject.line) for reject in rejects][:2] == left_out
    assert len(rejects) == sum(account.superseded for account in manifest.sources)
    assert rejects[0].reason.startswith("identifier A is ")


def test_newest_puts_the_record_where_it_was_read_last(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", _line("A", "하나."), _line("B"), _line("A", "둘."))
    _add(tmp_path, source, on_duplicate="newest")
    assert list(_texts(tmp_path).items()) == [("B", "초록."), ("A", "둘.")]


def test_adding_again_says_what_was_added_changed_deleted_and_unchanged(tmp_path: Path) -> None:
    assert _add(tmp_path, _file(tmp_path / "1.jsonl", *map(_line, "ABCD"))).changes == RecordChanges(4, 0, 0, 0)
    new = _file(tmp_path / "2.jsonl", _line("B"), _line("C", "새 초록."), _line("E"), _line("F"), _line("D"))
    addition = _add(tmp_path, new)
    assert addition.changes == RecordChanges(added=2, changed=1, deleted=1, unchanged=2)
    assert addition.stored
    assert sorted(_texts(tmp_path)) == ["B", "C", "D", "E", "F"]


def test_adding_the_same_again_touches_no_file(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", *map(_line, "AB"), "{broken", "", _line("A"))
    first = _add(tmp_path, source, max_rejects=1)
    before = _bytes(tmp_path / "c")
    again = _add(tmp_path, source, max_rejects=1)
    assert (again.manifest, again.changes, again.stored) == (first.manifest, RecordChanges(0, 0, 0, 2), False)
    assert _bytes(tmp_path / "c") == before


def test_replacing_by_the_same_mends_what_is_damaged(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", *map(_line, "AB"))
    manifest = _add(tmp_path, source).manifest
    records = tmp_path / "c" / manifest.records_file
    whole = records.read_bytes()
    for damaged in (b"", whole[:50] + b"\xff" + whole[51:], whole[:-9]):
        records.write_bytes(damaged)
        assert _add(tmp_path, source).stored
        assert records.read_bytes() == whole
    (tmp_path / "c" / MANIFEST_FILE).write_text("{}")
    assert _add(tmp_path, source).manifest.fingerprint == manifest.fingerprint
    (tmp_path / "c" / MANIFEST_FILE).write_text('{"format_version": 1}')
    assert _add(tmp_path, source).changes == RecordChanges(2, 0, 0, 0)


def test_a_source_that_changed_without_its_records_is_told_from_one_that_did_not(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", *map(_line, "AB"))
    before = _add(tmp_path, source).manifest
    _file(source, "", *map(_line, "AB"))
    addition = _add(tmp_path, source)
    assert (addition.changes, addition.stored) == (RecordChanges(0, 0, 0, 2), True)
    assert addition.manifest.fingerprint == before.fingerprint
    assert addition.manifest.sources[0].blank == 1


def test_adding_adds_and_replaces_and_deletes_nothing(tmp_path: Path) -> None:
    one = _file(tmp_path / "1.jsonl", *map(_line, "ABC"), "{broken")
    _add(tmp_path, one, max_rejects=1)
    two = _file(tmp_path / "2.jsonl", _line("B", "새 초록."), _line("C"), _line("D"))
    addition = _add(tmp_path, two, replace=False)
    assert addition.changes == RecordChanges(added=1, changed=1, deleted=0, unchanged=2)
    assert _texts(tmp_path) == {"A": "초록.", "C": "초록.", "B": "새 초록.", "D": "초록."}
    counts = [_counts(account) for account in addition.manifest.sources]
    assert counts == [(4, 2, 1, 0, 1, 0), (3, 2, 0, 1, 0, 0)]
    reasons = [(Path(reject.file).name, reject.line) for reject in stored_rejects(tmp_path, "c")]
    assert reasons == [("1.jsonl", 4), ("1.jsonl", 2)]
    before = _bytes(tmp_path / "c")
    again = _add(tmp_path, one, two, replace=False)
    assert (again.manifest, again.changes, again.stored) == (addition.manifest, RecordChanges(0, 0, 0, 4), False)
    assert _bytes(tmp_path / "c") == before


def test_adding_a_file_in_its_next_version_keeps_what_it_lost(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", *map(_line, "AB"))
    _add(tmp_path, source)
    _file(source, _line("B", "새 초록."), _line("C"))
    assert _add(tmp_path, source, replace=False).changes == RecordChanges(added=1, changed=1, deleted=0, unchanged=1)
    assert sorted(_texts(tmp_path)) == ["A", "B", "C"]


def test_the_earlier_content_of_a_file_that_is_added_again_replaces_the_later(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", _line("A", "하나."), _line("B"))
    _add(tmp_path, source, replace=False)
    for text in ("둘.", "하나.", "둘."):
        _file(source, _line("A", text), _line("B"))
        assert _add(tmp_path, source, replace=False).changes == RecordChanges(0, 1, 0, 1)
        assert _texts(tmp_path)["A"] == text
        assert not _add(tmp_path, source, replace=False).stored


def test_two_files_of_one_name_whose_records_are_all_stored_are_not_read_again(tmp_path: Path) -> None:
    sources = []
    for name in "ab":
        (tmp_path / name).mkdir()
        sources.append(_file(tmp_path / name / "1.jsonl", _line(name)))
    _add(tmp_path, *sources)
    assert not _add(tmp_path, *sources, replace=False).stored


@pytest.mark.parametrize("format", ["papers", "papers-sentences"])
def test_a_paper_that_is_added_again_with_fewer_chunks_leaves_none_of_its_earlier_version(
    tmp_path: Path, format: str
) -> None:
    paper, other = (
        tmp_path / "paper.txt",
        _file(tmp_path / "paper-2.txt", "A title", "", "1 Method", "It stays. " * 200),
    )
    before: dict[str, str] = {}
    for sentence, count in (("The first version has this.", 100), ("The second is shorter.", 30), ("Longer.", 400)):
        _file(paper, "A title", "", "1 Method", f"{sentence} " * count)
        added = add_corpus(tmp_path, "c", format, [paper, other])
        texts = _texts(tmp_path)
        chunks = [docid for docid in texts if docid.startswith("paper#")]
        assert chunks == [f"paper#{number}" for number in range(len(chunks))]
        assert all(sentence in texts[docid] for docid in chunks)
        assert "paper-2#3" in texts
        assert added.changes.deleted == len(before.keys() - texts.keys())
        before = texts
    reasons = [each.reason for each in stored_rejects(tmp_path, "c")]
    assert f"paper paper is again in {paper}, without this chunk" in reasons


def test_chunks_of_a_paper_stay_where_the_first_version_is_kept(tmp_path: Path) -> None:
    paper = _file(tmp_path / "paper.txt", "A title", "", "1 Method", "The first version has this. " * 100)
    add_corpus(tmp_path, "c", "papers", [paper])
    before = _texts(tmp_path)
    _file(paper, "A title", "", "1 Method", "The second is shorter.")
    add_corpus(tmp_path, "c", "papers", [paper], on_duplicate="first")
    assert _texts(tmp_path) == before


@pytest.mark.parametrize("stored", [False, True], ids=["at once", "one after the other"])
@pytest.mark.parametrize("counts", [(100, 30), (30, 100)], ids=["longer first", "shorter first"])
@pytest.mark.parametrize(("on_duplicate", "kept"), [("first", "first"), ("newest", "second")])
def test_of_two_versions_of_a_paper_no_chunks_are_mixed(
    tmp_path: Path, on_duplicate: OnDuplicate, kept: str, counts: tuple[int, int], stored: bool
) -> None:
    papers = [
        _file(tmp_path / name, "A title", "", "1 Method", f"The {version} version has this. " * count)
        for name, version, count in zip(("paper.md", "paper.txt"), ("first", "second"), counts, strict=True)
    ]
    if stored:
        add_corpus(tmp_path, "c", "papers", papers[:1])
    manifest = add_corpus(tmp_path, "c", "papers", papers, on_duplicate=on_duplicate).manifest
    texts = _texts(tmp_path)
    assert all(f"The {kept} version has this." in text for text in texts.values())
    add_corpus(tmp_path, "alone", "papers", [papers[kept == "second"]])
    assert texts == {record.docid: record.text for record in open_corpus(tmp_path, "alone")[1]}
    rejects = list(stored_rejects(tmp_path, "c"))
    assert len(rejects) == sum(account.superseded for account in manifest.sources)
    if on_duplicate == "first" and counts[0] < counts[1]:
        assert rejects[-1].reason == f"paper paper is already in {papers[0]} line 1, without this chunk"


def test_of_one_paper_twice_in_a_file_the_later_leaves_no_chunk_of_the_earlier(tmp_path: Path) -> None:
    lines = [
        json.dumps({"paper_id": "p", "abstract": f"The {version} version has this. " * count})
        for version, count in (("first", 100), ("second", 30))
    ]
    source = _file(tmp_path / "1.jsonl", *lines)
    add_corpus(tmp_path, "c", "papers", [source], on_duplicate="newest")
    assert all("second version" in text for text in _texts(tmp_path).values())
    add_corpus(tmp_path, "c", "papers", [_file(source, *lines[::-1])], on_duplicate="first", replace=True)
    assert all("second version" in text for text in _texts(tmp_path).values())


def test_adding_may_leave_the_stored_record_and_still_refuses_conflicts_of_its_own(tmp_path: Path) -> None:
    _add(tmp_path, _file(tmp_path / "1.jsonl", _line("A")))
    two = _file(tmp_path / "2.jsonl", _line("A", "새 초록."))
    assert _add(tmp_path, two, replace=False, on_duplicate="first").changes == RecordChanges(0, 0, 0, 1)
    assert _texts(tmp_path) == {"A": "초록."}
    three = _file(tmp_path / "3.jsonl", _line("A", "하나."), _line("A", "둘."))
    with pytest.raises(ConflictingRecords, match=r"A, in .*3\.jsonl line 1 and in .*3\.jsonl line 2"):
        _add(tmp_path, three, replace=False)
    assert _texts(tmp_path) == {"A": "초록."}


def test_a_corpus_that_is_not_there_is_begun_and_a_damaged_one_is_not_added_to(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", _line("A"))
    assert _add(tmp_path, source, replace=False).changes == RecordChanges(1, 0, 0, 0)
    (tmp_path / "c" / MANIFEST_FILE).write_text('{"format_version": 1}')
    with pytest.raises(CorpusError, match="corpus format 1, this SHRAG reads 3: read its sources again with `shrag c"):
        _add(tmp_path, source, replace=False)


def test_the_same_file_elsewhere_is_not_read_again_but_one_of_another_name_is(tmp_path: Path) -> None:
    first = _add(tmp_path, _file(tmp_path / "1.jsonl", _line("A")), replace=False)
    (tmp_path / "copy").mkdir()
    assert not _add(tmp_path, _file(tmp_path / "copy" / "1.jsonl", _line("A")), replace=False).stored
    again = _add(tmp_path, _file(tmp_path / "2.jsonl", _line("A")), replace=False)
    assert (again.manifest.fingerprint, again.manifest.sources[1].duplicates) == (first.manifest.fingerprint, 1)


def test_replacing_asks_before_it_deletes_and_says_what(tmp_path: Path) -> None:
    _add(tmp_path, _file(tmp_path / "1.jsonl", *map(_line, "ABCDE")))
    asked: list[Deletion] = []

    def refuse(deletion: Deletion) -> None:
        asked.append(deletion)
        raise KeyboardInterrupt

    def replace(*docids: str) -> AdditionResult:
        source = _file(tmp_path / "2.jsonl", *map(_line, docids))
        return add_corpus(tmp_path, "c", "scienceon", [source], replace=True, confirm=refuse)

    before = _bytes(tmp_path / "c")
    with pytest.raises(KeyboardInterrupt):
        replace("A")
    assert asked == [Deletion(4, ("제목 B", "제목 C", "제목 D"))]
    assert _bytes(tmp_path / "c") == before
    assert replace(*"ABCDEF").changes == RecordChanges(1, 0, 0, 5)
    (tmp_path / "c" / MANIFEST_FILE).write_text("{}")
    with pytest.raises(KeyboardInterrupt):
        replace(*"ABCDEF")
    assert asked[1:] == [Deletion(None, ())]


def test_a_corpus_whose_titles_are_damaged_can_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(tmp_path, _file(tmp_path / "1.jsonl", *map(_line, "AB")))

    def damaged(path: Path) -> Iterator[Record]:
        raise CorpusError(f"{path} is damaged")

    monkeypatch.setattr(add, "read_parquet", damaged)
    told: list[Deletion] = []
    source = _file(tmp_path / "2.jsonl", _line("A"))
    assert add_corpus(tmp_path, "c", "scienceon", [source], replace=True, confirm=told.append).stored
    assert told == [Deletion(1, ())]
    assert deleted_text(told[0]) == "1 record (no title can be read)"


def test_digests_tell_an_update_what_changed(tmp_path: Path) -> None:
    _add(tmp_path, _file(tmp_path / "1.jsonl", *map(_line, "ABC")))
    before = dict(read_digests(tmp_path / "c" / read_manifest(tmp_path / "c").records_file))
    _add(tmp_path, _file(tmp_path / "1.jsonl", _line("C"), _line("B", "새 초록."), _line("D")))
    after = dict(read_digests(tmp_path / "c" / read_manifest(tmp_path / "c").records_file))
    assert list(after) == ["C", "B", "D"]
    assert before["C"] == after["C"]
    assert before["B"] != after["B"]
    assert {len(digest) for digest in after.values()} == {16}


def test_adding_the_same_file_by_other_columns_reads_it_again(tmp_path: Path) -> None:
    source = _file(tmp_path / "1.jsonl", json.dumps({"id": "A", "title": "가", "one": "하나.", "two": "둘."}))
    add_corpus(tmp_path, "c", table_format(parse_columns(["text=one"])), [source])
    addition = add_corpus(tmp_path, "c", table_format(parse_columns(["text=two"])), [source])
    assert addition.changes == RecordChanges(0, 1, 0, 0)
    assert _texts(tmp_path) == {"A": "둘."}
    assert [account.format for account in addition.manifest.sources] == ["table text=one", "table text=two"]
    assert not add_corpus(tmp_path, "c", table_format(parse_columns(["text=two"])), [source]).stored


def _paper(docid: str, title: str, abstract: str) -> str:
    return json.dumps({"CN": docid, "title": title, "abstract": abstract}, ensure_ascii=False)


ABSTRACT = (
    "산간 마을의 공동 우물 열두 곳에서 계절마다 물을 떠서 질산성 질소와 총대장균군을 재고 밭과 축사의 흔적을 견주었다. "
    * 3
)


def test_records_that_were_compared_before_keep_their_links_and_only_new_ones_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    link = DuplicateFinder.link

    def noted(self: DuplicateFinder, row: int, record: Record) -> str | None:
        compared.append(record.docid)
        return link(self, row, record)

    monkeypatch.setattr(DuplicateFinder, "link", noted)
    first = [_paper("A", "우물", ABSTRACT), _paper("B", "우물", ABSTRACT), _paper("C", "나이테", "다른 초록.")]
    _add(tmp_path, _file(tmp_path / "1.jsonl", *first))
    assert compared == ["A", "B"]
    compared.clear()
    _, changes, _ = _add(tmp_path, _file(tmp_path / "2.jsonl", _paper("D", "우물", ABSTRACT)), replace=False)
    assert compared == ["D"]
    assert changes == RecordChanges(1, 0, 0, 3)
    links = {record.docid: record.duplicate_of for record in open_corpus(tmp_path, "c")[1]}
    assert links == {"A": "", "B": "A", "C": "", "D": "A"}


def test_a_record_with_a_link_that_is_read_again_is_unchanged(tmp_path: Path) -> None:
    pair = [_paper("A", "우물", ABSTRACT), _paper("B", "우물", ABSTRACT)]
    _add(tmp_path, _file(tmp_path / "1.jsonl", *pair))
    more = _file(tmp_path / "2.jsonl", pair[1], _paper("C", "나이테", "다른 초록."))
    _, changes, _ = _add(tmp_path, more, replace=False)
    assert changes == RecordChanges(1, 0, 0, 2)
    assert read_manifest(tmp_path / "c").sources[1].duplicates == 1


def test_where_the_first_record_of_a_paper_is_replaced_the_links_to_it_go(tmp_path: Path) -> None:
    pair = [_paper("A", "우물", ABSTRACT), _paper("B", "우물", ABSTRACT)]
    _add(tmp_path, _file(tmp_path / "1.jsonl", *pair))
    _add(tmp_path, _file(tmp_path / "2.jsonl", _paper("A", "나이테", "다른 초록.")), replace=False)
    links = {record.docid: record.duplicate_of for record in open_corpus(tmp_path, "c")[1]}
    assert links == {"B": "", "A": ""}
